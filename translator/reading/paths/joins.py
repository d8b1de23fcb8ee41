"""Joining two values into one: what a name holds after an `if` whose condition is known only at run time."""

from __future__ import annotations

import enum
import types
from dataclasses import replace
from typing import Any

import numpy as np

from ... import make
from ...builder import Builder
from ...checked import may_fail
from ...errors import CutError, Diagnostic
from ...ir import Atom, Aval, Block, If, Var
from ...ops.core import promote
from ...purpose import purpose
from ...tree import is_namedtuple
from ..core.aliases import Union, has_one_holder, is_callers, memory_of, settle
from ..core.context import Context, Snapshot
from ..core.demand import ask
from ..core.growing import grow
from ..core.layout import note_either
from ..core.reach import restore_container
from ..core.values import (
    Cell,
    Choice,
    Closure,
    Foreign,
    Masked,
    Maybe,
    Ref,
    Undefined,
    Unset,
    Value,
    attributes_of,
    describe,
    hint_of,
    is_mapping,
    is_object,
    with_entries,
)
from ..facts.maybes import is_as_before
from ..facts.unset import may_be_unset
from ..text.libraries import is_library

Pair = tuple[Value, Value]
_LADDER = "ifc"


def _choice_of(ctx: Context, v: Ref) -> Choice:
    """Which of the caller's arrays a view is of: one, or one of those that a branch before has left."""
    known = v.cell.choice
    numbers = {a for s in v.path for a in getattr(s, "dynamic", ()) if isinstance(a, Var)}
    if not numbers <= ctx.callers.variables:  # they may be the branch's, which nobody knows after it
        return Choice(make.lift(np.int64(0)), (None,))
    if known is not None:
        of = tuple(r if r is None or not v.path else Ref(r.cell, (*r.path, *v.path)) for r in known.of)
        return Choice(known.number, of)
    return Choice(make.lift(np.int64(0)), (v if is_callers(ctx, v.cell) else None,))


class Joiner:
    """Collects pairs of values, one from the end of each branch, and builds the `If` that chooses between them."""

    def __init__(self, ctx: Context, condition: Atom, then: Snapshot, orelse: Snapshot) -> None:
        self.ctx = ctx
        self.condition = condition
        self.shots = (then, orelse)
        self.results: tuple[list[Atom], list[Atom]] = ([], [])
        self.targets: list[Var] = []
        self.refs: dict[tuple[Any, ...], Ref] = {}
        self.chosen: list[tuple[Cell, str]] = []  # joined cells and their names
        self.cells: list[tuple[Cell, Var]] = []

    def join(self, x: Value, y: Value, name: str) -> Value:
        """The value that is `x` where the first branch ran and `y` where the second did."""
        if x is y:
            return x
        if isinstance(x, Undefined) or isinstance(y, Undefined):
            found = x if isinstance(x, Undefined) else y
            return replace(found, needs=(*found.needs, self.condition), number=None)
        if self.ctx.transforms and (x is None or y is None or Maybe in (type(x), type(y))):
            return self._perhaps(x, y, name, Maybe, None)
        if type(x) is Ref and type(y) is Ref:
            return self._arrays(x, y, name)
        if type(x) is Masked and type(y) is Masked and _same_parts(x, y):
            return Masked(self.join(x.whole, y.whole, name), x.parts)
        if _is_scalar(x) and _is_scalar(y):
            return self._scalars(x, y, name)
        if _is_box(x) != _is_box(y) and (_is_scalar(x) or _is_scalar(y)):
            return self._number_or_array(x, y, name)
        if type(x) is type(y):
            if type(x) is tuple and len(x) == len(y):
                return tuple(self.join(a, b, name) for a, b in zip(x, y, strict=True))
            if type(x) in (list, dict) and len(x) == len(y) and (type(x) is list or list(x) == list(y)):
                return self._containers(x, y, name)
            if is_namedtuple(x):
                return type(x)(*(self.join(a, b, name) for a, b in zip(x, y, strict=True)))
            if not (isinstance(x, tuple | list | dict | set | Closure) or _is_changeable(x)) and _equal(x, y):
                return x
            if _is_plain_object(x):
                return self._containers(x, y, name)
        return self._either(x, y, "give both branches values of one type and shape")

    def _named(self, x: Value, y: Value, name: str) -> Value:
        """What a name holds, that may have no value."""
        is_unset = x is _UNBOUND or y is _UNBOUND or Unset in (type(x), type(y))
        if is_unset and may_be_unset(self.ctx, name):
            return self._perhaps(x, y, name, Unset, _UNBOUND)
        return self.join(x, y, name)

    def _perhaps(self, x: Value, y: Value, name: str, kind: type[Maybe], nothing: Value) -> Value:
        """None, or no value, on one side, a number or an array on the other; or what may be so already."""
        sides = [v.value if type(v) is kind else v for v in (x, y)]
        some = next(v for v in sides if v is not nothing)
        if not (type(some) is Ref or _is_scalar(some)) or isinstance(some, bool):
            return self._either(x, y, "give both branches values of one type and shape")
        if any(v is nothing for v in sides):
            filled: Value = self._filled(0 if some is sides[0] else 1, some, name)
        else:
            filled = self.join(sides[0], sides[1], name)
        if isinstance(filled, Undefined):
            return filled
        flags = [self.ctx.atom(v.absent) if type(v) is kind else make.lift(np.bool_(v is nothing)) for v in (x, y)]
        return kind(filled, self.slot(flags[0], flags[1], f"no_{name}"))

    def _filled(self, side: int, v: Value, name: str) -> Value:
        """A value of one side, with zeros on the other where there is none."""
        atom = self._read(side, v) if type(v) is Ref else self.ctx.carried(v)
        aval, other = atom.aval, self.shots[1 - side].builder
        nothing = make.lift(aval.dtype.type(0).item()) if aval.weak else make.zeros(other, aval.shape, aval.dtype)
        target = self.slot(*((atom, nothing) if side == 0 else (nothing, atom)), name)
        if type(v) is not Ref:
            return target
        joined = self.ctx.cell(target)
        joined.sources = (v.cell,)
        note_either(joined, v, v)
        self.chosen.append((joined, name))
        return Ref(joined)

    def _containers(self, x: Any, y: Any, name: str) -> Value:
        """One of two lists, dicts or objects, as a new one: `aliases.check_union` refuses what would show that."""
        known = (u.joined for u in self.ctx.unions if u.condition is self.condition and u.then is x and u.orelse is y)
        joined = next(known, None)
        if joined is None:
            joined = self._contents(x, y, name) if is_mapping(x) or not is_object(x) else self._objects(x, y, name)
            self.ctx.unions.append(Union(joined, x, y, self.condition))
        return joined

    def _contents(self, x: Any, y: Any, name: str) -> Value:
        """The content of a list, dict or set that two branches have as two copies."""
        if isinstance(x, dict) and list(x) == list(y):
            return with_entries(x, [(k, self.join(x[k], y[k], f"{name}_{k}")) for k in x])
        if isinstance(x, list) and len(x) == len(y):
            return [self.join(a, b, name) for a, b in zip(x, y, strict=True)]
        return x if isinstance(x, set) and x == y else self._either(x, y, "let both branches leave the same keys")

    def _objects(self, x: Any, y: Any, name: str) -> Value:
        """One of two instances of a class, attribute by attribute."""
        then, orelse = self._held(0, x), self._held(1, y)
        if then.keys() != orelse.keys():
            return self._either(x, y, "give both branches objects with the same attributes")
        made: Value = object.__new__(type(x))
        for key in then:
            object.__setattr__(made, key, self.join(then[key], orelse[key], f"{name}_{key}"))
        return made

    def _held(self, side: int, v: Any) -> dict[str, Value]:
        """The attributes of an object at the end of a branch."""
        changed = self.shots[side].attributes.items()
        return {**attributes_of(v), **{key[1]: value for key, (obj, value) in changed if obj is v}}

    def _either(self, x: Value, y: Value, instead: str) -> Undefined:
        why = f"is {describe(x)} or {describe(y)}, depending on a condition that is known only at run time"
        return Undefined(why, instead, (self.condition,))

    def _arrays(self, x: Ref, y: Ref, name: str) -> Value:
        if x.cell is y.cell and x.path == y.path:
            return x
        if x.aval != y.aval:
            return self._either(x, y, "give both branches arrays of one shape and dtype")
        key = (x.cell, x.path, y.cell, y.path)
        if key not in self.refs:
            target = self.slot(self._read(0, x), self._read(1, y), name)
            joined = self.ctx.cell(target)
            self.refs[key] = Ref(joined)
            joined.sources = (x.cell, y.cell)
            joined.sides = (self.condition, x.cell, y.cell)
            self._note_either(joined, x, y)
            note_either(joined, x, y)
            self._note_choice(joined, x, y)
            self.chosen.append((joined, name))
        return self.refs[key]

    def _note_either(self, joined: Cell, x: Ref, y: Ref) -> None:
        """Which arrays a store into the joined one changes: those older than the branches that made it."""
        sides: list[Ref | None] = []
        for v in (x, y):
            atoms = [a for s in v.path for a in (*getattr(s, "dynamic", ()), *getattr(s, "extra", ()))]
            if v.cell.birth <= self.shots[0].births and not any(isinstance(a, Var) for a in atoms):
                sides.append(v)
            elif all(c.birth > self.shots[0].births for c in memory_of(v.cell)):
                sides.append(None)
            else:
                return
        joined.either = (self.condition, sides[0], sides[1])

    def _note_choice(self, joined: Cell, x: Ref, y: Ref) -> None:
        """Which of the caller's arrays it is."""
        sides = [_choice_of(self.ctx, v) for v in (x, y)] if purpose().hands_back else []
        if any(found is not None for side in sides for found in side.of):
            then, orelse = sides
            number = make.add(self.shots[1].builder, orelse.number, len(then.of))
            joined.choice = Choice(self.slot(then.number, number, "which"), (*then.of, *orelse.of))

    def _read(self, side: int, v: Ref) -> Atom:
        with self.ctx.inside(self.shots[side]):
            return self.ctx.read(v)

    def slot(self, x: Atom, y: Atom, name: str) -> Var:
        """A target of the `If`; `x` and `y` have one type."""
        target = Var(hint_of(name), x.aval)
        self.targets.append(target)
        self.results[0].append(x)
        self.results[1].append(y)
        return target

    def _scalars(self, x: Value, y: Value, name: str) -> Value:
        if type(x) is type(y) and type(x) is not Var and _equal(x, y):
            return x
        return self._numbers(x, y, self.ctx.carried(x), self.ctx.carried(y), name)

    def _numbers(self, x: Value, y: Value, a: Atom, b: Atom, name: str) -> Value:
        """One number of the two, `a` and `b` as operands."""
        aval = common_scalar(a.aval, b.aval)
        then, orelse = self.shots
        if aval is None:
            either = self._either(x, y, "convert both to one dtype")
            held = _holding(a.aval, b.aval)
            if held is None:
                return either
            number = self.slot(convert(then.builder, a, held), convert(orelse.builder, b, held), name)
            return replace(either, number=number, dtypes=(a.aval.dtype, b.aval.dtype))
        target = self.slot(convert(then.builder, a, aval), convert(orelse.builder, b, aval), name)
        if a.aval.dtype.kind != b.aval.dtype.kind or self.ctx.numbers.blended & {a, b}:
            self.ctx.numbers.blended.add(target)
        if self.ctx.numbers.boxed & {a, b}:
            self.ctx.numbers.boxed.add(target)
        return target

    def _number_or_array(self, x: Value, y: Value, name: str) -> Value:
        """Whether the value is a number, or an array without axes; for derivatives and batches that is one."""
        a = self._read(0, x) if _is_box(x) else self.ctx.carried(x)
        b = self._read(1, y) if _is_box(y) else self.ctx.carried(y)
        side, box = (0, x) if _is_box(x) else (1, y)
        if self.ctx.transforms and has_one_holder(self.ctx, box, self.shots[side].env):
            number = self._numbers(x, y, a, b, name)
            self.ctx.numbers.boxed |= {number} if type(number) is Var else set()
            return number
        either = self._either(x, y, "make both numbers, x[()], or both arrays")
        if a.aval != b.aval:
            return either
        return replace(either, number=self.slot(a, b, name), dtypes=(a.aval.dtype, b.aval.dtype))

    # ---- state -----------------------------------------------------------------------------------

    def join_state(self, names: frozenset[str] | None) -> None:
        """Names (None: all that differ), written cells, changed containers and attributes."""
        self._join_cells()
        env = self.ctx.frame.env
        then, orelse = self.shots
        for name in {**then.env, **orelse.env}:
            x, y = then.env.get(name, _UNBOUND), orelse.env.get(name, _UNBOUND)
            if x is y:
                env[name] = x
            elif is_as_before(self.ctx, self.condition, env.get(name), x, y):
                continue
            elif names is None or name in names:
                env[name] = self._named(x, y, name)
            else:
                env.pop(name, None)
        self._join_containers()
        self._join_attributes()

    def _join_cells(self) -> None:
        then, orelse = self.shots
        for cell in {**then.cells, **orelse.cells}:
            x, y = then.cells.get(cell, cell.atom), orelse.cells.get(cell, cell.atom)
            if x is not y:
                hint = next((a.hint for a in (x, y, cell.atom) if isinstance(a, Var) and a.hint != "t"), "t")
                self.cells.append((cell, self.slot(x, y, hint)))
            elif x is not cell.atom:
                self.cells.append((cell, self.slot(x, y, "t")))

    def _join_containers(self) -> None:
        then, orelse = self.shots
        for key, (container, _) in {**then.containers, **orelse.containers}.items():
            x = then.containers[key][1] if key in then.containers else container.copy()
            y = orelse.containers[key][1] if key in orelse.containers else container.copy()
            joined = self._contents(x, y, "item")
            if isinstance(joined, Undefined):
                grow(self.ctx, (container,), (self.condition,))
                ask(self.ctx, (self.condition,))
                raise CutError(
                    Diagnostic(
                        f"a {type(container).__name__} changes its length where a condition on the data holds",
                        why="the structure of containers is fixed when the function is translated",
                        instead="keep an array of the final size and a count, or select with np.where",
                    )
                )
            self.ctx.touch(container)
            restore_container(container, joined)

    def _join_attributes(self) -> None:
        then, orelse = self.shots
        for key, (obj, _) in {**then.attributes, **orelse.attributes}.items():
            now = getattr(obj, key[1], _UNBOUND)
            x = then.attributes[key][1] if key in then.attributes else now
            y = orelse.attributes[key][1] if key in orelse.attributes else now
            self.ctx.set_attribute(obj, key[1], self.join(x, y, key[1]))

    def finish(self, returned: Value = None) -> None:
        """Append the `If`, unless nothing depends on it, and set the cells that it writes."""
        ctx = self.ctx
        if self.targets or any(map(may_fail, (s for shot in self.shots for s in shot.builder.statements))):
            then, orelse = (
                Block((), tuple(s.builder.statements), tuple(r)) for s, r in zip(self.shots, self.results, strict=True)
            )
            ctx.append(If(tuple(self.targets), self.condition, then, orelse, ctx.b.span))
        for cell, target in sorted(self.cells, key=lambda pair: pair[0].birth):
            ctx.set_cell(cell, target)
        settle(ctx, self.chosen, returned)


_UNBOUND = Undefined(
    "may be unbound here: only one branch of an `if` assigns it", "assign it before the `if`", unbound=True
)


def _same_parts(x: Masked, y: Masked) -> bool:
    """Whether two selections take the same of their arrays: what was there before the branches."""
    same = len(x.parts) == len(y.parts) and all(p is q for p, q in zip(x.parts, y.parts, strict=True))
    return same and x.whole.aval == y.whole.aval


def _is_changeable(v: Value) -> bool:
    return is_object(v) and not isinstance(v, enum.Enum) and not getattr(type(v), "__dataclass_params__", _PLAIN).frozen


def _is_plain_object(v: Value) -> bool:
    """An instance of a user's class that holds its attributes and no more: no list, array or function besides."""
    cls: Any = type(v)
    of_the_user = is_object(v) and not isinstance(v, enum.Enum | Foreign) and not is_library(cls)
    return of_the_user and cls.__new__ is object.__new__


_PLAIN = types.SimpleNamespace(frozen=False)


def _is_scalar(v: Value) -> bool:
    return type(v) is Var or isinstance(v, bool | int | float | complex | np.generic)


def _is_box(v: Value) -> bool:
    return type(v) is Ref and not v.aval.shape


def _equal(x: Any, y: Any) -> bool:
    try:
        return bool(x == y) and repr(x) == repr(y)  # repr tells 0.0 from -0.0
    except Exception:  # a user's __eq__ may raise anything: then they are not known to be equal
        return False


def common_scalar(a: Aval, b: Aval) -> Aval | None:
    """The type that two numbers are brought to: Python's ladder for Python numbers, else NumPy's promotion."""
    if a == b:
        return a
    if "b" in (a.dtype.kind, b.dtype.kind):
        return None
    if a.weak and b.weak:
        return max(a, b, key=lambda v: _LADDER.index(v.dtype.kind))
    if not a.weak and not b.weak:
        return None
    return Aval((), promote([a, b]))


def _holding(a: Aval, b: Aval) -> Aval | None:
    """The type of NumPy numbers that keeps each value of both; None where there is none."""
    if a.weak or b.weak or a.dtype.kind != b.dtype.kind or a.dtype.kind not in "iufc":
        return None
    return Aval((), np.promote_types(a.dtype, b.dtype))


def convert(b: Builder, atom: Atom, aval: Aval) -> Atom:
    """A number converted to the type `aval`; only to wider ones."""
    return atom if atom.aval == aval else make.widened(b, atom, aval)
