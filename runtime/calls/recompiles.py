"""Why a function was translated again: the history behind `explain_recompiles`.

A translation serves calls of one signature, with the specialised values it was made for, for as long as its guards
hold. So what made the next one necessary is what differs from the nearest one before:

    2. (x: float64[4], n: int): x is float64[4] and was float64[3]
       instead: pad arrays to a few sizes, or call with arrays of one shape
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...translator.ir import Aval, Root
from ...translator.reading.text.signature import Signature, static_value
from ...translator.records import dataclass
from ...translator.tree import Kind, TreeDef
from ..arrays.array import Array
from ..trees.tree_util import describe

if TYPE_CHECKING:
    from ...translator.pipeline import Translation
    from ...translator.reading.core.guards import Guard
    from ...translator.reading.core.values import Outside
    from .entries import Entry

Change = tuple[str, str]  # what changed, and what to do about it

_SHAPE = "every shape has a program of its own; pad arrays to a few sizes if there are many"
_DTYPE = "every dtype has a program of its own; convert before the call, x.astype(...)"
_NUMBER = "int, float and NumPy's numbers promote each in its own way; pass the same kind at every call"
_STRUCTURE = "pass containers of one structure: the same type, keys and length"
_OPTION = "a bool, string or function is part of the program; every value has one of its own"
_STATIC = "every value has a program of its own; if there are many, let no shape, axis or container index depend on it"
_KIND = "Arrays and NumPy arrays have programs of their own; keep data in Arrays between calls, or never"
_CHANGES = 2  # a number that changed only once may be an exponent, say, and a program that knows it is faster
_WAY = "pass arguments the same way at every call"
_GLOBAL = "it is part of the program; pass it as an argument, or keep it in an array, which is read at every call"
_SHOWN = 8  # elements of a tuple or list
_MASK = "x[mask] has a size that its program knows; select with np.where(mask, x, neutral), which takes any mask"


@dataclass(frozen=True, slots=True)
class Event:
    """One translation. `values` are those of the specialised leaves, `kind` says how the call gave its arguments."""

    signature: Signature
    values: dict[int, Any]
    kind: tuple[bool, tuple[str, ...]]
    changes: tuple[Change, ...]


class History:
    """The translations of one accelerated function, and the reasons why calls of it were refused."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.events: list[Event] = []
        self.refusals: list[str] = []
        self.cuts: list[str] = []

    def add(
        self,
        signature: Signature,
        translation: Translation,
        leaves: Sequence[Any],
        stale: Sequence[Any],
        by_name: tuple[str, ...] = (),
    ) -> None:
        """Record a translation. `stale` are the entries of the same key whose guards failed."""
        values = {i: signature.values[i] for i in sorted(translation.statics)}
        kind = (any(type(x) is Array for x in leaves), by_name)
        broken = [g for entry in stale for g in entry.translation.guards if not g.holds()]
        known = {g.place for g in translation.guards if g.of_number}
        changed = [_broken(g, is_read=g.of_number and g.place not in known) for g in broken]
        changes = tuple(dict.fromkeys(changed)) or self._changes(signature, kind, values, translation)
        self.events.append(Event(signature, values, kind, changes))

    def refuse(self, reason: str) -> None:
        """Record that calls run as they are."""
        if reason not in self.refusals:
            self.refusals.append(reason)

    def cut(self, reason: str) -> None:
        """Record that the function was cut into regions."""
        self.cuts.append(reason)

    def is_often_new(self) -> None:
        """Record that calls run as they are because a translation for each would take longer."""
        self.refuse("it is called with arguments of ever new kinds, and runs as it is for some until compiling pays")

    def _changes(
        self, signature: Signature, kind: tuple[bool, tuple[str, ...]], values: dict[int, Any], translation: Translation
    ) -> tuple[Change, ...]:
        """The differences between a translation and the nearest one before it."""
        if not self.events:
            return (("the first call", ""),)
        found = [_differences(e, signature, kind, values, dict(translation.reasons)) for e in self.events]
        nearest = min(reversed(found), key=len)
        return nearest or (("the programs before it had been cleared away", ""),)

    def explain(self) -> str:
        """One line for each translation, with what would avoid it below."""
        count = len(self.events)
        lines = [f"{self.name} was translated {count} time{'' if count == 1 else 's'}."]
        for i, e in enumerate(self.events, 1):
            lines.append(f"{i}. {describe_signature(e.signature)}: {'; '.join(what for what, _ in e.changes)}")
            lines += [f"   instead: {advice}" for advice in dict.fromkeys(a for _, a in e.changes if a)]
        for how, reasons in (("It runs as it is, with NumPy", self.refusals), ("It was cut into regions", self.cuts)):
            for reason in reasons:
                first, *rest = reason.splitlines()
                lines += [f"{how}: {first}", *(f"  {line}" for line in rest)]
        return "\n".join(lines)


class Changing:
    """The numbers outside a function that have changed more than once: later programs read them at every call."""

    def __init__(self) -> None:
        self._seen: Counter[Outside] = Counter()

    @contextmanager
    def read_at_calls(self, stale: Sequence[Entry]) -> Iterator[None]:
        """A block in which a program is made in place of these entries, whose guards have failed."""
        from ...translator.reading.core.guards import varying

        self._seen.update({g.place for e in stale for g in e.translation.guards if g.of_number and not g.holds()})
        token = varying.set(varying.get() | {place for place, times in self._seen.items() if times >= _CHANGES})
        try:
            yield
        finally:
            varying.reset(token)


# ---- what the outside changed --------------------------------------------------------------------


def _broken(guard: Guard, is_read: bool) -> Change:
    """The change outside the function; `is_read`: the new program reads the number at every call."""
    name = _spelled(guard)
    try:
        now = guard.value()
    except LookupError:
        return f"{name} changed: it is gone", ""
    if guard.kind == "absent":
        return f"{name} changed: a name of the module hides the builtin", ""
    if isinstance(guard.expected, types.FunctionType | type):
        return f"{name} changed: it was defined again", ""
    if isinstance(guard.expected, types.CodeType):
        return "the code of a function changed: it was defined again, or has another derivative (use_gradient)", ""
    if guard.kind == "structure":
        return f"{name} changed: it is another container, or one of another length or with other keys", _GLOBAL
    if guard.kind == "content":
        return f"{name} changed: it selects other elements", _MASK
    if guard.kind in ("array", "swapped"):
        return f"{name} changed: it is {_kind_of(now)} and was {guard.expected}", _SHAPE
    what = _now_and_before(f"{name} changed: it", now, guard.expected)
    return (f"{what}; it is read at every call from now on", "") if is_read else (what, _GLOBAL)


def _kind_of(x: Any) -> str:
    is_array = hasattr(type(x), "dtype") and hasattr(type(x), "shape")
    return f"{x.dtype}{list(x.shape)}" if is_array else f"a {type(x).__name__}"


def _spelled(guard: Guard) -> str:
    root = guard.capture.function
    text = str(guard.capture.name or (getattr(root.owner, "__name__", "") if isinstance(root, Root) else ""))
    for how, key in guard.capture.path:
        text += f".{key}" if how == "attr" else f"[{key!r}]"
    return text or repr(guard.expected)


# ---- what the call changed -----------------------------------------------------------------------


def _differences(
    before: Event,
    signature: Signature,
    kind: tuple[bool, tuple[str, ...]],
    values: dict[int, Any],
    reasons: dict[int, str],
) -> tuple[Change, ...]:
    old = before.signature
    if len(old.params) != len(signature.params) or any(a[0] != b[0] for a, b in zip(old.params, signature.params)):
        return ((f"the arguments are {_names(signature)} and were {_names(old)}", _WAY),)
    pairs = _Pairs(old, signature)
    changes = [c for (name, a), (_, b) in zip(old.params, signature.params, strict=True) for c in pairs.of(a, b, name)]
    if [t for _, t in old.params] == [t for _, t in signature.params]:
        changes += _value_changes(before, signature, values, reasons)
    if not changes and before.kind[0] != kind[0]:
        given = ("Arrays", "NumPy arrays") if kind[0] else ("NumPy arrays", "Arrays")
        changes.append((f"the arguments are {given[0]} and were {given[1]}", _KIND))
    if not changes and before.kind[1] != kind[1]:
        by_name = [f"by name {', '.join(names)}" if names else "by position" for names in (kind[1], before.kind[1])]
        changes.append((f"the arguments were given {by_name[0]}, before {by_name[1]}", _WAY))
    return tuple(changes)


def _value_changes(
    before: Event, signature: Signature, values: dict[int, Any], reasons: dict[int, str]
) -> list[Change]:
    changes = []
    for i, v in values.items():
        if i in before.values and repr(before.values[i]) != repr(v):
            needs = f"; it is needed for {reasons[i]}" if reasons.get(i) else ""
            changes.append((f"{signature.leaf_name(i)} is {v!r} and was {before.values[i]!r}{needs}", _STATIC))
    return changes


class _Pairs:
    """Compares the trees of two signatures side by side; counts the leaves of both on the way."""

    def __init__(self, old: Signature, new: Signature) -> None:
        self.avals = iter(old.avals), iter(new.avals)

    def of(self, a: TreeDef, b: TreeDef, name: str) -> Iterator[Change]:
        if a.kind is Kind.LEAF and b.kind is Kind.LEAF:
            yield from _aval_changes(next(self.avals[0]), next(self.avals[1]), name)
        elif a.kind is Kind.STATIC and b.kind is Kind.STATIC:
            if a != b:
                yield _now_and_before(name, static_value(b), static_value(a)), _OPTION
        elif (a.kind, a.keys, a.type, len(a.children)) == (b.kind, b.keys, b.type, len(b.children)):
            if a.aux != b.aux:
                yield f"{name} has the data {_short(b.aux)} and had {_short(a.aux)}", _STRUCTURE
            for k, (c, d) in enumerate(zip(a.children, b.children, strict=True)):
                key = (a.keys or range(len(a.children)))[k]
                is_field = a.kind in (Kind.NAMEDTUPLE, Kind.DATACLASS)
                yield from self.of(c, d, f"{name}.{key}" if is_field else f"{name}[{key!r}]")
        else:
            old, new = (_described(t, avals) for t, avals in zip((a, b), self.avals, strict=True))
            yield f"{name} is {new} and was {old}", _STRUCTURE


def _aval_changes(a: Aval, b: Aval, name: str) -> Iterator[Change]:
    if a.shape != b.shape or a.dtype != b.dtype or a.weak != b.weak:
        advice = _NUMBER if a.weak or b.weak else _SHAPE if a.shape != b.shape else _DTYPE
        yield f"{name} is {_leaf(b)} and was {_leaf(a)}", advice


def _leaf(aval: Aval) -> str:
    return _PYTHON[aval.dtype.kind] if aval.weak else str(aval)


_PYTHON = {"i": "int", "f": "float", "c": "complex"}


def describe_signature(signature: Signature) -> str:
    """(x: float64[3], n: int)"""
    avals = iter(signature.avals)
    return f"({', '.join(f'{name}: {_described(t, avals)}' for name, t in signature.params)})"


def _described(t: TreeDef, avals: Iterator[Aval]) -> str:
    """The structure of an argument with the types of its leaves, which are taken from `avals`."""
    return describe(t, lambda: _leaf(next(avals)))


def _short(x: Any) -> str:
    text = _told(x)
    return text if len(text) <= 60 else text[:57] + "..."


def _told(x: Any) -> str:
    """A value in a word. Objects of the user's go by their classes: a `__repr__` may change them, or raise."""
    if isinstance(x, types.FunctionType):
        return f"{x.__name__} of line {x.__code__.co_firstlineno}"
    if isinstance(x, type | types.ModuleType | types.BuiltinFunctionType | np.ufunc):
        return x.__name__
    if type(x) in (tuple, list):
        inside = ", ".join([*(_told(v) for v in x[:_SHOWN]), *(["..."] if len(x) > _SHOWN else [])])
        return f"({inside})" if type(x) is tuple else f"[{inside}]"
    if isinstance(x, np.ndarray):
        return _kind_of(x)
    is_plain = type(x).__module__.partition(".")[0] in ("builtins", "numpy") and not isinstance(x, Collection)
    return repr(x) if is_plain or isinstance(x, str | bytes) else f"a {type(x).__name__}"


def _now_and_before(name: str, new: Any, old: Any) -> str:
    now, before = _short(new), _short(old)
    return f"{name} is {now} and was {'another' if now == before else before}"


def _names(signature: Signature) -> str:
    return f"({', '.join(name for name, _ in signature.params)})"
