"""Which statements need a check at run time: indices, divisors and growing Python ints that may go wrong."""

from __future__ import annotations

import numpy as np

from .bounds import (
    Interval,
    Status,
    analyse,
    divides_python_numbers,
    index_status,
    interval_of,
    is_dynamic,
    is_integer_power,
    is_python_function,
    is_python_int,
    is_python_power,
    may_grow,
    narrowed_numbers,
    refuses_negative,
)
from .ir import Apply, Block, Const, DType, For, Function, Raise, Statement, Var, blocks_of, may_raise, walk
from .ops.core import At, Cast, Draw, Dyn, Elementwise, Gather, Index, IndexAttrs, Linalg, Put, Run, is_store


class Checked:
    """Which statements need a run-time check, by the intervals of their indices.

    Where `checks` is false only those of the user: `raise` and `assert`.
    """

    def __init__(self, function: Function, checks: bool = True) -> None:
        self.known: dict[Var, Interval] = {}
        doubtful = any(_may_fail(s) for s in walk(function.body))
        self.enabled = doubtful and checks
        self.raises = any(isinstance(s, Raise) or _may_leave(s) for s in walk(function.body))
        if doubtful:
            self.known = analyse(function)
        self._blocks: dict[int, bool] = {}

    def interval(self, atom: Var | Const) -> Interval:
        return interval_of(atom, self.known)

    def block(self, block: Block) -> bool:
        if not self.enabled and not self.raises:
            return False
        found = self._blocks.get(id(block))
        if found is None:
            found = self._blocks[id(block)] = any(self.statement(s) for s in block.statements)
        return found

    def statement(self, s: Statement) -> bool:
        if isinstance(s, Raise) or _may_leave(s):
            return True
        if isinstance(s, Apply):
            return self.enabled and self.apply(s)
        if self.enabled and isinstance(s, For) and self.step(s):
            return True
        return any(self.block(b) for b in blocks_of(s))

    def step(self, s: For) -> bool:
        """Whether the step of a range may be zero."""
        return 0 in self.interval(s.range.step)

    def apply(self, s: Apply) -> bool:
        if self.too_large(s):
            return True
        if isinstance(s.op, Cast):
            return is_python_int(s)
        if isinstance(s.op, Elementwise):
            if is_python_function(s) or is_python_power(s) or self.outgrows(s):
                return True
            if divides_python_numbers(s):
                return s.args[1].aval.dtype.kind == "f" or 0 in self.interval(s.args[1])
            return bool(refuses_negative(s)) and not self.interval(s.args[1]).within(0, 2**63 - 1)
        if isinstance(s.op, Linalg):
            return bool(s.op.error)
        if not isinstance(s.attrs, IndexAttrs):
            return False
        return any(
            self.status(s, d, n) is Status.UNKNOWN for d, n in zip(s.attrs.dims, s.args[0].aval.shape, strict=True)
        )

    def too_large(self, s: Apply) -> list[tuple[int, DType]]:
        """Which arguments are Python numbers that may be outside the range of the dtype that they take."""
        return [
            (i, d)
            for i, d in narrowed_numbers(s)
            if not self.interval(s.args[i]).within(int(np.iinfo(d).min), int(np.iinfo(d).max))
        ]

    def outgrows(self, s: Apply) -> bool:
        """Whether Python ints may outgrow 64 bits. By steps of less than 2**31 no program gets that far."""
        if not may_grow(s) or self.interval(s.targets[0]).within(-(2**63) + 1, 2**63 - 2):
            return False
        small = s.op.name in ("add", "subtract") and any(self.interval(a).within(-(2**31), 2**31) for a in s.args)
        return not small

    def status(self, s: Apply, d: At | Run | Gather, n: int) -> Status:
        """How the entry `d` of an axis of size `n` has to be treated."""
        match d:
            case At(index=Dyn(arg=arg)) | Gather(arg=arg):
                return index_status(self.interval(s.args[arg]), n)
            case Run(start=Dyn(arg=arg), size=size) if size:
                inside = self.interval(s.args[arg]).within(*d.starts(n))
                return Status.IN_RANGE if inside else Status.UNKNOWN
        return Status.IN_RANGE


def fails_half_way(function: Function) -> bool:
    """Whether a statement may raise when something has been written into an argument. A store at places that there are
    not writes nothing; of several stores, what the printed source reads for one may be read behind another.

        x[i] += y[j]                i and j are looked at before anything is written
        x[i] = 0.0
        x[j] = 1.0                  j may be out of range: the first store is done by then
    """
    checked, statements = Checked(function), function.body.statements
    if not checked.block(function.body):
        return False
    values = set[Var]()
    made = {t: s for s in statements if isinstance(s, Apply) and s.args for t in s.targets}
    for a in function.body.results[function.out.leaf_count :]:
        while isinstance(a, Var) and a in made and a not in values:
            values.add(a)
            a = made[a].args[0]
    writing = [
        k
        for k, s in enumerate(statements)
        if not isinstance(s, Apply) or is_store(s.op) or not values.isdisjoint(s.targets)
    ]
    if len(writing) != 1 or not isinstance(statements[writing[0]], Apply):
        return True
    return any(checked.statement(s) for s in statements[writing[0] + 1 :])


def on_the_host(function: Function) -> frozenset[Var]:
    """What a program had better compute on the host, where it can be checked: Python's own numbers that may raise or
    outgrow their type, numbers that arrays of narrower integers may refuse, and integer powers by themselves.
    """
    checked, found = Checked(function), set[Var]()
    for s in walk(function.body) if checked.enabled else ():
        if not isinstance(s, Apply) or not checked.apply(s):
            continue
        if isinstance(s.op, Elementwise | Cast) and (is_number(s) or is_integer_power(s)):
            found.update(s.targets)
        found.update(a for a in (s.args[i] for i, _ in checked.too_large(s)) if isinstance(a, Var))
    return frozenset(found)


def is_number(s: Apply) -> bool:
    """Whether a statement makes a number of Python's."""
    (target,) = s.targets
    return target.aval.weak and not target.aval.shape


def may_fail(s: Statement) -> bool:
    """Whether something may go wrong in the statement, however deep, as far as can be told without intervals."""
    return may_raise(s) or _may_fail(s) or any(may_fail(inner) for b in blocks_of(s) for inner in b.statements)


def _may_leave(s: Statement) -> bool:
    """Whether it is a draw whose parameters NumPy may refuse."""
    return isinstance(s, Apply) and isinstance(s.op, Draw) and bool(s.op.valid)


def _may_fail(s: Statement) -> bool:
    match s:
        case For(range=r):
            return not isinstance(r.step, Const)
        case Apply() if narrowed_numbers(s):
            return True
        case Apply(op=Index() | Put(), attrs=IndexAttrs(dims=dims)):
            return any(map(is_dynamic, dims))
        case Apply(op=Elementwise()):
            return any(question(s) for question in _QUESTIONS)
        case Apply(op=Cast()):
            return is_python_int(s)
        case Apply(op=Linalg(error=error)):
            return bool(error)
    return False


_QUESTIONS = (refuses_negative, is_python_power, divides_python_numbers, may_grow, is_python_function)
