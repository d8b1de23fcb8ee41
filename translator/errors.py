"""Errors, rendered like a good compiler's: what, where (a caret), why, and what to write instead."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from .records import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the user's source; lines count from 1, columns from 0, `end_column` is exclusive.

    `text` is the source of the range itself, on one line; the printer quotes it in comments.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


NOWHERE = Span("<generated>", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong, where, why, and what would work.

    `source_lines` are the user's whole lines. `calls` are the calls that led there, the innermost first. `numpy` is
    what NumPy says.
    """

    what: str
    span: Span = NOWHERE
    why: str = ""
    instead: str = ""
    source_lines: str = ""
    calls: tuple[Span, ...] = ()
    numpy: str = ""

    def __str__(self) -> str:
        parts = [self.what]
        if self.span.line:
            parts += excerpt(self.span, self.source_lines)
        parts += _chain(self.calls)
        if self.numpy:
            parts.append(f"  NumPy: {self.numpy}")
        if self.why:
            parts.append(f"  why: {self.why}")
        if self.instead:
            parts.append(f"  instead: {self.instead}")
        return "\n".join(parts)


def excerpt(span: Span, source_lines: str = "") -> list[str]:
    """Where it is: file and line, the lines themselves, and carets under the range."""
    where = f"  --> {span.file}:{span.line}:{span.column + 1}"
    rows = [row.rstrip() for row in (source_lines or _known_lines(span)).splitlines()[:_SHOWN_LINES]]
    width = len(str(span.line + len(rows)))
    shown = [where]
    for n, row in enumerate(rows):
        start = span.column if n == 0 else len(row) - len(row.lstrip())
        end = span.end_column if span.line + n == span.end_line else len(row)
        shown += _marked(str(span.line + n).rjust(width), row, start, max(end, start + 1))
    return shown


_SHOWN_LINES = 4
_WIDEST = 110  # characters of a line


def _marked(number: str, row: str, start: int, end: int) -> list[str]:
    """A line with carets from `start` to `end`; a very long line is shortened to what is around them."""
    if len(row) > _WIDEST:
        first = max(0, min(start - 20, len(row) - _WIDEST))
        cut = ("..." if first else "") + row[first : first + _WIDEST] + ("..." if first + _WIDEST < len(row) else "")
        shift = first - 3 * (first > 0)
        row, start, end = cut, start - shift, min(end - shift, len(cut))
    indent = "".join(c if c == "\t" else " " for c in row[:start])
    return [f"{number} | {row}", f"{' ' * len(number)} | {indent}{'^' * (end - start)}"]


def _known_lines(span: Span) -> str:
    """The lines of the file as it is now, if they still hold the text of the span."""
    lines = [linecache.getline(span.file, n) for n in range(span.line, span.end_line + 1)]
    first = lines[0][span.column :].rstrip()
    return "".join(lines) if span.text and first and span.text.startswith(first[: len(span.text)]) else ""


_SHOWN_CALLS = 4


def _chain(calls: tuple[Span, ...]) -> list[str]:
    lines = [f"  called from {c.file}:{c.line}: {c.text}" for c in calls]
    if len(lines) > _SHOWN_CALLS + 1:
        left_out = f"  ... {len(lines) - _SHOWN_CALLS} more calls"
        return [*lines[: _SHOWN_CALLS - 1], left_out, lines[-1]]
    return lines


_TOLD = "__untraced_place__"
_WRITTEN = "__untraced_written__"


def place_told(error: Exception) -> Span | None:
    """The place that `tell_place` has attached to an exception of Python or NumPy."""
    found: Span | None = vars(error).get(_TOLD)
    return found


def tell_place(error: Exception, span: Span, own_words: bool = False, source_lines: str = "") -> None:
    """Attach a place in the user's source to an exception of Python or NumPy.

    The place becomes part of the message. It becomes a note instead where the message is the user's own, or is not a
    single text. A place attached earlier stays: it is nearer to where the exception was raised.
    """
    if not span.line or span.file.startswith("<untraced"):
        return  # code that the package made: no line of the user's
    if isinstance(error, UntracedError) or _TOLD in vars(error):
        return
    vars(error)[_TOLD] = span
    text = "\n".join(excerpt(span, source_lines))
    plain = len(error.args) == 1 and isinstance(error.args[0], str) and not isinstance(error, KeyError | OSError)
    if plain and not own_words:
        error.args = (f"{error.args[0]}\n{text}",)
    else:
        error.add_note(text)


def has_written(error: Exception) -> bool:
    """Whether the program had written into the caller's arrays before it raised the error: then the call cannot be made
    again.
    """
    return hasattr(error, _WRITTEN)


def tell_written(error: Exception) -> None:
    """Say that `has_written`."""
    setattr(error, _WRITTEN, True)


class UntracedError(Exception):
    """Base of all errors that untraced itself raises.

    `sites` are the syntax nodes that led to it: a call in the outermost function, a call in the function called, ...
    """

    remedy = ""  # the default `instead` of the class, where the diagnostic has none
    refuses = True  # True: this package cannot do it. False: NumPy would raise as well
    sites: tuple[Any, ...] = ()

    def __init__(self, diagnostic: Diagnostic | str) -> None:
        found = Diagnostic(diagnostic) if isinstance(diagnostic, str) else diagnostic
        self.diagnostic = found if found.instead else replace(found, instead=self.remedy)
        Exception.__init__(self, str(self.diagnostic))

    def __str__(self) -> str:
        return str(self.diagnostic)

    def say(self, diagnostic: Diagnostic) -> None:
        """Replace the diagnostic."""
        self.diagnostic = diagnostic
        self.args = (str(diagnostic),)

    def name_place(self, span: Span) -> None:
        """Set the place, unless the error has one."""
        if span.line and not self.diagnostic.span.line:
            self.say(replace(self.diagnostic, span=span))

    @property
    def place(self) -> Any:
        """The node in the outermost function; None where it is the function as a whole."""
        return self.sites[0] if self.sites else None

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k != "sites"}
        return _again, (type(self), self.diagnostic, state)


def _again(cls: type[UntracedError], diagnostic: Diagnostic, state: dict[str, Any]) -> UntracedError:
    """An error that was pickled, say in a process of a pool."""
    error = cls.__new__(cls)
    UntracedError.__init__(error, diagnostic)
    for name, value in state.items():
        setattr(error, name, value)
    return error


@contextmanager
def errors_at(span: Span) -> Iterator[None]:
    """Give errors raised inside this place, unless they name one already or are about the machine."""
    try:
        yield
    except UntracedError as error:
        if not isinstance(error, TargetError) or not error.diagnostic.instead:
            error.name_place(span)
        raise


class NumPyError(UntracedError):
    """An error that NumPy would raise as well; raised before anything runs, with the place."""

    refuses = False


class UnsupportedError(UntracedError):
    """A construct that is not in the language."""


class CutError(UnsupportedError):
    """What only the run can know (the size of x[mask]) or only CPython can do (`print`, `try`).

    `accelerate` cuts the function there into compiled regions (translator/cutting); derivatives and batching refuse it.
    """


class SourcelessError(UnsupportedError):
    """A function whose source is not available. CPython can still call it between compiled regions."""


class ShapeError(NumPyError, ValueError):
    """Shapes that do not fit together; a ValueError, as NumPy raises."""

    remedy = "reshape, transpose or index the operands so that their shapes fit"


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis that an array does not have; NumPy's AxisError, which is a ValueError and an IndexError."""

    remedy = "name an axis that the array has; negative ones count from the last"

    def __init__(self, axis: int, ndim: int) -> None:
        super().__init__(f"axis {axis} is out of bounds for array of dimension {ndim}")
        self.axis, self.ndim = axis, ndim

    def __reduce__(self) -> Any:
        return _again, (type(self), self.diagnostic, {**self.__dict__, "axis": self.axis, "ndim": self.ndim})


class SquareError(ShapeError, np.linalg.LinAlgError):
    """A matrix that is not square where it must be; a LinAlgError, as NumPy raises."""

    remedy = "pass square matrices, or use np.linalg.lstsq, np.linalg.pinv or np.linalg.svd"


class DTypeError(NumPyError, TypeError):
    """Dtypes that an operation does not accept; a TypeError, as NumPy raises."""

    @classmethod
    def refusing(cls, diagnostic: Diagnostic | str) -> DTypeError:
        """An error for dtypes that NumPy has and the language has not: objects, strings, dates, records."""
        error = cls(diagnostic)
        error.refuses = True
        return error


class ObjectsError(CutError, DTypeError):
    """Arrays of objects, strings, dates or records: only CPython has them."""

    refuses = True


class UnboundError(CutError, UnboundLocalError):
    """A name that nothing has been assigned to; an UnboundLocalError, as Python raises."""


class MismatchError(ShapeError, DTypeError):
    """Arguments that do not fit the function being differentiated: `argnums` that the call lacks, a tangent or
    cotangent of another shape or dtype, a result that is not one number. Both a TypeError and a ValueError, since JAX
    raises one or the other.
    """

    remedy = ""


class DerivativeError(UntracedError, AssertionError):
    """A derivative that is wrong; raised by `testing.check_grads`, `check_grads=True` and `use_gradient`."""


class OutOfBoundsError(NumPyError, IndexError):
    """An index outside its axis, known before the run; an IndexError, as NumPy raises."""

    remedy = "use integers within the axis, slices, or arrays of integers or bool"


TOO_WIDE = "a Python int of the function is too large for the 64 bits of a compiled program"


class WideIntError(OverflowError):
    """A Python int that 64 bits do not hold, found while a compiled program ran: CPython must run the function."""


class RaisedError(Exception):
    """A `raise` or `assert` of the user's own, reached while a compiled program ran: CPython must run the function, and
    so raises that very exception, with its message and whatever was written before.
    """


class OtherClassError(RaisedError):
    """A result is a number of Python's where the program has one of NumPy's, or the reverse, of one dtype."""


class DrawError(RaisedError):
    """A draw with parameters that NumPy may refuse, or from a generator of another kind than was read: CPython must run
    the function.
    """


class PythonComplexError(RaisedError):
    """A negative Python float to a fractional power, which is a complex number: CPython must run the function."""


class AliasError(UntracedError):
    """A write to memory that may be shared, where whether it is shared cannot be known before the run."""


class TargetError(UntracedError, RuntimeError):
    """A device, driver or toolchain is missing; the message says how to install it."""


class LoopsError(TargetError):
    """The machine's C++ compiler fails. XLA has loops of its own, so the program is made again without it."""


_FACE = __name__.partition(".")[0]  # where users find them
_OFFERED = UntracedError, UnsupportedError, ShapeError, DTypeError, AliasError, DerivativeError, TargetError
_REFUSING = CutError, SourcelessError, ObjectsError, UnboundError
_OFFERED_IN_ERRORS = *_REFUSING, LoopsError, AxisError, SquareError, OutOfBoundsError, MismatchError
for _error in _OFFERED:
    _error.__module__ = _FACE
for _special in _OFFERED_IN_ERRORS:
    _special.__module__ = f"{_FACE}.errors"
