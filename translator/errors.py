"""Errors, rendered like a good compiler's: what, where (a caret), why, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass, replace


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
    """What is wrong, where, why, and what would work. `source_line` is the user's whole line."""

    what: str
    span: Span = NOWHERE
    why: str = ""
    instead: str = ""
    source_line: str = ""

    def __str__(self) -> str:
        parts = [self.what]
        if self.span.line:
            parts.append(f"  --> {self.span.file}:{self.span.line}:{self.span.column + 1}")
            if self.source_line:
                parts += self._excerpt()
        if self.why:
            parts.append(f"  why: {self.why}")
        if self.instead:
            parts.append(f"  instead: {self.instead}")
        return "\n".join(parts)

    def _excerpt(self) -> list[str]:
        number = str(self.span.line)
        line = self.source_line.rstrip()
        end = self.span.end_column if self.span.end_line == self.span.line else len(line)
        carets = "^" * max(1, end - self.span.column)
        gutter = " " * len(number)
        return [f"{number} | {line}", f"{gutter} | {' ' * self.span.column}{carets}"]


class UntracedError(Exception):
    """Base of all errors that untraced itself raises."""

    remedy = ""  # what helps with errors of the class, where the diagnostic says nothing more to the point

    def __init__(self, diagnostic: Diagnostic | str) -> None:
        found = Diagnostic(diagnostic) if isinstance(diagnostic, str) else diagnostic
        self.diagnostic = found if found.instead else replace(found, instead=self.remedy)
        super().__init__(str(self.diagnostic))


class UnsupportedError(UntracedError):
    """A construct that is not in the language."""


class ShapeError(UntracedError, ValueError):
    """Shapes that do not fit together; a ValueError, as NumPy raises."""

    remedy = "reshape, transpose or index the operands so that their shapes fit"


class DTypeError(UntracedError, TypeError):
    """Dtypes that an operation does not take; a TypeError, as NumPy raises."""


class OutOfBoundsError(UntracedError, IndexError):
    """An index outside its axis, known before the run; an IndexError, as NumPy raises."""

    remedy = "use integers within the axis, slices, or arrays of integers or bool"


class AliasError(UntracedError):
    """A write through an alias that cannot be decided before the run."""


class TargetError(UntracedError):
    """A device, driver or toolchain is missing; the message says how to install it."""
