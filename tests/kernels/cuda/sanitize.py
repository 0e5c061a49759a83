#!/usr/bin/env python3
"""Runs the tests of the CUDA kernels under compute-sanitizer, several processes at a time, in turns on the devices of
CUDA_VISIBLE_DEVICES. To start one takes as long as most tests: --together says how many tests it gets. Where
something is reported, each of them runs again alone.

    tests/kernels/cuda/sanitize.py build/release/tests/kernels/cuda --commit COMMIT --out sanitizer.txt

A line a program and tool: tests that passed without a report, and those that did not, by name. The exit status is 0 only
if every test ended and none was reported; how long each took goes to standard error. All products of all tests take
hours: --every racecheck=50 tries the first few of each test, then ever fewer, down to one of 50. candidates and longer,
of thousands of configurations, end within minutes only so."""

import argparse
import collections
import concurrent.futures
import datetime
import os
import pathlib
import re
import subprocess
import sys
import time

PROGRAMS = ("tsmttsm", "tsmm", "condition", "calls", "streams", "not_finite", "alignment", "longer", "candidates",
            "spmmv")
TOOLS = {"memcheck": [], "racecheck": ["--racecheck-report", "all"], "initcheck": []}


def tests_of(program):
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    suite = ""
    for line in (line.split("#")[0].rstrip() for line in listed.splitlines()):
        if line.startswith("  "):
            yield suite + line.strip()
        elif line.endswith("."):
            suite = line


def batches(tests, size):
    tests = list(tests)
    return [tests[i:i + size] for i in range(0, len(tests), size)]


def verdict(tool, program, tests, end, environment):
    """'clean', or what was wrong."""
    command = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], program, "--gtest_filter=" + ":".join(tests)]
    if end <= time.monotonic():
        return "not begun"
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=end - time.monotonic(),
                             env=os.environ | environment)
    except subprocess.TimeoutExpired:
        return "no report until the time was up"
    summary = re.findall(r"SUMMARY: (.*)", ran.stdout)
    passed = re.search(r"\[  PASSED  \] (\d+) test", ran.stdout)
    clean = (ran.returncode == 0 and passed and int(passed[1]) == len(tests) and summary
             and summary[-1].startswith("0 "))
    if clean:
        return "clean"
    first = [line.lstrip("= ") for line in ran.stdout.splitlines() if re.match(r"=+ +(Error|Warning|Invalid|Uninit|  )", line)]
    return "; ".join([f"exit status {ran.returncode}", summary[-1] if summary else "no summary", *first[:6]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the test programs are")
    parser.add_argument("--out", type=pathlib.Path, default="sanitizer.txt")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so long (%(default)s)")
    parser.add_argument("--jobs", type=int, default=8, help="processes at a time (%(default)s)")
    parser.add_argument("--together", type=int, default=1, help="tests of a process (%(default)s)")
    parser.add_argument("--every", nargs="+", default=[], metavar="TOOL=N", help="of a test's products, at last one of N")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--programs", nargs="+", default=PROGRAMS)
    options = parser.parse_args()

    end = time.monotonic() + options.seconds
    programs = {name: str(options.folder / f"test_kernels_cuda_{name}") for name in options.programs}
    every = dict.fromkeys(TOOLS, "1") | dict(word.split("=") for word in options.every)
    devices = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                             capture_output=True, text=True).stdout.splitlines()
    cards = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(max(1, len(devices)))))).split(",")
    groups = [(tool, name, tests) for name, program in programs.items()
              for tests in batches(tests_of(program), options.together) for tool in options.tools]

    def run(numbered):
        number, (tool, name, tests) = numbered
        environment = {"BLOCKVEC_TEST_EVERY": every[tool], "CUDA_VISIBLE_DEVICES": cards[number % len(cards)]}
        begin = time.monotonic()
        said = verdict(tool, programs[name], tests, end, environment)
        print(f"{time.monotonic() - begin:6.1f} s  {tool} {name} {' '.join(tests)}: {said}", file=sys.stderr, flush=True)
        if said == "clean" or len(tests) == 1:
            return {(tool, name, test): said for test in tests}
        return collections.ChainMap(*(run((number, (tool, name, [test]))) for test in tests))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        verdicts = collections.ChainMap(*pool.map(run, enumerate(groups)))
    cases = [(tool, name, test) for tool, name, tests in groups for test in tests]

    clean = collections.Counter(case[:2] for case in cases if verdicts[case] == "clean")
    total = collections.Counter(case[:2] for case in cases)
    with options.out.open("w") as out:
        print(f"# compute-sanitizer on {devices[0] if devices else 'no device'}, {datetime.date.today()}, commit "
              f"{options.commit}; by tests/kernels/cuda/sanitize.py", file=out)
        for (tool, name), count in total.items():
            part = "" if every[tool] == "1" else f", of their products at last one of {every[tool]}"
            print(f"{tool} test_kernels_cuda_{name}: {clean[tool, name]} of {count} tests passed without a report{part}",
                  file=out)
        for case in cases:
            if verdicts[case] != "clean":
                print(f"{' '.join(case)}: {verdicts[case]}", file=out)
    return 0 if clean == total else 1


if __name__ == "__main__":
    sys.exit(main())
