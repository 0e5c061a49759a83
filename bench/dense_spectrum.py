"""Dense Hermitian matrices whose eigenvalues are known, in files of NumPy's; for bench/dense_eigenpairs.py."""
import math

import numpy as np

BLOCK_BYTES = 2**26


def semicircle(rows):
    """The values that random Hermitian matrices tend to (Wigner 1958), from -1 to 1, ascending. Among the lowest 40
    one has 2 copies (numbers 4 and 5, counted from 0), and one has 3 (17 to 19)."""
    below = (np.arange(rows) + 0.5) / rows
    low, high = np.zeros(rows), np.full(rows, math.pi)
    for _ in range(60):  # halves the intervals of t, where -cos(t) has so large a part of the semicircle below it
        middle = (low + high) / 2
        too_low = (middle - np.sin(middle) * np.cos(middle)) / math.pi < below
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    values = -np.cos(low)
    values[5:6] = values[4:5]
    values[18:20] = values[17:18]
    return values


def haldane_shastry(spins):
    """The 2^spins eigenvalues of a ring of spins 1/2 with couplings (pi / spins)^2 / sin^2(pi (i - j) / spins),
    ascending: few levels of many copies. A level is a row of digits 0 and 1 with no 1 at its ends or beside another;
    the lengths of its runs of 0 multiply to the number of copies (Haldane 1988, Shastry 1988)."""
    values = []
    for number in range(2 ** (spins - 1)):
        digits = f"0{number:0{spins - 1}b}0"
        if "11" in digits:
            continue
        energy = spins * (spins**2 - 1) / 24 + sum(m * (m - spins) for m, digit in enumerate(digits) if digit == "1")
        values += [(math.pi / spins) ** 2 * energy] * math.prod(len(run) for run in digits.split("1"))
    return np.sort(values)


def write_matrix(path, values, dtype=np.float64, reflections=4, seed=1):
    """Writes A = Q D Q^H as numpy.save would, some rows at a time. D has the values, in any order. Q is a product of
    Householder reflections in random directions that are orthogonal to one another: Q = I - 2 U U^H. So
    A = D - U Z^H - Z U^H with Z = 2 D U - 2 U (U^H D U). A's eigenvalues differ from the values by a few eps of dtype
    times ||A||. Cost: 2 reflections rows^2 products, in blocks of 64 MiB."""
    rows, dtype = len(values), np.dtype(dtype)
    random = np.random.default_rng(seed)
    directions = random.standard_normal((rows, reflections))
    if dtype.kind == "c":
        directions = directions + 1j * random.standard_normal((rows, reflections))
    u, _ = np.linalg.qr(directions)
    du = values[:, None] * u
    z = 2 * du - 2 * u @ (u.conj().T @ du)
    left, right = -np.hstack([u, z]), np.hstack([z, u]).conj().T
    step = max(1, BLOCK_BYTES // (rows * left.itemsize))
    with open(path, "wb") as file:
        about = {"descr": dtype.str, "fortran_order": False, "shape": (rows, rows)}
        np.lib.format.write_array_header_1_0(file, about)
        for first in range(0, rows, step):
            block = left[first : first + step] @ right
            block[np.arange(len(block)), first + np.arange(len(block))] += values[first : first + step]
            file.write(block.astype(dtype, copy=False))
