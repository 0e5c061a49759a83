#!/usr/bin/env python3
"""Counters of Nsight Compute for the kernels of bench/sgemm, bench/tiled and bench/tsm2.

    bench/study_counters.py --programs build/release/bench --out counters.csv [--counters NAME,NAME] CASES ...
    CASES: program:setting:setting, as in  tiled:sizes=32,2048  sgemm:sizes=8192:large=16384  tsm2:sizes=20480:types=D

Commas stand for the programs' semicolons. Each program launches each of its cases once; a row has the counters of one
kernel, at the device's own clocks and from cold caches. In percent of their peaks: compute and memory units, both
caches, memory, single- and double-precision units, issue slots. In percent: hits of both caches, and what global loads
use of the bytes that they fetch. gbps and gbytes: of the memory. shared_wavefronts, bank_conflicts: of shared memory.
stall_...: for each reason the warps that wait an issue. --counters takes only some, which needs fewer replays.
"""
import argparse
import csv
import io
import os
import subprocess
import tempfile

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COUNTERS = {
    "microseconds": "gpu__time_duration.sum",
    "compute": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_hit": "l1tex__t_sector_hit_rate.pct",
    "l2_hit": "lts__t_sector_hit_rate.pct",
    "gbps": "dram__bytes.sum.per_second",
    "gbytes": "dram__bytes.sum",
    "fma": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "fp64": "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "issued": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "load_efficiency": "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    **{"stall_" + name: STALL.format(name) for name in
       ("long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "barrier", "math_pipe_throttle")},
}
SCALES = {"microseconds": 1e-3, "gbps": 1e-9, "gbytes": 1e-9}  # of ncu's base units
# Of each program: the kernels that count, and how many columns of its file name a case.
PROGRAMS = {"tiled": ("naive_kernel|tiled_kernel", 2), "sgemm": ("gemm", 3), "tsm2": ("tsm2", 6)}


def read(path):
    """(the comment that the file begins with, its rows without the columns' names)."""
    with open(path) as lines:
        comment = next(lines).lstrip("# ")
        return comment, list(csv.reader(line for line in lines if not line.startswith("#")))[1:]


def profiled(output):
    """[(kernel's name, {metric: value})] in the order of the launches."""
    kernels = {}
    for row in csv.DictReader(io.StringIO("\n".join(line for line in output.splitlines() if line.startswith('"')))):
        name, values = kernels.setdefault(int(row["ID"]), (row["Kernel Name"].rsplit("(", 1)[0], {}))
        values[row["Metric Name"]] = row["Metric Value"].replace(",", "")
    return [kernels[number] for number in sorted(kernels)]


def number_of(name, text):
    try:
        return f"{float(text) * SCALES.get(name, 1):.6g}"
    except ValueError:
        return ""


def rows_of(folder, case, counters, commit):
    """What the program says of the machine, and the rows of the table for one case, program:setting:..."""
    program, *settings = case.split(":")
    kernels, key_columns = PROGRAMS[program]
    with tempfile.TemporaryDirectory() as out:
        command = ["ncu", "--csv", "--clock-control", "none", "--print-units", "base",
                   "--kernel-name-base", "demangled", "--kernel-name", f"regex:.*({kernels}).*",
                   "--metrics", ",".join(COUNTERS[name] for name in counters),
                   os.path.join(folder, program), f"out={out}", "once=1", f"commit={commit}",
                   *(setting.replace(",", ";") for setting in settings)]
        run = subprocess.run(command, capture_output=True, text=True)
        found = profiled(run.stdout)
        path = os.path.join(out, program + ".csv")
        comment, cases = read(path) if os.path.exists(path) else ("", [])
    if not found or len(found) != len(cases):
        names = "\n".join(name for name, _ in found)
        raise SystemExit(f"{case}: {len(found)} kernels for {len(cases)} cases\n{names}\n{run.stdout[-2000:]}\n"
                         f"{run.stderr}")
    return comment, [[program, " ".join(row[:key_columns]).strip(), kernel,
                      *(number_of(name, values.get(COUNTERS[name], "")) for name in COUNTERS)]
                     for (kernel, values), row in zip(found, cases)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--counters", default=",".join(COUNTERS))
    parser.add_argument("cases", nargs="+")
    options = parser.parse_args()
    for case in options.cases:
        comment, rows = rows_of(options.programs, case, options.counters.split(","), options.commit)
        begun = os.path.exists(options.out)
        with open(options.out, "a") as text:
            table = csv.writer(text, lineterminator="\n")
            if not begun:
                text.write(f"# bench/study_counters.py, which says what the columns are; {comment}")
                table.writerow(["program", "case", "kernel", *COUNTERS])
            table.writerows(rows)


if __name__ == "__main__":
    main()
