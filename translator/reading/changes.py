"""What a function does to the caller's lists, dicts, sets and objects: it gives their new contents beside its result.

    def f(items, x):                f(items: [float64[3]], x: float64[3]) ->
        items.append(x * 2)             return result, [items[0], x * 2]
        return result

Who runs the program puts the contents into the caller's containers. Arrays in place are no matter of this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import AliasError, Diagnostic
from .aliases import memory_of
from .context import Context
from .values import Cell, Path, Ref, Value


@dataclass(frozen=True, slots=True)
class Change:
    """The container at `path` of the arguments has new contents; of an object, the attributes in a dict.

    `given`: parts of the contents, by their paths in it, that are things which the caller passed, by theirs.
    """

    path: Path
    given: tuple[tuple[Path, Path], ...]

    def apply(self, arguments: dict[str, Any], contents: Any) -> None:
        """Let the caller see it."""
        target = follow(arguments, self.path)
        for inside, outside in self.given:
            holder: Any = follow(contents, inside[:-1])
            holder[inside[-1][1]] = follow(arguments, outside)
        if isinstance(target, list):
            target[:] = contents
        elif isinstance(target, dict | set):
            target.clear()
            target.update(contents)
        else:
            for name, value in contents.items():
                object.__setattr__(target, name, value)


def follow(value: Any, path: Path) -> Any:
    for how, key in path:
        value = getattr(value, key) if how == "attr" else value[key]
    return value


def changed_containers(ctx: Context) -> Iterator[tuple[Any, Any]]:
    """The caller's containers that were changed, each with its contents now."""
    attributes: dict[int, tuple[Any, dict[str, Value]]] = {}
    seen: set[int] = set()
    for target, name, _ in ctx.journal:
        if isinstance(target, Cell) or id(target) not in ctx.foreign:
            continue
        if name is not None:
            attributes.setdefault(id(target), (target, {}))[1][name] = getattr(target, name)
        elif id(target) not in seen:
            seen.add(id(target))
            yield target, target
    yield from attributes.values()


def changes_of(ctx: Context) -> tuple[list[Value], tuple[Change, ...]]:
    """The new contents of the caller's containers, and where they belong."""
    contents: list[Value] = []
    changes: list[Change] = []
    for target, content in changed_containers(ctx):
        given: list[tuple[Path, Path]] = []
        contents.append(_without_given(ctx, content, (), given))
        changes.append(Change(ctx.foreign_paths[id(target)], tuple(given)))
    return contents, tuple(changes)


def _without_given(ctx: Context, v: Value, path: Path, given: list[tuple[Path, Path]]) -> Value:
    """Contents with None in place of what the caller passed."""
    if path and id(v) in ctx.foreign:
        given.append((path, ctx.foreign_paths[id(v)]))
        return None
    if type(v) is Ref:
        return _array(ctx, v, path, given)
    if type(v) is list:
        return [_without_given(ctx, x, (*path, ("item", i)), given) for i, x in enumerate(v)]
    if isinstance(v, dict):
        return {k: _without_given(ctx, x, (*path, ("item", k)), given) for k, x in v.items()}
    if isinstance(v, tuple):
        found: list[tuple[Path, Path]] = []
        for i, x in enumerate(v):
            _without_given(ctx, x, (*path, ("item", i)), found)
        if found:
            raise _undecided("an array that the caller passed is put, in a tuple, into a container of the caller")
    return v


def _array(ctx: Context, v: Ref, path: Path, given: list[tuple[Path, Path]]) -> Value:
    for cell in (v.cell, *v.cell.twins):
        if cell in ctx.cell_paths and not v.path:
            given.append((path, ctx.cell_paths[cell]))
            return None
    if not memory_of(v.cell).isdisjoint(ctx.cell_paths):
        raise _undecided("an array that shares memory with an argument is put into a container of the caller")
    return v


def _undecided(what: str) -> AliasError:
    return AliasError(
        Diagnostic(what, why="the caller would get a copy, where NumPy gives a view", instead="put a .copy() there")
    )
