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


def where_true(a: Atom, condition: Atom, value: bool, definitions: Definitions) -> Found:
    """A condition that suffices in place of `a` where `condition` has this value; None if nothing is left of it."""
    return _under(a, _literals(condition, value, definitions), definitions, _DEEPEST)


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


def _literals(condition: Atom, value: bool, definitions: Definitions) -> dict[Var, bool]:
    """The bools that are known where the condition has this value: those that `&`, `|` and `~` made it of."""
    known: dict[Var, bool] = {}
    waiting = [(condition, value)]
    while waiting:
        a, truth = waiting.pop()
        if not isinstance(a, Var) or a.aval.dtype.kind != "b":
            continue
        known[a] = truth
        made = definitions.get(a)
        if made is None:
            continue
        if made.op is ops.LOGICAL_NOT:
            waiting += [(x, not truth) for x in made.args]
        elif made.op is (ops.LOGICAL_AND if truth else ops.LOGICAL_OR):
            waiting += [(x, truth) for x in made.args]
    return known


def _has_type_of(x: Atom | Call | Nested, a: Atom) -> bool:
    aval = aval_of(x)
    return (aval.dtype, aval.weak) == (a.aval.dtype, a.aval.weak)
