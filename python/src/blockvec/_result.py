"""What a search returns, and what it shows meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Step(NamedTuple):
    """One look at the eigenpairs during a search: what callbacks get, and what a history consists of."""

    restart: int
    """Restarts or iterations before this look."""
    converged: int
    """Wanted pairs found so far."""
    seconds: float
    """Since the start, as all counts are."""
    reductions: int
    """Sums over all rows."""
    applications: int
    """Columns that A was applied to."""
    filter_degree: int
    """Of the polynomial of A that the search works with; 0: A itself."""
    residuals: list[float]
    """||A x - w x|| of the wanted pairs, wanted end first: recomputed or estimated."""
    eigenvalues: list[float]
    """Found so far, wanted end first. Lower ones may be missing."""


@dataclass(frozen=True)
class Record:
    """How a search went: the attributes of :class:`EigshResult` beside the pairs."""

    residuals: np.ndarray
    converged: bool
    reason: str
    method: str
    tolerance: float
    target: float
    norm_estimate: float
    orthogonality_loss: float
    level_cut: bool
    starts: int
    steps: int
    applications: int
    applications_m: int
    preconditionings: int
    reductions: int
    filter_degree: int
    seconds: float
    history: list[Step]


COUNTS = (
    "starts",
    "steps",
    "applications",
    "applications_m",
    "preconditionings",
    "reductions",
    "filter_degree",
    "seconds",
)


class EigshResult(tuple, Record):
    """Eigenvalues and eigenvectors: unpacks to ``w, v``.

    Attributes
    ----------
    eigenvalues : numpy.ndarray
        k values, ascending; of :func:`lobpcg` best first.
    eigenvectors : array
        n x k with orthonormal columns (M-orthonormal with M).
    residuals : numpy.ndarray
        ||A x - w x||, or ||A x - w M x||, recomputed from A.
    converged : bool
        Whether all pairs were found that were asked for. A search that a callback has ended may have fewer.
    reason : str
        Why the search ended.
    method : str
        The method that was used.
    tolerance, target : float
        ``tol``, and what residuals had to reach: tol ||A||.
    norm_estimate : float
        Of ||A||, from below.
    orthogonality_loss : float
        ||v^H v - I||.
    level_cut : bool
        There are more eigenvalues like the last one than were asked for, or that is not known.
    starts : int
        Random vectors that the search was started from. Each copy of an eigenvalue that is found needs one: so this
        is how many times more copies were looked for.
    steps, applications, applications_m, preconditionings, reductions, filter_degree, seconds
        Restarts or iterations; columns that A, M and the preconditioner were applied to; sums over all rows; the degree
        of the filter; the time.
    history : list of Step
        What a callback sees.
    """

    def __new__(cls, eigenvalues: np.ndarray, eigenvectors: Any, record: Record) -> EigshResult:
        self = super().__new__(cls, (eigenvalues, eigenvectors))
        vars(self).update(vars(record), eigenvalues=eigenvalues, eigenvectors=eigenvectors)
        return self

    def __init__(self, *_: Any) -> None:
        """Nothing: a Record would set its own fields again."""

    eigenvalues: np.ndarray
    eigenvectors: Any

    @property
    def record(self) -> Record:
        return Record(**{name: getattr(self, name) for name in Record.__dataclass_fields__})

    def __getnewargs__(self) -> tuple[Any, ...]:  # for pickle
        return (*self, self.record)

    def __repr__(self) -> str:
        return f"<EigshResult: {len(self.eigenvalues)} pairs of {len(self.eigenvectors)} rows, {self.reason}>"

    def report(self) -> str:
        """Describe the pairs and the search in a few lines.

        Returns
        -------
        str
            A line for each pair, then accuracy and cost.
        """
        lines = ["         eigenvalue    residual"]
        lines += [f"{w: 19.12f}    {r:8.1e}" for w, r in zip(self.eigenvalues, self.residuals)]
        lines.append(f"{self.reason}: residual <= {self.target:.1e} ({self.tolerance:.0e} ||A||)")
        lines.append(f"orthonormal to {self.orthogonality_loss:.0e}")
        if self.starts:
            lines.append(f"searched for copies from {self.starts} random starts")
        if self.level_cut:
            lines.append("there may be more eigenvalues like the last one: ask for more pairs")
        filtered = f", filter of degree {self.filter_degree}" if self.filter_degree else ""
        lines.append(
            f"{self.method}{filtered}: {self.steps} steps, {self.applications} columns of A, {self.seconds:.2g} s"
        )
        return "\n".join(lines)
