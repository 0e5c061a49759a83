"""The ranks of an mpi4py communicator: what ``comm=`` means."""

from __future__ import annotations

import atexit
import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from . import _host
from ._errors import BlockVecError

_keyval: int | None = None  # MPI's name for the attribute of a communicator that says which duplicate is its own
_duplicates: dict[int, Any] = {}
_numbers = itertools.count()


class Alone:
    """One process: nobody to agree with."""

    handle = None
    rank = 0
    size = 1

    @contextlib.contextmanager
    def checking(self) -> Iterator[None]:
        yield

    def sum(self, *values: int) -> list[int]:
        return list(values)

    max = sum

    def all(self, *facts: bool) -> list[bool]:
        return list(facts)


class Together(Alone):
    """Several ranks. All of them call the same methods."""

    def __init__(self, handle: Any):
        self.handle = handle
        self.rank, self.size = handle.rank, handle.size
        self._has_heard = False

    def _meet(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except BlockVecError:  # raised on every rank
            self._has_heard = True
            raise

    @contextlib.contextmanager
    def checking(self) -> Iterator[None]:
        """What is raised inside on one rank is raised there, and a RefusedError with its message on all others."""
        try:
            yield
        except BaseException as error:
            if not self._has_heard:
                self._meet_quietly(f"{type(error).__name__}: {error}")
            raise
        self._meet(self.handle.agree)

    def _meet_quietly(self, reason: str) -> None:
        with contextlib.suppress(BlockVecError):  # what this rank has to say comes first
            self.handle.refuse(reason)

    def sum(self, *values: int) -> list[int]:
        return self._meet(self.handle.sum, list(values))

    def max(self, *values: int) -> list[int]:
        return self._meet(self.handle.max, list(values))

    def all(self, *facts: bool) -> list[bool]:
        """Which of them hold on every rank."""
        return [not value for value in self.max(*(int(not fact) for fact in facts))]


def ranks_of(comm: Any) -> Alone:
    """The ranks of ``comm``; this process alone for None."""
    if comm is None:
        return Alone()
    if not _host.config()["mpi"]:
        raise BlockVecError(
            "comm is given, but this build of blockvec has no MPI: build it with a BlockVec that has (docs/python.md)"
        )
    try:
        from mpi4py import MPI
    except ImportError:
        raise TypeError(
            f"comm is a {type(comm).__name__}: expected a communicator of mpi4py, which is not installed"
        ) from None
    if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        raise TypeError(f"comm is a {type(comm).__name__}: expected an intracommunicator of mpi4py")
    return Together(_duplicate_of(comm, MPI))


def _duplicate_of(comm: Any, MPI: Any) -> Any:
    """Made at the first call, and freed with the communicator. Collective at the first call."""
    global _keyval
    if _keyval is None:
        here, there = _host.mpi_library(), MPI.Get_library_version()
        if here.strip("\0\n ") != there.strip("\0\n "):
            raise BlockVecError(f"mpi4py and blockvec have different MPI libraries: {there!r} and {here!r}")
        _keyval = MPI.Comm.Create_keyval(delete_fn=lambda comm, keyval, number: _duplicates.pop(number, None))
    number = comm.Get_attr(_keyval)
    if number is None:
        number = next(_numbers)
        _duplicates[number] = _host.Ranks(MPI._addressof(comm), MPI._sizeof(comm))
        comm.Set_attr(_keyval, number)
    return _duplicates[number]


# MPI ends after Python: what is still there is freed before.
atexit.register(_duplicates.clear)
