"""Running a function as it is, under CPython with NumPy: where it is refused, and where NumPy has the last word."""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from ...translator.errors import (
    AliasError,
    RaisedError,
    Span,
    UnsupportedError,
    UntracedError,
    place_told,
    tell_place,
)
from ..arrays.array import Array
from ..arrays.hosted import HostArray, are_hosted, is_plain, lifted
from ..arrays.transfer import device_put
from ..trees import tree as trees

HOST_ERRORS = (RaisedError, OverflowError, AliasError)
"""Raised before anything is written; CPython runs the call again, as it is: for exceptions of the user, ints of over 64
bits, and arguments that share memory or lie in it otherwise than the program takes for granted.
"""


def is_of_the_run(error: Exception) -> bool:
    """Whether the program itself raised the error, so that NumPy is to be asked: not a signal handler during the run,
    and not the backend, unless it lacked memory.
    """
    if type(error).__module__.partition(".")[0] in ("jaxlib", "jax"):  # the same class: jax renames it
        return "RESOURCE_EXHAUSTED" in str(error)
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    where = str(frames[-1].f_globals.get("__name__")) if frames else ""
    return where.startswith((_PACKAGE, "numpy.", "scipy.", "cupy."))


class Fallback:
    """Runs one function as it is, and says why: once for each reason."""

    def __init__(self, fun: Callable[..., Any], name: str) -> None:
        self.fun = fun
        self.name = name
        self.reasons: dict[str, None] = {}

    def run(self, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of the call that was refused with `error`."""
        certain = isinstance(error, UnsupportedError | AliasError)
        if certain:
            self._tell(error)
        result = on_host(self.fun, args, kwargs)  # where the call itself is wrong, say its shapes, NumPy says so here
        if not certain:
            self._tell(error)
        return result

    def run_unread(self, reason: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a call whose arguments cannot be looked through, for this `reason`."""
        self._warn(reason)
        return self.fun(*args, **kwargs)

    def _tell(self, error: Exception) -> None:
        self._warn("\n".join([str(error), *getattr(error, "__notes__", ())]))

    def _warn(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons[reason] = None
            warnings.warn(f"{self.name} runs as it is, with NumPy:\n{reason}", stacklevel=_depth())


def on_host(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], leaves: Sequence[Any] | None = None
) -> Any:
    """fun(*args, **kwargs) by CPython on NumPy arrays: in place of Arrays HostArrays, which have their methods, and
    cannot be written.

    With an Array among the arguments the arrays of the result are Arrays on its device; with a HostArray they are
    HostArrays. `leaves`: the data among the arguments, where they are known; to look through long lists takes longer
    than many a program.
    """
    leaves = trees.leaves((tuple(args), dict(kwargs))) if leaves is None else leaves
    device = next((x.device for x in leaves if type(x) is Array), None)
    if device is None:
        result = _called(fun, args, kwargs)
        return lifted(result) if are_hosted(leaves) and any(is_plain(x) for x in trees.leaves(result)) else result
    result = _called(fun, map(_on_host, args), {k: _on_host(x) for k, x in kwargs.items()})
    return trees.map(lambda x: device_put(x, device) if _is_data(x) else x, result)


def _called(fun: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
    """fun(*args, **kwargs), under a limit on recursion that does not count the frames of this package between the
    user's call of an accelerated function and this one: a decorated function that calls itself goes as deep as the
    plain one.
    """
    frames = _BEFORE_A_CALL
    frame: FrameType | None = sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        frames += 1
        frame = frame.f_back
    _limit.move(frames)
    try:
        return fun(*args, **kwargs)
    finally:
        _limit.move(-frames)


_BEFORE_A_CALL = 1 if sys.version_info < (3, 12) else 0
"""What Python counts when an object is called that is no function."""


class _Limit:
    """Python's limit on recursion, which all threads share."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owed = 0  # what could not be taken back that near the limit, and a caller further out takes back

    def move(self, frames: int) -> None:
        with self._lock:
            self._owed += frames
            try:
                sys.setrecursionlimit(sys.getrecursionlimit() + self._owed)
            except RecursionError:
                return
            self._owed = 0


_limit = _Limit()


def _on_host(tree: Any) -> Any:
    return trees.map(lambda x: _read_only(x) if type(x) is Array else x, tree)


def _read_only(x: Array) -> HostArray:
    view = np.asarray(x)[...].view(HostArray)
    view.setflags(write=False)
    return view


def _is_data(x: Any) -> bool:
    if not isinstance(x, np.ndarray | np.generic):
        return False
    return x.dtype.kind in "biufc" or x.dtype.type.__module__ == "ml_dtypes"


def is_of_arrays(error: Exception) -> bool:
    """Whether CPython failed for lack of what only this package gives to arrays: `x.at[...]`."""
    return isinstance(error, AttributeError) and isinstance(error.obj, np.ndarray) and error.name == "at"


def in_words_of(theirs: Exception, ours: Exception) -> Exception:
    """Our exception with NumPy's words added; NumPy's own, with our place, where ours is not an UntracedError. NumPy's
    alone where it came from another line than ours names.
    """
    if str(theirs) in str(ours) or is_of_arrays(theirs):
        return ours
    place = ours.diagnostic.span if isinstance(ours, UntracedError) else place_told(ours)
    if place is None or not place.line:
        return ours
    if not came_by(theirs, place):
        return theirs
    if isinstance(ours, UntracedError):
        ours.say(replace(ours.diagnostic, numpy=str(theirs)))
        return ours
    tell_place(theirs, place)
    return theirs


def came_by(error: Exception, span: Span) -> bool:
    """Whether the exception was raised by the lines of a place, or by something that they called."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(f.f_code.co_filename == span.file and span.line <= line <= span.end_line for f, line in frames)


def _depth() -> int:
    """The stack level, for `warnings.warn` in the function that calls this one, of the caller outside this package."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return depth


_PACKAGE = __name__.partition(".")[0] + "."
