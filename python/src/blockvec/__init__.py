"""Eigenvalues of large Hermitian matrices, and fast products of tall & skinny matrices.

The eigensolver has SciPy's names:

>>> import blockvec as bv
>>> import scipy.sparse
>>> A = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(1000, 1000))
>>> w, v = bv.eigsh(A, k=3, which="LA")
>>> w.round(6)
array([3.999911, 3.999961, 3.99999 ])

Tall matrices are multiplied and made orthonormal in place, in NumPy's memory:

>>> import numpy as np
>>> X = np.random.default_rng(1).standard_normal((100_000, 8))
>>> Q, R = bv.qr(X)
>>> bool(abs(bv.gram(Q) - np.eye(8)).max() < 1e-14)
True
"""

from . import _modules
from ._config import explain, show_config
from ._dense import gram, inner_product, multiply_in_place, update
from ._eigsh import eigsh
from ._errors import (
    BlockVecError,
    DeviceError,
    DisagreementError,
    InputError,
    NoConvergence,
    NotFiniteError,
    RankError,
    RefusedError,
    ShapeError,
)
from ._lobpcg import lobpcg
from ._operators import Operator
from ._orthonormalize import Orthonormalized, orthonormalize, project, qr
from ._result import EigshResult, Step
from .plot import plot_convergence

__version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":  # stated once, in the library
        return _modules.host().config()["version"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BlockVecError",
    "DeviceError",
    "DisagreementError",
    "EigshResult",
    "InputError",
    "NoConvergence",
    "NotFiniteError",
    "Operator",
    "Orthonormalized",
    "RankError",
    "RefusedError",
    "ShapeError",
    "Step",
    "__version__",
    "eigsh",
    "explain",
    "gram",
    "inner_product",
    "lobpcg",
    "multiply_in_place",
    "orthonormalize",
    "plot_convergence",
    "project",
    "qr",
    "show_config",
    "update",
]
