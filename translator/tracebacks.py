"""Tracebacks as users see them: their own lines and what those call, without the frames of this package."""

from __future__ import annotations

import os
from types import FrameType, TracebackType

from .errors import UntracedError, place_told
from .reading.text.libraries import of_library

_PACKAGE = __name__.partition(".")[0]
_GENERATED = f"{_PACKAGE}.generated"  # what programs are printed as, which users can read
CALLING = "_untraced_calling"  # in the globals of functions that this package makes to call another with
_BACKENDS = ("jaxlib", "ml_dtypes", "cupy", "triton")


def trim_traceback(error: Exception, told: bool = False) -> None:
    """Take the way through this package out of the error's traceback, and what this package caught on that way out of
    its context. A bare `raise` behind it adds no step of its own.

    An error that names no place and came neither by a line of the user's nor from a function that was to be called
    keeps all of it, for it is an error of this package, unless it is `told` that the caller's arguments are wrong.
    With UNTRACED_TRACEBACK=full every error does.
    """
    if os.environ.get("UNTRACED_TRACEBACK") == "full":
        return
    says = told or isinstance(error, UntracedError) or place_told(error) is not None
    _forget_caught(error, says)
    kept: list[TracebackType] = []
    since: list[TracebackType] = []  # steps of this package since the last one of the user's
    called = False
    step = error.__traceback__
    while step is not None:
        if CALLING in step.tb_frame.f_globals:
            since.clear()
            called = True
        elif _is_users(step.tb_frame):
            since.clear()
            kept.append(step)
        elif since or not (kept or called) or _is_own(step.tb_frame):
            since.append(step)
        else:
            kept.append(step)  # what a user's line calls of a library
        step = step.tb_next
    if not says:
        if not (kept or called):
            return
        kept += since
    shown: TracebackType | None = None
    for step in reversed(kept):
        shown = TracebackType(shown, step.tb_frame, step.tb_lasti, step.tb_lineno)
    error.__traceback__ = shown


def _is_own(frame: FrameType) -> bool:
    name = _module(frame)
    return name.partition(".")[0] == _PACKAGE and name != _GENERATED


def _is_users(frame: FrameType) -> bool:
    """Whether it is of a user's function, or of source made of one."""
    name = _module(frame)
    return name == _GENERATED or not (of_library(name) or name.startswith(_BACKENDS))


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def _forget_caught(error: BaseException, says: bool) -> None:
    """Let the error be raised in the context of what users handle alone; that `says` whether this package raised it."""
    while error.__context__ is not None:
        if _was_caught_here(error.__context__, says):
            error.__context__ = error.__context__.__context__
        else:
            error = error.__context__


def _was_caught_here(error: BaseException, of_libraries: bool) -> bool:
    """Whether it went no further than to a function of this package: its traceback begins where it was caught."""
    start = error.__traceback__
    if start is None:
        return isinstance(error, UntracedError)
    return not _is_users(start.tb_frame) if of_libraries else _is_own(start.tb_frame)
