"""Which method a search takes."""

from __future__ import annotations

from typing import Any

from . import _modules
from ._errors import InputError

# Arguments that steer an iteration.
_ITERATION = ("v0", "ncv", "maxiter", "options")
# The arguments that a method takes beside those that all take.
_TAKES = {
    "lanczos": ("which", "M", "Minv", "block", *_ITERATION),
    "lobpcg": ("which", "M", "preconditioner", *_ITERATION),
    "jacobi-davidson": ("which", "sigma", "M", "preconditioner", "block", *_ITERATION),
    "chebyshev": ("which", "M", "Minv", "filter_precision", *_ITERATION),
    "interior": ("sigma", "interval", "M", "Minv", "block", *_ITERATION),
    "dense": ("which", "sigma", "interval", "M"),
}
_HINTS = {"block": "ncv is the number of columns that it iterates"}


def takes(method: str, argument: str) -> bool:
    return argument in _TAKES[method]


def method_of(method: str, given: list[str], traits: dict[str, Any]) -> tuple[str, int]:
    """The method that was asked for, or the one that is likely to be the fastest for these arguments.

    Of the latter also the products after which LAPACK takes over, or 0 where it does not.

    ``traits``: what else is known of the problem, by the names that ``ProblemTraits`` of the library has.
    """
    if method not in ("auto", *_TAKES):
        raise InputError(f"method={method!r}: expected 'auto', {', '.join(map(repr, _TAKES))}")
    is_inside = "which" not in given
    if method == "interior" and not is_inside:
        raise InputError("method='interior' needs sigma or interval")
    if method == "auto":
        allowed = [one for one, taken in _TAKES.items() if set(given) <= set(taken)]
        if not allowed:
            raise InputError(f"no method takes {', '.join(given[:-1])} and {given[-1]} together")
        known = {"is_inside": is_inside, "has_b": "M" in given, "has_preconditioner": "preconditioner" in given}
        return _modules.host().choose_method({**traits, **known}, allowed)
    for argument in given:
        if not takes(method, argument):
            others = " and ".join(repr(one) for one in _TAKES if takes(one, argument))
            raise InputError(f"method={method!r} takes no {argument}: {_HINTS.get(argument, f'{others} do')}")
    return method, 0
