"""Whose arrays a call works on: NumPy's, another library's on the host by DLPack, or a device's of CuPy or PyTorch."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from typing import Any

import numpy as np

from . import _modules
from ._errors import DeviceError

DTYPES = "float32, float64, complex64 or complex128"
LETTERS = "fdFD"  # NumPy's, of these

_CPU_LIKE = (1, 3)  # DLPack's numbers: the host's memory, also where CUDA has pinned it
_CUDA = 2
_IMMUTABLE = ("jax", "jaxlib")
_NOTHING = contextlib.nullcontext()


def library_of(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def dtype_of(name: str, given: Any) -> np.dtype:
    """NumPy's dtype for the one of ``name``, which may be PyTorch's."""
    library, _, kind = str(given).rpartition(".")
    try:
        dtype = np.dtype(kind if library == "torch" else given)
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind == "V":  # where other packages have taught NumPy a bfloat16
        raise TypeError(f"{name} has the dtype {kind}: expected {DTYPES}")
    return dtype


def _export(name: str, array: Any) -> Any:
    """A DLPack capsule."""
    try:
        return array.__dlpack__()
    except Exception as error:  # such as a tensor that needs gradients
        raise TypeError(f"{name} cannot be shared: {error}") from error


class NumPy:
    """Arrays that are NumPy's. Also the interface of the other homes."""

    is_host = True
    stream = 0
    library = "numpy"

    def __str__(self) -> str:
        return "the host"

    @functools.cached_property
    def module(self) -> Any:
        """The extension module for these arrays."""
        return _modules.host()

    def run(self, function: str, *arguments: Any) -> Any:
        """Calls the extension module."""
        return getattr(self.module, function)(*arguments)

    def work(self, name: str, array: Any) -> Any:
        """What is computed with: shares the array's memory."""
        return array

    def view(self, name: str, work: Any) -> np.ndarray:
        """A NumPy array with its address, shape, strides and dtype, which keeps it: for checks, and what the extension
        module takes. On a device it is never read."""
        return work

    def empty(self, shape: tuple[int, int], dtype: np.dtype, order: str) -> Any:
        return np.empty(shape, dtype, order)

    def copy(self, work: Any, order: str, dtype: np.dtype | None = None) -> Any:
        return np.array(work, dtype, order=order, copy=True)

    def ordered(self, work: Any, order: str, dtype: np.dtype) -> Any:
        """The same if it has this order and dtype, else a copy."""
        return np.asarray(work, dtype, order)

    def returned(self, name: str, given: Any) -> Any:
        """What a function of the caller's has made of such arrays, to compute with."""
        return np.asarray(given)

    def small(self, matrix: np.ndarray) -> Any:
        """A small matrix of NumPy's, in Fortran order."""
        return matrix

    def part(self, flat: Any, begin: int, shape: tuple[int, int]) -> Any:
        """The entries from this one on of a contiguous array as a matrix by columns."""
        rows, columns = shape
        return flat.ravel()[begin : begin + rows * columns].reshape((columns, rows)).T

    def to_host(self, work: Any) -> np.ndarray:
        return work

    def columns(self, work: Any, order: np.ndarray) -> Any:
        """A copy of these columns, in this order."""
        return np.ascontiguousarray(work[:, order])

    def result(self, work: Any) -> Any:
        """In the caller's library."""
        return work


class Borrowed(NumPy):
    """Arrays of another library in the host's memory."""

    def __init__(self, model: Any):
        self.library = library_of(model)
        self._model = model

    def work(self, name: str, array: Any) -> np.ndarray:
        if isinstance(array, np.ndarray):
            return array
        shared = self.module.view(_export(name, array))
        if self.library in _IMMUTABLE:
            shared.flags.writeable = False
        return shared

    def result(self, work: Any) -> Any:
        return _from_dlpack_of(self._model)(work)


def _from_dlpack_of(model: Any) -> Any:
    if hasattr(model, "__array_namespace__"):
        return model.__array_namespace__().from_dlpack
    library = library_of(model)
    function = getattr(sys.modules[library], "from_dlpack", None)
    if function is None:
        raise TypeError(f"{library} has arrays with __dlpack__, but no from_dlpack")
    return function


class _AtAddress(np.ndarray):
    """NumPy's view of what lies at an address, which keeps the array that lies there."""

    work: Any


# All memory as a buffer: NumPy views a buffer in a third of the time that __array_interface__ takes. It begins where no
# array does, since NumPy takes an address of 0 for none.
_FIRST_ADDRESS = 16
_MEMORY = (ctypes.c_byte * 2 ** (8 * ctypes.sizeof(ctypes.c_void_p) - 2)).from_address(_FIRST_ADDRESS)


class Device(NumPy):
    """Arrays of CuPy or PyTorch in the memory of one CUDA device. Work is queued on the caller's stream."""

    is_host = False

    def __init__(self, number: int):
        self.module = _modules.device()
        self.number = number
        self.run("use_device", number)

    def __str__(self) -> str:
        return f"{self.library}'s device {self.number}"

    def run(self, function: str, *arguments: Any) -> Any:
        """Work is queued on the caller's stream, which is that of the arrays, so that nobody waits."""
        with self._current():
            return super().run(function, *arguments)

    def view(self, name: str, work: Any) -> np.ndarray:
        address, shape, strides, dtype = self._describe(name, work)
        if 0 in shape:
            return np.empty(shape, dtype)
        view = _AtAddress(shape, dtype, _MEMORY, address - _FIRST_ADDRESS, strides)
        view.work = work
        return view

    def columns(self, work: Any, order: np.ndarray) -> Any:
        return work[:, order.tolist()]

    def ordered(self, work: Any, order: str, dtype: np.dtype) -> Any:
        view = self.view("an array", work)
        is_ordered = view.flags.c_contiguous if order == "C" else view.flags.f_contiguous
        return work if is_ordered and view.dtype == dtype else self.copy(work, order, dtype)

    def returned(self, name: str, given: Any) -> Any:
        if home_of(**{name: given}) is not self:
            kind, shape = type(given), getattr(given, "shape", None)
            extents = "" if shape is None else f" of {tuple(shape)}"
            raise TypeError(
                f"{name} is a {kind.__module__}.{kind.__name__}{extents}: expected an array on {self}, as X is"
            )
        return self.work(name, given)

    def _current(self) -> Any:
        """A context where its device is the library's current one."""
        raise NotImplementedError

    def _describe(self, name: str, work: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype]:
        raise NotImplementedError


class CuPy(Device):
    library = "cupy"

    def __init__(self, number: int):
        self._cupy = sys.modules["cupy"]
        self._is_only = self._cupy.cuda.runtime.getDeviceCount() == 1
        super().__init__(number)

    def _current(self) -> Any:
        return _NOTHING if self._is_only else self._cupy.cuda.Device(self.number)

    @property
    def stream(self) -> int:  # type: ignore[override]
        return int(self._cupy.cuda.get_current_stream(self.number).ptr)

    def _describe(self, name: str, work: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype]:
        return int(work.data.ptr), work.shape, work.strides, work.dtype

    def empty(self, shape: tuple[int, int], dtype: np.dtype, order: str) -> Any:
        with self._current():
            return self._cupy.empty(shape, dtype, order)

    def copy(self, work: Any, order: str, dtype: np.dtype | None = None) -> Any:
        with self._current():
            return work.astype(dtype or work.dtype, order)

    def small(self, matrix: np.ndarray) -> Any:
        with self._current():
            return self._cupy.asarray(matrix, order="F")

    def part(self, flat: Any, begin: int, shape: tuple[int, int]) -> Any:
        size = flat.dtype.itemsize
        return self._cupy.ndarray(shape, flat.dtype, flat.data + begin * size, (size, shape[0] * size))

    def to_host(self, work: Any) -> np.ndarray:
        return work.get()


class Torch(Device):
    library = "torch"

    def __init__(self, number: int):
        self._torch = sys.modules["torch"]
        self._device = self._torch.device("cuda", number)
        self._is_only = self._torch.cuda.device_count() == 1
        self._kinds = {letter: getattr(self._torch, np.dtype(letter).name) for letter in LETTERS}
        self._dtypes = {kind: np.dtype(letter) for letter, kind in self._kinds.items()}
        self._raw_stream = getattr(self._torch._C, "_cuda_getCurrentRawStream", None)
        super().__init__(number)

    def _current(self) -> Any:
        return _NOTHING if self._is_only else self._torch.cuda.device(self.number)

    @property
    def stream(self) -> int:  # type: ignore[override]
        if self._raw_stream is not None:  # current_stream() takes ten times as long
            return int(self._raw_stream(self.number))
        return int(self._torch.cuda.current_stream(self.number).cuda_stream)

    def work(self, name: str, array: Any) -> Any:
        if array.requires_grad:
            raise TypeError(f"{name} needs gradients, which are not offered here: pass {name}.detach()")
        if array.is_conj() or array.is_neg():
            raise TypeError(f"{name} is conjugated lazily: pass {name}.resolve_conj().resolve_neg()")
        return array

    def _describe(self, name: str, work: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype]:
        dtype = self._dtypes.get(work.dtype) or dtype_of(name, work.dtype)
        size = dtype.itemsize
        strides = tuple([one * size for one in work.stride()])
        return work.data_ptr(), tuple(work.shape), strides, dtype

    def empty(self, shape: tuple[int, int], dtype: np.dtype, order: str) -> Any:
        strides = (max(shape[1], 1), 1) if order == "C" else (1, max(shape[0], 1))
        return self._torch.empty_strided(shape, strides, dtype=self._kinds[dtype.char], device=self._device)

    def copy(self, work: Any, order: str, dtype: np.dtype | None = None) -> Any:
        copied = self.empty(tuple(work.shape), dtype or self._describe("X", work)[3], order)
        return copied.copy_(work)

    def small(self, matrix: np.ndarray) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(matrix.T)).to(self._device).T

    def part(self, flat: Any, begin: int, shape: tuple[int, int]) -> Any:
        return flat.as_strided(shape, (1, max(shape[0], 1)), begin)

    def to_host(self, work: Any) -> np.ndarray:
        return work.cpu().numpy()


_DEVICE_HOMES = {"cupy": CuPy, "torch": Torch}
HOST = NumPy()


def _place_of(array: Any, library: str) -> tuple[int, int]:
    """DLPack's kind of device, and the number of it."""
    if library == "torch" and array.is_cuda and sys.modules["torch"].version.cuda:  # DLPack takes ten times as long
        return _CUDA, array.get_device()
    kind, number = array.__dlpack_device__()
    return int(kind), int(number)


@functools.cache
def home_on_device(library: str, number: int) -> NumPy:
    """The home of arrays of this library on the CUDA device with this number."""
    return _DEVICE_HOMES[library](number)


def home_of(**arrays: Any) -> NumPy:
    """Of arrays that work together. None is nobody's; what is no array is found out later."""
    foreign = {}
    for name, array in arrays.items():
        is_known = array is None or isinstance(array, np.ndarray)
        if not is_known and hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
            foreign[name] = array
    if not foreign:
        return HOST
    (first, model), *others = foreign.items()
    library = library_of(model)
    place = _place_of(model, library)
    for name, array in others:
        its_library = library_of(array)
        its_place = _place_of(array, its_library)
        if its_library != library or its_place != place:
            raise TypeError(
                f"{first} is {library}'s on the device {place}, {name} is {its_library}'s on {its_place}: expected "
                "arrays of one library in one memory"
            )
    if place[0] in _CPU_LIKE:
        return Borrowed(model)
    for name, array in arrays.items():
        if array is not None and name not in foreign:
            raise TypeError(f"{first} is on a device, {name} is a {type(array).__name__} on the host")
    if place[0] != _CUDA:
        raise DeviceError(f"{first} is on a device of DLPack's kind {place[0]}: expected the host, or CUDA")
    if library not in _DEVICE_HOMES:
        raise TypeError(f"{first} is a {library} array on a CUDA device: expected a CuPy array or a PyTorch tensor")
    return home_on_device(library, place[1])
