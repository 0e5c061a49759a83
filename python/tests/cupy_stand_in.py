"""CuPy and a device's module in the host's memory: what the way of device arrays through the package is tested with."""

from __future__ import annotations

import contextlib
import sys
import types
from dataclasses import dataclass
from unittest import mock

import numpy as np

from blockvec import _homes, _host, _modules, _ranks


@dataclass
class Pointer:
    """Looks like a pointer of CuPy's, which keeps the memory."""

    ptr: int
    owner: np.ndarray

    def __add__(self, offset):
        return Pointer(self.ptr + offset, self.owner)


class Array:
    """Looks like a CuPy array, and lies in the host's memory. Reading it as NumPy would is an error."""

    def __init__(self, array):
        self._array = array
        self.data = Pointer(array.ctypes.data, array)

    shape = property(lambda self: self._array.shape)
    strides = property(lambda self: self._array.strides)
    dtype = property(lambda self: self._array.dtype)

    def __array__(self, *_):
        raise TypeError("an implicit copy to the host")

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        raise AssertionError("an export, which takes longer than a view of the address")

    def __getitem__(self, index):
        return Array(self._array[index])

    def __setitem__(self, index, value):
        self._array[index] = value._array if isinstance(value, Array) else value

    def __imul__(self, factor):
        self._array *= factor
        return self

    def __iadd__(self, other):
        self._array += other._array
        return self

    def __matmul__(self, other):
        return Array(self._array @ other._array)

    def reshape(self, shape):
        return Array(self._array.reshape(shape))

    T = property(lambda self: Array(self._array.T))

    def astype(self, dtype, order):
        return Array(self._array.astype(dtype, order))

    def get(self):
        assert self.shape[0] <= self.shape[1], "tall data is copied to the host"
        return self._array

    def diagonal(self):
        return Array(self._array.diagonal())


def array_at(shape, dtype, pointer, strides):
    return Array(np.ndarray(shape, dtype, pointer.owner, pointer.ptr - pointer.owner.ctypes.data, strides))


STREAM = 4096
QUEUED = ("inner_product", "update", "multiply_in_place", "project", "normalize", "solve")


def on_stream(function):
    """Asserts that the call is queued on the caller's stream."""

    def checked(call, *arguments):
        assert call[3] == STREAM
        return function(call, *arguments)

    return checked


Array.__module__ = "cupy"


class Csr:
    """Looks like a sparse matrix of CuPy's."""

    def __init__(self, matrix):
        self.matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype
        self.data = types.SimpleNamespace(device=types.SimpleNamespace(id=0))

    def tocsr(self):
        return self

    def get(self):
        return self.matrix

    def __matmul__(self, block):
        return Array(self.matrix @ block._array)


Csr.__module__ = "cupyx.scipy.sparse._csr"


class LinearOperator:
    """Looks like one of CuPy's, and has no place."""

    def __init__(self, matrix, matmat):
        self.shape, self.dtype, self.matmat = matrix.shape, matrix.dtype, matmat

    def _matmat(self, block):
        raise NotImplementedError


LinearOperator.__module__ = "cupyx.scipy.sparse.linalg._interface"


class Hamiltonian(LinearOperator):
    """A user's own."""

    def _matmat(self, block):
        return self.matmat(block)


def on_device(matrix):
    """A function of blocks on the device."""
    return lambda block: Array(matrix @ read(block))


def read(array):
    assert isinstance(array, Array), type(array)
    return array._array


def _forget_device():
    """A home and duplicates of communicators belong to a module."""
    _homes.home_on_device.cache_clear()
    for made in _ranks._duplicates.values():
        made.pop(False, None)


@contextlib.contextmanager
def stand_in():
    """Makes the package take these for CuPy's."""
    cupy = types.ModuleType("cupy")
    cupy.empty = lambda shape, dtype, order: Array(np.full(shape, np.nan, dtype, order))
    cupy.ndarray = array_at
    cupy.asarray = lambda array, order: Array(np.array(array, order=order))
    cupy.cuda = types.SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(),
        get_current_stream=lambda number: types.SimpleNamespace(ptr=STREAM),
        runtime=types.SimpleNamespace(getDevice=lambda: 0, getDeviceCount=lambda: 1),
    )
    functions = {name: getattr(_host, name) for name in dir(_host) if not name.startswith("__")}
    functions |= {name: on_stream(functions[name]) for name in QUEUED}
    device = types.SimpleNamespace(**functions, use_device=lambda number: None)
    before = sys.modules.get("cupy")
    sys.modules["cupy"] = cupy
    _forget_device()
    try:
        with mock.patch.object(_modules, "device", lambda: device):
            yield
    finally:
        _forget_device()
        sys.modules.pop("cupy")
        if before is not None:
            sys.modules["cupy"] = before
