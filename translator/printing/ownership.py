"""Which stores may write in place, and where an array must be copied first.

Values never change; NumPy's arrays do. A store `put(x, v)` may be printed `x[i] = v` only when the memory of `x` was
allocated by this function (or is a parameter that the function is meant to write) and nothing that is still needed
shares it. Memory is tracked by its *roots*: the variables whose definitions may have allocated it. A view has the roots
of its base. What a loop carries is a root of its own as long as the loop keeps its arrays apart:

    out = np.zeros(n)                       fresh: owned, written in place by every iteration
    for i in range(n):
        out[i] = x[i] * 2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import assert_never

from .. import ops
from ..ir import Apply, Atom, Block, Const, For, Function, Fused, If, Invoke, Raise, Var, While, walk
from ..ops.core import (
    TAPE_AVAL,
    ArgReduce,
    Cast,
    Collective,
    Concatenate,
    Contract,
    Create,
    Cumulative,
    Draw,
    Elementwise,
    Fourier,
    Index,
    IndexAttrs,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Ruled,
    Sort,
    Tape,
    is_store,
)
from ..records import dataclass
from .immutable import VIEWS, computes_numbers, entries_may_be_arrays
from .lifetimes import Lifetimes, stores

Roots = frozenset[Var]
NOTHING: Roots = frozenset()
READ_ONLY = frozenset({"broadcast_to", "diag", "diagonal"})  # elements of the first may share memory; NumPy protects


class _Again(Exception):
    """Raised when a decision invalidates earlier conclusions; the analysis starts over."""


@dataclass(frozen=True, slots=True)
class _Inside:
    """The contents of a loop: the ids of its statements, what they define, and that with what inner loops carry."""

    statements: frozenset[int]
    targets: tuple[Var, ...]
    allocated: frozenset[Var]


class _RootTable(dict[Var, Roots]):
    """The roots of each variable, and which variables may have a root (an upper bound: entries are never removed)."""

    def __init__(self, lifetimes: Lifetimes) -> None:
        super().__init__()
        self.index = lifetimes.index
        self.having: dict[Var, int] = {}

    def __setitem__(self, v: Var, roots: Roots) -> None:
        super().__setitem__(v, roots)
        if v in self.index:
            bit = 1 << self.index[v]
            for r in roots:
                self.having[r] = self.having.get(r, 0) | bit

    def holders(self, roots: Roots) -> int:
        """The variables that may have one of these roots, as a bit mask."""
        found = 0
        for r in roots:
            found |= self.having.get(r, 0)
        return found


def _written(function: Function) -> list[Var]:
    return [function.body.params[i] for i in function.mutated]


class Ownership:
    """The decisions for one function.

    copied        ids of stores that copy their array first
    updates       ids of sums, differences, products and quotients printed `x += v`
    copied_inits  (id of loop, place) whose initial array is copied
    written       roots that are written in place: names of such arrays had better not multiply
    copied_views  variables whose view is copied when taken, so that the base may be written
    storage       for each array, the parameter or allocation whose memory it certainly occupies
    assigned      parameters whose final value is stored at the end: `p[...] = value`
    views         variables that may be part of another array: the reader would write the whole, so they are not written
    roots         for each variable, where its memory may come from
    """

    def __init__(
        self,
        function: Function,
        lifetimes: Callable[[Sequence[Var]], Lifetimes],
        may_update: Set[int],
        known: Ownership | None = None,
        elements_are_views: bool = False,
    ) -> None:
        """`known`: the decisions with fewer sums in place. What has to be copied there has to be copied here.
        `elements_are_views`: x[i] is an array without axes in the memory of x, as CuPy's are, not a number as NumPy's.
        """
        self.function = function
        self.elements_are_views = elements_are_views
        self.may_update = may_update
        self._insides: dict[int, _Inside] = {}
        self._earlier: dict[tuple[int, Var], Var] = {}
        self.definitions = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
        self._views_of: dict[Atom, list[Var]] = {}
        for t, s in self.definitions.items():
            if s.args and (isinstance(s.op, Index | Reshape) or s.op.name in VIEWS):
                self._views_of.setdefault(s.args[0], []).append(t)
        self.made = frozenset(t for s in walk(function.body) if isinstance(s, Apply | Fused) for t in s.targets)
        self.arrays_in_lists = entries_may_be_arrays(function.body, elements_are_views)
        self.listed: Roots = NOTHING
        self.copied_views: set[Var] = set() if known is None else set(known.copied_views)
        self.assigned: list[Var] = []
        if known is not None:
            finals = dict(zip(_written(function), function.body.results[function.out.leaf_count :], strict=True))
            self.assigned = [p for p in known.assigned if not self._changes_in_place(p, finals[p])]
        kept = -1
        while True:
            if kept != len(self.assigned):  # lifetimes depend on nothing else
                kept = len(self.assigned)
                self.lifetimes = lifetimes(self.assigned)
                self.arrays = self._with_memory()
            self.copied: set[int] = set()
            self.updates: set[int] = set()
            self.copied_inits: set[tuple[int, int]] = set()
            self.roots = _RootTable(self.lifetimes)
            self.storage: dict[Var, Var] = {}
            self.unowned: set[Var] = set()
            self.views: set[Var] = set()
            self.again = False
            self.weakened: dict[int, tuple[dict[int, Roots], set[int]]] = {}
            try:
                self._run()
                return
            except _Again:
                continue

    def _run(self) -> None:
        body = self.function.body
        written = _written(self.function)
        for p in body.params:
            self.roots[p] = frozenset((p,))
            self.storage[p] = p
            if p not in written or p in self.assigned:
                self.unowned.add(p)
        self._block(body)
        finals = body.results[self.function.out.leaf_count :]
        for p, final in zip(written, finals, strict=True):
            kept = isinstance(final, Var) and self.storage.get(final) is p
            if not kept and p not in self.assigned:
                self.assigned.append(p)
                raise _Again
        self._copy_overwritten_views(body.results)
        if self.again:
            raise _Again
        self.written = self._written_anywhere()

    def _changes_in_place(self, p: Var, final: Atom) -> bool:
        """Whether nothing but stores and the sums that may be in place lead from a parameter to its final value."""
        while final is not p:
            s = self.definitions.get(final) if isinstance(final, Var) else None
            if s is None or not (id(s) in self.may_update or isinstance(s.op, Put)):
                return False
            final = s.args[0]
        return True

    def _written_anywhere(self) -> Roots:
        statements = list(walk(self.function.body))
        found = NOTHING
        for s in statements:
            if isinstance(s, Apply | Fused) and (id(s) in self.updates or (stores(s) and id(s) not in self.copied)):
                found |= self.of(s.args[0])
        loops = [s for s in statements if isinstance(s, For | While)]
        while True:
            grown = found
            for s in loops:
                params = s.body.params[1:] if isinstance(s, For) else s.body.params
                for k, (p, t) in enumerate(zip(params, s.targets, strict=True)):
                    if (p in grown or t in grown) and (id(s), k) not in self.copied_inits:
                        grown |= self.of(s.inits[k]) | self.of(s.body.results[k]) | {p, t}
            if grown == found:
                return found
            found = grown

    def is_written(self, v: Var) -> bool:
        """Whether the memory of `v` is written in place, now or later."""
        return bool((self.of(v) | {v}) & self.written)

    def _copy_overwritten_views(self, results: Sequence[Atom]) -> None:
        """Results that are views of what the final stores overwrite are copied when taken."""
        overwritten = frozenset(self.assigned)
        folded = self.lifetimes.folding.definitions
        for a in results:
            made = self.definition(a) if isinstance(a, Var) else None
            if made is None or not isinstance(a, Var) or a in folded or a in self.copied_views:
                continue
            if isinstance(made.op, Index | Reshape) and self.of(a) & overwritten:
                self._copy_view(a)

    # ---- forward flow ----

    def of(self, a: Atom) -> Roots:
        return self.roots.get(a, NOTHING) if isinstance(a, Var) else NOTHING

    def _block(self, block: Block) -> None:
        for s in block.statements:
            match s:
                case Apply():
                    self._apply(s)
                case If():
                    self._block(s.then)
                    self._block(s.orelse)
                    for t, a, b in zip(s.targets, s.then.results, s.orelse.results, strict=True):
                        self.roots[t] = self.of(a) | self.of(b)
                        self._keep_storage(t, a, b)
                        self._keep_view(t, a, b)
                case For():
                    self._block_of_loop(s, s.body.params[1:])
                case While():
                    self._block_of_loop(s, s.body.params)
                case Raise():
                    self._block(s.body)
                case Fused():
                    self._fused(s)
                case Invoke():  # its result may be one of its arguments
                    given = frozenset[Var]().union(*map(self.of, s.args))
                    for t in s.targets:
                        self.roots[t] = (given | {t}) if t.aval.shape else NOTHING
                        self.storage[t] = t
                        if t.aval.shape:
                            self.unowned.add(t)
                case _:
                    assert_never(s)

    def _keep_view(self, target: Var, *sources: Atom) -> None:
        (self.views.add if any(a in self.views for a in sources) else self.views.discard)(target)

    def _keep_storage(self, target: Var, *sources: Atom) -> None:
        places = {self.storage.get(a) if isinstance(a, Var) else None for a in sources}
        self.storage[target] = (places.pop() if len(places) == 1 else None) or target

    def _apply(self, s: Apply) -> None:
        for t in s.targets:
            self.roots[t] = self._result_roots(s, t)
            self.storage.setdefault(t, t)

    def _result_roots(self, s: Apply, t: Var) -> Roots:
        fresh = frozenset((t,)) if t.aval.shape else NOTHING
        match s.op:
            case Put():
                return self._store(s, t)
            case Index():
                assert isinstance(s.attrs, IndexAttrs)
                gathers = s.attrs.gathers
                return self._view(s, t) if (t.aval.shape or self.elements_are_views) and not gathers else fresh
            case Reshape():
                return self._view(s, t)
            case Create():
                return frozenset((t,))
            case Elementwise():
                if s.op.name in VIEWS:
                    return self._view(s, t)
                if s.op is ops.WHERE:
                    return frozenset((t,))
                return self._update(s, t) if id(s) in self.may_update else fresh
            case Cast() if self.of(s.args[0]):
                return frozenset((t,))
            case Cast() | Reduce() | ArgReduce() | Cumulative() | Contract() | Concatenate():
                return fresh
            case Linalg():
                return self._view(s, t) if s.op.name in VIEWS else fresh
            case Sort() | Fourier() | Collective():
                return fresh
            case Tape() if is_store(s.op):
                self._list(s.args[1])
                return self._store(s, t)
            case Tape():
                return self._of_tape(s, t)
            case Draw():
                return self._store(s, t) if is_store(s.op) else fresh
            case Ruled():
                raise AssertionError("rules are taken out of a program before")
            case _:
                assert_never(s.op)

    def _of_tape(self, s: Apply, t: Var) -> Roots:
        """An array that is on a tape is never written in place."""
        may_be_array = s.op is ops.ITEM and (t.aval.shape or self.arrays_in_lists)
        if may_be_array:
            self.unowned.add(t)
        return frozenset((t,)) if may_be_array or t.aval == TAPE_AVAL else NOTHING

    def _list(self, added: Atom) -> None:
        """An array without axes is not copied when it becomes an entry of a list. It keeps its value from then on."""
        if self.arrays_in_lists and not added.aval.shape and not self.of(added) <= self.listed:
            self.listed |= self.of(added)
            self.again = True

    def _view(self, s: Apply, t: Var) -> Roots:
        self.views.discard(t)
        if t in self.copied_views:
            return frozenset((t,))
        if self.of(s.args[0]):
            self.views.add(t)
        if s.op.name in READ_ONLY:
            self.unowned.add(t)
            return self.of(s.args[0]) | {t}
        return self.of(s.args[0]) or frozenset((t,))

    def _sharers(self, base: Roots, alive: int, but: Var) -> list[Var]:
        """Variables, still live, that may share memory with `base`."""
        if not base:
            return []
        living = self.lifetimes.members(alive & self.arrays & self.roots.holders(base))
        return [v for v in living if v is not but and not base.isdisjoint(self.of(v))]

    def _with_memory(self) -> int:
        """The variables that may have roots, as a bit mask: all but computed numbers. What np.where gives of numbers is
        an array without axes, and so is what a cast makes of one."""
        computed = (
            t
            for s in walk(self.function.body)
            if computes_numbers(s, self.elements_are_views)
            for t in s.targets
            if not t.aval.shape
        )
        return ~self.lifetimes.mask([t for t in computed if t in self.lifetimes.index])

    def _copy_view(self, v: Var) -> None:
        """Decide that the view is copied when it is taken. The analysis continues, and starts over when it ends."""
        self.copied_views.add(v)
        self.again = True
        held = [v]
        for t in held:
            held += self._views_of.get(t, [])
            if t in self.roots and t not in self.copied_views - {v}:
                self.roots[t] = frozenset((v,))
        self.views.discard(v)

    def _store(self, s: Apply | Fused, t: Var) -> Roots:
        x = s.args[0]
        base = self.of(x)
        if isinstance(x, Const):
            return frozenset((t,))
        if x in self.views and self._is_view_of_smaller(x, x):
            self._copy_view(x)
            base = self.of(x)
        sharers = self._sharers(base, self.lifetimes.after[id(s)], t)
        if not base & self.unowned and not sharers and x not in self.views:
            self.storage[t] = self.storage.get(x, x)
            return base
        if not base & self.unowned and sharers and x not in sharers:
            views = [v for v in sharers if self._is_view_of_smaller(v, x)]
            if len(views) == len(sharers):
                for v in views:
                    self._copy_view(v)
                self.storage[t] = self.storage.get(x, x)
                return base
        self.copied.add(id(s))
        self.storage[t] = t
        return frozenset((t,))

    def _is_view_of_smaller(self, v: Var, x: Var) -> bool:
        made = self.definition(v)
        if made is None or v in self.copied_views:
            return False
        is_view = isinstance(made.op, Index | Reshape)
        return is_view and v.aval.size <= x.aval.size and v not in self.lifetimes.folding.definitions

    def definition(self, v: Var) -> Apply | None:
        return self.definitions.get(v)

    def _update(self, s: Apply, t: Var) -> Roots:
        x = s.args[0]
        assert isinstance(x, Var)
        base = self.of(x)
        alive = self.lifetimes.after[id(s)]
        dead = not alive >> self.lifetimes.index[x] & 1
        if base & (self.unowned | self.listed) or x in self.views or not dead or self._sharers(base, alive, t):
            return frozenset((t,)) if t.aval.shape else NOTHING
        self.updates.add(id(s))
        self.storage[t] = self.storage.get(x, x)
        return base

    def _fused(self, s: Fused) -> None:
        if stores(s):
            (t,) = s.targets
            self.roots[t] = self._store(s, t)
            self.storage.setdefault(t, t)
            return
        everything = NOTHING.union(*(self.of(a) for a in s.args))
        made = {t: inner for inner in s.body.statements if isinstance(inner, Apply) for t in inner.targets}
        for t, r in zip(s.targets, s.body.results, strict=True):
            inner = made.get(r) if isinstance(r, Var) else None
            may_be_view = inner is None or isinstance(inner.op, Index | Reshape) or inner.op.name in VIEWS
            self.roots[t] = everything | {t} if may_be_view else frozenset((t,))
            self.storage[t] = t

    # ---- loops ----

    def _block_of_loop(self, s: For | While, params: tuple[Var, ...]) -> None:
        """Assume that the carried arrays are owned and apart; weaken the assumption until the body keeps it.

        A loop around this one, which weakens its own, comes here again: what did not hold then does not hold now. So
        the work is not exponential in the depth of loops.
        """
        shared, copied = self.weakened.setdefault(id(s), ({}, set()))
        index = s.body.params[: len(s.body.params) - len(params)]
        for p in index:
            self.roots[p] = NOTHING
        while True:
            self._forget(s)
            for k, p in enumerate(params):
                self.roots[p] = frozenset((p,)) | (
                    self.of(s.inits[k]) | self._of_earlier_trips(s, shared[k]) if k in shared else NOTHING
                )
                self.storage[p] = p
                self._keep_view(p, *([s.inits[k], s.body.results[k]] if k in shared else []))
                (self.unowned.add if k in shared else self.unowned.discard)(p)
            if isinstance(s, While):
                for c, p in zip(s.condition.params, params, strict=True):
                    self.roots[c], self.storage[c] = self.roots[p], p
                self._block(s.condition)
            self._block(s.body)
            if not self._weaken(s, params, shared, copied):
                break
        self.copied_inits.update((id(s), k) for k in copied)
        for k, (t, p) in enumerate(zip(s.targets, params, strict=True)):
            r = s.body.results[k]
            init = s.inits[k]
            self._keep_view(t, p)
            self.roots[t] = self.of(init) | self.of(r) | self.roots[p] if k in shared else frozenset((t,))
            in_place = isinstance(r, Var) and self.storage.get(r) is p and k not in copied and k not in shared
            self.storage[t] = self.storage.get(init, t) if in_place and isinstance(init, Var) else t

    def _of_earlier_trips(self, s: For | While, roots: Roots) -> Roots:
        """These roots as a later trip sees them: what a statement of the body allocates is new in each trip. What inner
        loops carry is not: it may lie in memory from outside."""
        fresh = self._inside(s).allocated & self.made
        return frozenset(
            self._earlier.setdefault((id(s), r), Var(r.hint, r.aval)) if r in fresh else r for r in roots
        )

    def _forget(self, s: For | While) -> None:
        inside = self._inside(s)
        self.copied -= inside.statements
        self.updates -= inside.statements
        self.copied_inits = {place for place in self.copied_inits if place[0] not in inside.statements}
        for t in inside.targets:
            self.storage.pop(t, None)

    def _inside(self, s: For | While) -> _Inside:
        """The contents of a loop, found once since every pass over the loop asks for them."""
        found = self._insides.get(id(s))
        if found is None:
            blocks = (s.condition, s.body) if isinstance(s, While) else (s.body,)
            statements = [inner for block in blocks for inner in walk(block)]
            targets = tuple(t for inner in statements for t in inner.targets)
            params = (p for inner in statements if isinstance(inner, For | While) for p in inner.body.params)
            found = _Inside(frozenset(map(id, statements)), targets, frozenset((*targets, *params)))
            self._insides[id(s)] = found
        return found

    def _weaken(self, s: For | While, params: Sequence[Var], shared: dict[int, Roots], copied: set[int]) -> bool:
        """Give up ownership of carried arrays where the body or the initial values do not keep it."""
        changed = False
        local = self._inside(s).allocated | set(params)
        written = self._written(s, params)
        for k, r in enumerate(s.body.results):
            mine = self.of(r)
            if k in shared:
                grown = shared[k] | mine
                changed |= grown != shared[k]
                shared[k] = grown
                continue
            others = NOTHING.union(*(self.of(q) for j, q in enumerate(s.body.results) if j != k))
            apart = not mine & others and r not in self.views
            if not apart and mine & written and isinstance(r, Var) and self._is_view_of_smaller(r, r):
                self._copy_view(r)  # rather than the whole array in every iteration
                changed = True
                continue
            if not apart or mine & self.unowned or not mine <= local:
                shared[k] = mine
                changed = True
            elif k not in copied and not self._init_is_owned(s, k):
                views = self._smaller_views(s, k)
                if params[k] in written and params[k].aval.shape and views:
                    for v in views:  # rather than the whole array
                        self._copy_view(v)
                    changed = True
                elif params[k] in written and params[k].aval.shape:
                    copied.add(k)
                else:
                    shared[k] = mine
                    changed = True
        return changed

    def _init_is_owned(self, s: For | While, k: int) -> bool:
        return self._init_is_apart(s, k) and not self._sharers_of_init(s, k)

    def _init_is_apart(self, s: For | While, k: int) -> bool:
        base = self.of(s.inits[k])
        if base & self.unowned or s.inits[k] in self.views:
            return False
        return not any(base & self.of(other) for j, other in enumerate(s.inits) if j != k)

    def _sharers_of_init(self, s: For | While, k: int) -> list[Var]:
        """What is needed in the loop or behind it and may share the memory of an initial value."""
        base = self.of(s.inits[k])
        alive = self.lifetimes.through[id(s)] | (self.lifetimes.after[id(s)] & ~self.lifetimes.mask(s.targets))
        return [v for v in self.lifetimes.members(alive & self.roots.holders(base)) if self.of(v) & base]

    def _smaller_views(self, s: For | While, k: int) -> list[Var]:
        """What shares the memory of an initial value, where that is parts of it which can be copied instead."""
        init, sharers = s.inits[k], self._sharers_of_init(s, k)
        if not isinstance(init, Var) or not self._init_is_apart(s, k):
            return []
        return sharers if all(v is not init and self._is_view_of_smaller(v, init) for v in sharers) else []

    def _written(self, s: For | While, params: Sequence[Var]) -> Roots:
        """The variables whose memory the loop's stores write, in this trip or, under another name, in a later one."""
        found = NOTHING
        waiting = list(s.body.statements)
        while waiting:
            inner = waiting.pop()
            if isinstance(inner, Apply | Fused) and stores(inner) and id(inner) not in self.copied:
                found |= self.of(inner.args[0])
            elif isinstance(inner, If):
                waiting += (*inner.then.statements, *inner.orelse.statements)
            elif isinstance(inner, For | While):
                inner_params = inner.body.params[1:] if isinstance(inner, For) else inner.body.params
                inner_written = self._written(inner, inner_params)
                found |= inner_written
                for k, (init, q) in enumerate(zip(inner.inits, inner_params, strict=True)):
                    if q in inner_written and (id(inner), k) not in self.copied_inits:
                        found |= self.of(init)
        while True:
            handed_on = found.union(
                *(self.of(r) for p, r in zip(params, s.body.results, strict=True) if p in found)
            )
            if handed_on == found:
                return found
            found = handed_on

