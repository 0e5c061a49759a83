"""bench/dense_spectrum.py makes matrices that have the eigenvalues it says, and eigensolve finds the lowest of them.

    dense_spectrum.py [--program EIGENSOLVE] [--tools ENVIRONMENT]

Without NumPy the Python of the environment takes over, which tests/run prepares; without that the exit status is 77.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
try:
    import numpy as np

    import dense_spectrum
except ImportError:
    np = None

SKIPPED = 77
WANTED = 40


def check_spectra():
    values = dense_spectrum.semicircle(500)
    gaps = np.diff(values)
    assert values[0] > -1 and values[-1] < 1 and np.all(gaps >= 0)
    assert list(np.flatnonzero(gaps == 0)) == [4, 17, 18], "of the lowest levels one has 2 copies, one has 3"
    assert abs(np.mean(values**2) - 1 / 4) < 1 / 500, "the second moment of a semicircle"
    # Moments of the Hamiltonian: sums of S_i S_j have no trace, and squares of them one of 3/16 a state.
    for spins in (2, 3, 8, 11):
        values = dense_spectrum.haldane_shastry(spins)
        distances = np.array([i - j for i in range(spins) for j in range(i)])
        squares = np.sum((np.pi / spins / np.sin(np.pi * distances / spins)) ** 4) * 3 / 16
        error = 10 * len(values) * np.finfo(float).eps * np.max(np.abs(values)) ** 2
        assert len(values) == 2**spins and np.all(np.diff(values) >= 0)
        assert abs(np.sum(values)) <= error and abs(np.sum(values**2) - len(values) * squares) <= error, spins


def check_matrix(path, values, dtype):
    """The file holds a Hermitian matrix without zeros, with these eigenvalues."""
    dense_spectrum.write_matrix(path, values, dtype)
    a = np.load(path)
    bound = len(values) * np.finfo(dtype).eps * np.max(np.abs(values))
    assert a.dtype == dtype and a.shape == (len(values),) * 2 and np.all(a != 0)
    assert np.max(np.abs(a - a.conj().T)) <= bound
    found = np.linalg.eigvalsh(a.astype(np.complex128))
    assert np.max(np.abs(found - np.sort(values))) <= bound, np.max(np.abs(found - np.sort(values)))


def check_program(program, path, values, *options):
    """eigensolve finds the lowest ones, copies counted."""
    answer = path + ".json"
    command = [program, "--matrix", path, "--nev", str(WANTED), *options, "--quiet", "--json", answer]
    subprocess.run(command, check=True, timeout=100)
    with open(answer, encoding="utf-8") as file:
        result = json.load(file)
    bound = 2 * result["options"]["tol"] * result["norm_estimate"]
    found = np.array(result["eigenvalues"])
    assert result["converged"] and np.max(np.abs(found - values[:WANTED])) <= bound, found - values[:WANTED]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("--tools", type=pathlib.Path)
    arguments = parser.parse_args()
    if np is None:
        python = arguments.tools / "bin" / "python" if arguments.tools else None
        if python and python.exists():
            os.execv(python, [python, "-B", __file__, *(["--program", arguments.program] if arguments.program else [])])
        print("skipped: no NumPy")
        return SKIPPED
    check_spectra()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npy")
        for dtype in (np.float32, np.float64, np.complex64, np.complex128):
            for values in (np.array([3.0]), np.linspace(2, -1, 61), dense_spectrum.haldane_shastry(8)):
                check_matrix(path, values, dtype)
        for dtype in (np.float64, np.complex128):
            values = dense_spectrum.semicircle(400)
            check_matrix(path, values, dtype)
            if arguments.program:
                for options in (["--method", "lanczos"], ["--method", "chebyshev"], ["--packed"]):
                    check_program(arguments.program, path, values, *options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
