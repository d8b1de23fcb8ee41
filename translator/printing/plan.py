"""The decisions about a function that are made before any line of it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from typing import assert_never

import numpy as np

from .. import ops
from ..ir import (
    Apply,
    Atom,
    Block,
    Const,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Statement,
    Var,
    While,
    blocks_of,
    inputs_of,
    walk,
)
from ..ops.core import Elementwise, is_store
from ..records import dataclass
from .immutable import VIEWS
from .lifetimes import Lifetimes
from .names import Names
from .ownership import Ownership
from .temporaries import Folding, find_folds, is_temporary


@dataclass(slots=True)
class Plan:
    """All decisions about one function."""

    folding: Folding
    lifetimes: Lifetimes
    ownership: Ownership
    names: Names

    @staticmethod
    def make(function: Function, kept: Set[Var]) -> Plan:
        first = Plan._once(function, {}, frozenset(), kept)
        moved = frozenset(_moves(function.body, first.names)) - first.ownership.copied_views
        if not moved and not any(isinstance(s, Apply) and is_store(s.op) for s in walk(function.body)):
            return first  # nothing that memory decides
        return Plan._once(function, first.ownership.roots, moved, kept)

    @staticmethod
    def _once(function: Function, roots: Mapping[Var, frozenset[Var]], moved: Set[Var], kept: Set[Var]) -> Plan:
        folding = find_folds(function.body, roots, moved, kept)
        written = _written_values(function)
        found = {id(s) for s in _own(function.body) if isinstance(s, Apply) and _is_update(s, folding, written)}

        def decide(updates: Set[int], known: Ownership | None = None) -> Plan:
            ownership = Ownership(function, lambda keep: Lifetimes(function.body, folding, keep), updates, known)
            names = Names(function.body, ownership)
            return Plan(folding, ownership.lifetimes, ownership, names)

        plain = decide(frozenset())
        if not found and not plain.ownership.assigned:
            return plain  # nothing that could be decided otherwise
        updates = _of_one_name(function.body, found, plain.names.alike)
        while True:
            plan = decide(updates, plain.ownership)
            confirmed = _of_one_name(function.body, plan.ownership.updates, plan.names.together)
            if confirmed == plan.ownership.updates:
                return plan
            updates = confirmed


def _own(block: Block) -> Iterator[Statement]:
    """Every statement but those of fused groups, which are functions of their own."""
    around = [iter(block.statements)]
    while around:
        for s in around[-1]:
            yield s
            inner = () if isinstance(s, Fused) else blocks_of(s)
            if inner:
                around += [iter(b.statements) for b in reversed(inner)]
                break
        else:
            around.pop()


def _of_one_name(body: Block, updates: Set[int], test: Callable[[Var, Var], bool]) -> set[int]:
    """The updates whose old and new value pass the test."""
    return {
        id(s)
        for s in _own(body)
        if id(s) in updates and isinstance(s, Apply) and isinstance(s.args[0], Var) and test(s.args[0], s.targets[0])
    }


def _is_update(s: Apply, folding: Folding, written: Set[Var]) -> bool:
    """x + v, x - v, x * v or x / v of the type of x, on a line of its own: what may print as `x += v`. Of the values in
    `written` any function of NumPy that has an `out`.
    """
    x, t = s.args[0] if s.args else None, s.targets[0]
    if not isinstance(x, Var) or x in s.args[1:] or t in folding.definitions or x in folding.definitions:
        return False
    if s.op in (ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE):
        return x.aval == t.aval and x.aval.dtype.kind != "b"
    return t in written and has_output(s)


def has_output(s: Apply) -> bool:
    """Whether NumPy can write the result of an elementwise operation over its first operand."""
    if not isinstance(s.op, Elementwise) or s.op.name in VIEWS or not s.op.numpy.startswith("np."):
        return False
    same = s.args[0].aval == s.targets[0].aval and s.args[0].aval.shape != ()
    return same and (s.op is ops.CLIP or isinstance(getattr(np, s.op.numpy.removeprefix("np."), None), np.ufunc))


def _written_values(function: Function) -> set[Var]:
    """The values that the arguments written in place have on the way to their last."""
    made = {s.targets[0]: s for s in function.body.statements if isinstance(s, Apply) and s.args}
    found = set[Var]()
    for a in function.body.results[function.out.leaf_count :]:
        while isinstance(a, Var) and a in made and a not in found:
            found.add(a)
            a = made[a].args[0]
    return found


def _moves(body: Block, names: Names) -> Iterator[Var]:
    """Results and initial values that do not share the name of what they become: written in the assignment itself."""
    for s in walk(body):
        match s:
            case For() | While():
                params = s.body.params[1:] if isinstance(s, For) else s.body.params
                pairs = [*zip(params, s.inits, strict=True), *zip(params, s.body.results, strict=True)]
            case If():
                pairs = [*zip(s.targets, s.then.results, strict=True), *zip(s.targets, s.orelse.results, strict=True)]
            case Apply() | Fused() | Raise() | Invoke():
                continue
            case _:
                assert_never(s)
        for target, source in pairs:
            if not isinstance(source, Var) or source not in names.lifetimes.index:
                continue
            if is_temporary(source) and not names.together(target, source):
                yield source


def python_bools(body: Block) -> frozenset[Var]:
    """Variables that may hold Python's bool: comparisons of Python numbers, flags through branches, loops and lists."""
    found: set[Var] = set()

    def holds(a: Atom) -> bool:
        return a.aval.weak or a in found or (isinstance(a, Const) and a.aval.shape == () and a.aval.dtype.kind == "b")

    for s in walk(body):
        if isinstance(s, For | While):
            params = s.body.params[1:] if isinstance(s, For) else s.body.params
            found.update(p for p in (*params, *s.targets) if _is_flag(p))
            if isinstance(s, While):
                found.update(p for p in s.condition.params if _is_flag(p))
        elif isinstance(s, If):
            found.update(t for t in s.targets if _is_flag(t))
        elif isinstance(s, Apply) and isinstance(s.op, Elementwise) and s.op.operator not in ("", "~"):
            found.update(t for t in s.targets if _is_flag(t) and all(map(holds, s.args)))
        elif isinstance(s, Apply) and s.op is ops.ITEM:
            found.update(t for t in s.targets if _is_flag(t))
    return frozenset(found)


def _is_flag(v: Var) -> bool:
    return v.aval.shape == () and v.aval.dtype == np.bool_


def plain_starts(body: Block) -> frozenset[tuple[int, int]]:
    """Loops and places whose first value, a NumPy number, may be written as Python's: `total = 0.0`.

    That is so where everything computed from it has the same type either way; the reader promotes it again.
    """
    uses = _uses(body)
    found: set[tuple[int, int]] = set()
    for s in walk(body):
        if not isinstance(s, For | While):
            continue
        params = s.body.params[1:] if isinstance(s, For) else s.body.params
        for k, init in enumerate(s.inits):
            if not isinstance(init, Const) or init.aval.shape or init.aval.weak or init.aval.dtype not in _PYTHONS:
                continue
            held = [params[k]]
            if isinstance(s, While):
                held.append(s.condition.params[k])
            if not (isinstance(s, For) and s.range.static()):
                held.append(s.targets[k])
            changes = s.body.results[k] is not params[k]
            if changes and all(_indifferent(v, u) for v in held for u in uses.get(v, [])):
                found.add((id(s), k))
    return frozenset(found)


_PYTHONS = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.complex128))


def _uses(body: Block) -> dict[Var, list[Statement]]:
    """The statements that use each variable, as an argument or as what their blocks hand on."""
    uses: dict[Var, list[Statement]] = {}
    for s in walk(body):
        for a in (*inputs_of(s), *(r for block in blocks_of(s) for r in block.results)):
            if isinstance(a, Var):
                uses.setdefault(a, []).append(s)
    return uses


def _indifferent(v: Var, use: Statement) -> bool:
    """Whether the statement has the same type when `v` is a Python number."""
    if not isinstance(use, Apply) or not isinstance(use.op, Elementwise):
        return False
    weak = [replace(a.aval, weak=True) if a is v else a.aval for a in use.args]
    return use.op.infer(weak, use.attrs) == (use.targets[0].aval,)
