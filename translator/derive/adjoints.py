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
from .lists import item_vjp, kept_vjp, made_again, zero_list
from .loops import for_vjp, while_vjp
from .places import Hole, Place, untouched
from .reach import either, reached, scattered
from .reductions import cumulative_vjp, put_axes_back, reduce_vjp
from .routines import routine_vjp
from .ruled import ruled_vjp
from .settled import Nest, least
from .spectra import extreme_vjp, fourier_vjp, sort_vjp
from .steepness import may_be_steep
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
        self.holes: dict[Var, Hole] = {}  # places in cotangents of the table that are still to be set to zero
        self.made: dict[Var, Apply] = {}  # the definitions of forward values
        self.loops: tuple[For, ...] = ()  # the enclosing loops
        self.place: Var | None = None  # of the trip of the loop whose body this is: how many came before it
        self.nest: Nest | None = None  # the enclosing loops, where the backward pass may read what they leave

    def hint(self, v: Var) -> str:
        """The hint of an adjoint; a temporary inside an expression gets no name of its own."""
        return v.hint if v in self.light else adjoint_hint(v)

    def inner(self, span_of: Builder) -> Adjoints:
        inner = Adjoints(Builder(span_of.span), self.active, self.trips)
        inner.outermost = False
        inner.changing = self.changing
        inner.made, inner.nest, inner.loops = self.made, self.nest, self.loops
        return inner

    def backward(self, statements: Sequence[Statement]) -> list[Statement]:
        """Append the backward pass of the statements; the result: forward statements that keep what it needs."""
        self.light.update(t for s in statements if isinstance(s, Apply) for t in s.targets if _is_light(t, s))
        self.made.update((t, s) for s in statements if isinstance(s, Apply) for t in s.targets)
        forward: list[list[Statement]] = []
        for s in reversed(statements):
            if not isinstance(s, Apply | Raise):
                self.settle_before(s)
            with self.b.at(s.span):
                forward.append(_backward(s, self))
        self.settle_all()
        return [s for group in reversed(forward) for s in group]

    @property
    def makers(self) -> Makers:
        """The definitions of the values that backward statements name."""
        return ChainMap(cast(dict[Var, Apply], self.b.definitions), self.made)

    def add(self, a: Atom, c: Atom | None, choice: Choice | None = None, mask: Atom | None = None) -> None:
        """Add `c`, perhaps subject to a choice or zero outside a mask, to the cotangent of `a`, if `a` is active."""
        if c is None or not isinstance(a, Var) or a not in self.active:
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
        if one_side or not known or not may_be_steep(a, self.made):
            return
        both = either(self.b, old.mask(self.b) if old else before, choice.mask(self.b) if choice else mask)
        if both is not None:
            self.masks[a] = both

    def settle(self, v: Var) -> Atom | None:
        """The cotangent of `v` so far, with its choice applied and its hole set to zero."""
        hole, choice = self.holes.pop(v, None), self.choices.pop(v, None)
        if hole is not None:
            with self.b.at(hole.span):
                emptied = make.put(self.b, self.table[v], const(0.0), hole.place.dims, hole.place.dyn)
                self.table[v] = named(self.b, emptied, self.hint(v))
        if choice is not None:
            with self.b.at(self.origin[v]):
                self.table[v] = named(self.b, choice.made(self.b, self.table[v], v.aval), self.hint(v))
        return self.table.get(v)

    def settle_all(self) -> None:
        for v in (*self.choices, *self.holes):
            self.settle(v)
        self.masks.clear()

    def settle_before(self, s: Statement) -> None:
        """Settle the cotangents to which the loop or branch `s` adds by itself; those of its targets are taken."""
