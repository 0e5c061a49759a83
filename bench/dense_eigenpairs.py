#!/usr/bin/env python3
"""The lowest eigenpairs of a dense symmetric matrix on a GPU: eigensolve beside cuSOLVER, CuPy and LAPACK.

    bench/dense_eigenpairs.py --program build/release/examples/eigensolve --rows 10000 24000 --commit ... > table.csv
    bench/dense_eigenpairs.py --program build/release/examples/eigensolve --rows 40000 --no-header >> table.csv

The matrix is a random one, (G + G^T) / 2, and comes from a file of NumPy's. cuSOLVER's syevd, by torch.linalg.eigh, and
LAPACK's, on the processor for up to --host-rows rows, compute all pairs; cuSOLVER's syevdx and CuPy's eigsh only those
that are wanted. Peers are timed without their first call where one is short. seconds: of the solver; eigensolve takes
the rest of its program_seconds to read the matrix from the file, to check it and to start. memory_gb: the most in use
on the device, A included. residual: the largest ||A x - theta x||. error: the largest distance from the values of
cuSOLVER's syevd, or of its syevdx where the device has no memory for that. Needs torch and a GPU; CuPy if there is one.
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

import numpy
import torch

try:
    import cupy
    from cupyx.scipy.sparse.linalg import eigsh
except ImportError:
    cupy = None

COLUMNS = "rows,wanted,library,method,setting,seconds,program_seconds,memory_gb,applications,residual,error".split(",")
LONG = 5  # seconds
TOLERANCE = 1e-8  # of CuPy's residuals, times the norm


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


def of_cupy(basis):
    def solve(a, wanted):
        limit = TOLERANCE * (2 * len(a)) ** 0.5  # the norm of such a random matrix
        values, vectors = eigsh(cupy.from_dlpack(a), k=wanted, which="SA", ncv=basis, tol=limit)
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


def of_peer(solve, a, wanted, before):
    """A row's columns, and the eigenvalues; None where it fails, as where the device has no memory for it."""
    free_pools()
    try:
        with Memory(before) as memory:
            (values, vectors), seconds = timed(solve, a, wanted)
        residual = torch.linalg.vector_norm(a @ vectors - vectors * values, dim=0).max().item()
    except (RuntimeError, MemoryError) as problem:
        print(problem, file=sys.stderr)
        return {"setting": "failed"}, None
    columns = {"seconds": f"{seconds:.3f}", "residual": f"{residual:.1e}"}
    if a.is_cuda:
        columns["memory_gb"] = f"{memory.most / 1e9:.1f}"
    return columns, values.cpu().numpy()


def of_eigensolve(program, path, wanted, method, options, folder):
    answer = os.path.join(folder, "answer.json")
    command = [program, "--matrix", path, "--device", "gpu", "--method", method, "--nev", str(wanted), *options,
               "--quiet", "--json", answer]
    begin = time.perf_counter()
    with Memory(Memory.in_use()) as memory:
        subprocess.run(command, check=True)
    seconds = time.perf_counter() - begin
    with open(answer) as file:
        found = json.load(file)
    return {
        "seconds": f"{found['seconds']:.3f}", "program_seconds": f"{seconds:.1f}",
        "memory_gb": f"{memory.most / 1e9:.1f}", "applications": found["applications"],
        "residual": f"{max(found['residual_norms']):.1e}"
    }, found["eigenvalues"]


def compare(table, rows, arguments, before):
    torch.manual_seed(1)
    a = torch.randn(rows, rows, dtype=torch.float64, device="cuda")
    a = (a + a.T) / 2
    wanted, exact = arguments.wanted, None

    def write(library, method, columns, values):
        if exact is not None and values is not None:
            columns["error"] = f"{max(abs(x - y) for x, y in zip(values, exact)):.1e}"
        table.writerow({"rows": rows, "wanted": wanted, "library": library, "method": method} | columns)
        sys.stdout.flush()

    columns, exact = of_peer(syevd, a, wanted, before)
    write("cuSOLVER", "syevd", columns, None)
    columns, values = of_peer(Syevdx(), a, wanted, before)
    write("cuSOLVER", "syevdx", columns, values)
    exact = values if exact is None else exact
    for basis in (2 * wanted, 4 * wanted) if cupy else ():
        columns, values = of_peer(of_cupy(basis), a, wanted, before)
        write("CuPy", "eigsh", {"setting": f"ncv {basis}, tol {TOLERANCE:.0e}"} | columns, values)
    on_host = a.cpu()
    del a
    free_pools()
    if rows <= arguments.host_rows:
        columns, values = of_peer(syevd, on_host, wanted, before)
        write("LAPACK", "syevd", {"setting": f"{torch.get_num_threads()} threads"} | columns, values)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npy")
        numpy.save(path, on_host.numpy())
        del on_host
        for method in ("lanczos", "chebyshev"):
            for setting in ("tol 1e-8", "tol 1e-10", "tol 1e-8 packed"):
                options = ("--" + setting.replace(" packed", " --packed")).split()
                columns, values = of_eigensolve(arguments.program, path, wanted, method, options, folder)
                write("BlockVec", method, {"setting": setting} | columns, values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[10000, 24000])
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
    for rows in arguments.rows:
        compare(table, rows, arguments, before)


if __name__ == "__main__":
    main()
