"""Writing the host source of a GPU program: lines, names and globals, and what is known of its values."""

from __future__ import annotations

import linecache
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...translator.errors import RaisedError, Span
from ...translator.ir import Apply, Atom, DType, Function, Shape, Statement, Var, walk
from ...translator.printing.names import Names, identifier
from ...translator.printing.sourcetext import Line
from .backend import Backend
from .forms import Form, Number, in_order
from .steps import Group, copying


class Made:
    """Artefacts made for the statements of a program, so that the sources for other arguments find them again."""

    def __init__(self) -> None:
        self.groups: dict[int, Group | None] = {}
        self.tables: dict[int, Any] = {}


class HostLines:
    """The lines so far, and what they may say. `forms`: what is known of each value."""

    def __init__(self, function: Function, backend: Backend, made: Made, names: Names) -> None:
        self.function = function
        self.backend = backend
        self.made = made
        self.namespace: dict[str, Any] = {
            "empty": backend.uninitialised,
            "zeros": backend.xp.zeros,
            "copy": copying(backend),
            "RaisedError": RaisedError,
        }
        self.bound: dict[Any, str] = {}  # names of what the namespace holds, by what it was made of
        self.forms: dict[Var, Form] = {}
        self.lines: list[Line] = []
        self.origins: tuple[Statement, ...] = ()
        self.indent = 1
        self.said = ""
        self.waits = 0  # statements so far that may wait for the device, or call a library
        called = {s.op.name for s in walk(function.body) if isinstance(s, Apply)}
        self.names = names.assign({}, {}, frozenset(), {*self.namespace, *called})
        self.taken = {*self.names.values(), identifier(function.name.strip("<>") or "function")}

    def line(self, text: str, comment: str = "") -> None:
        self.lines.append(Line(self.indent, text, comment, self.origins))

    def say(self, spans: Iterable[Span]) -> None:
        """Which of the user's lines the next statements come from, where that is not what was said last."""
        lines = {span.line: _opening(span) for span in spans if span.line}
        said = "; ".join(f"line {n}: {text}" for n, text in sorted(lines.items()))
        if len(lines) > 2:
            said = f"lines {min(lines)} to {max(lines)}"
        if said and said != self.said:
            self.line(f"# {said}")
        self.said = said

    def free_name(self, wanted: str) -> str:
        free, n = wanted, 1
        while free in self.namespace or free in self.taken:
            n += 1
            free = f"{wanted}_{n}"
        self.taken.add(free)
        return free

    def name_for(self, wanted: str, thing: Any, key: Any) -> str:
        """A global name for something that the source calls or reads; the same for the same key."""
        if key not in self.bound:
            self.bound[key] = self.free_name(wanted)
            self.namespace[self.bound[key]] = thing
        return self.bound[key]

    def atom(self, a: Atom) -> str:
        if isinstance(a, Var):
            return self.names[a]
        if a.aval.shape:
            if id(a) not in self.made.tables:
                self.made.tables[id(a)] = self.backend.asarray(a.value)
            return self.name_for("table", self.made.tables[id(a)], id(a))
        plain = a.value.item() if isinstance(a.value, np.generic) else a.value
        if type(plain) not in (bool, int, float) or not math.isfinite(plain) or a.aval.dtype.kind == "V":
            return self.name_for("number", a.value, id(a))
        if isinstance(a.value, np.generic):
            return f"{self.dtype(a.aval.dtype)}({plain!r})"
        return f"({plain!r})" if plain < 0 else repr(plain)

    def form(self, a: Atom) -> Form:
        if isinstance(a, Var):
            return self.forms[a]
        return in_order(a.aval.shape) if a.aval.shape else Number()

    def kind(self, dtype: DType) -> str:
        return self.name_for(f"{dtype.name}_dtype", dtype, (dtype, "dtype"))

    def dtype(self, dtype: DType) -> str:
        return self.name_for("bool_" if dtype.kind == "b" else dtype.name, dtype.type, dtype)  # `bool` is Python's

    def allocation(self, shape: Shape, dtype: DType) -> str:
        return f"empty({shape!r}, {self.dtype(dtype)})"

    def moves(self, targets: Sequence[Var], sources: Sequence[Atom], copied: Sequence[bool] = ()) -> None:
        """Let the targets have the values of the sources, all at once."""
        chosen = copied or [False] * len(targets)
        texts = [f"copy({self.atom(a)})" if c else self.atom(a) for a, c in zip(sources, chosen, strict=True)]
        pairs = [(self.names[t], x) for t, x in zip(targets, texts, strict=True) if self.names[t] != x]
        if pairs:
            self.line(f"{', '.join(t for t, _ in pairs)} = {', '.join(x for _, x in pairs)}")

    def truth(self, a: Atom) -> str:
        if isinstance(self.form(a), Number):
            return self.atom(a)
        self.waits += 1
        return f"bool({self.atom(a)})"

    def integer(self, a: Atom) -> str:
        if isinstance(self.form(a), Number):
            return self.atom(a) if a.aval.weak else f"int({self.atom(a)})"
        self.waits += 1
        return f"int({self.atom(a)})"


def tupled(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _opening(span: Span) -> str:
    """The text of a place; of a loop or a branch that goes on below only what opens it."""
    text = span.text.strip()
    opens = span.end_line > span.line and text.startswith(("for ", "while ", "if "))
    first = linecache.getline(span.file, span.line).strip() if opens else ""
    return first.rstrip(":") if first.endswith(":") else text
