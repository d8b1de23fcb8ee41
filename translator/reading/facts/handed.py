"""Results that NumPy does not make anew: the caller's arrays and containers, views of them, results that share memory.

    def f(x, i):                    f(x: float64[3, 4], i: int) ->
        y = x * 2.0                     result, i
        return x, x[i], y, y.T

The program gives values. Where the caller passes NumPy arrays, `hand_back` puts in their place what NumPy would have
given: x itself, a view of x, and for y.T a view of the result y. What it needs for that and does not find among the
arguments and results, numbers and arrays, are further results of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import Capture, Const, Var
from ...progressions import Windows, windows_of
from ...purpose import purpose
from ...records import dataclass
from ...tree import Kind, TreeDef, close_node, open_node
from ..core.context import Context
from ..core.guards import fetch
from ..core.steps import is_read_only, is_shown, shown
from ..core.values import Cell, Choice, OpStep, Path, Ref, Step, Value, is_leaf, leaves_in
from .changes import changed_containers, follow
from .views import Lying

if TYPE_CHECKING:
    from ...pipeline import Translation

Keys = tuple[int, ...]
"""The way to a part of a result: numbers of children."""


@dataclass(frozen=True, slots=True)
class Beside:
    """An array that stands behind the result."""

    number: int


@dataclass(frozen=True, slots=True)
class Given:
    """An array that is an argument or in one, by its place among the program's parameters."""

    place: int


Origin = Path | Capture | Beside | Given
"""A way from the arguments leads to a container."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The array or container at `origin`, or what `steps` show of it, where `layouts` hold of it.

    Each step has the places behind the result of the numbers that it needs. `is_itself`: it is the very object.
    """

    origin: Origin
    steps: tuple[tuple[Step | Windows, tuple[int, ...]], ...] = ()
    is_itself: bool = True
    layouts: tuple[Lying, ...] = ()

    def of(self, whole: np.ndarray[Any, Any], beside: Sequence[Any]) -> np.ndarray[Any, Any] | None:
        """What it shows of its array; None where NumPy copies that."""
        if not all(lying.holds(whole) for lying in self.layouts):
            return None
        x = whole if self.is_itself else whole[...]
        for step, places in self.steps:
            x = shown(x, step, [beside[k] for k in places])
        return x


@dataclass(frozen=True, slots=True)
class Returned:
    """The part of the result that `keys` lead to is one of `choices`, None standing for an array of its own. Which one
    the number at the place `which` behind the result says; without, it is the first.
    """

    keys: Keys
    choices: tuple[Shown | None, ...]
    which: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether its value need not be computed for a caller who passes NumPy arrays."""
        first = self.choices[0]
        if self.which is not None or first is None or first.layouts or isinstance(first.origin, Capture):
            return False
        return not any(places for _, places in first.steps)


def returned_of(
    ctx: Context,
    parameters: Mapping[str, Value],
    value: Value,
    written: set[Cell],
    is_one: Callable[[Value], bool],
) -> tuple[tuple[Returned, ...], list[Value]]:
    """The parts of the result that are handed back, and what has to stand behind the result for that.

    A program that will not be run by those who hand back gives arrays of its own, but for arguments that it writes.
    `is_one`: whether a list leaves the program as one array.
    """
    finder = _Finder(ctx, parameters, value, written, is_one)
    return tuple(finder.parts()), finder.beside


class _Finder:
    def __init__(
        self,
        ctx: Context,
        parameters: Mapping[str, Value],
        value: Value,
        written: set[Cell],
        is_one: Callable[[Value], bool],
    ) -> None:
        self.ctx = ctx
        self.value = value
        self.is_one = is_one
        self.beside: list[Value] = []
        self.copies: dict[int, tuple[Lying, ...]] = {}  # by parts of the result: what makes a view of a copy
        self.known: dict[Cell, Origin] = {cell: Given(place) for place, cell in ctx.callers.arrays}
        self.known.update((cell, p.capture) for p, _, cell in ctx.captures.params if cell is not None and p.capture)
        if not purpose().hands_back:
            self.known = {cell: origin for cell, origin in self.known.items() if cell in written}
        self.parameters = {p.cell: p for p in parameters.values() if type(p) is Ref}
        changed = [v for v, _ in changed_containers(ctx)]
        owned = ctx.callers.containers.values() if purpose().hands_back else changed
        self.containers = {id(v): ctx.callers.paths[id(v)] for v in owned if type(v) in (list, dict, set)}
        if purpose().hands_back:
            self.containers.update((number, capture) for number, (_, capture) in ctx.captures.adopted.items())

    def parts(self) -> Iterator[Returned]:
        """The parts of the result that are found elsewhere."""
        parts = list(self._found_in(self.value, ()))
        counts = Counter(v.cell for _, v in parts if type(v) is Ref)
        alone = [type(v) is Ref and counts[v.cell] == 1 for _, v in parts]
        found = [(k, self._uncopied(v) if once else v) for (k, v), once in zip(parts, alone, strict=True)]
        if purpose().hands_back:
            self._check_bytes([v for _, v in found if type(v) is Ref])
        inner: dict[Cell, list[tuple[Keys, Ref]]] = {}
        for keys, v in found:
            if type(v) is not Ref:
                yield Returned(keys, (Shown(self.containers[id(v)]),))
            elif self._origin(v) is not None:
                yield Returned(keys, (self._shown(v),))
            elif v.cell.choice is not None and purpose().hands_back:
                yield from self._chosen(keys, v, v.cell.choice)
            elif purpose().hands_back:
                inner.setdefault(v.cell, []).append((keys, v))
        for cell, refs in inner.items():
            refs = [(keys, r) for keys, r in refs if self._is_shown(r)]
            if refs and _share_memory([r for _, r in refs]):
                self.known[cell] = Beside(self._place(Ref(cell)))
                for keys, r in refs:
                    yield Returned(keys, (self._shown(r),))

    def _check_bytes(self, found: Sequence[Ref]) -> None:
        """Leave it to CPython to copy what has its bytes in the other order."""
        copied = [v.cell for v in found if self._origin(v) is None or self._shown(v).layouts]
        within = {v.cell for v in leaves_in(self.value) if type(v) is Ref} - {v.cell for v in found}
        if any(cell.swapped for cell in (*copied, *within)):
            what = "the function returns what may be a copy of an array with its bytes in the other order"
            self.ctx.cut(self.ctx.frame.source.node, what, why="such a copy has that order, too")

    def _found_in(self, v: Value, keys: Keys) -> Iterator[tuple[Keys, Value]]:
        """The arrays, and the containers of the caller's, in the result."""
        if type(v) is Ref or id(v) in self.containers:
            yield keys, v
            return
        if self.is_one(v):
            return
        opened = None if is_leaf(v) else open_node(v)
        if opened is not None:
            for k, x in enumerate(opened[0]):
                yield from self._found_in(x, (*keys, k))

    def _uncopied(self, v: Ref) -> Ref:
        """The reshape, where `v` is a copy of what is a view of the caller's array if that lies in another order.
        Neither has been written since.
        """
        view, number = self.ctx.reshapes.copied.get(v.cell, (v, 0))
        if view is v or number in self.ctx.reshapes.relied_on or not self._origin(view):
            return v
        found = Ref(view.cell, (*view.path, *v.path))
        self.copies[id(found)] = (replace(self.ctx.reshapes.taken[number][1], is_view=True),)
        return found

    def _origin(self, v: Ref) -> Origin | None:
        if not self._is_shown(v):
            return None
        return next((self.known[cell] for cell in v.cell.group if cell in self.known), None)

    def _shown(self, v: Ref) -> Shown:
        origin = self._origin(v)
        assert origin is not None
        parameter = self.parameters.get(v.cell)
        is_object = parameter is None or v is parameter or id(v) in self.copies or not purpose().hands_back
        is_itself = not v.path and is_object
        steps = tuple(self._step(s, Ref(v.cell, v.path[:k])) for k, s in enumerate(v.path))
        taken = [lying for cell, lying in self.ctx.reshapes.taken if cell is v.cell and lying.in_line]
        layouts = tuple(x for x in taken if x.is_view and x.path == v.path[: len(x.path)])
        layouts = (*layouts, *self.copies.get(id(v), ()))
        return Shown(origin, steps, is_itself, layouts)

    def _step(self, step: Step, before: Ref) -> tuple[Step | Windows, tuple[int, ...]]:
        found = self._windows(step, before)
        return (step, tuple(map(self._place, getattr(step, "dynamic", ())))) if found is None else (found, ())

    def _windows(self, step: Step, before: Ref) -> Windows | None:
        if isinstance(step, OpStep):
            return None
        return windows_of(self.ctx.definition, before.aval.shape, step.dims, step.dynamic)

    def _is_shown(self, v: Ref) -> bool:
        return all(is_shown(s) or self._windows(s, Ref(v.cell, v.path[:k])) for k, s in enumerate(v.path))

    def _chosen(self, keys: Keys, v: Ref, choice: Choice) -> Iterator[Returned]:
        """A part of what is one array or another by a number of the run."""
        choices = tuple(
            self._shown(Ref(r.cell, (*r.path, *v.path)) if v.path else r) if r is not None and self._origin(r) else None
            for r in choice.of
        )
        if any(choices):
            yield Returned(keys, choices, self._place(choice.number))

    def _place(self, v: Value) -> int:
        """The place behind the result of a number or an array."""
        for k, known in enumerate(self.beside):
            if known is v or (type(v) is Ref and type(known) is Ref and known.cell is v.cell):
                return k
        self.beside.append(v)
        return len(self.beside) - 1


def _share_memory(refs: Sequence[Ref]) -> bool:
    """Whether views of one array show elements twice, or NumPy lets nobody write them."""
    if any(is_read_only(s) for r in refs for s in r.path):
        return True
    if len(refs) == 1:
        return False
    if not all(r.path for r in refs) or any(_is_dynamic(s) for r in refs for s in r.path):
        return True
    whole = np.empty(refs[0].cell.atom.aval.shape, refs[0].cell.atom.aval.dtype)
    views = [_shown_of(whole, r.path) for r in refs]
    return any(np.may_share_memory(x, y) for k, x in enumerate(views) for y in views[:k])


def _is_dynamic(step: Step) -> bool:
    return any(isinstance(a, Var) for a in getattr(step, "dynamic", ()))


def _shown_of(x: np.ndarray[Any, Any], path: Path | tuple[Step, ...]) -> np.ndarray[Any, Any]:
    for step in path:
        x = shown(x, step, [a.value for a in getattr(step, "dynamic", ()) if isinstance(a, Const)])  # type: ignore[arg-type]
    return x


# ---- after a call --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ended:
    """A call that has been made: its arguments by name, None where no container is handed back; the arrays and numbers
    that the program was given, in its order; what stands behind the result; whether all arrays are NumPy's.
    """

    arguments: dict[str, Any] | None
    values: Sequence[Any]
    beside: Sequence[Any]
    is_numpys: bool

    def find(self, origin: Origin) -> Any:
        """What is there."""
        if isinstance(origin, Given):
            return self.values[origin.place]
        if isinstance(origin, Beside):
            return self.beside[origin.number]
        if isinstance(origin, Capture):
            return fetch(origin)
        assert self.arguments is not None
        return follow(self.arguments, origin)


def owned_parts(returned: Sequence[Returned], call: Ended) -> list[tuple[Keys, Any]]:
    """The caller's own containers, and where all arrays are NumPy's what shows his own; each with its place in the
    result.

    To be asked for before the caller sees what has changed: a name may mean something else then.
    """
    parts: list[tuple[Keys, Any]] = []
    for r in returned:
        what = r.choices[0 if r.which is None else int(call.beside[r.which])]
        own = None if what is None else call.find(what.origin)
        if what is not None and call.is_numpys and isinstance(own, np.ndarray):
            own = what.of(own, call.beside)
            if own is not None:
                parts.append((r.keys, own))
        elif isinstance(own, list | dict | set):
            parts.append((r.keys, own))
    return parts


def hand_back(parts: Sequence[tuple[Keys, Any]], result: Any) -> Any:
    """The result with these parts in place of what the program has made of them."""
    for keys, own in parts:
        result = _with(result, keys, own)
    return result


def needs_arguments(returned: Sequence[Returned]) -> bool:
    """Whether the caller's containers are handed back."""
    return any(what is not None and isinstance(what.origin, tuple) for r in returned for what in r.choices)


def _with(result: Any, keys: Keys, own: Any) -> Any:
    """The result with `own` in this place; its lists and dicts stay what they are."""
    if not keys:
        return own
    k, *rest = keys
    if type(result) is tuple:
        return (*result[:k], _with(result[k], tuple(rest), own), *result[k + 1 :])
    opened = open_node(result)
    assert opened is not None
    children, shell = opened
    inner = _with(children[k], tuple(rest), own)
    if inner is children[k]:
        return result
    if shell.kind is Kind.LIST:
        result[k] = inner
        return result
    if shell.kind is Kind.DICT:
        result[shell.keys[k]] = inner
        return result
    return close_node(shell, [*children[:k], inner, *children[k + 1 :]])


def known_leaves(translation: Translation) -> frozenset[int]:
    """The leaves of what the program gives that need not be computed for a caller who passes NumPy arrays."""
    within = (0,) if translation.changes or translation.beside else ()
    found = [_leaves(translation.source.out, (*within, *r.keys)) for r in translation.returned if r.is_known]
    return frozenset(k for leaves in found for k in leaves)


def arguments_themselves(translation: Translation) -> dict[int, int] | None:
    """The leaves of the result that are the very arrays that are given for parameters of the program, by the places of
    these. None where anything else is handed back.
    """
    if translation.changes or translation.beside:
        return None
    found: dict[int, int] = {}
    for r in translation.returned:
        what, leaves = r.choices[0], _leaves(translation.source.out, r.keys)
        if len(leaves) != 1 or not r.is_known:
            return None
        if what is None or what.steps or not what.is_itself or not isinstance(what.origin, Given):
            return None
        found[leaves[0]] = what.origin.place
    return found


def _leaves(t: TreeDef, keys: Keys) -> range:
    """The numbers of the leaves that these keys lead to."""
    first = 0
    for k in keys:
        first += sum(c.leaf_count for c in t.children[:k])
        t = t.children[k]
    return range(first, first + t.leaf_count)
