"""Changes of the caller's lists, dicts, sets and objects: their new contents are further results of the program.

    def f(items, x):                f(items: [float64[3]], x: float64[3]) ->
        items.append(x * 2)             return result, [items[0], x * 2]
        return result

The runtime puts the contents into the caller's containers. Arrays written in place are not handled here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...errors import CutError, Diagnostic
from ...ir import Capture
from ...records import dataclass
from ...tree import Kind, open_node
from ..core.aliases import memory_of
from ..core.context import Context
from ..core.guards import fetch
from ..core.values import Cell, Foreign, Path, Ref, Value, is_leaf, with_entries


@dataclass(frozen=True, slots=True)
class Made:
    """A part of what the program gives: of the result, which is number 0, or of the contents for a change."""

    number: int
    path: Path


Origin = Path | Capture | Made  # where a thing is found: among the arguments, outside the function, in what it gives


@dataclass(frozen=True, slots=True)
class Change:
    """The container at `path`, of the arguments or outside, has new contents; of an object, the attributes in a dict.

    `given`: parts of the contents, by their paths in it, that are things which are found elsewhere, too.
    """

    path: Path | Capture
    given: tuple[tuple[Path, Origin], ...]

    def find(self, arguments: dict[str, Any], made: Sequence[Any], contents: Any) -> Any:
        """The container; what is given stands in its new contents. Nothing of the caller's is changed yet."""
        for inside, origin in self.given:
            holder: Any = follow(contents, inside[:-1])
            holder[inside[-1][1]] = _found(arguments, made, origin)
        return _found(arguments, made, self.path)

    @staticmethod
    def apply(target: Any, contents: Any) -> None:
        """Let the caller see it."""
        if isinstance(target, list):
            target[:] = contents
        elif isinstance(target, dict | set):
            target.clear()
            target.update(contents)
        else:
            for name, value in contents.items():
                setattr(target, name, value)


def apply_changes(changes: Sequence[Change], arguments: dict[str, Any], made: Sequence[Any]) -> None:
    """Give the caller's containers their new contents, which stand in `made` behind the result."""
    targets = [c.find(arguments, made, contents) for c, contents in zip(changes, made[1:], strict=True)]
    for target, contents in zip(targets, made[1:], strict=True):
        Change.apply(target, contents)


def found_twice(arguments: Any, outside: Iterable[Any]) -> bool:
    """Whether a list, dict, set or dataclass is found in two places of the arguments, or `outside` the function as
    well: it is read as two.
    """
    seen: set[int] = set()
    waiting = [arguments]
    while waiting:
        v = waiting.pop()
        opened = open_node(v)
        if opened is None and not isinstance(v, set):
            continue
        if not isinstance(v, tuple):
            if id(v) in seen:
                return True
            seen.add(id(v))
        waiting += opened[0] if opened is not None else ()
    return any(id(v) in seen for v in outside)


def _found(arguments: dict[str, Any], made: Sequence[Any], origin: Origin) -> Any:
    if isinstance(origin, Capture):
        return fetch(origin)
    if isinstance(origin, Made):
        return follow(made[origin.number], origin.path)
    return follow(arguments, origin)


def follow(value: Any, path: Path) -> Any:
    for how, key in path:
        value = getattr(value, key) if how == "attr" else value[key]
    return value


def changed_containers(ctx: Context) -> Iterator[tuple[Any, Any]]:
    """The caller's containers that were changed, each with its contents now."""
    attributes: dict[int, tuple[Any, dict[str, Value]]] = {}
    seen: set[int] = set()
    for target, name, _ in ctx.journal:
        if isinstance(target, Cell) or id(target) not in ctx.callers.containers:
            continue
        if name is not None:
            attributes.setdefault(id(target), (target, {}))[1][name] = getattr(target, name)
        elif id(target) not in seen:
            seen.add(id(target))
            yield target, target
    yield from attributes.values()


def changes_of(ctx: Context, result: Value) -> tuple[list[Value], tuple[Change, ...]]:
    """The new contents of the caller's containers, and where they belong."""
    changed = list(changed_containers(ctx))
    if not changed:
        return [], ()
    contents: list[Value] = []
    changes: list[Change] = []
    origins = _Origins(ctx, result)
    for number, (target, content) in enumerate(changed, 1):
        given: list[tuple[Path, Origin]] = []
        contents.append(origins.without_given(content, number, (), given))
        changes.append(Change(ctx.callers.paths[id(target)], tuple(given)))
    return contents, tuple(changes)


class _Origins:
    """The places of arrays and containers that contents may share with the arguments, the outside or the result."""

    def __init__(self, ctx: Context, result: Value) -> None:
        self.ctx = ctx
        self.known: dict[Cell, Origin] = {**ctx.callers.array_paths}
        self.known.update((cell, p.capture) for p, _, cell in ctx.captures.params if cell is not None and p.capture)
        self._add(result, ())

    def _add(self, v: Value, path: Path) -> None:
        if type(v) is Ref:
            if not v.path:
                self.known.setdefault(v.cell, Made(0, path))
            return
        opened = None if is_leaf(v) or id(v) in self.ctx.callers.containers else open_node(v)
        if opened is None or opened[1].kind is Kind.CUSTOM:
            return
        children, shell = opened
        keys = range(len(children)) if isinstance(v, tuple) else shell.keys or range(len(children))
        how = "attr" if shell.kind is Kind.DATACLASS else "item"
        for key, child in zip(keys, children, strict=True):
            self._add(child, (*path, (how, key)))

    def without_given(self, v: Value, number: int, path: Path, given: list[tuple[Path, Origin]]) -> Value:
        """Contents with None in place of what is found elsewhere."""
        if path and id(v) in self.ctx.callers.containers:
            given.append((path, self.ctx.callers.paths[id(v)]))
            return None
        if type(v) is Foreign:
            given.append((path, v.capture))
            return None
        if type(v) is Ref:
            return self._array(v, number, path, given)
        if type(v) is list:
            return [self.without_given(x, number, (*path, ("item", i)), given) for i, x in enumerate(v)]
        if isinstance(v, dict):
            items = ((k, self.without_given(x, number, (*path, ("item", k)), given)) for k, x in v.items())
            return with_entries(v, items)
        opened = open_node(v)
        if opened is not None and opened[1].kind in (Kind.TUPLE, Kind.NAMEDTUPLE, Kind.DATACLASS):
            found: list[tuple[Path, Origin]] = []
            for i, x in enumerate(opened[0]):
                self.without_given(x, number, (*path, ("item", i)), found)
            if found:
                what = "a dataclass" if opened[1].kind is Kind.DATACLASS else "a tuple"
                raise _undecided(f"an array that is found elsewhere, too, is put, in {what}, into a container")
        return v

    def _array(self, v: Ref, number: int, path: Path, given: list[tuple[Path, Origin]]) -> Value:
        for cell in v.cell.group:
            if cell in self.known and not v.path:
                given.append((path, self.known[cell]))
                return None
        if not memory_of(v.cell).isdisjoint(self.known):
            raise _undecided("an array that shares memory with another is put into a container")
        self.known[v.cell] = Made(number, path)
        return v


def _undecided(what: str) -> CutError:
    what += " that the caller holds"
    return CutError(
        Diagnostic(what, why="the caller would get a copy, where NumPy gives a view", instead="put a .copy() there")
    )
