#!/usr/bin/env python3
"""failing_rank.py FAULT RANKS PROGRAM LAUNCHER...: a fault on the last rank ends all ranks with status 2 and its
message, which names the rank."""
import re
import subprocess
import sys

# What standard error must say; {rank} is the rank that fails. A rank may be told of the error by another one.
MESSAGES = {
    "throw": r"error on rank {rank}: fault on purpose",
    "allocate": r"error on rank {rank}: BlockVec::BlockVector::too much: no memory for \d+ bytes",
    "mismatch": r"error on rank \d+: a sum over ranks met different operations or shapes: this rank sent (16|64) double",
    "inside": r"error on rank ({rank}: |\d+: rank {rank} refused: )inner_product: V = V .*C is 8 x 7, expected 8 x 8",
    "unwind": r"error on rank {rank}: an exception left the scope of the Environment",
}


def main():
    fault, ranks, program, *launcher = sys.argv[1:]
    run = subprocess.run([*launcher, program, fault], capture_output=True, text=True, timeout=50)
    said = f"status {run.returncode}\n{run.stdout}\n{run.stderr}"
    if "no CUDA device" in run.stderr:
        print(run.stderr)
        return
    assert run.returncode == 2, f"expected status 2: {said}"
    expected = MESSAGES[fault].format(rank=int(ranks) - 1)
    assert re.search(expected, run.stderr), f"expected {expected!r}: {said}"
    assert "nothing failed" not in run.stdout, f"some rank went on: {said}"


main()
