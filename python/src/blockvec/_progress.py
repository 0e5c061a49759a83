"""A bar that shows digits gained."""

from __future__ import annotations

import math
import sys
from typing import Any

from ._result import Step


def share_of_digits(first: list[float], now: list[float], target: float, wanted: int) -> float:
    """The mean over wanted pairs of digits gained over digits to gain, from 0 to 1."""
    if not wanted:
        return 0.0
    gained = 0.0
    for start, residual in zip(first, now):
        if residual <= target or start <= target:
            gained += residual <= target
        elif residual > 0:
            gained += min(1.0, max(0.0, math.log(start / residual) / math.log(start / target)))
    return min(1.0, gained / wanted)


class Progress:
    """On standard error: tqdm's bar where that is installed, else one line."""

    def __init__(self, wanted: int):
        self.wanted = wanted
        self.tolerance = self.norm = 0.0  # known when the search begins
        self.first: list[float] = []
        self.bar: Any = None
        self.length = 0
        try:
            from tqdm import tqdm
        except ImportError:
            return
        layout = "eigsh |{bar:20}| {percentage:3.0f} %  {desc}  {elapsed}"
        self.bar = tqdm(total=1.0, bar_format=layout, file=sys.stderr, leave=True)

    def __call__(self, step: Step) -> None:
        known = max([abs(value) for value in step.eigenvalues], default=0.0)
        target = self.tolerance * max(self.norm, known)
        residuals = step.residuals[: self.wanted]
        # A pair that comes later has its own start.
        self.first += residuals[len(self.first) :]
        self.first = [max(pair) for pair in zip(self.first, residuals)] + self.first[len(residuals) :]
        share = share_of_digits(self.first, residuals, target, self.wanted)
        worst = max(residuals, default=0.0)
        self.show(share, f"{step.converged}/{self.wanted} pairs  worst {worst:.0e}")

    def show(self, share: float, text: str) -> None:
        if self.bar is not None:
            self.bar.set_description_str(text, refresh=False)
            self.bar.update(max(0.0, share - self.bar.n))
            return
        line = f"eigsh {100 * share:3.0f} %  {text}"
        self.length = max(self.length, len(line))
        sys.stderr.write("\r" + line.ljust(self.length))
        sys.stderr.flush()

    def finish(self, found: int) -> None:
        """All pairs that were asked for have been found."""
        self.show(1.0, f"{found}/{found} pairs  converged")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.refresh()
            self.bar.close()
        elif self.length:
            sys.stderr.write("\n")
