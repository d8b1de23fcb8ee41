"""Which arrays may share memory after a branch or a loop, and what is refused because of that.

Names in NumPy share memory; values of a program do not. While a function is read, the names of one array share a cell.
Behind a run-time condition a name may be one of two cells: it gets a cell of its own, which remembers those as
`sources`. It is `ambiguous` when another name still leads to one of them: then it may not be written, and it cannot be
read any more once such a source has been written. In what is differentiated or batched, where CPython could not do it,
a store into one of two arrays gives each what it then holds (`write_either`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...errors import AliasError, CutError, Diagnostic
from ...ir import Atom, Block, If, Var
from ...records import dataclass
from .demand import ask
from .reach import containers_of, objects_of, still_read
from .values import Cell, Ref, Value

if TYPE_CHECKING:
    from .context import Context


def memory_of(cell: Cell) -> set[Cell]:
    """The cell, and all cells that may share its memory."""
    found: set[Cell] = set()
    waiting = [cell]
    while waiting:
        c = waiting.pop()
        if c not in found:
            found.add(c)
            waiting += (*c.sources, *c.twins)
    return found


def reachable(
    ctx: Context, skip: Cell | None = None, extra: Value = None, without: Iterable[str] = (), callers: bool = True
) -> set[Cell]:
    """The cells that names, arguments and captured arrays may be, but for the cell `skip` and the names `without`.
    `callers`: the arguments themselves count, too, which derivatives copy. Names that nobody reads any more do not.
    """
    hidden = frozenset(without)
    env = {k: v for k, v in ctx.frame.env.items() if k not in hidden} if hidden else ctx.frame.env
    roots = [v.cell for v in objects_of(ctx.frame, env, extra, held=still_read) if type(v) is Ref]
    roots += [c for _, c in ctx.callers.arrays] if callers else []
    roots += [c for _, _, c in ctx.captures.params if c is not None]
    found: set[Cell] = set()
    for c in roots:
        if c is not skip and c not in found:
            found |= memory_of(c)
    return found


def is_callers(ctx: Context, cell: Cell) -> bool:
    """Whether it is an array that the caller passes, or that is found outside the function."""
    return cell in ctx.callers.array_paths or any(c is cell for _, _, c in ctx.captures.params)


def settle(ctx: Context, joined: Iterable[tuple[Cell, str]], extra: Value = None) -> None:
    """Mark those of the new cells (with the names they go by) that may share memory with something else in reach."""
    for cell, name in joined:
        mine = memory_of(cell) - {cell}
        if mine and not mine.isdisjoint(reachable(ctx, cell, extra)):
            label = "this array" if name == "t" else name
            cell.ambiguous = f"at this point {label} may or may not share memory with another array"
            for source in mine:
                source.shadows = (*source.shadows, cell)


def has_one_holder(ctx: Context, v: Ref | Var, env: dict[str, Value]) -> bool:
    """Whether the names of `env` and of the frames around hold an array without axes, or the number taken for one, at
    most once: then nobody can tell it from a number, since a store into it would be seen through no other name.
    """
    mine = memory_of(v.cell) if type(v) is Ref else set()

    def holds(x: Value) -> bool:
        return x is v or (type(x) is Ref and not mine.isdisjoint(memory_of(x.cell)))

    others = {k: x for k, x in env.items() if not holds(x)}
    given = [c for _, c in ctx.callers.arrays] + [c for _, _, c in ctx.captures.params if c is not None]
    once = len(env) - len(others) <= 1
    return once and mine.isdisjoint(given) and not any(map(holds, objects_of(ctx.frame, others)))


def write_either(ctx: Context, cell: Cell, atom: Atom) -> None:
    """A store into what is one of two arrays, as the run decides: it gives each what it then holds, and all that may be
    one of them.

        t = a if c else b           t = a if c else b
        t[0] = 1.0                  t[0] = 1.0
                                    a, b = (t, b) if c else (a, t)
    """
    assert cell.either is not None
    condition, x, y = cell.either
    if x is not None:
        ctx.write(x, _chosen(ctx, condition, atom, ctx.read(x)))
    if y is not None:
        ctx.write(y, _chosen(ctx, condition, ctx.read(y), atom))
    _hold(ctx, cell, atom)
    renew_all(ctx, [v.cell for v in (x, y) if v is not None], cell)


def renew_all(ctx: Context, written: Iterable[Cell], but: Cell | None = None) -> None:
    """Renew what names lead to and may be one of the arrays that have been written."""
    shadows = {s for c in written for twin in c.group for s in twin.shadows if s.either is not None}
    held = {c for v in objects_of(ctx.frame, ctx.frame.env) if type(v) is Ref for c in v.cell.group}
    for other in sorted(shadows & held, key=lambda c: c.birth):
        if but is None or other not in but.group:
            renew(ctx, other)


def renew(ctx: Context, cell: Cell) -> None:
    """Let what is one of two arrays hold what that holds now; where one of these is not known, it cannot be read."""
    assert cell.either is not None
    condition, x, y = cell.either
    if x is None or y is None or x.cell.stale or y.cell.stale:
        ctx.journal.append((cell, "stale", cell.stale))
        cell.stale = cell.doubt
    else:
        _hold(ctx, cell, _chosen(ctx, condition, ctx.read(x), ctx.read(y)))


def _hold(ctx: Context, cell: Cell, content: Atom) -> None:
    for c in cell.group:
        ctx.journal += [(c, "atom", c.atom), (c, "stale", c.stale)]
        c.atom, c.stale = content, ""


def _chosen(ctx: Context, condition: Atom, x: Atom, y: Atom) -> Atom:
    if x is y:
        return x
    hint = next((a.hint for a in (x, y) if isinstance(a, Var)), "t")
    target = Var(hint, x.aval)
    ctx.append(If((target,), condition, Block((), (), (x,)), Block((), (), (y,)), ctx.b.span))
    return target


# ---- containers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """`joined` stands for a list, dict or object that is `then` or `orelse`, which the run decides."""

    joined: Any
    then: Any
    orelse: Any
    condition: Atom | None = None


def check_union(ctx: Context, container: Any) -> None:
    """Refuse to change a list or dict where only the run knows through which names the change would be seen."""
    held: set[int] | None = None
    for union in ctx.unions:
        touched = container is union.joined
        if not touched and container is not union.then and container is not union.orelse:
            continue
        held = held or {id(v) for v in containers_of(ctx.frame, ctx.frame.env)} | set(ctx.callers.containers)
        seen = (union.then, union.orelse) if touched else (union.joined,)
        if any(id(v) in held for v in seen):
            ask(ctx, [union.condition] if union.condition is not None else [])
            raise CutError(
                Diagnostic(
                    f"this {type(container).__name__} may be one of two",
                    why="which one, and so through which names a change is seen, depends on what only the run knows",
                    instead="change each of them in a branch of its own",
                )
            )


# ---- loops ---------------------------------------------------------------------------------------


class Carried:
    """An array that a loop carries under a name: its cell before the loop, in the body, and at the body's end.

    `said` is what errors call it: a name, or `an item of rows`, which no assignment of a copy would mend.
    """

    __slots__ = ("end", "entry", "init", "key", "said", "written")

    def __init__(self, key: str, said: str, init: Value, entry: Cell | None, end: Value, written: bool) -> None:
        self.key = key
        self.said = said
        self.init = init.cell if type(init) is Ref else None
        self.entry = entry
        self.end = end.cell if type(end) is Ref else None
        self.written = written

    @property
    def copied(self) -> str:
        """The remedy that an error suggests: a copy that shares no memory."""
        if self.said.isidentifier():
            return f"copy before the loop: {self.said} = {self.said}.copy()"
        return "store a .copy() there"


Sides = frozenset[tuple[Atom, bool]]
_WAYS = 256  # more of them are not told apart


class LoopMemory:
    """Follows arrays through the iterations of a loop whose body has been read."""

    def __init__(self, carried: list[Carried], births: int) -> None:
        self.carried = carried
        self.births = births
        self.by_entry = {c.entry: c for c in carried if c.entry is not None}

    def ends(self, c: Carried) -> set[Cell]:
        """The cells that `c` may be at the end of one iteration; those of the body's start stand for themselves."""
        found: set[Cell] = set()
        waiting = [c.end] if c.end is not None else []
        while waiting:
            cell = waiting.pop()
            if cell not in found:
                found.add(cell)
                if cell not in self.by_entry:
                    waiting += (*cell.sources, *cell.twins)
        return found

    def predecessors(self, c: Carried) -> Iterator[Carried]:
        """The carried arrays whose memory `c` may take over from one iteration to the next."""
        return (self.by_entry[cell] for cell in self.ends(c) if cell in self.by_entry)

    def outer(self, c: Carried) -> set[Cell]:
        """Arrays from outside the loop that `c` may be after some iterations."""
        found: set[Cell] = set()
        seen: set[int] = set()
        waiting = [c]
        while waiting:
            x = waiting.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            found.update(cell for cell in self.ends(x) if cell.birth <= self.births and cell not in self.by_entry)
            for p in self.predecessors(x):
                if p.init is not None:
                    found.add(p.init)
                waiting.append(p)
        return found

    def after(self, c: Carried, runs: bool) -> tuple[Cell, ...]:
        """The cells that `c` may be after the loop."""
        cells = self.outer(c) | {cell for cell in self.ends(c) if cell.birth > self.births}
        if not runs and c.init is not None:
            cells.add(c.init)
        return tuple(cells)

    def check(self, ctx: Context, written: set[Cell], node: ast.AST) -> None:
        """Raise AliasError where a carried array is written in place, or read, and may be another one's memory.

        `written` are the arrays from outside that the body writes.
        """
        names = [c.key for c in self.carried]
        dirty = {id(c): c for c in self.carried if c.written}
        waiting = list(dirty.values())
        while waiting:
            for p in self.predecessors(waiting.pop()):
                if id(p) not in dirty:
                    dirty[id(p)] = p
                    waiting.append(p)
        if dirty:
            live = ctx.frame.live
            needed = live.entry[node] | live.after[node] | live.inner if node in live.entry else ctx.frame.env.keys()
            dead = {n for n in ctx.frame.env if n not in needed and not n.startswith("%")}
            others = reachable(ctx, without={*names, *dead}, callers=not ctx.transforms)
            for c in dirty.values():
                self._check_written(ctx, c, others, node)
        for c in self.carried:
            if c.entry is not None and self._may_be(c, written):
                raise ctx.error(
                    AliasError,
                    node,
                    f"{c.said} is rebound in this loop, and may share memory with an array that the loop writes",
                    why="in some iterations the write would change it, in others not",
                    instead=c.copied,
                )

    def _may_be(self, c: Carried, written: set[Cell]) -> bool:
        cells = self.outer(c) | ({c.init} if c.init is not None else set())
        return any(not memory_of(cell).isdisjoint(written) for cell in cells)

    def _meet(self, c: Carried, other: Carried) -> bool:
        """Whether two carried arrays may be the same memory after an iteration: on the same side of all branches.

        if small: break              u is u or v, and v is v or u, but never both u
        u, v = v, u
        """
        ways = [self._ways(x) for x in (c, other)]
        if any(len(w) > _WAYS for w in ways):
            return True
        return any(
            cell is met and not any((condition, not side) in others for condition, side in sides)
            for cell, sides in ways[0]
            for met, others in ways[1]
        )

    def _ways(self, c: Carried) -> set[tuple[Cell, Sides]]:
        """The cells that `c` may be at the end of one iteration, each with the branches that lead there."""
        found: set[tuple[Cell, Sides]] = set()
        waiting: list[tuple[Cell, Sides]] = [(c.end, frozenset())] if c.end is not None else []
        while waiting and len(found) <= _WAYS:
            cell, taken = way = waiting.pop()
            if way in found:
                continue
            found.add(way)
            if cell in self.by_entry:
                continue
            waiting += [(twin, taken) for twin in cell.twins]
            if cell.sides is None:
                waiting += [(source, taken) for source in cell.sources]
                continue
            condition, *sources = cell.sides
            for source, side in zip(sources, (True, False), strict=True):
                if (condition, not side) not in taken:
                    waiting.append((source, taken | {(condition, side)}))
        return found

    def _check_written(self, ctx: Context, c: Carried, others: set[Cell], node: ast.AST) -> None:
        shared = c.init is not None and not memory_of(c.init).isdisjoint(others)
        ends = self.ends(c)
        shared = shared or any(e.birth <= self.births and e not in self.by_entry for e in ends)
        for other in self.carried:
            if other is c or other.entry is None:
                continue
            shared = shared or (c.init is not None and c.init is other.init)
            shared = shared or (not ends.isdisjoint(self.ends(other)) and self._meet(c, other))
        if shared:
            raise ctx.error(
                AliasError,
                node,
                f"{c.said} is rebound and written in place in this loop",
                why="in some iterations it may be the memory of another array, which the write would change",
                instead=c.copied,
            )
