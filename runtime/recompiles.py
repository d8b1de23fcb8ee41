"""Why a function was translated again: the history behind `explain_recompiles`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..translator.pipeline import Translation
from ..translator.reading.signature import Signature
from ..translator.tree import Kind


@dataclass(frozen=True, slots=True)
class Event:
    signature: Signature
    values: tuple[tuple[int, Any], ...]  # of the specialised leaves
    why: str


class History:
    def __init__(self, name: str) -> None:
        self.name = name
        self.events: list[Event] = []

    def add(self, signature: Signature, translation: Translation, leaves: Sequence[Any], stale: Sequence[Any]) -> None:
        """Record a translation. `stale` are the entries of the same key whose guards failed."""
        values = tuple((i, signature.values[i]) for i in sorted(translation.statics))
        self.events.append(Event(signature, values, self._why(signature, values, stale)))

    def _why(self, signature: Signature, values: tuple[tuple[int, Any], ...], stale: Sequence[Any]) -> str:
        if not self.events:
            return "the first call"
        broken = [g for entry in stale for g in entry.translation.guards if not g.holds()]
        if broken:
            changed = sorted({_spelled(g) for g in broken})
            return f"{', '.join(changed)} changed, which the function reads from outside itself"
        same = [e for e in self.events if e.signature == signature]
        if same:
            return _changed_values(signature, dict(same[-1].values), dict(values))
        return _changed_kinds(self.events[-1].signature, signature)

    def explain(self) -> str:
        """One line for each translation."""
        count = len(self.events)
        lines = [f"{self.name} was translated {count} time{'' if count == 1 else 's'}."]
        lines += [f"{i}. {e.signature}: {e.why}" for i, e in enumerate(self.events, 1)]
        return "\n".join(lines)


def _spelled(guard: Any) -> str:
    text = str(guard.capture.name)
    for how, key in guard.capture.path:
        text += f".{key}" if how == "attr" else f"[{key!r}]"
    return text


def _changed_values(signature: Signature, old: dict[int, Any], new: dict[int, Any]) -> str:
    changed = [
        f"{leaf_name(signature, i)} is {v!r} and was {old[i]!r}" for i, v in new.items() if i in old and old[i] != v
    ]
    if not changed:
        return "other specialised values"
    why = "it decides a shape, an axis, a container index or a number of trips, so it is specialised on"
    return f"{', '.join(changed)}: {why}"


def _changed_kinds(old: Signature, new: Signature) -> str:
    if old.params != new.params:
        return "another structure of arguments"
    changed = [
        f"{leaf_name(new, i)} is {b} and was {a}"
        for i, (a, b) in enumerate(zip(old.avals, new.avals, strict=True))
        if a != b
    ]
    return ", ".join(changed)


def leaf_name(signature: Signature, leaf: int) -> str:
    """The parameter that a leaf belongs to, with its number there when the parameter is a tree."""
    first = 0
    for name, tree in signature.params:
        if leaf < first + tree.leaf_count:
            return name if tree.kind is Kind.LEAF else f"{name} (leaf {leaf - first})"
        first += tree.leaf_count
    return f"leaf {leaf}"
