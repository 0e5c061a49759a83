"""Which method a search takes."""

from __future__ import annotations

from . import _modules
from ._errors import InputError

# The arguments that a method takes beside those that all take.
_TAKES = {
    "lanczos": ("which", "M", "Minv", "block"),
    "lobpcg": ("which", "M", "preconditioner"),
    "jacobi-davidson": ("which", "sigma", "M", "preconditioner", "block"),
    "chebyshev": ("which", "M", "Minv", "filter_precision"),
    "interior": ("sigma", "interval", "M", "Minv", "block"),
}
_HINTS = {"block": "ncv is the number of columns that it iterates"}


def takes(method: str, argument: str) -> bool:
    return argument in _TAKES[method]


def method_of(method: str, given: list[str], *, has_inverse: bool, wants_wide_blocks: bool) -> str:
    """The method that was asked for, or the one that is likely to be the fastest for these arguments.

    ``has_inverse``: the inverse of M is known and exact. ``wants_wide_blocks``: on a device or on several ranks.
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
        return _modules.host().choose_method(
            is_inside, "M" in given, has_inverse, "preconditioner" in given, wants_wide_blocks, allowed
        )
    for argument in given:
        if not takes(method, argument):
            others = " and ".join(repr(one) for one in _TAKES if takes(one, argument))
            raise InputError(f"method={method!r} takes no {argument}: {_HINTS.get(argument, f'{others} do')}")
    return method
