"""The backward walk over a block: each statement sends the cotangents of its targets on to its arguments.

    def f(x):                           def f_grad(x):
        if x[0] > 0.0:                      if x[0] > 0.0:
            y = np.sin(x)                       d_x = np.cos(x)
        else:                               else:
            y = x * x                           d_x = x * 2.0
        return np.sum(y)                    return d_x

Every value has at most one cotangent, held lazily (`cotangents.py`); an absent one is zero. The statements made here
name forward values freely; where those live in a loop or a branch, `tape.py` decides how they get there.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import assert_never, cast

from .. import make, ops
from ..builder import Builder
from ..errors import Span
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Fused,
    If,
    Invoke,
    Raise,
    Statement,
    Var,
    While,
    const,
    free_variables,
    is_number,
)
from ..named import Rolled, cross, crossed, roll, rolled
from ..ops.core import (
    ArgReduce,
    Cast,
    Collective,
    Concatenate,
    Contract,
    Create,
    Cumulative,
    Dim,
    Draw,
    Elementwise,
    Fourier,
    Index,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Ruled,
    Sort,
    Tape,
)
from ..rewrite import copy_block, prune
from .across import collective_vjp
from .activity import linked_args
from .choices import Choice, chosen_vjp
from .corners import as_root, at_corner
from .cotangents import adjoint_hint, cast_like, materialise, named, strong, total
from .differences import Makers
from .factors import linalg_vjp
from .linear import (
    assembled,
    concatenate_vjp,
    contract_vjp,
    create_vjp,
    index_parts,
    is_square,
    put_vjp_base,
    put_vjp_value,
    reshape_vjp,
    squeezed_by,
)
from .lists import is_list, item_vjp, kept_at, kept_vjp, made_again, zero_list
from .loops import for_vjp, while_vjp
from .masks import Sides, entry_mask, mask_of, said_outside, sides_of, used_at, used_entry, whole
from .places import Hole, Place, untouched
from .reach import anywhere, either, reached, scattered
from .reductions import cumulative_vjp, put_axes_back, reduce_vjp
from .routines import routine_vjp
from .ruled import ruled_vjp
from .settled import Nest, least
from .spectra import extreme_vjp, fourier_vjp, sort_vjp
from .steepness import Origins
from .tape import Plan, needed_of, plan
from .trips import Trips


class Adjoints:
    """The cotangents of the values of one block while its backward statements are appended to `b`.

    `active` are the values that have cotangents; `trips` knows the length of tapes.
    """

    def __init__(self, b: Builder, active: set[Var], trips: Trips) -> None:
        self.b = b
        self.active = active
        self.trips = trips
        self.table: dict[Var, Atom] = {}
        self.choices: dict[Var, Choice] = {}  # choices that cotangents in the table are still subject to
        self.masks: dict[Var, Atom] = {}  # masks outside which cotangents in the table are zero (reach.py)
        self.origin: dict[Var, Span] = {}  # the statement that last added to a cotangent
        self.light: set[Var] = set()
        self.outermost = True
        self.changing: frozenset[Var] = frozenset()  # values that differ between the trips of an enclosing loop
        self.restored: dict[Var, Var] = {}  # arrays that loops start from, as their backward loops leave them (undo.py)
        self.holes: dict[Var, tuple[Hole, ...]] = {}  # places in cotangents that are still to be set to zero
        self.origins = Origins()  # the definitions of forward values
        self.loops: tuple[For, ...] = ()  # the enclosing loops
        self.place: Var | None = None  # of the trip of the loop whose body this is: how many came before it
        self.nest: Nest | None = None  # the enclosing loops, where the backward pass may read what they leave
        self.sometimes = False  # whether this is a branch in a loop, which not every trip goes into

    def steep(self, a: Atom) -> bool:
        """Whether the slope of what made `a` may be infinite: masks are made only of such values."""
        return self.origins.may_be_steep(a)

    def hint(self, v: Var) -> str:
        """The hint of an adjoint; a temporary inside an expression gets no name of its own."""
        return v.hint if v in self.light else adjoint_hint(v)

    def inner(self, span_of: Builder) -> Adjoints:
        inner = Adjoints(Builder(span_of.span), self.active, self.trips)
        inner.outermost = False
        inner.changing, inner.sometimes = self.changing, self.sometimes
        inner.origins, inner.nest, inner.loops = self.origins, self.nest, self.loops
        return inner

    def backward(self, statements: Sequence[Statement]) -> list[Statement]:
        """Append the backward pass of the statements; the result: forward statements that keep what it needs."""
        self.light.update(t for s in statements if isinstance(s, Apply) for t in s.targets if _is_light(t, s))
        self.origins.learn(statements)
        forward: list[list[Statement]] = []
        for s in reversed(statements):
            if not isinstance(s, Apply | Raise):
                self.settle_before(s)
            with self.b.at(s.span):
                forward.append(_backward(s, self))
        self.settle_all()
        return [s for group in reversed(forward) for s in group]

    @property
    def made(self) -> dict[Var, Apply]:
        return self.origins.made

    @property
    def makers(self) -> Makers:
        """The definitions of the values that backward statements name."""
        return ChainMap(cast(dict[Var, Apply], self.b.definitions), self.made)

    def add(self, a: Atom, c: Atom | None, choice: Choice | None = None, mask: Atom | None = None) -> None:
        """Add `c`, perhaps subject to a choice or zero outside a mask, to the cotangent of `a`, if `a` is active."""
        if c is None or is_number(c, 0) or not isinstance(a, Var) or a not in self.active:
            return
        old = self.table.get(a)
        self.origin[a] = self.b.span
        self._mask(a, choice, mask)
        if choice is not None and (other := self.choices.get(a)) is not None and choice.opposes(other):
            assert old is not None
            del self.choices[a]
            self.table[a] = named(self.b, choice.both(self.b, c, old, a.aval), self.hint(a))
            return
        if choice is not None and old is None:
            self.choices[a] = choice
        elif choice is not None and not choice.same(self.choices.get(a)):
            c = choice.made(self.b, c, a.aval)
        if old is not None and not (choice is not None and choice.same(self.choices.get(a))):
            old = self.settle(a)
        whole = c if old is None else total(self.b, old, c)
        self.table[a] = whole if a in self.choices else named(self.b, whole, self.hint(a))

    def _mask(self, a: Var, choice: Choice | None, mask: Atom | None) -> None:
        """Update the mask of the cotangent of `a` for an addition that counts where choice and mask say."""
        had, old = a in self.table, self.choices.get(a)
        before = self.masks.pop(a, None)
        if not had:
            if mask is not None:
                self.masks[a] = mask
            return
        one_side = choice is not None and old is not None and (choice.same(old) or choice.opposes(old))
        known = (old is not None or before is not None) and (choice is not None or mask is not None)
        if one_side or not known or not self.steep(a):
            return
        if is_list(a):
            return
        both = either(self.b, old.mask(self.b) if old else before, choice.mask(self.b) if choice else mask)
        if both is not None:
            self.masks[a] = both

    def _mask_at(self, x: Var, place: Place, mask: Atom | None) -> None:
        """Update the mask of the cotangent of the array `x` for an addition at a place, of which `mask` counts."""
        before, once = self.masks.get(x), place.distinct(self.makers)
        if before is None or x in self.choices:
            there = None if mask is None else scattered(self.b, place.shape, mask, place.dims, place.dyn, once)
            self._mask(x, None, there)
        elif mask is None and not self.sometimes:
            del self.masks[x]
        else:
            self.masks[x] = used_at(self.b, before, mask, place, once)

    def settle(self, v: Var) -> Atom | None:
        """The cotangent of `v` so far, with its choice applied and its hole set to zero."""
        holes, choice = self.holes.pop(v, ()), self.choices.pop(v, None)
        for hole in holes:
            with self.b.at(hole.span):
                emptied = make.put(self.b, self.table[v], const(0.0), hole.place.dims, hole.place.dyn)
                self.table[v] = named(self.b, emptied, self.hint(v))
        if choice is not None:
            with self.b.at(self.origin[v]):
                self.table[v] = named(self.b, choice.made(self.b, self.table[v], v.aval), self.hint(v))
        return self.table.get(v)

    def settle_masked(self, v: Var) -> None:
        """Like `settle`; where the choice says that the cotangent counts is known further on, if it may matter."""
        choice = self.choices.get(v)
        self.settle(v)
        if choice is not None and self.origins.is_singular(v):
            self.masks[v] = choice.mask(self.b)

    def settle_all(self) -> None:
        for v in (*self.choices, *self.holes):
            self.settle_masked(v)

    def settle_before(self, s: Statement) -> None:
        """Settle the cotangents to which the loop or branch `s` adds, as it does by itself."""
        if not (self.choices or self.holes or self.masks):
            return
        named_in = {*free_variables(Block((), (s,), ())), *s.targets}
        for v in (*self.choices, *self.holes):
            if v in named_in or v in self.holes:
                self.settle_masked(v)
        if not isinstance(s, If | For | While):
            for v in named_in & self.masks.keys():
                del self.masks[v]

    def scatter(
        self, x: Atom, c: Atom, dims: tuple[Dim, ...], dyn: tuple[Atom, ...], mask: Atom | None = None
    ) -> None:
        """Add `c` to the cotangent of `x` at an index, in place of what has been accumulated there so far."""
        if not isinstance(x, Var) or x not in self.active:
            return
        place, makers, holes = Place(x.aval.shape, dims, dyn), self.makers, self.holes.get(x, ())
        self._mask_at(x, place, mask)
        filled = next((h for h in holes if h.place.same(place, makers) and place.distinct(makers)), None)
        others = tuple(h for h in holes if h is not filled)
        fills = filled is not None and all(h.place.apart(place, makers, self.loops) for h in others)
        if filled is not None and fills:
            self.holes[x] = others
            if filled.holds(c, makers):
                return
        elif is_number(c, 0):
            return
        elif not holes or not all(h.place.apart(place, makers, self.loops) for h in holes):
            self.settle(x)
        so_far = named(self.b, materialise(self.b, self.table.get(x), strong(x.aval)), self.hint(x))
        anew = fills or (untouched(so_far, place, makers, self.loops) and place.distinct(makers))
        store = make.put if anew else make.put_add
        self.table[x] = named(self.b, store(self.b, so_far, c, dims, dyn), self.hint(x))

    def open_holes(self, s: Apply) -> tuple[Hole, ...]:
        """Take the holes in the cotangent of the array that the store `s` leaves, if they may stay open: the store is
        elsewhere, and nothing has been added to the cotangent of what it overwrites.
        """
        x, target, place = s.args[0], s.targets[0], Place(s.targets[0].aval.shape, *index_parts(s, 2))
        passed_on = s.op is ops.PUT and (x not in self.active or x not in self.table)
        found = self.holes.get(target, ())
        if not passed_on or not all(h.place.apart(place, self.makers, self.loops) for h in found):
            return ()
        return self.holes.pop(target, ())

    def stored_over(self, s: Apply, ct: Atom, mask: Atom | None, holes: tuple[Hole, ...] = ()) -> None:
        """Pass on the cotangent `ct` of the array that the store `s` leaves: what it overwrote has cotangent zero.

        The zero is stored only when something reads it: where the new value was computed from the old one, as in
        `x[i] = f(x[i])`, the old one's cotangent is stored there next.
        """
        x = s.args[0]
        if not isinstance(x, Var) or x not in self.active or x in self.table or s.op is not ops.PUT:
            self.add(x, put_vjp_base(self.b, s, ct), mask=mask)
            return
        whole = materialise(self.b, ct, strong(x.aval))
        self.add(x, whole, mask=mask)
        self.holes[x] = (*holes, Hole(Place(x.aval.shape, *index_parts(s, 2)), whole, self.b.span))

    def take(self, v: Var) -> Atom | None:
        """Remove and return the cotangent of `v`, which is complete: the walk has reached its definition."""
        self.settle(v)
        self.masks.pop(v, None)
        found = self.table.pop(v, None)
        return None if found is None else assembled(self.b, found)

    def take_unsettled(self, v: Var) -> tuple[Atom | None, Choice | None]:
        """Like `take`, together with the choice that is still to be applied, or that a mask makes where it may matter.
        """
        if v in self.holes:
            self.settle(v)
        found, mask, choice = self.table.pop(v, None), self.masks.pop(v, None), self.choices.pop(v, None)
        if choice is None and mask is not None and self.steep(v):
            choice = Choice(mask, True)
        return None if found is None else assembled(self.b, found), choice

    def take_masked(self, v: Var, args: Sequence[Atom]) -> tuple[Atom | None, Atom | None]:
        """Like `take`, with the mask outside which it is zero, where an argument may have an infinite slope."""
        return self._take_where(v, any(map(self.steep, args)))

    def take_result(self, v: Var) -> tuple[Atom | None, Atom | None]:
        """Like `take_masked`, for what a branch or a loop leaves, or a trip finds."""
        return self._take_where(v, self.origins.is_singular(v))

    def _take_where(self, v: Var, matters: bool) -> tuple[Atom | None, Atom | None]:
        choice, mask = self.choices.get(v), self.masks.pop(v, None)
        if (choice is None and mask is None) or not matters:
            return self.take(v), None
        return self.take(v), choice.mask(self.b) if choice is not None else mask


def _is_light(t: Var, s: Apply) -> bool:
    return t.hint == "t" and not isinstance(s.op, Contract)


def _backward(s: Statement, adj: Adjoints) -> list[Statement]:
    match s:
        case Apply(op=Ruled()):
            return _ruled(s, adj)
        case Apply(op=Elementwise()):
            ct, choice = adj.take_unsettled(s.targets[0])
            if ct is not None:
                r = as_root(s, adj.made)
                active = [i for i in linked_args(r) if r.args[i] in adj.active]
                chosen_vjp(adj.b, r, ct, choice, active, adj.add, at_corner(adj.b, r, adj.made), adj.steep)
            return [s]
        case Apply(op=Reduce(name="sum") | Cast()) if s.targets[0] in adj.choices and adj.steep(s.args[0]):
            ct, choice = adj.take_unsettled(s.targets[0])
            if ct is not None and choice is not None:
                _choose_later(s, ct, choice, adj)
            return [s]
        case Apply():
            holes = adj.open_holes(s) if isinstance(s.op, Put) else ()
            ct, mask = adj.take_masked(s.targets[0], s.args)
            if ct is not None:
                _apply(s, ct, mask, adj, holes)
            return [s]
        case If():
            return [_if(s, adj)]
        case For():
            return for_vjp(s, adj)
        case While():
            return while_vjp(s, adj)
        case Raise():
            return [s]
        case Invoke():
            routine_vjp(s, adj)
            return [s]
        case Fused():
            raise AssertionError("derivatives are taken before fusion")
        case _:
            assert_never(s)


def _choose_later(s: Apply, ct: Atom, choice: Choice, adj: Adjoints) -> None:
    """Of a sum or a cast: the choice is one between cotangents of the operand as well."""
    x, b = s.args[0], adj.b
    if not isinstance(s.op, Reduce):
        adj.add(x, cast_like(b, ct, x.aval), choice)
        return
    condition = put_axes_back(b, s, choice.condition)
    adj.add(x, reduce_vjp(b, s, ct), Choice(condition, choice.side))


def _apply(s: Apply, ct: Atom, mask: Atom | None, adj: Adjoints, holes: tuple[Hole, ...]) -> None:
    b, op, x = adj.b, s.op, s.args[0] if s.args else None
    active = [i for i in linked_args(s) if s.args[i] in adj.active]
    if x is None or not active:
        return
    masks = {i: None if mask is None or is_list(x) else reached(b, s, mask, i) for i in active}
    within = masks.get(0)
    match op:
        case Elementwise():
            raise AssertionError("choices.py does these")
        case Cast():
            adj.add(x, cast_like(b, ct, x.aval), mask=within)
        case Reduce():
            adj.add(x, reduce_vjp(b, s, ct), mask=within)
        case Cumulative(name="cummax" | "cummin"):
            adj.scatter(x, *extreme_vjp(b, s, ct), mask)
        case Cumulative():
            adj.add(x, cumulative_vjp(b, s, ct), mask=within)
        case Sort():
            adj.scatter(x, *sort_vjp(b, s, ct), mask)
        case Fourier():
            adj.add(x, fourier_vjp(b, s, ct), mask=within)
        case Collective():
            adj.add(x, collective_vjp(b, s, ct))
        case Linalg():
            for i in active:
                adj.add(s.args[i], linalg_vjp(b, s, ct, i), mask=masks[i])
        case Contract():
            if is_square(s):
                active, ct = [0], total(b, ct, ct)
            for i in active:
                adj.add(s.args[i], contract_vjp(b, s, ct, i), mask=masks[i])
        case Reshape():
            adj.add(x, reshape_vjp(b, s, ct), mask=within)
        case Concatenate():
            _pieces(s, ct, mask, masks, adj)
        case Create():
            adj.add(x, create_vjp(b, s, ct), mask=within)
        case Index() if mask is None and (axes := squeezed_by(s)):
            whole = materialise(b, ct, strong(s.targets[0].aval)) if ct.aval.shape else ct
            adj.add(x, make.expand_dims(b, whole, axes) if whole.aval.shape else whole)
        case Index():
            adj.scatter(x, ct, *index_parts(s, 1), mask)
        case Put():
            if 1 in active:
                place = Place(s.targets[0].aval.shape, *index_parts(s, 2))
                value = put_vjp_value(b, s, ct, place.distinct(adj.makers))
                adj.add(s.args[1], value, mask=masks[1])
            if 0 in active:
                adj.stored_over(s, ct, within, holes)
        case Tape(name="item"):
            _item(s, ct, mask, adj)
        case Tape():
            if 1 in active:
                entry = kept_at(s, adj.place)
                counts = None if mask is None else entry_mask(b, mask, entry, s.args[1])
                adj.add(s.args[1], kept_vjp(b, s, ct, entry), mask=counts)
            adj.add(x, ct, mask=mask)
        case ArgReduce() | Ruled() | Draw():
            raise AssertionError("an integer has no cotangent, and a rule has several")
        case _:
            assert_never(op)


def _item(s: Apply, ct: Atom, mask: Atom | None, adj: Adjoints) -> None:
    """Of the list from which an entry is read."""
    b, x = adj.b, cast(Var, s.args[0])
    if (before := adj.masks.pop(x, None)) is not None and (mask is not None or adj.sometimes):
        adj.masks[x] = used_entry(b, s, before, mask)
    so_far = adj.table.get(x) or zero_list(b, x, adj.makers, adj.hint(x))
    adj.table[x] = item_vjp(b, s, materialise(b, ct, strong(s.targets[0].aval)), so_far)


def _pieces(s: Apply, ct: Atom, mask: Atom | None, masks: Mapping[int, Atom | None], adj: Adjoints) -> None:
    """Of what joined pieces have a name for, the derivative is of that kind; else each piece gets its part."""
    b, out = adj.b, strong(s.targets[0].aval)
    if (r := rolled(s, adj.made.get)) is not None:
        counts = None if mask is None else _rolled_back(b, mask, r, out.ndim)
        adj.add(r.x, _rolled_back(b, ct, r, out.ndim), mask=counts)
    elif (both := crossed(s, adj.made.get)) is not None:
        x, y = both
        whole = cast_like(b, materialise(b, ct, out), out)
        vectors = None if mask is None else anywhere(b, mask, out.ndim, (out.ndim - 1,))
        adj.add(x, cross(b, y, whole) if x in adj.active else None, mask=vectors)
        adj.add(y, cross(b, whole, x) if y in adj.active else None, mask=vectors)
    else:
        for i, mask in masks.items():
            adj.add(s.args[i], concatenate_vjp(b, s, ct, i), mask=mask)


def _rolled_back(b: Builder, c: Atom, r: Rolled, ndim: int) -> Atom:
    """Of what broadcasts to the result, which has `ndim` axes."""
    axis = r.axis - (ndim - c.aval.ndim)
    return c if axis < 0 or c.aval.shape[axis] == 1 else roll(b, c, -r.shift, axis)


def _ruled(s: Apply, adj: Adjoints) -> list[Statement]:
    cts = [adj.take(t) for t in s.targets]
    if all(c is None for c in cts):
        return [s]
    active = [i for i in linked_args(s) if s.args[i] in adj.active]
    if not active:
        return [s]
    forward, found = ruled_vjp(adj.b, s, cts, active, adj.outermost)
    for i, c in found:
        adj.add(s.args[i], c)
    return forward


# ---- branches ------------------------------------------------------------------------------------


def _if(s: If, adj: Adjoints) -> If:
    """A backward `if` on the same condition. The forward `if` returns what it needs and cannot cheaply recompute."""
    cts = [adj.take_result(t) for t in s.targets]
    if all(c is None for c, _ in cts):
        return s
    blocks = (s.then, s.orelse)
    inner = [adj.inner(adj.b) for _ in blocks]
    outside = [v for v in dict.fromkeys((*free_variables(s.then), *free_variables(s.orelse))) if v in adj.active]
    so_far = {v: adj.table[v] for v in outside if v in adj.table}
    counts = {v: adj.masks[v] for v in so_far if v in adj.masks}
    for part in inner:
        part.table, part.masks, part.sometimes = dict(so_far), dict(counts), adj.sometimes or bool(adj.loops)
    forwards = [_branch(block, cts, part) for block, part in zip(blocks, inner, strict=True)]
    touched = [v for v in outside if any(part.table.get(v) is not adj.table.get(v) for part in inner)]
    targets = tuple(Var(adjoint_hint(v), strong(v.aval)) for v in touched)
    masks = _masks(s, adj, touched, inner, forwards)
    plans, backs = [], []
    for forward, part in zip(forwards, inner, strict=True):
        results = (
            *(materialise(part.b, part.table.get(v), strong(v.aval)) for v in touched),
            *(whole(part.b, sides[part is inner[1]], v) for v, sides in masks.items()),
        )
        back = made_again(prune(Block((), tuple(part.b.statements), results)), forward)
        defined = [t for statement in forward for t in statement.targets]
        needed = needed_of(back, defined)
        plans.append(least(adj.nest, forward, lambda f, n=needed: plan(n, (), f, (), whole=adj.changing)))  # type: ignore[misc]
        backs.append(back)
    statement, kept = _keep(s, forwards, plans)
    then, orelse = (
        copy_block(Block((), (*p.recomputed, *back.statements), back.results), dict(kept))
        for p, back in zip(plans, backs, strict=True)
    )
    used = {v: mask_of(v) for v in masks}
    adj.b.append(If((*targets, *used.values()), s.condition, then, orelse, s.span))
    adj.table.update(zip(touched, targets, strict=True))
    adj.masks.update(used)
    return statement


def _masks(
    s: If, adj: Adjoints, touched: Sequence[Var], parts: Sequence[Adjoints], forwards: Sequence[Sequence[Statement]]
) -> dict[Var, Sides]:
    """Update the masks behind a branch; those that are still to become results of it."""
    made = (*forwards, *(part.b.statements for part in parts))
    within = {t for statements in made for statement in statements for t in statement.targets}
    found: dict[Var, Sides] = {}
    for v in touched:
        sides = sides_of(v, adj, parts)
        mask = None if sides is None else said_outside(adj.b, s.condition, sides, within)
        adj.masks.pop(v, None)
        if mask is not None:
            adj.masks[v] = make.broadcast_to(adj.b, mask, v.aval.shape)
        elif sides is not None:
            found[v] = sides
    return found


def _branch(block: Block, cts: Sequence[tuple[Atom | None, Atom | None]], part: Adjoints) -> list[Statement]:
    """The backward pass of one branch. It goes on from the cotangents outside, and so accumulates into them."""
    for r, (c, mask) in zip(block.results, cts, strict=True):
        part.add(r, c, mask=mask)
    return part.backward(block.statements)


def _keep(s: If, forwards: Sequence[Sequence[Statement]], plans: Sequence[Plan]) -> tuple[If, dict[Var, Var]]:
    """The forward `if` with the saved values of its branches as more results; the other branch gives zeros for them."""
    kept = {v: Var(v.hint, v.aval) for p in plans for v in p.saved}
    branches = []
    for block, forward, p in zip((s.then, s.orelse), forwards, plans, strict=True):
        b = Builder(s.span)
        b.statements = list(forward)
        extra = tuple(v if v in p.saved else _placeholder(b, v.aval) for v in kept)
        branches.append(Block(block.params, tuple(b.statements), (*block.results, *extra)))
    then, orelse = branches
    return If((*s.targets, *kept.values()), s.condition, then, orelse, s.span), kept


def _placeholder(b: Builder, aval: Aval) -> Atom:
    if aval.weak:
        return const(aval.dtype.type(0).item())
    return make.zeros(b, aval.shape, aval.dtype) if aval.shape else const(aval.dtype.type(0))
