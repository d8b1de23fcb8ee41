"""Choices that an enclosing choice has already decided.

    y = np.where(c & d, np.where(c, u, v) * w, 0.0)        y = np.where(c & d, u * w, 0.0)
    y = np.where(c, np.sqrt(np.where(c, u, 1.0)), 0.0)     # as it is: it keeps the root from what has none
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import ops
from ..ir import Atom, Var
from ..ops.core import Elementwise, is_tame
from .calls import Call, Definitions, Found, Nested, aval_of

_DEEPEST = 8  # operations between a choice and one in it that it decides
_WIDEST = 64  # bools looked at for one choice: those of a chain of choices are made of one another


def where_true(a: Atom, condition: Atom, value: bool, definitions: Definitions) -> Found:
    """A condition that suffices in place of `a` where `condition` has this value; None if nothing is left of it."""
    return _under(a, literals(condition, value, definitions), definitions, _DEEPEST)


def _under(a: Atom, known: Mapping[Var, bool], definitions: Definitions, deeper: int) -> Found:
    made = definitions.get(a) if isinstance(a, Var) else None
    if made is None or not isinstance(made.op, Elementwise):
        return None
    if made.op is ops.WHERE and isinstance(made.args[0], Var) and made.args[0] in known:
        chosen = made.args[1] if known[made.args[0]] else made.args[2]
        return _under(chosen, known, definitions, deeper) or chosen if chosen.aval.dtype == a.aval.dtype else None
    if not deeper or not definitions.is_read_once(made.targets[0]):
        return None
    shielded = 1 if made.op is ops.DIVIDE else len(made.args) if is_tame(made.op) else 0  # a dividend shields nothing
    found = [_under(x, known, definitions, deeper - 1) if i < shielded else None for i, x in enumerate(made.args)]
    if all(x is None for x in found):
        return None
    nested = Nested(made.op, tuple(x or y for x, y in zip(found, made.args, strict=True)))
    loops = [made.op.loop_dtypes([*map(aval_of, args)]) for args in (nested.args, made.args)]
    return nested if loops[0] == loops[1] and _has_type_of(nested, a) else None


def literals(condition: Atom, value: bool, definitions: Definitions) -> dict[Var, bool]:
    """The bools that are known where the condition has this value: those that `&`, `|` and `~` made it of."""
    known: dict[Var, bool] = {}
    waiting = [(condition, value)]
    while waiting:
        a, truth = waiting.pop()
        if not isinstance(a, Var) or a.aval.dtype.kind != "b" or a in known:
            continue
        if len(known) == _WIDEST:
            break
        known[a] = truth
        made = definitions.get(a)
        if made is None:
            continue
        if made.op is ops.LOGICAL_NOT:
            waiting += [(x, not truth) for x in made.args]
        elif made.op is (ops.LOGICAL_AND if truth else ops.LOGICAL_OR):
            waiting += [(x, truth) for x in made.args]
    return known


def settled(a: Atom, known: Mapping[Var, bool], definitions: Definitions, deeper: int = _DEEPEST) -> Atom | bool:
    """What is left of a bool made by `&`, `|` and `~` where others are known."""
    if isinstance(a, Var) and a in known:
        return known[a]
    made = definitions.get(a) if isinstance(a, Var) and a.aval.dtype.kind == "b" else None
    if made is None or not deeper or made.op not in (ops.LOGICAL_NOT, ops.LOGICAL_AND, ops.LOGICAL_OR):
        return a
    sides = [settled(x, known, definitions, deeper - 1) for x in made.args]
    if made.op is ops.LOGICAL_NOT:
        return not sides[0] if isinstance(sides[0], bool) else a
    decisive = made.op is ops.LOGICAL_OR
    if any(x is decisive for x in sides):
        return decisive
    undecided = [x for x in sides if not isinstance(x, bool)]
    if len(undecided) == len(sides):
        return a
    return undecided[0] if undecided else not decisive


def _has_type_of(x: Atom | Call | Nested, a: Atom) -> bool:
    aval = aval_of(x)
    return (aval.dtype, aval.weak) == (a.aval.dtype, a.aval.weak)
