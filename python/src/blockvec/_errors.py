"""Exceptions. All are BlockVecError, except TypeError, ValueError and MemoryError of Python's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ._result import EigshResult


class BlockVecError(RuntimeError):
    """Base of every exception of this package."""


class ShapeError(BlockVecError, ValueError):
    """Arrays do not fit one another: the message names them and their shapes."""


class InputError(BlockVecError, ValueError):
    """An option is not one of those that exist, or does not fit the others."""


class NotFiniteError(BlockVecError, ValueError):
    """An array has NaN or Inf: the message names it, and the column."""


class DeviceError(BlockVecError):
    """A device, or a build that can use it, is missing."""


class RefusedError(BlockVecError):
    """Another MPI rank met an error: the message names it, and its reason."""


class DisagreementError(ShapeError):
    """MPI ranks called different functions, or with arrays that do not fit one another. Every rank raises it."""


class RankError(BlockVecError):
    """Columns are numerically dependent, and ``deficient="report"`` was asked for."""


class NoConvergence(BlockVecError):
    """Fewer eigenpairs converged than were asked for.

    Attributes
    ----------
    eigenvalues, eigenvectors, residuals
        The pairs that have converged, ascending. Lower ones may be missing.
    unconverged
        Best known values of the other pairs, and their residuals, as two arrays.
    result : EigshResult
        The converged pairs with the history of the search.
    """

    def __init__(self, message: str, result: EigshResult, unconverged: tuple[np.ndarray, np.ndarray]):
        super().__init__(message)
        self.result = result
        self.unconverged = unconverged
        self.eigenvalues = result.eigenvalues
        self.eigenvectors = result.eigenvectors
        self.residuals = result.residuals
