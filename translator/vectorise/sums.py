"""Carried values that trips only add to, or only choose from: computed over all trips at once.

    for i in range(n):
        s += x[i] * y[i]            # np.sum(x * y): the order of a sum is NumPy's, not the loop's
        low = np.minimum(low, x[i])
        if x[i] > best:             # np.argmax: the first of the largest
            best, where = x[i], i
        if x[i] < 0:
            last = x[i]             # of the last trip that comes here
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Block, Const, For, If, Statement, Var, free_variables
from ..ops.core import Elementwise, Reduce, Run
from ..records import dataclass
from .stores import uses

Rule = Literal["first largest", "first smallest", "last true", "while true", "until true", "last"]

_REDUCTIONS: dict[str, Reduce] = {
    "add": ops.SUM,
    "subtract": ops.SUM,
    "multiply": ops.PROD,
    "maximum": ops.MAX,
    "minimum": ops.MIN,
    "logical_and": ops.ALL_,
    "logical_or": ops.ANY,
    "bitwise_and": ops.ALL_,  # of bools only, as the two above
    "bitwise_or": ops.ANY,
}
_COMBINE: dict[str, Elementwise] = {
    "sum": ops.ADD,
    "prod": ops.MULTIPLY,
    "max": ops.MAXIMUM,
    "min": ops.MINIMUM,
    "all": ops.LOGICAL_AND,
    "any": ops.LOGICAL_OR,
}


@dataclass(slots=True)
class Sum:
    """A carried value that is only combined with values that do not depend on it. `versions`: its names in a trip."""

    slot: int
    param: Var
    reduction: Reduce | None = None
    versions: set[Var] = field(default_factory=set)


def sum_of(loop: For, slot: int) -> Sum | None:
    """The carried value as a reduction; None where it is used in any other way."""
    param, result = loop.body.params[slot + 1], loop.body.results[slot]
    found = Sum(slot, param)
    final = _linear(found, loop.body, param)
    others = [r for k, r in enumerate(loop.body.results) if k != slot]
    if final is None or final is not result or found.reduction is None or found.versions & set(others):
        return None
    if found.reduction in (ops.ALL_, ops.ANY) and param.aval.dtype.kind != "b":
        return None
    return None if is_half(param.aval) and found.reduction in (ops.SUM, ops.PROD) else found


def is_half(aval: Aval) -> bool:
    """Whether numbers have so few digits that a sum depends on its order in the first ones."""
    return aval.dtype.kind not in "biufc" or (aval.dtype.kind == "f" and aval.dtype.itemsize < 4)


def _linear(found: Sum, block: Block, current: Var) -> Var | None:
    """What becomes of `current` in a block that uses each of its versions once; None where it does not."""
    versions = {current}
    for s in block.statements:
        used = uses(s) & versions
        if not used:
            continue
        after = _advanced(found, s, current) if used == {current} else None
        if after is None:
            return None
        current = after
        versions.add(current)
    found.versions |= versions
    return None if sum(r in versions for r in block.results) > 1 or _stale(block, versions - {current}) else current


def _stale(block: Block, old: set[Var]) -> bool:
    return any(r in old for r in block.results)


def _advanced(found: Sum, s: Statement, current: Var) -> Var | None:
    match s:
        case Apply(op=op, args=(x, y)) if op.name in _REDUCTIONS:
            kind = _REDUCTIONS[op.name]
            alone = (x is current) != (y is current) and (x is current or op is not ops.SUBTRACT)
            if not alone or s.targets[0].aval != current.aval or found.reduction not in (None, kind):
                return None
            found.reduction = kind
            return s.targets[0]
        case If(condition=condition):
            ends = [_linear(found, block, current) for block in (s.then, s.orelse)]
            for t, a, b in zip(s.targets, s.then.results, s.orelse.results, strict=True):
                if (a, b) == tuple(ends) and condition is not current and t.aval == current.aval:
                    return t
        case For(inits=inits, body=body):
            slots = [k for k, a in enumerate(inits) if a is current]
            if len(slots) != 1 or current in (*free_variables(body), s.range.start, s.range.stop, s.range.step):
                return None
            k = slots[0]
            end = _linear(found, body, body.params[k + 1])
            if end is not None and body.results[k] is end:
                found.versions.add(body.params[k + 1])
                return s.targets[k]
    return None


def neutral(reduction: Reduce, aval: Aval) -> Any:
    """What combined with x gives x, to the bit."""
    kind = aval.dtype.kind
    match reduction.name:
        case "sum":
            value: Any = -0.0 if kind in "fc" else 0
        case "prod":
            value = 1
        case "all" | "any":
            value = reduction is ops.ALL_
        case _:
            low = -np.inf if kind == "f" else False if kind == "b" else np.iinfo(aval.dtype).min
            high = np.inf if kind == "f" else True if kind == "b" else np.iinfo(aval.dtype).max
            value = low if reduction is ops.MAX else high
    if aval.weak:
        return make.lift({"i": int, "f": float, "c": complex}[kind](value))
    return make.lift(aval.dtype.type(value))


def combined(b: Builder, reduction: Reduce, x: Atom, y: Atom) -> Atom:
    """Two parts of a reduction put together: x + y for a sum, np.maximum(x, y) for a maximum."""
    return make.elementwise(b, _COMBINE[reduction.name], x, y)


# ---- choices -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """Carried values that a trip leaves as they are or makes anew, by one rule: those of the trip that decides are
    the last ones. `values` are computed by `statements`, after those of the body. `key`: what decides."""

    rule: Rule
    slots: tuple[int, ...]
    values: tuple[Atom, ...]
    statements: tuple[Statement, ...]
    key: Atom | None
    leader: int = -1  # of the slots, the one that holds the extreme

    @property
    def is_flag(self) -> bool:
        return self.rule in ("while true", "until true")


def choices_of(loop: For, slots: list[int]) -> list[Choice]:
    """The carried values among `slots` that are chosen."""
    results = loop.body.results
    found: list[Choice] = []
    groups: dict[int, tuple[Statement, list[int]]] = {}
    made = {t: s for s in loop.body.statements for t in s.targets}
    for k in slots:
        r = results[k]
        s = made.get(r) if isinstance(r, Var) else None
        if isinstance(s, If) or (isinstance(s, Apply) and s.op is ops.WHERE):
            groups.setdefault(id(s), (s, []))[1].append(k)
    for s, members in groups.values():
        choice = _choice(loop, s, members, made)
        if choice is not None:
            found.append(choice)
    chosen = {k for c in found for k in c.slots}
    for k in slots:
        if k not in chosen:
            found.append(Choice("last", (k,), (results[k],), (), None))
    return found


def _choice(loop: For, s: Statement, members: list[int], made: dict[Var, Statement]) -> Choice | None:
    params, results = loop.body.params[1:], loop.body.results
    then: dict[int, Atom] = {}
    orelse: dict[int, Atom] = {}
    for k in members:
        if isinstance(s, If):
            place = next(n for n, t in enumerate(s.targets) if t is results[k])
            then[k], orelse[k] = s.then.results[place], s.orelse.results[place]
        elif isinstance(s, Apply) and not s.targets[0].aval.shape:
            then[k], orelse[k] = s.args[1], s.args[2]
    condition = s.condition if isinstance(s, If) else s.args[0] if isinstance(s, Apply) else None
    if not then or condition is None:
        return None
    inner = s.then.statements if isinstance(s, If) else ()
    if condition in params:
        return _flag(loop, s, members, then, orelse, condition)
    kept = tuple(k for k in members if orelse[k] is params[k])
    if not kept:
        return None
    test = made.get(condition) if isinstance(condition, Var) else None
    if isinstance(test, Apply) and test.op in (ops.GREATER, ops.LESS):
        for key, best in ((test.args[0], test.args[1]), (test.args[1], test.args[0])):
            leader = next((k for k in kept if params[k] is best), None)
            if leader is not None and then[leader] is key:
                rises = (test.op is ops.GREATER) == (key is test.args[0])
                rule: Rule = "first largest" if rises else "first smallest"
                return Choice(rule, kept, tuple(then[k] for k in kept), inner, key, leader)
    return Choice("last true", kept, tuple(then[k] for k in kept), inner, condition)


def _flag(
    loop: For, s: Statement, members: list[int], then: dict[int, Atom], orelse: dict[int, Atom], condition: Atom
) -> Choice | None:
    """`ok = ok and test`, `found = found or test`, written as a branch on what is carried."""
    k = members[0]
    p = loop.body.params[k + 1]
    if len(members) > 1 or condition is not p or not isinstance(s, If) or len(s.targets) > 1:
        return None
    if orelse[k] is p or _is(orelse[k], False):
        return Choice("while true", (k,), (then[k],), s.then.statements, None)
    if then[k] is p or _is(then[k], True):
        return Choice("until true", (k,), (orelse[k],), s.orelse.statements, None)
    return None


def _is(a: Atom, value: bool) -> bool:
    return isinstance(a, Const) and not a.aval.shape and a.value is np.bool_(value)


def first_or_last(b: Builder, rule: Rule, key: Atom) -> Atom:
    """The trip that decides, of the keys of all trips."""
    if rule == "last true":
        n = key.aval.shape[0]
        backwards = make.index(b, key, (Run(n - 1, n, -1),))
        return make.subtract(b, n - 1, make.argmax(b, backwards, 0))
    is_max = rule == "first largest"
    if key.aval.dtype.kind == "f":
        number = make.equal(b, key, key)  # nan is never larger or smaller
        key = make.where(b, number, key, key.aval.dtype.type(-np.inf if is_max else np.inf))
    return make.argmax(b, key, 0) if is_max else make.argmin(b, key, 0)
