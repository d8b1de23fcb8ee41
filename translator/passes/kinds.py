"""Numbers whose kind depends on the data: 0 or 0.5, 0 or np.float64(0.5), True or np.True_.

    before                               after
    best = float(0)      # a mark        best, other = 0.0, True
    for i in range(n):                   for i in range(n):
        if x[i] > best:                      if x[i] > best:
            best = x[i]                          best, other = x[i], False
    return best                          if other: raise OverflowError(...)
                                         return best

A variable of the program has one type, the wider one; the reader marks where a number of another kind is brought to it
(`make.widened`). Where such a number is returned, or where its kind decides what becomes of it, a flag that goes with
it says whether it is what it was taken for. If it is not CPython runs the call, as for any exception of the program.
Where np.float64 is returned and Python's float would be, no flag is needed: the one is a subclass of the other.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import combinations, islice, product

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..errors import Span, UntracedError
from ..fits import exact_dtypes
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    DType,
    For,
    Function,
    If,
    Raise,
    Statement,
    Var,
    While,
    const,
    surely_runs,
    walk,
)
from ..ops.core import CastAttrs, Elementwise, Op
from ..thrown import OTHER_CLASS, OTHER_KIND, Thrown

Kinds = frozenset[Aval]

_TRUE, _FALSE = const(True), const(False)
_BOOL = _TRUE.aval
_PYTHONS = Aval((), _BOOL.dtype, weak=True)  # the kind of Python's own bools, which in the program are like NumPy's
_MOST = 32  # combinations of kinds that the operands of one operation are tried in
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_CHOICES = frozenset({ops.WHERE, ops.LOGICAL_AND, ops.LOGICAL_OR})
_BITWISE = frozenset({ops.BITWISE_AND, ops.BITWISE_OR, ops.BITWISE_XOR})
_QUOTIENTS = frozenset({ops.DIVIDE, ops.FLOOR_DIVIDE, ops.REMAINDER})


def is_mark(s: Statement) -> bool:
    return isinstance(s, Apply) and isinstance(s.attrs, CastAttrs) and s.attrs.widens


def is_question(s: Statement) -> bool:
    """Whether the reader notes here that it was asked for the class of a number (`make.ask_kind`)."""
    return isinstance(s, Raise) and s.error == OTHER_KIND and isinstance(s.condition, Const)


def kinds(function: Function, python_bools: Set[Var], exact: bool = False) -> Function:
    """The program without marks, which raises where a number whose kind matters is of another than its type says.

    `python_bools` certainly are Python's own. `exact`: np.float64 is not returned for Python's float.
    """
    body = function.body
    given = [a for a in body.results[: function.out.leaf_count] if not a.aval.shape and a.aval != _PYTHONS]
    questions = [s for s in walk(body) if is_question(s)]
    asked = [a for s in questions if isinstance(s, Raise) for a in s.body.results[:1]]
    bools = any(a.aval == _BOOL for a in (*asked, *given))
    if not bools and not questions and not any(map(is_mark, walk(body))):
        return function
    found = _Found(python_bools if bools else None)
    while found.spread(body):
        pass
    writer = _Writer(found)
    b, results = writer.statements(body)
    checked = [a for a in given if exact or not _is_subclass(a, found)]
    same = [all(k.dtype == a.aval.dtype for k in found.others(a)) for a in checked]
    for of_class, thrown in ((False, OTHER_KIND), (True, OTHER_CLASS)):
        flags = [writer.flag(a) for a, is_same in zip(checked, same, strict=True) if is_same is of_class]
        writer.check(b, flags, function.span, thrown)
    return replace(function, body=b.block(body.params, results))


def _is_subclass(a: Atom, found: _Found) -> bool:
    """Whether what is returned stands for all that it may be: np.float64 is a float, and np.complex128 a complex."""
    return all(k.dtype == a.aval.dtype and k.dtype.kind in "fc" for k in found.others(a)) and not a.aval.weak


def are_of_one_kind(blocks: Sequence[Block], numbers: Sequence[Atom]) -> bool:
    """Whether each number is of its own type only, as far as these blocks, one inside the other, bring it about."""
    if not any(is_mark(s) for block in blocks for s in walk(block)):
        return True
    found = _Found(None)
    while sum(found.spread(block) for block in blocks):
        pass
    return not any(map(found.others, numbers))


def start_decides(statements: Sequence[Statement]) -> bool:
    """Whether the last of these statements, a loop, goes otherwise by the kind of a number that it starts with, where
    each of its turns ends with a number of the type: 0.0 beside np.float32(0.5). With the first turn apart it does not.
    """
    loop = statements[-1] if statements else None
    if not isinstance(loop, For | While) or not any(map(is_mark, statements)):
        return False
    block = Block((), tuple(statements), ())
    found = _Found(None)
    while found.spread(block):
        pass
    ends = zip(_carried(loop), loop.body.results, strict=True)
    if not any(found.others(p) and not found.others(end) for p, end in ends):
        return False
    inside = (*walk(loop.body), *(walk(loop.condition) if isinstance(loop, While) else ()))
    return any(isinstance(s, Apply) and found.matters(s) for s in inside)


# ---- what numbers may be -------------------------------------------------------------------------


class _Found:
    """The kinds that each scalar of a program may have, by its definition."""

    def __init__(self, python_bools: Set[Var] | None) -> None:
        self.pythons = _BOOL if python_bools is None else _PYTHONS
        self.python_bools = python_bools or frozenset()
        self.known: dict[Var, Kinds] = {}

    def of(self, a: Atom) -> Kinds:
        if isinstance(a, Const):
            return frozenset({self.pythons if a.aval == _BOOL else a.aval})
        return self.known.get(a, frozenset({a.aval}))

    def others(self, a: Atom) -> Kinds:
        return self.of(a) - {a.aval}

    def spread(self, block: Block) -> bool:
        """Note what the variables of the block may be; whether anything new was found."""
        grown = False

        def add(v: Var, new: Kinds) -> None:
            nonlocal grown
            known = self.known.get(v, frozenset())
            if not v.aval.shape and not new <= known:
                self.known[v], grown = known | new, True

        for s in block.statements:
            match s:
                case Apply(targets=(t,)):
                    add(t, self.results(s))
                case If(then=then, orelse=orelse):
                    grown = self.spread(then) | self.spread(orelse) | grown
                    for t, x, y in zip(s.targets, then.results, orelse.results, strict=True):
                        add(t, self.of(x) | self.of(y))
                case For(body=body) | While(body=body):
                    places = list(zip(s.targets, _carried(s), s.inits, body.results, strict=True))
                    for _, p, init, _ in places:
                        add(p, self.of(init))
                    for p, asked in zip(_carried(s), s.condition.params if isinstance(s, While) else (), strict=False):
                        add(asked, self.of(p))
                    grown = (isinstance(s, While) and self.spread(s.condition)) | self.spread(body) | grown
                    for t, p, init, end in places:
                        add(p, self.of(end))
                        add(t, self.of(end) if surely_runs(s) else self.of(end) | self.of(init))
        return grown

    def results(self, s: Apply) -> Kinds:
        """The kinds that the result of an operation may have."""
        (t,) = s.targets
        if is_mark(s) or self.is_choice(s):
            return self.of(s.args[0])
        if t in self.python_bools:
            return frozenset({self.pythons})
        if t.aval.shape:
            return frozenset({t.aval})
        if s.op in _CHOICES and any(map(self.others, s.args)):
            return frozenset().union(*map(self.of, s.args[-2:]))
        found = frozenset(self.pythons if v == _PYTHONS else v for _, v in self.variants(s) if v is not None)
        return found or frozenset({t.aval})

    def is_choice(self, s: Apply) -> bool:
        """Whether this makes a Python number again of what np.where, among Python's numbers, has made NumPy's."""
        back = isinstance(s.attrs, CastAttrs) and s.attrs.weak and s.targets[0].aval != _PYTHONS
        return back and s.args[0].aval not in self.of(s.args[0])

    def variants(self, s: Apply) -> Iterator[tuple[frozenset[Var], Aval | None]]:
        """The sets of operands that may be of other kinds, with what the result is then; None for a failure."""
        for tried, taken in enumerate(self.takings(s)):
            yield frozenset(taken), _typed(s, taken) if tried < _MOST else None

    def takings(self, s: Apply) -> Iterator[dict[Var, Aval]]:
        """The kinds that operands may have instead of their own, in every combination; the first changes none."""
        open_ = [a for a in dict.fromkeys(s.args) if isinstance(a, Var) and self.others(a)]
        for count in range(len(open_) + 1):
            for chosen in combinations(open_, count):
                for avals in product(*(sorted(self.others(v), key=str) for v in chosen)):
                    yield dict(zip(chosen, avals, strict=True))

    def matters(self, s: Apply) -> bool:
        """Whether the kinds of the operands decide more than what kind the result is of."""
        if not any(map(self.others, s.args)):
            return False
        if any(_rounds_otherwise(s, taken) for taken in islice(self.takings(s), _MOST)):
            return True
        if s.op in _CHOICES or _is_comparison(s.op):
            return False
        if s.op in _QUOTIENTS:  # Python's raise where NumPy's give inf or nan
            return not (isinstance(s.args[1], Const) and bool(s.args[1].value))
        if s.op is ops.POWER:
            exponent = s.args[1]
            return not (isinstance(exponent, Const) and exponent.aval.dtype.kind == "i" and exponent.value >= 0)
        (t,) = s.targets
        return any(v is None or (bool(t.aval.shape) and v != t.aval) for _, v in self.variants(s))


def _carried(s: For | While) -> tuple[Var, ...]:
    return s.body.params[len(s.body.params) - len(s.targets) :]


def _is_comparison(op: Op) -> bool:
    return getattr(op, "operator", "") in _COMPARISONS


def _typed(s: Apply, taken: dict[Var, Aval]) -> Aval | None:
    """The kind of the result where these operands are of these kinds."""
    avals = [taken.get(a, a.aval) if isinstance(a, Var) else a.aval for a in s.args]
    if _is_comparison(s.op) and all(map(_is_pythons, s.args, avals)):
        return _PYTHONS
    if s.op in _BITWISE and all(v == _PYTHONS or isinstance(x, Const) for x, v in zip(s.args, avals, strict=True)):
        return _PYTHONS
    avals = [_BOOL if a == _PYTHONS else a for a in avals]
    try:
        (found,) = s.op.infer(avals, s.attrs)
    except (UntracedError, TypeError, ValueError):
        return None
    return found


def _rounds_otherwise(s: Apply, taken: dict[Var, Aval]) -> bool:
    """Whether operands of these kinds give another number: np.uint8(200) + 100 is 44, np.uint8(200) + 100.0 is 300.0,
    and 0.1 that was brought to float32 is not 0.1 any more beside a float64.
    """
    if not taken or _typed(s, taken) is None:
        return False
    own = _dtypes_of(s, {})
    if any(a != b and (_is_narrow(a) or _is_narrow(b)) for a, b in zip(own, _dtypes_of(s, taken), strict=True)):
        return True
    return any(
        isinstance(a, Var) and a in taken and d != a.aval.dtype and not np.can_cast(taken[a].dtype, a.aval.dtype)
        for a, d in zip(s.args, own, strict=True)
    )


def _dtypes_of(s: Apply, taken: dict[Var, Aval]) -> tuple[DType, ...]:
    """In which dtype each operand is taken, where these are of these kinds."""
    avals = [taken.get(a, a.aval) if isinstance(a, Var) else a.aval for a in s.args]
    if isinstance(s.op, Elementwise):
        return exact_dtypes(s.op, [_BOOL if a == _PYTHONS else a for a in avals], s.args)
    return (s.targets[0].aval.dtype,) * len(avals)


def _is_narrow(dtype: DType) -> bool:
    return dtype.kind in "iufc" and dtype.itemsize < (16 if dtype.kind == "c" else 8)


def _is_pythons(x: Atom, aval: Aval) -> bool:
    return aval.weak or (isinstance(x, Const) and aval == _BOOL)


# ---- the flags -----------------------------------------------------------------------------------


class _Writer:
    """Writes blocks anew: without marks, with flags beside what may be of another kind, and checks of them."""

    def __init__(self, found: _Found) -> None:
        self.found = found
        self.flags: dict[Var, Atom] = {}

    def flag(self, a: Atom) -> Atom:
        """Whether the number is of another kind than its type says."""
        if a.aval.shape or not self.found.others(a):
            return _FALSE
        return self.flags.get(a, _TRUE) if isinstance(a, Var) else _TRUE

    def is_open(self, v: Var) -> bool:
        """Whether only the run knows that."""
        return not v.aval.shape and len(self.found.of(v)) > 1

    def check(self, b: Builder, flags: Sequence[Atom], span: Span, thrown: Thrown = OTHER_KIND) -> None:
        flag = _either(b, flags)
        if flag is not _FALSE:
            b.append(Raise(flag, Block((), (), ()), thrown, span))

    def statements(self, block: Block) -> tuple[Builder, tuple[Atom, ...]]:
        b = Builder()
        for s in block.statements:
            with b.at(s.span):
                self.statement(b, s)
        return b, block.results

    def block(self, block: Block, flagged: Sequence[int], params: Sequence[Var] = ()) -> Block:
        """The block with the flags of these of its results behind them, and with more parameters."""
        b, results = self.statements(block)
        flags = [self.flag(block.results[i]) for i in flagged]
        return b.block((*block.params, *params), (*results, *flags))

    def statement(self, b: Builder, s: Statement) -> None:
        match s:
            case Apply():
                self.apply(b, s)
            case If(then=then, orelse=orelse):
                flagged = [i for i, t in enumerate(s.targets) if self.is_open(t)]
                sides = self.block(then, flagged), self.block(orelse, flagged)
                b.append(If((*s.targets, *self.fresh(s.targets, flagged)), s.condition, *sides, s.span))
            case For() | While():
                self.loop(b, s)
            case Raise(body=body) if is_question(s):
                asked, *same = body.results
                if not self.found.others(asked) <= {kind for a in same for kind in self.found.of(a)}:
                    self.check(b, [self.flag(asked)], s.span)
            case Raise(body=body):
                b.append(replace(s, body=self.block(body, ())))
            case _:
                b.append(s)

    def fresh(self, variables: Sequence[Var], flagged: Sequence[int]) -> tuple[Var, ...]:
        made = tuple(Var("other", _BOOL) for _ in flagged)
        self.flags.update((variables[i], v) for i, v in zip(flagged, made, strict=True))
        return made

    def loop(self, b: Builder, s: For | While) -> None:
        flagged = [i for i, p in enumerate(_carried(s)) if self.is_open(p)]
        inits = (*s.inits, *(self.flag(s.inits[i]) for i in flagged))
        body = self.block(s.body, flagged, self.fresh(_carried(s), flagged))
        targets = (*s.targets, *self.fresh(s.targets, flagged))
        if isinstance(s, For):
            b.append(replace(s, targets=targets, inits=inits, body=body))
        else:
            condition = self.block(s.condition, (), self.fresh(s.condition.params, flagged))
            b.append(replace(s, targets=targets, inits=inits, condition=condition, body=body))

    def apply(self, b: Builder, s: Apply) -> None:
        (t,) = s.targets
        if self.found.matters(s):
            self.check(b, [self.flag(a) for a in s.args], s.span)
        if is_mark(s):
            assert isinstance(s.attrs, CastAttrs)
            b.append(replace(s, attrs=replace(s.attrs, widens=False)))
            if self.is_open(t) and self.found.is_choice(s):
                self.flags[t] = self.flag(s.args[0])
            return
        b.append(s)
        if self.is_open(t):
            self.flags[t] = self.of_result(b, s)

    def of_result(self, b: Builder, s: Apply) -> Atom:
        if self.found.is_choice(s):
            return self.flag(s.args[0])
        if s.op is ops.WHERE:
            return make.where(b, s.args[0], self.flag(s.args[1]), self.flag(s.args[2]))
        if s.op in _CHOICES:
            first, second = (self.flag(a) for a in s.args)
            sides = (second, first) if s.op is ops.LOGICAL_AND else (first, second)
            return make.where(b, s.args[0], *sides)
        least: list[frozenset[Var]] = []  # of the operands that are of another kind then
        for operands, kind in self.found.variants(s):
            if kind != s.targets[0].aval and not any(known <= operands for known in least):
                least.append(operands)
        return _either(b, [_all(b, map(self.flag, operands)) for operands in least])


def _all(b: Builder, flags: Iterable[Atom]) -> Atom:
    found: Atom = _TRUE
    for f in flags:
        found = make.logical_and(b, found, f)
    return found


def _either(b: Builder, flags: Sequence[Atom]) -> Atom:
    found = [f for f in dict.fromkeys(flags) if f is not _FALSE]
    return functools.reduce(functools.partial(make.logical_or, b), found) if found else _FALSE
