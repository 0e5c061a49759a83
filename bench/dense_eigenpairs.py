#!/usr/bin/env python3
"""The lowest eigenpairs of a dense symmetric matrix on a GPU: eigensolve beside cuSOLVER, CuPy and LAPACK.

    bench/dense_eigenpairs.py --program build/release/examples/eigensolve --rows 10000 40000 --commit ... > table.csv
    bench/dense_eigenpairs.py --program ... --rows --spins 13 15 --no-header >> table.csv

The matrix comes from a file of NumPy's, and all its eigenvalues are known: those of a semicircle with two levels of 2
and 3 copies among the lowest 40, for each of --rows; and those of a Haldane-Shastry ring of so many spins, which has
2^spins rows and large levels. bench/dense_spectrum.py turns them into dense matrices. cuSOLVER's syevd, by
torch.linalg.eigh, and LAPACK's, on the processor for up to --host-rows rows, compute all pairs; cuSOLVER's syevdx and
CuPy's eigsh only those that are wanted. Peers are timed without their first call where one is short. seconds: of the
solver; eigensolve takes the rest of its program_seconds to read the matrix from the file, to check it and to start.
memory_gb: the most in use on the device, A included. residual: the largest ||A x - theta x||, over ||A||. error: the
largest distance of a value found from a known one, over ||A||. missed: known values among the wanted ones, copies
counted, that have no partner among those found within 1e-7 ||A||. Needs torch and a GPU; CuPy if there is one.
"""
import argparse
import csv
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import torch

from dense_spectrum import haldane_shastry, semicircle, write_matrix
from peer_answers import count_missed

try:
    import cupy
    from cupyx.scipy.sparse.linalg import eigsh
except ImportError:
    cupy = None

COLUMNS = ["spectrum", "rows", "wanted", "library", "method", "setting", "seconds", "program_seconds", "memory_gb"]
COLUMNS += ["applications", "residual", "error", "missed"]
LONG = 5  # seconds
TOLERANCE = 1e-8  # of CuPy's residuals, over ||A||
PARTNERS = 1e-7  # differ by at most so much, over ||A||


class Memory:
    """Watches how much of the device's memory is in use, until the block ends."""

    def __init__(self, before):
        self.before, self.most, self.ended = before, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    @staticmethod
    def in_use():
        free, total = torch.cuda.mem_get_info()
        return total - free

    def watch(self):
        while not self.ended.wait(0.02):
            self.most = max(self.most, self.in_use() - self.before)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def free_pools():
    torch.cuda.empty_cache()
    if cupy:
        cupy.get_default_memory_pool().free_all_blocks()


def syevd(a, wanted):
    values, vectors = torch.linalg.eigh(a)
    return values[:wanted], vectors[:, :wanted]


class Syevdx:
    """cuSOLVER's function for some pairs, from the library that PyTorch has loaded."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            path = next(line.split()[-1] for line in maps if "libcusolver.so" in line)
        self.library = ctypes.CDLL(path)
        self.handle, self.parameters = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cusolverDnCreate", ctypes.byref(self.handle))
        self.call("cusolverDnCreateParams", ctypes.byref(self.parameters))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")

    def __call__(self, a, wanted):
        vectors, lower, by_number, double = 1, 0, 1002, 1  # of cuSOLVER's enumerations
        n, pointer = ctypes.c_int64(len(a)), lambda tensor: ctypes.c_void_p(tensor.data_ptr())
        matrix, values = a.clone(), torch.empty(len(a), dtype=a.dtype, device=a.device)
        unused, found = ctypes.c_double(), ctypes.c_int64()
        arguments = [
            self.handle, self.parameters, vectors, by_number, lower, n, double, pointer(matrix), n,
            ctypes.byref(unused), ctypes.byref(unused), ctypes.c_int64(1), ctypes.c_int64(wanted), ctypes.byref(found),
            double, pointer(values), double
        ]
        device_bytes, host_bytes = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cusolverDnXsyevdx_bufferSize", *arguments, ctypes.byref(device_bytes), ctypes.byref(host_bytes))
        on_device = torch.empty(device_bytes.value, dtype=torch.uint8, device=a.device)
        on_host = ctypes.create_string_buffer(max(1, host_bytes.value))
        info = torch.zeros(1, dtype=torch.int32, device=a.device)
        self.call("cusolverDnXsyevdx", *arguments, pointer(on_device), device_bytes, on_host, host_bytes, pointer(info))
        if info.item() != 0 or found.value != wanted:
            raise RuntimeError(f"syevdx: info {info.item()}, {found.value} pairs")
        return values[:wanted], matrix[:wanted].T  # column-major


def of_cupy(basis, norm):
    def solve(a, wanted):
        values, vectors = eigsh(cupy.from_dlpack(a), k=wanted, which="SA", ncv=basis, tol=TOLERANCE * norm)
        order = cupy.argsort(values)
        return torch.from_dlpack(values[order]), torch.from_dlpack(vectors[:, order])
    return solve


def timed(solve, a, wanted):
    """Its pairs, and the seconds of a second call unless one is long."""
    for _ in range(2):
        begin = time.perf_counter()
        pairs = solve(a, wanted)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        if seconds > LONG:
            break
    return pairs, seconds


class Answers:
    """The rows of one matrix's table: what each solver found, beside the known values."""

    def __init__(self, table, spectrum, values, wanted):
        self.table, self.values, self.wanted = table, values, wanted
        self.norm = np.max(np.abs(values))
        self.about = {"spectrum": spectrum, "rows": len(values), "wanted": wanted}

    def write(self, library, method, setting, columns, found, residual):
        """`residual` is the largest one; without `found` values the solver failed."""
        row = self.about | {"library": library, "method": method, "setting": setting} | columns
        if found is not None:
            distances = np.abs(self.values[:, None] - np.asarray(found)).min(axis=0)
            row["residual"] = f"{residual / self.norm:.1e}"
            row["error"] = f"{distances.max() / self.norm:.1e}"
            row["missed"] = count_missed(found, self.values[: self.wanted], PARTNERS * self.norm)
        self.table.writerow(row)
        sys.stdout.flush()


def add_peer(answers, library, method, solve, a, before, setting=""):
    """Adds a peer's row, which says so where it fails, as where the device has no memory for it."""
    free_pools()
    try:
        with Memory(before) as memory:
            (values, vectors), seconds = timed(solve, a, answers.wanted)
        residual = torch.linalg.vector_norm(a @ vectors - vectors * values, dim=0).max().item()
    except (RuntimeError, MemoryError) as problem:
        print(problem, file=sys.stderr)
        return answers.write(library, method, "failed", {}, None, None)
    columns = {"seconds": f"{seconds:.3f}"}
    if a.is_cuda:
        columns["memory_gb"] = f"{memory.most / 1e9:.1f}"
    answers.write(library, method, setting, columns, values.tolist(), residual)


def add_eigensolve(answers, program, path, method, setting):
    answer = path + ".json"
    command = [program, "--matrix", path, "--device", "gpu", "--method", method, "--nev", str(answers.wanted)]
    command += [*("--" + setting.replace(", ", " --")).split(), "--quiet", "--json", answer]
    begin = time.perf_counter()
    with Memory(Memory.in_use()) as memory:
        subprocess.run(command, check=True)
    seconds = time.perf_counter() - begin
    with open(answer) as file:
        found = json.load(file)
    columns = {
        "seconds": f"{found['seconds']:.3f}", "program_seconds": f"{seconds:.1f}",
        "memory_gb": f"{memory.most / 1e9:.1f}", "applications": found["applications"]
    }
    answers.write("BlockVec", method, setting, columns, found["eigenvalues"], max(found["residual_norms"]))


def compare(answers, arguments, before):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npy")
        write_matrix(path, answers.values)
        on_host = torch.from_numpy(np.load(path, mmap_mode="c"))
        a = on_host.cuda()
        add_peer(answers, "cuSOLVER", "syevd", syevd, a, before)
        add_peer(answers, "cuSOLVER", "syevdx", Syevdx(), a, before)
        for basis in (2 * answers.wanted, 4 * answers.wanted) if cupy else ():
            setting = f"ncv {basis}, tol {TOLERANCE:.0e}"
            add_peer(answers, "CuPy", "eigsh", of_cupy(basis, answers.norm), a, before, setting)
        del a
        free_pools()
        if len(on_host) <= arguments.host_rows:
            add_peer(answers, "LAPACK", "syevd", syevd, on_host, before, f"{torch.get_num_threads()} threads")
        for method in ("lanczos", "chebyshev"):
            for setting in ("tol 1e-8", "tol 1e-10", "tol 1e-8, packed"):
                add_eigensolve(answers, arguments.program, path, method, setting)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rows", type=int, nargs="*", default=[10000, 40000], help="of matrices with a semicircle")
    parser.add_argument("--spins", type=int, nargs="*", default=[], help="of Haldane-Shastry rings")
    parser.add_argument("--wanted", type=int, default=40)
    parser.add_argument("--host-rows", type=int, default=10000, help="the most rows that LAPACK gets")
    parser.add_argument("--no-header", action="store_true", help="the table has begun")
    parser.add_argument("--commit", default="unknown")
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")
    table = csv.DictWriter(sys.stdout, COLUMNS, restval="", lineterminator="\n")
    if not arguments.no_header:
        print(f"# bench/dense_eigenpairs.py on {torch.cuda.get_device_name()}, torch {torch.__version__}, "
              f"CuPy {cupy.__version__ if cupy else 'not there'}, commit {arguments.commit}")
        table.writeheader()
    before = Memory.in_use()
    spectra = [("semicircle", semicircle(rows)) for rows in arguments.rows]
    spectra += [("haldane-shastry", haldane_shastry(spins)) for spins in arguments.spins]
    for name, values in spectra:
        compare(Answers(table, name, values, arguments.wanted), arguments, before)


if __name__ == "__main__":
    main()
