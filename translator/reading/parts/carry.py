"""What a run-time loop carries from one iteration to the next: found, typed, and checked for aliases."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from dataclasses import field
from typing import Any

import numpy as np

from ... import make
from ...errors import CutError
from ...ir import Atom, Aval, Var
from ...records import dataclass
from ..core.aliases import Carried, LoopMemory, Union, has_one_holder, memory_of, settle
from ..core.context import Context
from ..core.demand import ask
from ..core.detours import Detour
from ..core.growing import grow
from ..core.layout import note_either, same_layout, unknown_layout
from ..core.reach import containers_of, restore_container
from ..core.values import (
    Cell,
    Masked,
    Maybe,
    Ref,
    Undefined,
    Unset,
    Value,
    attributes_of,
    describe,
    hint_of,
    is_number,
    is_object,
    is_runtime,
    is_transformed,
    leaves_in,
)
from ..facts.maybes import perhaps
from ..facts.unset import may_be_unset
from ..paths.joins import common_scalar, convert
from .selection import concrete
from .shells import BOX, LEAF, Same, Shell, close_value, open_value

# ---- places --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Something that a loop changes. `kind`: name, out (a name that only the code after the loop reads), cell,
    container, attribute."""

    kind: str
    key: Any
    target: Any = field(compare=False, default=None)

    @property
    def hint(self) -> str:
        if self.kind == "cell":
            atom = self.target.atom
            return self.target.name or (atom.hint if isinstance(atom, Var) else "t")
        label = self.key if isinstance(self.key, str) else self.key[1] if self.kind == "attribute" else "t"
        return hint_of(str(label))

    def said(self, ctx: Context) -> str:
        """How error messages call the place."""
        match self.kind:
            case "container":
                name = next((n for n, v in ctx.frame.env.items() if v is self.target), "a container")
                return f"an item of {name}"
            case "attribute":
                return f"the attribute {self.key[1]}"
            case _:
                return self.hint

    @property
    def holds(self) -> bool:
        """Whether the place is inside a container or an object."""
        return self.kind in ("container", "attribute")

    def read(self, ctx: Context) -> Value:
        """The current value at the place."""
        match self.kind:
            case "name" | "out":
                return ctx.frame.env.get(self.key, UNBOUND)
            case "cell":
                return Ref(self.target)
            case "container":
                return self.target.copy()
            case _:
                return getattr(self.target, self.key[1], UNBOUND)

    def bind(self, ctx: Context, value: Value) -> None:
        match self.kind:
            case "name" | "out":
                ctx.frame.env[self.key] = value
            case "cell":
                ctx.set_cell(self.target, ctx.atom(value))
            case "container":
                ctx.touch(self.target)
                restore_container(self.target, value)
            case _:
                ctx.set_attribute(self.target, self.key[1], value)


UNBOUND = Undefined("may be unbound here: the loop may not run", "assign it before the loop", unbound=True)


@dataclass(slots=True)
class Leaf:
    """One carried number or array. `entry` is the cell that it has in the body, `exit` the array at the body's end."""

    place: Place
    param: Var
    init: Value
    entry: Cell | None = None
    exit: Value = None
    written: bool = False

    @property
    def is_array(self) -> bool:
        return bool(self.param.aval.shape) or type(self.init) is Ref or type(self.exit) is Ref


@dataclass(slots=True)
class Entered:
    """A body being read: its parameters, and the carried leaves that they stand for."""

    params: list[Var]
    leaves: dict[Place, list[Leaf]]
    shells: dict[Place, Shell]
    mark: int
    births: int
    env: dict[str, Value]  # the names before the body
    carried: dict[int, Carried] = field(default_factory=dict)
    apart: frozenset[int] = frozenset()  # containers and objects that are places themselves


class NeedsFlags(Detour):
    """The body leaves the loop by `break` or `return`: the loop must carry flags."""


class NeedsKept(Detour):
    """A name is bound only where the body leaves the loop by `break`: the loop must carry it under a hidden name."""

    def __init__(self, name: str, value: Value) -> None:
        self.name = name
        self.value = value


class NeedsValue(Detour):
    """The body returns: the loop must carry a value of this structure."""

    def __init__(self, value: Value) -> None:
        self.value = value


@dataclass(slots=True)
class Outcome:
    """The findings of one reading of a body."""

    entered: Entered
    results: list[Atom] = field(default_factory=list)
    new: list[Place] = field(default_factory=list)
    retyped: dict[tuple[Place, int], Aval] = field(default_factory=dict)
    mismatch: tuple[Place, Value, Value] | None = None
    unchanged: list[Place] = field(default_factory=list)
    maybes: dict[Place, Value] = field(default_factory=dict)
    boxed: set[Place] = field(default_factory=set)

    @property
    def grows(self) -> bool:
        """Whether a list changes its length."""
        return self.mismatch is not None and self.mismatch[0].kind == "container" and isinstance(self.mismatch[2], list)


@dataclass(slots=True)
class Plan:
    """The places that the loop carries, as far as known by now."""

    places: list[Place]
    outs: list[Place]
    dropped: set[Place] = field(default_factory=set)
    types: dict[tuple[Place, int], Aval] = field(default_factory=dict)
    maybes: dict[Place, Value] = field(default_factory=dict)  # that are None at first, with what they are else
    boxed: set[Place] = field(default_factory=set)  # numbers that are arrays without axes after an iteration
    read_first: Set[str] = frozenset()  # names that the body may read before it assigns them
    may_not_run: bool = False  # what is None before the loop may be None behind it

    def learn(self, outcome: Outcome) -> bool:
        """Take over the findings of an attempt; returns whether the body must be read again."""
        self.places += [p for p in outcome.new if p not in self.places]
        self.outs = [p for p in self.outs if Place("name", p.key) not in self.places]
        self.types.update(outcome.retyped)
        self.maybes.update(outcome.maybes)
        boxed = not outcome.boxed <= self.boxed
        self.boxed |= outcome.boxed
        gone = [p for p in outcome.unchanged if p not in self.dropped]  # once: what comes back stays
        self.dropped.update(gone)
        self.places = [p for p in self.places if p not in gone]
        return bool(outcome.new or outcome.retyped or outcome.maybes or boxed or gone)


def initial_plan(ctx: Context, node: ast.For | ast.While, extra: tuple[str, ...]) -> Plan:
    """The plan to begin with: names that the body assigns, and arrays that it stores into, by its syntax."""
    live, env = ctx.frame.live, ctx.frame.env
    rebound = set(live.stored[node]) | set(extra)
    cells: list[Cell] = []
    for name in sorted(live.augmented[node] | live.written[node]):
        value = env.get(name)
        changes = not (type(value) is Ref and value.cell.immutable) or name in live.written[node]
        if type(value) is Ref and name not in rebound and changes:
            if value.cell not in cells and not value.cell.doubt:
                cells.append(value.cell)
        elif name in live.augmented[node]:
            rebound.add(name)
    read_first = live.entry[node] | live.inner | set(extra)
    needed = read_first | live.after[node]
    order = {name: i for i, name in enumerate(env)}
    names = sorted((n for n in rebound if n in needed), key=lambda n: (order.get(n, len(order)), n))
    carried = [Place("name", n) for n in names if n in read_first and n in env]
    outs = [Place("out", n) for n in names if not (n in read_first and n in env)]
    return Plan(carried + [Place("cell", id(c), c) for c in cells], outs, read_first=read_first)


# ---- one reading of a body -----------------------------------------------------------------------


def enter(ctx: Context, plan: Plan, node: ast.AST) -> Entered:
    """Bind the carried places to fresh parameters."""
    entered = Entered([], {}, {}, 0, ctx.births, dict(ctx.frame.env))
    entered.apart = frozenset(id(p.target) for p in plan.places if p.holds)
    for place in plan.places:
        inits: list[Value] = []
        found = place.read(ctx)
        found = perhaps(ctx, found, plan.maybes[place]) if place in plan.maybes else found
        shell = open_value(found, inits, entered.apart if place.holds else frozenset())
        values: list[Value] = []
        leaves: list[Leaf] = []
        for i, init in enumerate(inits):
            aval = plan.types.get((place, i)) or ctx.carried(init).aval
            param = Var(place.hint, aval)
            entered.params.append(param)
            leaf = Leaf(place, param, init)
            if leaf.is_array:
                leaf.entry = ctx.cell(param) if place.kind != "cell" else place.target
                if place.kind != "cell" and type(init) is Ref:
                    leaf.entry.sources = (init.cell,)
                    note_either(leaf.entry, init, init)
                values.append(Ref(leaf.entry) if place.kind != "cell" else Ref(ctx.cell(param)))
            else:
                ctx.loops.of[param] = node
                if place in plan.boxed or (type(init) is Var and init in ctx.numbers.boxed):
                    ctx.numbers.boxed.add(param)
                values.append(param)
            leaves.append(leaf)
        entered.leaves[place], entered.shells[place] = leaves, shell
        before = place.read(ctx)
        place.bind(ctx, close_value(shell, iter(values)))
        if not place.holds:
            _stands_for(ctx, place.read(ctx), before)
    for place in plan.outs:
        ctx.frame.env.pop(place.key, None)
    entered.mark = len(ctx.journal)
    return entered


def leave(ctx: Context, plan: Plan, entered: Entered) -> Outcome:
    """Finish the body: the values for the next iteration, and the places that the plan has missed."""
    outcome = Outcome(entered)
    _find_new_places(ctx, plan, entered, outcome)
    for place in plan.places:
        _leave_place(ctx, place, entered, outcome, plan.may_not_run)
    for place in plan.outs:
        _leave_out(ctx, plan, place, outcome)
    _refuse_shared(ctx, plan, entered, outcome)
    return outcome


def _stands_for(ctx: Context, inside: Value, before: Value) -> None:
    """Note that the containers a name has in the body may be the ones from before the loop."""
    for made, old in zip(_opened(inside), _opened(before), strict=True):
        ctx.unions.append(Union(made, old, old))


def _opened(v: Value) -> Iterator[Any]:
    """The containers and objects whose contents `open_value` takes apart."""
    if is_transformed(v):
        return
    if isinstance(v, list | dict) or is_object(v):
        yield v
    if isinstance(v, tuple | list):
        for x in v:
            yield from _opened(x)
    elif isinstance(v, dict) or is_object(v):
        for x in (v if isinstance(v, dict) else attributes_of(v)).values():
            yield from _opened(x)


def _refuse_shared(ctx: Context, plan: Plan, entered: Entered, outcome: Outcome) -> None:
    """Refuse a container that two names share at the end of the body: the next iteration would have two copies."""
    places = [p for p in (*plan.places, *plan.outs) if p.kind in ("name", "out")]
    if outcome.mismatch is not None or not any(True for p in places for _ in _opened(p.read(ctx))):
        return
    own = {p.key for p in places}
    others = {k: v for k, v in ctx.frame.env.items() if k in entered.env and k not in own}
    held = {id(v) for v in containers_of(ctx.frame, others)} | set(ctx.callers.containers)
    for place in places:
        for container in _opened(place.read(ctx)):
            if id(container) in held:
                shared = Undefined("has two names after an iteration", "let each name have a copy of its own")
                outcome.mismatch = (place, entered.env.get(place.key, UNBOUND), shared)
                return
            held.add(id(container))


def _find_new_places(ctx: Context, plan: Plan, entered: Entered, outcome: Outcome) -> None:
    known = set(plan.places)
    for target, name, _ in ctx.journal[entered.mark :]:
        if name is None:
            place = Place("container", id(target), target)
        elif isinstance(target, Cell):
            if name != "atom" or target.birth > entered.births or (target.either and all(target.either[1:])):
                continue
            place = Place("cell", id(target), target)
            if any(Place("cell", id(t)) in known for t in target.twins):
                continue
        else:
            place = Place("attribute", (id(target), name), target)
        if place not in known and _is_older(ctx, place, entered):
            known.add(place)
            outcome.new.append(place)
    for place in plan.dropped:
        is_gone = place.kind == "name" and place not in known
        if is_gone and ctx.frame.env.get(place.key) is not entered.env.get(place.key):
            outcome.new.append(place)


def _is_older(ctx: Context, place: Place, entered: Entered) -> bool:
    """Whether a changed container or object was there before the body. Cells are told by their births."""
    if place.kind == "cell" or id(place.target) in ctx.callers.containers:
        return True
    return any(place.target is v for v in containers_of(ctx.frame, entered.env))


def _leave_place(ctx: Context, place: Place, entered: Entered, outcome: Outcome, may_not_run: bool) -> None:
    leaves = entered.leaves[place]
    if place.kind == "cell":
        atom = place.target.atom
        if atom is leaves[0].param:
            outcome.unchanged.append(place)
        outcome.results.append(atom)
        return
    final = place.read(ctx)
    if entered.shells[place][0] in (Maybe, Unset):
        final = perhaps(ctx, final, close_value(entered.shells[place], iter([x.param for x in leaves])))
    elif ctx.transforms and place.kind in ("name", "attribute"):
        begun = may_not_run and entered.shells[place] == ("static", None, Same(None)) and is_runtime(final)
        if begun or type(final) is Maybe:
            outcome.maybes[place] = final if type(final) is Maybe else Maybe(final, np.False_)
            return
    values: list[Value] = []
    shell = open_value(final, values, entered.apart if place.holds else frozenset())
    boxed = ctx.transforms and (entered.shells[place], shell) == (LEAF, BOX) and place.kind == "name"
    if boxed and has_one_holder(ctx, values[0], ctx.frame.env):
        shell, values = LEAF, [ctx.number(values[0])]
        outcome.boxed.add(place)
    if place.kind == "name" and _is_kept(shell == entered.shells[place], leaves, values):
        outcome.unchanged.append(place)
    if shell != entered.shells[place] or any(isinstance(v, Undefined) for v in values):
        before = close_value(entered.shells[place], iter([x.init for x in leaves]))
        outcome.mismatch = outcome.mismatch or (place, before, final)
        return
    for i, (leaf, value) in enumerate(zip(leaves, values, strict=True)):
        leaf.exit = value
        leaf.written = leaf.entry is not None and any(
            n == "atom" and leaf.entry in memory_of(t) for t, n, _ in ctx.journal[entered.mark :]
        )
        atom = ctx.carried(value)
        if atom.aval != leaf.param.aval:
            wider = _wider(leaf.param.aval, atom.aval)
            if wider is None:
                outcome.mismatch = outcome.mismatch or (place, leaf.init, value)
                return
            if wider != leaf.param.aval:
                outcome.retyped[place, i] = wider
                continue
            atom = convert(ctx.b, atom, wider)
        outcome.results.append(atom)


def _is_kept(same_shell: bool, leaves: list[Leaf], values: list[Value]) -> bool:
    """Whether a name has the same value at the end of an iteration as at its start."""
    return same_shell and all(
        (v.cell is x.entry and not v.path) if type(v) is Ref else v is x.param
        for x, v in zip(leaves, values, strict=True)
    )


def _wider(before: Aval, after: Aval) -> Aval | None:
    if before.shape or after.shape:
        return None
    return common_scalar(before, after)


def _becomes_unset(ctx: Context, plan: Plan, place: Place, final: Value, outcome: Outcome) -> bool:
    """Whether a name that has no value before the loop must be carried with a flag that says whether it has one."""
    if outcome.entered.env.get(place.key, UNBOUND) is not UNBOUND or not may_be_unset(ctx, place.key):
        return False
    if not (is_runtime(final) or is_number(final) or type(final) is Unset):
        if place.key in plan.read_first:
            outcome.mismatch = outcome.mismatch or (place, UNBOUND, final)
        return False
    carried = Place("name", place.key)
    outcome.new.append(carried)
    outcome.maybes[carried] = final if type(final) is Unset else Unset(final, np.False_)
    return True


def _leave_out(ctx: Context, plan: Plan, place: Place, outcome: Outcome) -> None:
    final = place.read(ctx)
    if _becomes_unset(ctx, plan, place, final, outcome):
        return
    before_loop = list(leaves_in(outcome.entered.env.get(place.key, UNBOUND)))
    for v in leaves_in(final):
        if isinstance(v, Masked) and not any(v is old for old in before_loop):
            concrete(ctx, v, ctx.frame.source.node, f"{place.key} keeps, after a loop, a selection x[mask] made in it")
            raise CutError(f"{place.key} keeps, after a loop, a slice made in it")
    values: list[Value] = []
    shell = open_value(final, values)
    if isinstance(final, Undefined) or any(isinstance(v, Undefined) for v in values):
        if not isinstance(outcome.entered.env.get(place.key, UNBOUND), Undefined):
            outcome.new.append(Place("name", place.key))  # some path may keep the previous value
        return
    atoms = [ctx.carried(v) for v in values]
    before: list[Value] = []
    if open_value(outcome.entered.env.get(place.key, UNBOUND), before) == shell:
        # where the loop may not run, the name keeps what it was: both must have one type
        wider = [_wider(a.aval, ctx.atom(v).aval) for a, v in zip(atoms, before, strict=True)]
        atoms = [a if w is None else convert(ctx.b, a, w) for a, w in zip(atoms, wider, strict=True)]
    leaves = []
    for v, a in zip(values, atoms, strict=True):
        param = Var(place.hint, a.aval)
        leaves.append(Leaf(place, param, None, None, v))
        outcome.entered.params.append(param)
        outcome.results.append(a)
    outcome.entered.leaves[place] = leaves
    outcome.entered.shells[place] = shell


# ---- before and after the loop -------------------------------------------------------------------


def initial_atoms(ctx: Context, entered: Entered, runs: bool) -> tuple[list[Atom], list[Place]]:
    """The values of the parameters in the first iteration, and the names that have none if the loop does not run."""
    inits: list[Atom] = []
    unbound: list[Place] = []
    for place, leaves in entered.leaves.items():
        if place.kind == "out":
            inits += _out_inits(ctx, place, entered.shells[place], leaves, runs, unbound)
            continue
        inits += [convert(ctx.b, ctx.carried(leaf.init), leaf.param.aval) for leaf in leaves]
    return inits, unbound


def _out_inits(
    ctx: Context, place: Place, shell: Shell, leaves: list[Leaf], runs: bool, unbound: list[Place]
) -> list[Atom]:
    before: list[Value] = []
    value = ctx.frame.env.get(place.key, UNBOUND)
    same = not isinstance(value, Undefined) and open_value(value, before) == shell
    if same:
        atoms = [ctx.carried(v) for v in before]
        avals = [x.param.aval for x in leaves]
        if all(a.aval == t or _wider(t, a.aval) == t for a, t in zip(atoms, avals, strict=True)):
            for x, v in zip(leaves, before, strict=True):
                x.init = v
            return [convert(ctx.b, a, x.param.aval) for a, x in zip(atoms, leaves, strict=True)]
    if not runs:
        unbound.append(place)
    return [zero(ctx, x.param.aval) for x in leaves]


def zero(ctx: Context, aval: Aval) -> Atom:
    if aval.weak:
        return make.lift({"i": 0, "f": 0.0, "c": 0j}[aval.dtype.kind])
    return make.zeros(ctx.b, aval.shape, aval.dtype)


def loop_memory(ctx: Context, entered: Entered, node: ast.AST) -> LoopMemory:
    """Decide which arrays share memory after the loop. Raises AliasError where that cannot be decided."""
    leaves = [x for group in entered.leaves.values() for x in group if x.is_array and x.place.kind != "cell"]
    carried = [Carried(x.place.key, x.place.said(ctx), x.init, x.entry, x.exit, x.written) for x in leaves]
    memory = LoopMemory(carried, entered.births)
    written = {p.target for p in entered.leaves if p.kind == "cell"}
    memory.check(ctx, written, node)
    turned = {x.entry for x in leaves if x.entry and type(x.exit) is Ref and not same_layout(x.entry, x.exit)}
    if any(cell in turned and i in ctx.reshapes.relied_on for i, (cell, _) in enumerate(ctx.reshapes.taken)):
        raise unknown_layout()
    entered.carried = {id(x): c for x, c in zip(leaves, carried, strict=True)}
    return memory


def bind_results(
    ctx: Context, entered: Entered, memory: LoopMemory, targets: list[Var], unbound: list[Place], runs: bool
) -> None:
    """Bind all places to their values after the loop."""
    feed = iter(targets)
    shared: dict[tuple[Cell, Any], Ref] = {}
    values: list[tuple[Place, Value]] = []
    fresh: list[tuple[Cell, str]] = []
    for place, leaves in entered.leaves.items():
        built: list[Value] = []
        for leaf in leaves:
            target = next(feed)
            end = leaf.exit
            if not leaf.is_array:
                ctx.numbers.boxed |= {target} if leaf.param in ctx.numbers.boxed else set()
                built.append(target)
            elif place.kind == "cell":
                built.append(Ref(ctx.cell(target)))
            elif runs and type(end) is Ref and _is_outer(end, entered, memory):
                built.append(Ref(end.cell, end.path) if end.path else Ref(ctx.twin(end.cell, target)))
            elif runs and type(end) is Ref and (end.cell, end.path) in shared:
                built.append(shared[end.cell, end.path])
            else:
                ref = Ref(ctx.cell(target))
                ref.cell.sources = memory.after(entered.carried[id(leaf)], runs)
                note_either(ref.cell, leaf.init, end)
                fresh.append((ref.cell, place.hint))
                if type(end) is Ref:
                    shared[end.cell, end.path] = ref
                built.append(ref)
        values.append((place, UNBOUND if place in unbound else close_value(entered.shells[place], iter(built))))
    for place, value in values:
        place.bind(ctx, value)
        if place.kind == "name" and place not in unbound:
            _stands_for(ctx, value, entered.env.get(place.key, UNBOUND))
    settle(ctx, fresh)


def _is_outer(end: Ref, entered: Entered, memory: LoopMemory) -> bool:
    """Whether a name is bound, at the end of every iteration, to one array from outside the loop, or one view of it."""
    is_one = not any(isinstance(a, Var) for s in end.path for a in getattr(s, "dynamic", ()))
    return is_one and end.cell.birth <= entered.births and end.cell not in memory.by_entry


def mismatch_error(ctx: Context, outcome: Outcome, node: ast.AST) -> Exception:
    assert outcome.mismatch is not None
    place, before, after = outcome.mismatch
    if isinstance(after, Undefined):
        ask(ctx, after.needs)
        return ctx.error(CutError, node, f"{place.hint} {after.why}", instead=after.instead)
    if outcome.grows:
        grow(ctx, (place.target,))
        return ctx.error(
            CutError,
            node,
            "a list changes its length in a loop whose number of steps is known only at run time",
            why="the number of arrays in a program is fixed",
            instead="allocate an array before the loop, out = np.empty((n, ...)), and store out[i] = ...",
        )
    return ctx.error(
        CutError,
        node,
        f"{place.hint} is {describe(before)} before the loop and {describe(after)} after an iteration",
        why="a loop carries values of one type and shape",
        instead=f"start with a value of the final type, e.g. {place.hint} = np.zeros(shape, dtype)",
    )
