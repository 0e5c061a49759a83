#!/usr/bin/env python3
"""Replays what somebody new to BlockVec types, and compares what they see with what the transcript shows.

    tests/strangers/run.py tests/strangers/physicist.txt

A transcript has lines that begin with "$ ", which a shell runs, lines after them that begin with "> ", which go on with
the command, and the output that is expected; "..." stands for anything. Lines that begin with "# " are for readers, and
"# needs: MODULE" names modules of Python without which the transcript is skipped (exit status 77), "# needs: device"
a CUDA device.
"""

import argparse
import ctypes
import doctest
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def steps_of(text):
    """(command, expected output) in order."""
    steps = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif line.startswith("> ") or line == ">":
            command, expected = steps.pop()
            steps.append((f"{command}\n{line[2:]}", expected))
        elif not line.startswith("#") and steps:
            steps[-1][1].append(line)
    return [(command, "\n".join(expected).strip() + "\n") for command, expected in steps]


def has_device():
    """Whether the CUDA driver is there and finds one."""
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


def missing_of(text, python, environment):
    """What the transcript needs and is not here."""
    for line in text.splitlines():
        for need in line.removeprefix("# needs: ").split() if line.startswith("# needs: ") else ():
            if need == "device":
                if not has_device():
                    return "a CUDA device"
            elif subprocess.run([python, "-c", f"import {need}"], env=environment, capture_output=True).returncode:
                return f"the Python module {need}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transcript", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable, help="what python3 is (default: what runs this)")
    parser.add_argument("--tools", type=pathlib.Path, help="an environment whose python3 is taken where it is there")
    parser.add_argument("--python-path", default=os.environ.get("PYTHONPATH", ""), help="where the package is")
    parser.add_argument("--prefix", default=os.environ.get("BlockVec_ROOT", ""), help="where BlockVec is installed")
    arguments = parser.parse_args()
    own = arguments.tools / "bin" / "python" if arguments.tools else None
    python = str(own) if own and own.exists() else arguments.python
    text = arguments.transcript.read_text(encoding="utf-8")
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder, "bin")
        tools.mkdir()
        # Not a link: an environment of Python's knows itself by where its own program is.
        (tools / "python3").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n', encoding="utf-8")
        (tools / "python3").chmod(0o755)
        environment = dict(os.environ, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}", MPLBACKEND="Agg")
        environment |= {"PYTHONPATH": arguments.python_path, "BlockVec_ROOT": arguments.prefix}
        if missing := missing_of(text, python, environment):
            print(f"skipped: {missing} is missing")
            return SKIPPED
        place = pathlib.Path(folder, "home")
        place.mkdir()
        for command, expected in steps_of(text):
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=place,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            print(f"$ {command}\n{done.stdout}", end="", flush=True)
            if not checker.check_output(expected, done.stdout, flags):
                print(f"\n--- the transcript shows\n{expected}---")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
