#!/usr/bin/env python3
"""What binds single products on a CUDA device: counters of Nsight Compute for the kernel that serves each case.

    bench/cuda_counters.py --program build/release/bench/cuda_vs_cublas --out counters.csv tsmm:C:row:64:64 tsmttsm:S:column:33:33 ...

A case is a plan of cuda_vs_cublas. Counters are those of the kernel's first launch, at the device's own clocks, on operands
of 1 GiB of random numbers: in percent of their peaks, busy tensor cores, issue slots, integer units and memory; counts of
instructions on tensor cores and of shared memory's wavefronts, of these those that bank conflicts add; and for each reason
the warps that wait an issue.
"""
import argparse
import csv
import datetime
import io
import os
import subprocess
import tempfile

import machine

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COUNTERS = {
    "microseconds": "gpu__time_duration.sum",
    "dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "issued": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "alu": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "tensor_instructions": "sm__inst_executed_pipe_tensor.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    **{"stall_" + name: STALL.format(name) for name in
       ("wait", "math_pipe_throttle", "short_scoreboard", "long_scoreboard", "mio_throttle", "lg_throttle", "barrier")},
}


def counters(program, case, out):
    """The kernel's name, without its parameters, and {counter: value}."""
    command = ["ncu", "--csv", "--clock-control", "none", "--kernel-name", r"regex:tsm(m|ttsm)_.*_kernel", "--launch-count", "1",
               "--metrics", ",".join(COUNTERS.values()), "--print-units", "base",
               program, f"plans={case}", f"out={out}", "bytes=1073741824", "reps=1", "pause=0", "cublas=0"]
    run = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    if not rows:
        raise SystemExit(f"no counters of {case}:\n{run.stdout}\n{run.stderr}")
    values = {row["Metric Name"]: row["Metric Value"].replace(",", "") for row in rows}
    return rows[0]["Kernel Name"].split("(")[0], {name: values.get(metric, "") for name, metric in COUNTERS.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("cases", nargs="+")
    options = parser.parse_args()
    device = machine.cards()
    with open(options.out, "w") as text, tempfile.TemporaryDirectory() as folder:
        text.write(f"# {device}, {datetime.date.today()}, commit {options.commit}; bench/cuda_counters.py says what the columns are\n")
        table = csv.writer(text)
        table.writerow(["case", "kernel", "configuration", *COUNTERS])
        for case in options.cases:
            kernel, values = counters(options.program, case, folder)
            with open(os.path.join(folder, "cuda_vs_cublas.csv")) as lines:
                configuration = list(csv.DictReader(line for line in lines if not line.startswith("#")))[-1]["configuration"]
            values["microseconds"] = f"{float(values['microseconds']) / 1000:.1f}"
            table.writerow([case, kernel, configuration, *values.values()])
            text.flush()


if __name__ == "__main__":
    main()
