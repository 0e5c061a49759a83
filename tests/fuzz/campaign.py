#!/usr/bin/env python3
"""campaign.py FOLDER_OF_FUZZERS [--targets matrix_market ...] [--inputs 4000000] [--jobs 16] [--minutes 9] [--out FOLDER]

Searches for inputs that break what reads bytes from outside. Build the fuzzers before, with clang:
    cmake --preset fuzz && cmake --build --preset fuzz      (they lie in build/fuzz/tests/fuzz)
They need no package where they run, only this folder and Python 3. For each target, `jobs` processes of libFuzzer share
the work and what they find; they begin with corpus/TARGET. An input fails if it crashes, leaks, meets an error of
AddressSanitizer or UndefinedBehaviorSanitizer, takes more than 1 s, asks for 64 MB at once, or brings the process to
64 MB more than it has after an empty input (looked at every second; what the sanitizers and libFuzzer itself need on
top counts too, except for 1 MB of freed memory). Writes OUT/result.txt, and failing inputs to OUT/TARGET. Status 1 if
there is one.
"""
import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONGEST = 512  # bytes of an input; gzip makes half a megabyte of them
MEGABYTES = 64
SECONDS = 1
ENVIRONMENT = dict(
    os.environ,
    ASAN_OPTIONS="quarantine_size_mb=1:malloc_context_size=1:allocator_may_return_null=0",
    UBSAN_OPTIONS="print_stacktrace=1",
)


def number(pattern, text, default=0):
    """The last number that the pattern finds."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else default


def idle_megabytes(fuzzer):
    """What the process holds after an empty input."""
    with tempfile.TemporaryDirectory() as empty:
        run = subprocess.run([fuzzer, "-runs=1", empty], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    return number(r"rss: (\d+)Mb", run.stderr)


def search(target, fuzzer, inputs, jobs, seconds, out):
    """Runs one target; returns what is to be told of it, and whether nothing failed."""
    seeds, found, failures = out / "seeds" / target, out / "found" / target, out / target
    for folder in (seeds, found, failures):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for file in (HERE / "corpus" / target).iterdir():
        # Bombs take a thousand times as long as others: the replay is enough for them.
        if not file.name.startswith("bomb_"):
            shutil.copy(file, seeds)
    limit = idle_megabytes(fuzzer) + MEGABYTES
    command = [
        fuzzer, f"-runs={-(-inputs // jobs)}", f"-max_total_time={seconds}", f"-timeout={SECONDS}",
        f"-rss_limit_mb={limit}", f"-malloc_limit_mb={MEGABYTES}", f"-max_len={LONGEST}",
        f"-artifact_prefix={failures}/", "-print_final_stats=1", "-verbosity=1",
    ]
    dictionary = HERE / f"{target}.dict"
    if dictionary.exists():
        command.append(f"-dict={dictionary}")
    begin = time.monotonic()
    logs, processes = [], []
    for job in range(jobs):
        log = open(failures / f"job{job}.log", "w+", errors="replace")
        arguments = [f"-seed={job + 1}", found, seeds]
        processes.append(subprocess.Popen(command + arguments, stdout=log, stderr=log, env=ENVIRONMENT))
        logs.append(log)
    statuses = [process.wait() for process in processes]
    elapsed = time.monotonic() - begin
    texts = []
    for log in logs:
        log.seek(0)
        texts.append(log.read())
        log.close()
    count = sum(number(r"stat::number_of_executed_units:\s*(\d+)", text) or number(r"#(\d+)\s", text) for text in texts)
    peak = max(number(r"stat::peak_rss_mb:\s*(\d+)", text) for text in texts)
    for job, status in enumerate(statuses):
        if status == 0:
            (failures / f"job{job}.log").unlink()
    # What all jobs found together, in one process without limits of time.
    last = subprocess.run([fuzzer, "-runs=0", f"-max_len={LONGEST}", found, seeds],
                          capture_output=True, text=True, errors="replace", env=ENVIRONMENT).stderr
    places, covered = number(r"modules +\((\d+) inline", last), number(r"cov: (\d+)", last)
    kept = number(r"corp: (\d+)", last)
    failing = sorted(file.name for file in failures.iterdir() if file.suffix != ".log")
    good = not failing and not any(statuses)
    lines = [
        f"{target}: {'no failure' if good else 'FAILED'}",
        f"  inputs         {count} in {elapsed:.0f} s by {jobs} processes ({count / elapsed:.0f} a second)",
        f"  memory         {peak} MB at most, of which the idle process has {limit - MEGABYTES} MB",
        f"  coverage       {covered} of {places} places; {kept} inputs kept",
    ]
    lines += [f"  failing input  {target}/{name}" for name in failing]
    lines += [f"  status         {status} of job {job}" for job, status in enumerate(statuses) if status]
    return lines, good


def machine():
    model = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{model[0] if model else platform.machine()}, {os.cpu_count()} processors, {platform.release()}"


def commit():
    run = subprocess.run(["git", "-C", HERE, "rev-parse", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run(["git", "-C", HERE, "status", "--porcelain"], capture_output=True, text=True).stdout.strip()
    return (run.stdout.strip() or "unknown") + (" with changes" if changed else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fuzzers", type=Path)
    parser.add_argument("--targets", nargs="+", help="default: all that were built")
    parser.add_argument("--inputs", type=int, default=4 * 10**6, help="of each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=9, help="at most, of all targets together")
    parser.add_argument("--out", type=Path, default=Path("fuzzed"))
    parser.add_argument("--commit", help="default: asked of git")
    options = parser.parse_args()
    fuzzers = {file.name[5:]: file.resolve() for file in sorted(options.fuzzers.glob("fuzz_*")) if file.is_file()}
    targets = options.targets or list(fuzzers)
    if not targets:
        sys.exit(f"{options.fuzzers} holds no fuzzers")
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    versions = options.fuzzers / "versions.txt"
    lines = [
        f"commit  {options.commit or commit()}",
        f"built   {versions.read_text().strip() if versions.exists() else 'by an unknown compiler'}",
        f"on      {machine()}",
        f"limits  {SECONDS} s and {MEGABYTES} MB an input of at most {LONGEST} bytes; AddressSanitizer, UndefinedBehaviorSanitizer",
    ]
    end = time.monotonic() + 60 * options.minutes
    good = True
    for index, target in enumerate(targets):
        seconds = max(1, int((end - time.monotonic()) / (len(targets) - index)))
        told, fine = search(target, fuzzers[target], options.inputs, options.jobs, seconds, out)
        print("\n".join(told), flush=True)
        lines += ["", *told]
        good = good and fine
    (out / "result.txt").write_text("\n".join(lines) + "\n")
    print(f"wrote {out / 'result.txt'}")
    sys.exit(0 if good else 1)


main()
