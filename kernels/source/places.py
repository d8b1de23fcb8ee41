"""Places of extremes are sought in 32 bits: half the registers, and one instruction where 64 bits take several.

    np.min(np.where(x == np.max(x), k, nowhere))

k counts along the rows. Some element is the extreme, or a NaN: so what is found is a place in the row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...translator import ops
from ...translator.ir import DType
from ...translator.passes.extremes import NOWHERE
from .layout import INT32
from .values import Call, Fold, Lowered, Number, Position, Value

PLACE: DType = np.dtype(np.int32)


def with_short_places(lowered: Lowered) -> Lowered:
    """The same values, of which those that lead to a place of an extreme are 32 bits wide."""
    if math.prod(lowered.domain[a] for a in lowered.axes) > INT32:
        return lowered
    users: dict[Value, int] = {o.value: 1 for o in lowered.outputs}
    for v in lowered.values:
        for a in v.args:
            users[a] = users.get(a, 0) + 1
    folds = [v for v in lowered.values if isinstance(v.source, Fold) and v.source.op.name == "min"]
    chosen = [v.args[0] for v in folds if users[v.args[0]] == 1 and _is_place(v.args[0])]
    for place in dict.fromkeys(c.args[1] for c in chosen):
        own = [c for c in chosen if c.args[1] is place]
        _shorten(lowered, place, own, users[place] == len(own))
    return lowered


def _is_place(chosen: Value) -> bool:
    """Whether it is a choice between the place of an extreme and none."""
    if not (isinstance(chosen.source, Call) and chosen.source.op is ops.WHERE):
        return False
    here, place, nowhere = chosen.args
    counts = isinstance(place.source, Position) and place.dtype == NOWHERE.dtype
    none = isinstance(nowhere.source, Number) and nowhere.source.value == NOWHERE
    return counts and none and _is_extreme(here)


def _shorten(lowered: Lowered, place: Value, chosen: Sequence[Value], alone: bool) -> None:
    """Make the choices that take a place ones of 32 bits. `alone`: nothing else takes it."""
    short = place if alone else replace(place, name=lowered.names.fresh(place.name))
    short.dtype = PLACE
    end = Value("", PLACE, Number(np.iinfo(PLACE).max), (), False, 0, place.span)
    at = lowered.values.index(place)
    lowered.values[at:at] = [end] if alone else [end, short]
    for c in chosen:
        assert isinstance(c.source, Call)
        c.source, c.dtype = Call(ops.WHERE, (c.source.dtypes[0], PLACE, PLACE)), PLACE
        c.args = (c.args[0], short, end)


def _is_extreme(here: Value) -> bool:
    """Whether it asks if an element is the extreme of its row, or a NaN."""
    if isinstance(here.source, Call) and here.source.op is ops.LOGICAL_OR:
        here, odd = here.args
        if not (isinstance(odd.source, Call) and odd.source.op is ops.NOT_EQUAL and odd.args[0] is odd.args[1]):
            return False
        known = {odd.args[0]}
    else:
        known = {a for a in here.args if a.dtype.kind in "iub"}
    if not (isinstance(here.source, Call) and here.source.op is ops.EQUAL):
        return False
    x, top = here.args
    folds = isinstance(top.source, Fold) and top.source.op.name in ("max", "min") and top.args[0] is x
    return folds and x in known
