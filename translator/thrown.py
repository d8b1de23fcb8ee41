"""What a `Raise` of the program raises: an exception class, and the arguments that it is called with.

    raise ValueError(f"sigma must be positive, got {sigma}", i)

    Thrown(ValueError, (Text(("sigma must be positive, got ", Hole(0))), Slot(1)))       of the values (sigma, i)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .ir import Atom, Const
from .records import dataclass


@dataclass(frozen=True, slots=True)
class Slot:
    """The value of this number itself."""

    number: int


@dataclass(frozen=True, slots=True)
class Hole:
    """The value of this number in a text, as f"{value!conversion:spec}" writes it."""

    number: int
    conversion: str = ""
    spec: str = ""

    def filled(self, value: Any) -> str:
        return format(_CONVERSIONS[self.conversion](value), self.spec)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda v: v, "s": str, "r": repr, "a": ascii}


@dataclass(frozen=True, slots=True)
class Text:
    """A text with holes; no two parts that are known stand side by side."""

    parts: tuple[str | Hole, ...]

    def numbers(self) -> set[int]:
        return {p.number for p in self.parts if isinstance(p, Hole)}


@dataclass(frozen=True, slots=True)
class Known:
    """A value that has a literal: None, a number, a string, a tuple of those."""

    value: Any


Argument = Slot | Text | Known


@dataclass(frozen=True, slots=True)
class Thrown:
    """`error(*args, **dict(keywords))`."""

    error: type[Exception]
    args: tuple[Argument, ...] = ()
    keywords: tuple[tuple[str, Argument], ...] = ()

    def made(self, values: Sequence[Any]) -> Exception:
        """The exception, of the values of the slots and holes."""
        keywords = {name: _filled(a, values) for name, a in self.keywords}
        return self.error(*(_filled(a, values) for a in self.args), **keywords)

    def numbers(self) -> set[int]:
        """Of the values that it needs."""
        found = {a.number for a in self.arguments() if isinstance(a, Slot)}
        return found.union(*(a.numbers() for a in self.arguments() if isinstance(a, Text)))

    def arguments(self) -> tuple[Argument, ...]:
        return (*self.args, *(a for _, a in self.keywords))

    def renumbered(self, replaced: Callable[[int], int | Known]) -> Thrown:
        """With `replaced(number)` in place of each number: another one, or, in a `Known`, the value."""
        keywords = tuple((name, _renumbered(a, replaced)) for name, a in self.keywords)
        return Thrown(self.error, tuple(_renumbered(a, replaced) for a in self.args), keywords)


def text(parts: Sequence[str | Hole]) -> Text | Known:
    """A text of parts, those that are known joined; without holes it is known."""
    joined: list[str | Hole] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    if any(isinstance(p, Hole) for p in joined):
        return Text(tuple(joined))
    return Known("".join(p for p in joined if isinstance(p, str)))


def settled(error: Thrown, values: Sequence[Atom]) -> tuple[Thrown, tuple[Atom, ...]]:
    """The same exception, of each value once and in the order of use; numbers that are known become text."""
    kept: dict[Atom, int] = {}
    texts = {n for a in error.arguments() if isinstance(a, Text) for n in a.numbers()}
    slots = {a.number for a in error.arguments() if isinstance(a, Slot)}

    def replaced(number: int) -> int | Known:
        value = values[number]
        if isinstance(value, Const) and (value.aval.weak or number in texts - slots):
            return Known(value.value)
        return kept.setdefault(value, len(kept))

    renumbered = error.renumbered(replaced)
    return renumbered, tuple(kept)


def _filled(a: Argument, values: Sequence[Any]) -> Any:
    match a:
        case Slot(number):
            return values[number]
        case Text(parts):
            return "".join(p if isinstance(p, str) else p.filled(values[p.number]) for p in parts)
        case Known(value):
            return value


def _renumbered(a: Argument, replaced: Callable[[int], int | Known]) -> Argument:
    match a:
        case Slot(number):
            new = replaced(number)
            return new if isinstance(new, Known) else Slot(new)
        case Text(parts):
            return text([p if isinstance(p, str) else _hole(p, replaced(p.number)) for p in parts])
        case Known():
            return a


def _hole(hole: Hole, new: int | Known) -> str | Hole:
    return hole.filled(new.value) if isinstance(new, Known) else Hole(new, hole.conversion, hole.spec)


OTHER_KIND = Thrown(OverflowError, (Known("a number of another type than in the program"),))
OTHER_CLASS = Thrown(OverflowError, (Known("a number of the other of Python's and NumPy's types"),))
"""Of results whose dtype is as in the program: Arrays are the same for both."""
