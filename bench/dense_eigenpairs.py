#!/usr/bin/env python3
"""The lowest eigenpairs of a dense symmetric matrix on a GPU: eigensolve beside cuSOLVER, which computes all of them.

    bench/dense_eigenpairs.py --program build/release/examples/eigensolve --rows 10000 24000 --commit ... > table.csv

The matrix is a random one, (G + G^T) / 2, and comes from a file of NumPy's. cuSOLVER's syevd, by torch.linalg.eigh, is
timed without its first call where one is short. seconds: of the solver; eigensolve takes the rest of its
program_seconds to read the matrix from the file, to check it and to start. error: the largest distance from cuSOLVER's
eigenvalues. Needs torch and a GPU.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy
import torch

COLUMNS = "rows,wanted,library,method,setting,seconds,program_seconds,memory_gb,applications,residual,error".split(",")
LONG = 5  # seconds


def of_cusolver(a):
    """Its eigenvalues, seconds and the most memory in use."""
    for _ in range(2):
        begin = time.perf_counter()
        values = torch.linalg.eigh(a)[0]
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        if seconds > LONG:
            break
    return values.cpu().numpy(), seconds, torch.cuda.max_memory_allocated() / 1e9


def of_eigensolve(program, path, wanted, method, tolerance, folder):
    answer = os.path.join(folder, "answer.json")
    command = [program, "--matrix", path, "--device", "gpu", "--method", method, "--nev", str(wanted), "--tol", tolerance,
               "--quiet", "--json", answer]
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    seconds = time.perf_counter() - begin
    with open(answer) as file:
        return json.load(file) | {"program_seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[10000, 24000])
    parser.add_argument("--wanted", type=int, default=40)
    parser.add_argument("--commit", default="unknown")
    arguments = parser.parse_args()
    print(f"# bench/dense_eigenpairs.py on {torch.cuda.get_device_name()}, torch {torch.__version__}, "
          f"commit {arguments.commit}")
    table = csv.DictWriter(sys.stdout, COLUMNS, restval="", lineterminator="\n")
    table.writeheader()
    for rows in arguments.rows:
        torch.manual_seed(1)
        a = torch.randn(rows, rows, dtype=torch.float64, device="cuda")
        a = (a + a.T) / 2
        values, seconds, memory = of_cusolver(a)
        common = {"rows": rows, "wanted": arguments.wanted}
        table.writerow(common | {"library": "cuSOLVER", "method": "syevd", "seconds": f"{seconds:.3f}",
                                 "memory_gb": f"{memory:.1f}"})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.npy")
            numpy.save(path, a.cpu().numpy())
            del a
            torch.cuda.empty_cache()
            for method in ("lanczos", "chebyshev"):
                for tolerance in ("1e-8", "1e-10"):
                    found = of_eigensolve(arguments.program, path, arguments.wanted, method, tolerance, folder)
                    error = max(abs(x - y) for x, y in zip(found["eigenvalues"], values))
                    table.writerow(common | {
                        "library": "BlockVec", "method": method, "setting": f"tol {tolerance}",
                        "seconds": f"{found['seconds']:.3f}", "program_seconds": f"{found['program_seconds']:.1f}",
                        "applications": found["applications"], "residual": f"{max(found['residual_norms']):.1e}",
                        "error": f"{error:.1e}"})
        sys.stdout.flush()


if __name__ == "__main__":
    main()
