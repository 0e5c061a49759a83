"""The problems of bench/solver_peers.py: matrices, pairs of them, and the eigenvalues that are wanted.

Where a formula or a committed list tells the eigenvalues, these are the reference; else the reference is our own answer
at a hundredth of the tolerance.
"""

import itertools
import os
from dataclasses import dataclass, field

import numpy as np
import scipy.io
import scipy.sparse


@dataclass
class Problem:
    """The `wanted` lowest eigenpairs of A x = theta x or of A x = theta B x, or those nearest to a target, or all in an
    interval, of which there are `wanted`."""

    name: str
    wanted: int
    options: list = field(default_factory=list)  # of eigensolve, which writes the matrix unless it is made
    make: object = None  # a function that returns A
    files: tuple = ()  # files of --data: A, and B
    eigenvalues: object = None  # a function that returns them, or a file of --data
    accuracy: float = 1e-8  # of residuals, over ||A|| or ||A|| + |theta| ||B||
    large: bool = False  # a million rows: few settings
    target: float = None
    interval: tuple = None  # its ends, in gaps

    def is_inside(self):
        return self.target is not None or self.interval is not None

    def place(self):
        """What the wanted eigenvalues are the nearest ones to, or None."""
        return sum(self.interval) / 2 if self.interval else self.target

    def title(self):
        return f"{self.name}, {self.wanted}"

    def is_here(self, data):
        return all(os.path.exists(os.path.join(data, name)) for name in self.files)

    def exact(self, data):
        """The wanted eigenvalues, or None where nobody knows them beforehand."""
        if self.eigenvalues is None:
            return None
        values = (
            np.loadtxt(os.path.join(data, self.eigenvalues), comments="%")
            if isinstance(self.eigenvalues, str)
            else np.array(self.eigenvalues())
        )
        if self.interval:
            inside = np.sort(values[(values >= self.interval[0]) & (values <= self.interval[1])])
            assert len(inside) == self.wanted, f"{self.title()}: {len(inside)} eigenvalues lie there"
            return inside
        nearest = np.argsort(values if self.target is None else np.abs(values - self.target), kind="stable")
        return np.sort(values[nearest[: self.wanted]])


def laplacian_values(length, first=12):
    """Of a cube of so many points a side, from so many of the lowest ones of a line."""
    one = 2 - 2 * np.cos(np.arange(1, length + 1) * np.pi / (length + 1))
    return [sum(of) for of in itertools.product(one[:first], repeat=3)]


def hypercube(bits):
    """-sum sigma^x of so many spins: eigenvalues -bits + 2 j, binomial(bits, j) times."""
    states = np.arange(2**bits)
    columns = np.concatenate([states ^ (1 << bit) for bit in range(bits)])
    values = -np.ones(len(columns))
    return scipy.sparse.csr_matrix((values, (np.tile(states, bits), columns)), shape=(2**bits, 2**bits))


def hypercube_values(bits):
    return [-bits + 2 * bin(state).count("1") for state in range(2**bits)]


def kac(n):
    """Eigenvalues -n, -n + 2, ..., n."""
    beside = np.sqrt(np.arange(1.0, n + 1) * np.arange(n, 0, -1.0))
    return scipy.sparse.diags([beside, beside], [-1, 1]).tocsr()


def rotated(diagonal):
    """Q D Q^T, Q being two layers of rotations of random pairs of rows: sparse, and no eigenvector is a unit vector."""
    random = np.random.default_rng(1)
    n = len(diagonal)
    a = scipy.sparse.diags(diagonal).tocsr()
    for _ in range(2):
        one, other = random.permutation(n - n % 2).reshape(2, -1)
        angle = random.uniform(0.2, 1.3, len(one))
        rows = np.concatenate([one, one, other, other])
        columns = np.concatenate([one, other, one, other])
        values = np.concatenate([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)])
        if n % 2:
            rows, columns, values = np.append(rows, n - 1), np.append(columns, n - 1), np.append(values, 1)
        q = scipy.sparse.csr_matrix((values, (rows, columns)), shape=(n, n))
        a = (q @ a @ q.T).tocsr()
    return (a + a.T) / 2


def two_levels():
    return np.concatenate([np.zeros(8), np.full(8, 0.1), np.linspace(1, 10, 20000 - 16)])


def close_levels():
    return np.concatenate([1e-10 * np.arange(8), np.linspace(1, 4, 2000 - 8)])


def spin_ring(sites):
    """The Heisenberg ring with half of its spins up: states in the order of their bits, as eigensolve has them."""
    states = np.zeros(1, dtype=np.int64)
    for site in range(sites):
        states = np.concatenate([states, states | (1 << site)])
    up = sum((states >> site) & 1 for site in range(sites))
    states = np.sort(states[up == sites // 2])
    diagonal, rows, columns = np.zeros(len(states)), [], []
    for site in range(sites):
        pair = (1 << site) | (1 << (site + 1) % sites)
        differ = np.isin(states & pair, (0, pair), invert=True)
        diagonal += np.where(differ, -0.25, 0.25)
        rows.append(np.flatnonzero(differ).astype(np.int32))
        columns.append(np.searchsorted(states, states[differ] ^ pair).astype(np.int32))
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    beside = scipy.sparse.csr_matrix((np.full(len(rows), 0.5), (rows, columns)), shape=(len(states), len(states)))
    return (beside + scipy.sparse.diags(diagonal)).tocsr()


def heisenberg(sites):
    return ["--problem", "heisenberg", "--sites", str(sites), "--periodic"]


def grid(length):
    return ["--problem", "laplacian", "--grid", *[str(length)] * 3]


def anderson(length, disorder):
    return ["--problem", "anderson", "--grid", *[str(length)] * 3, "--disorder", str(disorder)]


def graphene(cells, q):
    return ["--problem", "graphene", "--grid", str(cells), str(cells), "--flux", "1", str(q)]


# By block Lanczos to 1e-11 ||A||.
RING_OF_24 = [-10.670014516537, -10.487293480731, -10.382464233656, -10.255389053149, -10.255389053149]
RING_OF_24 += [-10.092799650921, -10.092799650921, -9.967721622473]

PROBLEMS = [
    Problem("ring of 16 spins", 8, heisenberg(16)),
    Problem("laplacian 30^3", 8, grid(30), eigenvalues=lambda: laplacian_values(30)),
    Problem("laplacian 30^3", 20, grid(30), eigenvalues=lambda: laplacian_values(30)),
    Problem("Si2", 20, files=("Si2.mtx",), eigenvalues="Si2.eig.txt"),
    Problem("hypercube 13", 14, make=lambda: hypercube(13), eigenvalues=lambda: hypercube_values(13)),
    Problem("hypercube 13", 20, make=lambda: hypercube(13), eigenvalues=lambda: hypercube_values(13)),
    Problem("0 and 0.1, 8-fold", 16, make=lambda: rotated(two_levels()), eigenvalues=two_levels),
    Problem("0 and 0.1, 8-fold", 8, make=lambda: rotated(two_levels()), eigenvalues=two_levels),
    Problem("8 values 1e-10 apart", 8, make=lambda: rotated(close_levels()), eigenvalues=close_levels, accuracy=1e-12),
    Problem("graphene 64^2, flux 1/64", 16, graphene(64, 64)),
    Problem("graphene 64^2, flux 1/16", 16, graphene(64, 16)),
    Problem("graphene 64^2, flux 1/8", 16, graphene(64, 8)),
    Problem("evsl", 20, files=("evsl_A.mtx", "evsl_B.mtx"), eigenvalues="evsl.eig.txt", accuracy=1e-10),
    Problem("lund", 10, files=("lund_a.mtx", "lund_b.mtx"), eigenvalues="lund.eig.txt", accuracy=1e-12),
    Problem("NM1", 12, files=("evsl_NM1A.mtx", "evsl_NM1B.mtx"), eigenvalues="evsl_NM1.eig.txt", accuracy=1e-12),
    Problem("elast", 10, files=("elast_a.mtx", "elast_b.mtx"), eigenvalues="elast.eig.txt", accuracy=1e-12),
    Problem("graphene at 0", 8, files=("graphene_128x64.mtx",), eigenvalues="graphene_128x64.eig.txt", target=0),
    Problem("Si2 at 8", 8, files=("Si2.mtx",), eigenvalues="Si2.eig.txt", target=8),
    Problem(
        "laplacian 30^3 in [1, 1.05]", 42, grid(30), eigenvalues=lambda: laplacian_values(30, 30), interval=(1, 1.05)
    ),
    Problem("Si2 in [7.9, 8.4]", 6, files=("Si2.mtx",), eigenvalues="Si2.eig.txt", interval=(7.9, 8.4)),
    Problem(
        "graphene in [-0.1, 0.1]",
        12,
        files=("graphene_128x64.mtx",),
        eigenvalues="graphene_128x64.eig.txt",
        interval=(-0.1, 0.1),
    ),
    Problem(
        "elast in [1, 1.5]", 12, files=("elast_a.mtx", "elast_b.mtx"), eigenvalues="elast.eig.txt", interval=(1, 1.5)
    ),
    Problem("evsl at 100", 8, files=("evsl_A.mtx", "evsl_B.mtx"), eigenvalues="evsl.eig.txt", target=100),
    Problem("lund at 40000", 8, files=("lund_a.mtx", "lund_b.mtx"), eigenvalues="lund.eig.txt", target=4e4),
    Problem("Kac 1001 at 0.5", 8, make=lambda: kac(1001), eigenvalues=lambda: np.arange(-1001, 1002, 2.0), target=0.5),
    Problem("ring of 20 spins", 8, heisenberg(20)),
    Problem("laplacian 60^3", 8, grid(60), eigenvalues=lambda: laplacian_values(60)),
    Problem("laplacian 100^3", 8, grid(100), eigenvalues=lambda: laplacian_values(100), large=True),
    Problem(
        "ring of 24 spins",
        8,
        [*heisenberg(24), "--matrix-free"],
        make=lambda: spin_ring(24),
        eigenvalues=lambda: RING_OF_24,
        large=True,
    ),
    Problem("anderson 100^3", 8, anderson(100, 16), large=True),
    Problem("graphene 724^2, flux 1/4", 8, graphene(724, 4), large=True),
]
