"""Which maxima and minima need no check for NaN.

YNNPACK's extremes lose NaN (`emit/reduce`), and checking for it costs a second pass over the array.

    e = np.exp(x - x.max(axis=1, keepdims=True))        a row with NaN in it has it in its sum,
    return e / e.sum(axis=1, keepdims=True)             whatever was subtracted from the row

Where an extreme goes into arithmetic with the array only, and that into sums and products over the same axes, the
NaN of the array itself makes these NaN. Of np.where(np.isnan(x), number, x) no element is NaN.
"""

from __future__ import annotations

import enum
import heapq

import numpy as np

from ...translator import ops
from ...translator.ir import Apply, Atom, Const, Function, Fused, Var, blocks_of, inputs_of, walk
from ...translator.ops.core import Cast, Contract, ContractAttrs, Elementwise, Reduce, ReduceAttrs, Reshape

_STRICT = frozenset(
    ("add", "subtract", "multiply", "divide", "negative", "exp", "exp2", "expm1", "square", "sqrt", "log", "tanh")
)
"""Operations that make NaN of NaN, whatever the other operand is."""


END = -1  # the position of what takes the results of a block


class Kind(enum.Enum):
    """How a value that is made of an extreme looks in a row of the array that holds NaN."""

    NUMBER = "anything in its whole row"
    HOLED = "NaN where the array is, anything elsewhere in that row"
    RIGHT = "NaN in its whole row, as it should be"
    DONE = "as it should be, but its rows may lie elsewhere"


_OPEN = (Kind.NUMBER, Kind.HOLED)  # not as they should be


class Uses:
    """The readers of each value, looked for through groups."""

    def __init__(self, function: Function) -> None:
        self.same: dict[Var, Atom] = {}
        self.takers: dict[Atom, list[int]] = {}  # positions among the statements
        self.statements = list(walk(function.body))
        for s in self.statements:
            if isinstance(s, Fused):
                self.same.update(zip(s.body.params, s.args, strict=True))
                self.same.update(zip(s.targets, s.body.results, strict=True))
        for k, s in enumerate(self.statements):
            if not isinstance(s, Fused):
                self._note(inputs_of(s), k)
                for b in blocks_of(s):
                    self._note(b.results, END)
        self._note(function.body.results, END)
        self.made: dict[Atom, Apply] = {t: s for s in self.statements if isinstance(s, Apply) for t in s.targets}
        self.extremes = [s for s in self.statements if isinstance(s, Apply) and _is_extreme(s)]

    def _note(self, atoms: tuple[Atom, ...], position: int) -> None:
        for a in atoms:
            self.takers.setdefault(self.home(a), []).append(position)

    def home(self, x: Atom) -> Atom:
        """The variable under which a value was made."""
        while isinstance(x, Var) and x in self.same:
            x = self.same[x]
        return x


def unmissed(function: Function) -> frozenset[Var]:
    """The extremes that may be numbers where they should be NaN."""
    uses = Uses(function)
    return frozenset(s.targets[0] for s in uses.extremes if _is_unmissed(uses, s))


def _is_extreme(s: Apply) -> bool:
    return isinstance(s.op, Reduce) and s.op.name in ("max", "min") and s.targets[0].aval.dtype.kind == "f"


def _is_unmissed(uses: Uses, extreme: Apply) -> bool:
    assert isinstance(extreme.attrs, ReduceAttrs)
    if _holds_numbers(uses, extreme.args[0]):
        return True
    rows = Rows(uses, uses.home(extreme.args[0]), extreme.attrs.axes)
    kinds: dict[Atom, Kind] = {extreme.targets[0]: Kind.NUMBER}
    waiting = list(uses.takers.get(extreme.targets[0], ()))
    heapq.heapify(waiting)
    while waiting:
        position = heapq.heappop(waiting)  # in order: what goes into a statement is known by then
        if position == END:
            return False
        taker = uses.statements[position]
        found = rows.kind(taker, kinds) if isinstance(taker, Apply) else None
        if found is None and any(kinds.get(uses.home(a), Kind.DONE) in _OPEN for a in inputs_of(taker)):
            return False
        if found is not None and taker.targets[0] not in kinds:
            kinds[taker.targets[0]] = found
            for k in () if found is Kind.DONE else uses.takers.get(taker.targets[0], ()):
                if k != END or found in _OPEN:
                    heapq.heappush(waiting, k)
    return True


def _holds_numbers(uses: Uses, array: Atom) -> bool:
    """Whether an array is np.where(np.isnan(x), number, x)."""
    chosen = uses.made.get(uses.home(array))
    if chosen is None or chosen.op is not ops.WHERE:
        return False
    condition, number, x = map(uses.home, chosen.args)
    asked = uses.made.get(condition)
    is_nan = asked is not None and asked.op is ops.ISNAN and uses.home(asked.args[0]) == x
    return is_nan and isinstance(number, Const) and not np.isnan(number.value).any()


class Rows:
    """An array in rows along `axes`, of each of which there is an extreme."""

    def __init__(self, uses: Uses, array: Atom, axes: tuple[int, ...]) -> None:
        self.uses, self.array, self.axes = uses, array, axes
        shape = array.aval.shape
        one_each = tuple(1 if k in axes else n for k, n in enumerate(shape))
        self.one_each = one_each
        self.along = {shape, one_each} | ({()} if len(axes) == len(shape) else set())
        self.without = {tuple(n for k, n in enumerate(shape) if k not in axes)}

    def kind(self, s: Apply, kinds: dict[Atom, Kind]) -> Kind | None:
        """The kind of a result; None where that is not known, or where a NaN might be missed."""
        places = [self.uses.home(a) for a in s.args]
        given = [Kind.HOLED if a == self.array else kinds.get(a) for a in places]
        given = [None if k is Kind.DONE else k for k in given]
        shapes = {s.targets[0].aval.shape, *(a.aval.shape for a, k in zip(s.args, given, strict=True) if k is not None)}
        match s.op, s.attrs:
            case Elementwise(name=name), _ if shapes <= self.along or shapes <= self.without:
                return _elementwise(name, given)
            case Cast(), _:
                return given[0] if s.targets[0].aval.dtype.kind == "f" else _elementwise("astype", given)
            case Reshape(name="reshape" | "expand_dims"), _ if s.targets[0].aval.shape == self.one_each:
                return given[0] if given[0] is not Kind.HOLED else None
            case Reshape(name="broadcast_to"), _ if shapes <= self.along:
                return given[0]
            case Reduce(name="sum"), ReduceAttrs(axes=summed) if given == [Kind.HOLED] and set(self.axes) <= {*summed}:
                return Kind.RIGHT
            case Reduce(), ReduceAttrs(axes=axes) if axes == self.axes and given != [Kind.RIGHT]:
                return Kind.NUMBER
            case Contract(), ContractAttrs(lhs=lhs, rhs=rhs, out=out) if Kind.NUMBER not in given:
                holed = [labels for labels, k in zip((lhs, rhs), given, strict=True) if k is Kind.HOLED]
                return None if any(labels[k] in out for labels in holed for k in self.axes) else Kind.DONE
        return None


def _elementwise(name: str, given: list[Kind | None]) -> Kind | None:
    """The kind of an elementwise result, whose operands lie along each other."""
    if name in _STRICT:
        return next((k for k in (Kind.RIGHT, Kind.HOLED) if k in given), Kind.NUMBER)
    return None if {*given} <= {Kind.RIGHT, None} else Kind.NUMBER
