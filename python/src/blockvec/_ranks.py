"""The ranks of an mpi4py communicator: what ``comm=`` means."""

from __future__ import annotations

import atexit
import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from . import _modules
from ._errors import BlockVecError, InputError

_keyval: int | None = None  # MPI's name for the attribute of a communicator that says which duplicate is its own
_duplicates: dict[int, dict[bool, Any]] = {}  # of a communicator, by whether they are the host's
_numbers = itertools.count()


_NOTHING = contextlib.nullcontext()


class Alone:
    """One process: nobody to agree with."""

    rank = 0
    size = 1

    def handle_for(self, home: Any) -> Any:
        """What the extension module of this home takes for the ranks. Collective."""
        return None

    def checking(self) -> contextlib.AbstractContextManager[None]:
        return _NOTHING

    def sum(self, *values: int) -> list[int]:
        return list(values)

    max = sum

    def all(self, *facts: bool) -> list[bool]:
        return list(facts)


ALONE = Alone()


class Together(Alone):
    """Several ranks. All of them call the same methods."""

    def __init__(self, comm: Any, MPI: Any):
        self._comm, self._MPI = comm, MPI
        self.handle = self._duplicate_for(_modules.host(), True)
        self.rank, self.size = self.handle.rank, self.handle.size
        self._has_heard = False

    def handle_for(self, home: Any) -> Any:
        on_host, on_device = self.max(int(home.is_host), int(not home.is_host))
        if on_host and on_device:
            raise InputError("arrays of some ranks are on the host, those of others on devices: expected one of both")
        return self._duplicate_for(home.module, home.is_host)

    def _duplicate_for(self, module: Any, is_host: bool) -> Any:
        """Made for each module at its first call, and freed with the communicator. Collective at the first call."""
        made = _duplicates_of(self._comm, self._MPI)
        if is_host not in made:
            made[is_host] = module.Ranks(self._MPI._addressof(self._comm), self._MPI._sizeof(self._comm))
        return made[is_host]

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
        return ALONE
    if not _modules.host().config()["mpi"]:
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
    return Together(comm, MPI)


def _duplicates_of(comm: Any, MPI: Any) -> dict[bool, Any]:
    global _keyval
    if _keyval is None:
        here, there = _modules.host().mpi_library(), MPI.Get_library_version()
        if here.strip("\0\n ") != there.strip("\0\n "):
            raise BlockVecError(f"mpi4py and blockvec have different MPI libraries: {there!r} and {here!r}")
        _keyval = MPI.Comm.Create_keyval(delete_fn=lambda comm, keyval, number: _duplicates.pop(number, None))
    number = comm.Get_attr(_keyval)
    if number is None:
        number = next(_numbers)
        _duplicates[number] = {}
        comm.Set_attr(_keyval, number)
    return _duplicates[number]


# MPI ends after Python: what is still there is freed before.
atexit.register(_duplicates.clear)
