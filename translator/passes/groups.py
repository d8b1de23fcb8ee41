"""Fused groups as statements, and the report of which statement went where, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import assert_never

from ..errors import Span
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
from ..ops.core import Cast, Contract, Elementwise, Index, IndexAttrs, Reduce, ReduceAttrs, indexed_shape
from ..records import dataclass
from .alignment import is_free, nbytes, reduction_kind

LONGEST = 256
"""Statements of one kernel. Up to here compilers take longer for halves that hand values over (87 statements: 13 s in
five kernels, 8 in one); beyond, the time of one kernel grows faster than its length.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """One kernel. `lines` of the user's source that it covers; bytes of device memory that it moves.

    `bytes_minimum` counts only what no fusion could avoid: arguments that no other kernel of the block makes, and
    results that something other than a kernel needs. `why_cut` says why the results are stored; empty where they are
    the block's own.
    """

    kind: str
    name: str
    lines: tuple[int, ...]
    bytes_moved: int
    bytes_minimum: int
    why_cut: str


def close(statements: Sequence[Apply], targets: Sequence[Var], kind: str) -> Fused:
    """A Fused statement around these: what they use from outside becomes its arguments."""
    inside: dict[Atom, Atom] = {}
    args: list[Atom] = []
    params: list[Var] = []

    def rename(a: Atom) -> Atom:
        if a in inside:
            return inside[a]
        if isinstance(a, Const) and not a.aval.shape:
            return a
        param = Var(a.hint if isinstance(a, Var) else "table", a.aval)
        args.append(a)
        params.append(param)
        inside[a] = param
        return param

    body = []
    for s in statements:
        renamed = tuple(rename(a) for a in s.args)
        fresh = tuple(Var(t.hint, t.aval) for t in s.targets)
        inside.update(zip(s.targets, fresh, strict=True))
        body.append(Apply(fresh, s.op, renamed, s.attrs, s.span))
    results = tuple(inside[t] for t in targets)
    return Fused(tuple(targets), tuple(args), Block(tuple(params), tuple(body), results), kind, statements[-1].span)


def report(function: Function, *, lone: bool = False) -> tuple[Group, ...]:
    """The groups of a fused program in order, those in loops and branches too: one for each `Fused` statement.

    With `lone`, operations on arrays that joined no group are listed as groups of one.
    """
    return tuple(_groups(function.name, function.body, lone))


def _groups(name: str, block: Block, lone: bool) -> Iterator[Group]:
    readers: dict[Var, list[Statement]] = {}
    makers: dict[Var, Statement] = {}
    for s in block.statements:
        makers.update(dict.fromkeys(s.targets, s))
        for a in _behind_views(s, makers):
            readers.setdefault(a, []).append(s)
    for s in block.statements:
        kind = kind_of(s)
        if isinstance(s, Fused) or (kind and lone):
            yield _group(name, kind, s, block, makers, readers)
        elif not isinstance(s, Apply):
            for inner in blocks_of(s):
                yield from _groups(name, inner, lone)


def _behind_views(s: Statement, makers: dict[Var, Statement]) -> Iterator[Var]:
    if isinstance(s, Apply) and is_free(s):
        return
    for a in inputs_of(s):
        while isinstance(a, Var):
            maker = makers.get(a)
            if not (isinstance(maker, Apply) and is_free(maker) and maker.args):
                yield a
                break
            a = maker.args[0]


def kind_of(s: Statement) -> str:
    """The kind of kernel that the statement is; empty for what is none."""
    match s:
        case Fused(kind=kind):
            return kind
        case Apply(op=Contract()):
            return "contract"
        case Apply(op=Reduce(), args=args, attrs=ReduceAttrs(axes=axes)):
            return reduction_kind(args[0].aval.shape, axes)
        case Apply(op=Elementwise() | Cast(), targets=targets):
            return "pointwise" if targets[0].aval.shape else ""
        case Apply() | If() | For() | While() | Raise() | Invoke():
            return ""
        case _:
            assert_never(s)


def spans_of(s: Statement) -> list[Span]:
    inner = [b.span for b in walk(s.body)] if isinstance(s, Fused) else [s.span]
    return [span for span in inner if span.line]


def lines_of(s: Statement) -> tuple[int, ...]:
    """Lines of the user's source that a kernel covers."""
    return tuple(sorted({span.line for span in spans_of(s)}))


def _group(
    name: str, kind: str, s: Statement, block: Block, makers: dict[Var, Statement], readers: dict[Var, list[Statement]]
) -> Group:
    args = list(dict.fromkeys(a for a in inputs_of(s) if not (isinstance(a, Const) and not a.aval.shape)))
    read = {a: _bytes_read(s, a) for a in args}
    written = {t: _bytes_written(s, t) for t in s.targets}
    moved = sum(read.values()) + sum(written.values())
    least = sum(read[a] for a in args if not (isinstance(a, Var) and a in makers and kind_of(makers[a])))
    why = ""
    for t in s.targets:
        others = readers.get(t, [])
        if t in block.results or any(not kind_of(r) for r in others) or not others:
            least += written[t]
        for reader in others:
            why = why or _reason(kind, s, reader)
    return Group(kind, kernel_name(name, s), lines_of(s), moved, least, why)


def _bytes_written(s: Statement, t: Var) -> int:
    """Bytes written: for an array that is stored into, only those of the stored part."""
    if not isinstance(s, Fused) or s.kind != "scatter":
        return nbytes(t)
    store = s.body.statements[-1]
    assert isinstance(store, Apply) and isinstance(store.attrs, IndexAttrs)
    places = math.prod(indexed_shape(store.attrs, [a.aval for a in store.args]))
    return min(nbytes(t), places * t.aval.dtype.itemsize)


def _bytes_read(s: Statement, a: Atom) -> int:
    """Bytes read: for an argument indexed by integers, only those of the selected part."""
    if isinstance(s, Fused) and s.kind == "scatter" and a is s.args[0]:
        store = s.body.statements[-1]
        return _bytes_written(s, s.targets[0]) if isinstance(store, Apply) and store.op.name == "put_add" else 0
    if not isinstance(s, Fused) or s.kind != "gather":
        return nbytes(a)
    own = {p for p, given in zip(s.body.params, s.args, strict=True) if given is a}
    readers = [b for b in s.body.statements if own & {*inputs_of(b)}]
    chosen = sum(nbytes(t) for b in readers for t in b.targets)
    looks = all(isinstance(b, Apply) and isinstance(b.op, Index) and own.isdisjoint(b.args[1:]) for b in readers)
    return min(nbytes(a), chosen) if looks else nbytes(a)


def kernel_name(function: str, s: Statement) -> str:
    """A kernel is called after its function and its first result."""
    return f"{function}_{s.targets[0].hint}"


def _reason(kind: str, s: Statement, reader: Statement) -> str:
    lines = lines_of(reader)
    at = f" (line {lines[0]})" if lines else ""
    other = kind_of(reader)
    match other:
        case "":
            what = reader.op.name if isinstance(reader, Apply) else type(reader).__name__.lower()
            return f"{what}{at} needs the whole array in memory"
        case "contract":
            return f"a matrix product{at} reads its operands from memory"
        case "row" | "reduce" if kind == "contract":
            return f"a reduction{at} cannot be part of a matrix product's epilogue"
        case "row" | "reduce" if kind in ("row", "reduce"):
            return f"the reduction{at} is over other axes, or needs the finished values of this one"
        case _ if kind == "reduce":
            return f"the value used{at} is complete only when all blocks of the reduction are"
        case _ if _domain(s) != _domain(reader):
            return f"the work{at} is over another shape: {_domain(s)} here, {_domain(reader)} there"
        case _:
            return f"the work{at} needs other values first, or addresses these differently"


def _domain(s: Statement) -> tuple[int, ...]:
    inner: Sequence[Statement] = s.body.statements if isinstance(s, Fused) else (s,)
    shapes = [t.aval.shape for b in inner for t in b.targets]
    return max(shapes, key=len, default=())
