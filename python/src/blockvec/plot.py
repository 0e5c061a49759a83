"""Pictures; matplotlib is imported only here, at the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._result import EigshResult


def plot_convergence(result: EigshResult, ax: Any = None) -> Any:
    """Draw how the residuals of a search fell.

    Parameters
    ----------
    result : EigshResult
        Of :func:`eigsh`, or the ``result`` of a NoConvergence.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A falling line for each pair, over the columns that A was applied to, as the search knew the residuals. Dots are
        residuals recomputed from A at the end, the dashed line is what they had to reach.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.figure(figsize=(6.4, 4.0), layout="constrained").add_subplot()
    pairs = max((len(step.residuals) for step in result.history), default=0)
    for pair in range(pairs):
        steps = [step for step in result.history if len(step.residuals) > pair and step.residuals[pair] > 0]
        shade = plt.get_cmap("viridis")(0.9 * pair / max(1, pairs - 1))
        ax.plot([step.applications for step in steps], [step.residuals[pair] for step in steps], color=shade, lw=1.2)
    shown = [residual for residual in result.residuals if residual > 0]
    ax.plot([result.applications] * len(shown), shown, "o", color="black", ms=4, label="recomputed from A")
    ax.axhline(result.target, color="tab:red", ls="--", lw=1, label=f"{result.tolerance:.0e} ||A||")
    ax.set_yscale("log")
    ax.set_xlabel("columns that A was applied to")
    ax.set_ylabel("residual")
    ax.legend(frameon=False)
    return ax
