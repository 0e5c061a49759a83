"""fault.py MODE PROGRAM LAUNCHER...: a fault on one rank must end all of them with its message."""
import subprocess
import sys
import tempfile

MESSAGES = {
    "read": "injected_fault_missing.mtx: cannot be read: No such file",
    "allocate": "injected fault",
    "mismatch": "a sum over ranks met different operations or shapes",
    "throw_late": "injected fault: no such row",
}


def main():
    mode, program, *launcher = sys.argv[1:]
    with tempfile.NamedTemporaryFile("w", suffix=".mtx") as file:
        file.write("%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n")
        file.flush()
        run = subprocess.run(launcher + [program, mode, file.name], capture_output=True, text=True, timeout=50)
    assert run.returncode != 0, "the run succeeded"
    assert MESSAGES[mode] in run.stderr, f"no {MESSAGES[mode]!r} in:\n{run.stderr}"
    if mode == "allocate":
        assert str(4 * 8 * 2**55) in run.stderr.replace(",", ""), f"the bytes are not named:\n{run.stderr}"


main()
