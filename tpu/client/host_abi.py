"""The C interface between XLA and functions in Python: a call frame comes in, NumPy arrays over its buffers go out.

The structures are those of `xla/ffi/api/c_api.h`, which ships inside jaxlib. XLA calls `_enter` through ctypes, in any
of its threads or in the caller's; ctypes takes the interpreter's lock. What the function raises becomes XLA's error,
and so the caller's. An exception raised before `_enter` is under way would be lost, and its results garbage: `running`
keeps such away (signals, the recursion limit).
"""

from __future__ import annotations

import _thread
import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from importlib import import_module
from typing import Any

import numpy as np

from ...translator.errors import Diagnostic, TargetError

NDArray = np.ndarray[Any, Any]
HostFunction = Callable[[Sequence[NDArray], Sequence[NDArray]], None]
"""(results to be filled, arguments to be read)"""

_MAJOR, _MINOR = 0, 3
_METADATA = 1
_INTERNAL = 13
_DTYPES = {
    1: "bool",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "uint8",
    7: "uint16",
    8: "uint32",
    9: "uint64",
    10: "float16",
    11: "float32",
    12: "float64",
    15: "complex64",
    18: "complex128",
}


class _Extension(ctypes.Structure):
    pass


_Extension._fields_ = [("size", c_size_t), ("type", c_int), ("next", POINTER(_Extension))]


class _Version(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("extension", c_void_p), ("major", c_int), ("minor", c_int))


class _Metadata(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("version", _Version), ("traits", c_uint32), ("state", c_int64))


class _MetadataExtension(ctypes.Structure):
    _fields_ = (("base", _Extension), ("metadata", POINTER(_Metadata)))


class _Buffer(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t),
        ("extension", c_void_p),
        ("dtype", c_int),
        ("data", c_void_p),
        ("rank", c_int64),
        ("dims", POINTER(c_int64)),
    )


class _Buffers(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t),
        ("extension", c_void_p),
        ("count", c_int64),
        ("types", POINTER(c_int)),
        ("items", POINTER(POINTER(_Buffer))),
    )


class _Span(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("length", c_size_t))


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t),
        ("extension", c_void_p),
        ("count", c_int64),
        ("types", POINTER(c_int)),
        ("names", c_void_p),
        ("items", POINTER(POINTER(_Span))),
    )


class _ErrorArguments(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("extension", c_void_p), ("message", c_char_p), ("code", c_int))


class _Api(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t),
        ("extension", c_void_p),
        ("version", _Version),
        ("internal", c_void_p),
        ("make_error", ctypes.PYFUNCTYPE(c_void_p, POINTER(_ErrorArguments))),
    )


class _Frame(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t),
        ("extension", POINTER(_Extension)),
        ("api", POINTER(_Api)),
        ("context", c_void_p),
        ("stage", c_int),
        ("arguments", _Buffers),
        ("results", _Buffers),
        ("attributes", _Attributes),
    )


_SIZES = {  # what the fields above take in the version of the interface that they are of
    "size": ctypes.sizeof(_Frame),
    "arguments": ctypes.sizeof(_Buffers),
    "attributes": ctypes.sizeof(_Attributes),
}


# ---- a call --------------------------------------------------------------------------------------


def _enter(pointer: Any) -> int | None:
    """XLA's handler: None when all is well, else the address of an error."""
    frame = None
    try:
        frame = pointer.contents
        if frame.extension and _answered(frame):
            return None
        arguments = [_array(frame.arguments.items[i].contents) for i in range(frame.arguments.count)]
        results = [_array(frame.results.items[i].contents) for i in range(frame.results.count)]
        span = frame.attributes.items[0].contents
        function = _find(ctypes.string_at(span.data, span.length))
        with _default_arithmetic(), np.errstate(all="ignore"):
            function(results, arguments)
        return None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            _thread.interrupt_main()
        return _error(frame, f"{type(error).__name__}: {error}")


def _answered(frame: Any) -> bool:
    """XLA's first question is for which version of the interface the handler is made; the answer holds if sizes do."""
    at = frame.extension
    while at:
        if at.contents.type == _METADATA:
            _check_sizes(frame)
            version = ctypes.cast(at, POINTER(_MetadataExtension)).contents.metadata.contents.version
            version.major, version.minor = _MAJOR, _MINOR
            return True
        at = at.contents.next
    return False


def _check_sizes(frame: Any) -> None:
    found = {"size": frame.size, "arguments": frame.arguments.size, "attributes": frame.attributes.size}
    short = [name for name, size in found.items() if 0 < size < _SIZES[name]]
    if short or frame.api.contents.version.major != _MAJOR:
        raise TargetError(Diagnostic(f"this jaxlib has another interface for host calls ({', '.join(short)})"))


def _array(buffer: Any) -> NDArray:
    """The memory of a buffer as an array: valid during the call."""
    shape = tuple(buffer.dims[: buffer.rank])
    dtype = np.dtype(_DTYPES[buffer.dtype])
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(buffer.data)
    return np.frombuffer(memory, dtype, count).reshape(shape)


def _error(frame: Any, message: str) -> int | None:
    text = message.encode("utf-8", "replace")
    arguments = _ErrorArguments(ctypes.sizeof(_ErrorArguments), None, text, _INTERNAL)
    made: int | None = frame.api.contents.make_error(ctypes.byref(arguments))
    return made


_PAGE = 4096
_MADV_HUGEPAGE = 14


def ask_for_huge_pages(array: NDArray) -> None:
    """Ask for huge pages for an array's memory. The kernel may refuse, and nothing is lost then."""
    start = array.__array_interface__["data"][0]
    first, last = -(-start // _PAGE), (start + array.nbytes) // _PAGE
    if last > first:
        madvise = ctypes.PyDLL(None).madvise
        madvise(c_void_p(first * _PAGE), c_size_t((last - first) * _PAGE), _MADV_HUGEPAGE)


class _Environment:
    """The processor's floating-point modes. XLA's threads take subnormal numbers for zero; NumPy must not."""

    def __init__(self) -> None:
        library = ctypes.PyDLL(None)
        self.get, self.set = library.fegetenv, library.fesetenv
        self.get.argtypes = self.set.argtypes = [c_void_p]
        self.default = c_void_p(-1)  # FE_DFL_ENV of glibc and musl


_Saved = ctypes.c_char * 256  # more than any fenv_t
_environment: _Environment | None = None


@contextmanager
def _default_arithmetic() -> Iterator[None]:
    environment = _environment
    assert environment is not None
    saved = _Saved()
    environment.get(saved)
    environment.set(environment.default)
    try:
        yield
    finally:
        environment.set(saved)


# ---- registration --------------------------------------------------------------------------------

_lock = threading.Lock()
_handler = ctypes.CFUNCTYPE(c_void_p, POINTER(_Frame))(_enter)
_find: Callable[[bytes], HostFunction]


def register(target: str, find: Callable[[bytes], HostFunction]) -> None:
    """Make XLA's custom call `target` enter Python: `find` knows the function by the call's one attribute."""
    global _find, _environment
    with _lock:
        if _environment is not None:
            return
        import jaxlib.xla_client as xla

        _find = find
        environment = _Environment()
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
        address = ctypes.cast(_handler, c_void_p).value
        xla.register_custom_call_target(target, capsule(address, None, None), platform="cpu", api_version=1)
        _environment = environment


# ---- runs ----------------------------------------------------------------------------------------

@contextmanager
def running() -> Iterator[None]:
    """Around the whole run of a program with host calls, from its start until its results are there.

    Python's signal handlers run in the main thread, which may be the one that XLA enters: they wait until the run is
    over. A caller that waits cannot end the interpreter before.
    """
    _reserve(8)
    if threading.current_thread() is threading.main_thread():
        with _signals_later():
            yield
    else:
        yield


def _reserve(depth: int) -> None:
    """Raises RecursionError here rather than where XLA enters."""
    if depth:
        _reserve(depth - 1)


_signal: Any = import_module("_signal")  # `signal` makes enumerations of the numbers: 60 us a run
_SIGNALS = sorted(map(int, _signal.valid_signals()), key=lambda number: number == _signal.SIGINT)


@contextmanager
def _signals_later() -> Iterator[None]:
    come: list[int] = []
    replaced: list[tuple[int, Any]] = []
    try:
        for number in _SIGNALS:
            handler = _signal.getsignal(number)
            if callable(handler):
                replaced.append((number, handler))
                _signal.signal(number, lambda n, _: come.append(n))
        yield
    finally:
        for number, handler in replaced:
            _signal.signal(number, handler)
        for number in come:
            _signal.raise_signal(number)
