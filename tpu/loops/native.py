"""Native loops inside XLA's programs: which loops they are, and how they are called.

    for i in range(1, n):         %y = stablehlo.custom_call @untraced_y_4f0c...(%y0, %x)
        y[i] = y[i - 1] + x[i]

XLA runs a loop of scalar work at 10 to 1000 ns a statement and copies arrays where it does not see that it need not;
C++ (`kernels/loops/native`) takes a few nanoseconds, and 0.1 s to compile (`compiler`). None where there is no
compiler, or with UNTRACED_NATIVE_LOOPS=0: then the loops are XLA's own. With UNTRACED_NATIVE_LOOPS=all little loops are
native too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...kernels.loops.native import NativeLoop, arguments_of, as_group, loop_of, write_loop
from ...kernels.loops.small_products import Product, is_small, product_of, write_product
from ...kernels.loops.sweeps import is_costly
from ...kernels.loops.transposes import transpose_of, write_transpose
from ...kernels.loops.values import NotNative
from ...translator.checked import Checked
from ...translator.ir import (
    Apply,
    Block,
    For,
    Function,
    Fused,
    If,
    Range,
    Statement,
    Var,
    While,
    const,
    walk,
    with_blocks,
)
from ...translator.ops.core import (
    Cast,
    ContractAttrs,
    Create,
    Elementwise,
    Reshape,
    is_draw,
)
from ...translator.passes.units import COSTLY
from ...translator.verify import INDEX
from .. import compiler
from ..emit.checks import Check
from ..emit.writer import I64, Value, tensor_type
from ..shaping.lines import Lines
from .work import elements, work

if TYPE_CHECKING:
    from ..emit.program import Emitter

LEAST_WORK = 10_000
"""Operations on elements that a loop makes, as far as they can be told: compiling takes as long as XLA needs for about
a million. Programs run more than once.
"""
WIDEST = 1 << 13
"""Elements: operations on more of them are XLA's, which has vector instructions and threads for them."""
WIDEST_FUNCTION = 64
"""The same for sines and the like: XLA's are vectorised, the C library's are not."""
LEAST_RESULTS = 1 << 15
"""Elements that products of small matrices have: of fewer too little is saved for what compiling takes, 0.2 s once."""


def wanted() -> bool:
    """Whether loops become native code."""
    return _asked() != "0" and compiler.available()


def _asked() -> str:
    return os.environ.get("UNTRACED_NATIVE_LOOPS", "1")


def native_loops(function: Function, checks: bool, blocks: Set[Var] = frozenset()) -> Function:
    """The outermost loops that native code does better, as groups of kind "loops"; the same object without any. Loops
    that define `blocks` are over blocks of lanes (`lanes`): those with sines and the like stay XLA's, whose are
    vectorised.
    """
    if not any(isinstance(s, For | While) or is_draw(s) for s in walk(function.body)) or not wanted():
        return function
    least = 0 if _asked() == "all" else LEAST_WORK
    groups = _Groups(Checked(function, checks), least, Lines(function), blocks)
    body = groups.block(function.body)
    return replace(function, body=body) if groups.found else function


class _Groups:
    def __init__(self, checked: Checked, least: float, lines: Lines, blocks: Set[Var]) -> None:
        self.checked, self.least, self.lines, self.blocks = checked, least, lines, blocks
        self.found = 0

    def block(self, block: Block) -> Block:
        return replace(block, statements=tuple(map(self.statement, block.statements)))

    def statement(self, s: Statement) -> Statement:
        match s:
            case If():
                return with_blocks(s, self.block)
            case For() | While():
                made = self.group(s)
                if made is None:
                    return with_blocks(s, self.block)
                self.found += 1
                return made
            case Apply() if is_draw(s):
                self.found += 1
                return as_group(_turned_once(s), "loops")
        return s

    def group(self, s: For | While) -> Fused | None:
        inside = tuple(walk(Block((), (s,), ())))
        least = 0 if any(map(is_draw, inside)) else self.least
        if not s.targets or work(s) < least or any(map(_is_wide, inside)):
            return None
        if not all(self.blocks.isdisjoint(t.targets) for t in inside) and any(map(is_costly, inside)):
            return None
        s = self.lines.inside(s)
        try:
            write_loop(as_group(s, "loops", fresh=False), self.checked)
        except NotNative:
            return None
        return as_group(s, "loops")


def _turned_once(s: Apply) -> For:
    """A draw outside native loops as one."""
    words, *numbers = s.args
    state, drawn = Var("stream", words.aval), Var("stream", words.aval)
    body = Block((Var("i", INDEX), state), (replace(s, targets=(drawn,), args=(state, *numbers)),), (drawn,))
    return For(s.targets, Range(const(0), const(1), const(1)), (words,), body, span=s.span)


def source_of(group: Fused, function: Function) -> str:
    """The C++ source of a group of `native_loops`."""
    return write_loop(group, Checked(function)).source


def _is_wide(s: Statement) -> bool:
    if not isinstance(s, Apply):
        return False
    most = WIDEST
    if isinstance(s.op, Elementwise) and s.op.name in COSTLY:
        most = WIDEST_FUNCTION
    elif isinstance(s.op, Cast | Create | Reshape):
        return False
    return elements(s) > most


# ---- in the program ------------------------------------------------------------------------------


def emit_native(e: Emitter, s: Fused) -> None:
    """A call of the loop's handler; arrays that the loop carries are updated in place."""
    w = e.writer
    guarded = e.flag is not None
    given = dict(zip(s.body.params, s.args, strict=True))
    carried, others = arguments_of(s)
    args = [e.result(given[p], p) for p in (*carried, *others)]
    in_front = {}
    for k, p in enumerate(others, len(carried)):
        if args[k].name in w.shifted:
            args[k], in_front[p] = w.shifted[args[k].name]
    native = write_loop(s, e.checked, guarded=guarded, in_front=in_front)
    if guarded:
        args.append(e.flag_value())
    targets = loop_of(s).targets
    types = [(t.aval.shape, t.aval.dtype) for t in targets]
    if native.failures:
        types.append(((), I64))
    results = w.several(targets[0].hint, types)
    _call(e, native, args, results, [k for k, t in enumerate(targets) if t.aval.shape])
    made = dict(zip(targets, results, strict=False))
    for t, r in zip(s.targets, s.body.results, strict=True):
        assert isinstance(r, Var)
        e.bind(t, made[r])
    if native.failures:
        base = len(e.checks)
        e.checks += [Check(base + k, f.error, f.message, f.span) for k, f in enumerate(native.failures, 1)]
        failed, zero, before = results[-1], w.integer(0), e.flag_value()
        number = w.select(w.compare("NE", failed, zero), w.add(failed, w.integer(base)), zero)
        e.flag = w.select(w.compare("NE", before, zero), before, number)
    e.natives.append(native)


def small_product(s: Apply) -> tuple[Product, bool] | None:
    """The form of a product of many small matrices that is native code, and whether its operands are swapped; None
    where it is better XLA's.
    """
    assert isinstance(s.attrs, ContractAttrs)
    out = s.targets[0].aval
    if out.ndim < 2 or out.size < LEAST_RESULTS or not wanted():
        return None
    found = product_of(s.attrs, s.args[0].aval.shape, s.args[1].aval.shape, out.dtype)
    return found if found is not None and is_small(found[0]) else None


def emit_products(e: Emitter, s: Apply) -> Value | None:
    """A call of a handler that multiplies many small matrices; None where there are none."""
    found = small_product(s)
    if found is None:
        return None
    w, (target,), (product, turned) = e.writer, s.targets, found
    dtype = target.aval.dtype
    args = [w.convert(e.value(a), dtype) for a in (reversed(s.args) if turned else s.args)]
    given = [w.shifted.get(x.name, (x, 0)) for x in args]
    native, front = write_product(product), np.array([skipped for _, skipped in given])
    (result,) = w.several(target.hint, [(target.aval.shape, dtype)])
    _call(e, native, [*(x for x, _ in given), w.constant(front, front.shape, I64)], [result], [])
    e.natives.append(native)
    return result


def emit_transpose(e: Emitter, x: Value, axes: Sequence[int]) -> Value:
    """A call of a handler that moves the elements (`moved`)."""
    transpose = transpose_of(x.shape, x.dtype, axes)
    assert transpose is not None
    native, shape = write_transpose(transpose), tuple(x.shape[a] for a in axes)
    given, front = e.writer.shifted.get(x.name, (x, 0))
    plan = np.array([front, *transpose.plan])
    (result,) = e.writer.several("turned", [(shape, x.dtype)])
    _call(e, native, [given, e.writer.constant(plan, plan.shape, I64)], [result], [])
    e.natives.append(native)
    return result


def _call(e: Emitter, loop: NativeLoop, args: list[Value], results: list[Value], in_place: list[int]) -> None:
    aliases = ", ".join(
        f"#stablehlo.output_operand_alias<output_tuple_indices = [{k if len(results) > 1 else ''}], "
        f"operand_index = {k}, operand_tuple_indices = []>"
        for k in in_place
    )
    fields = [
        "api_version = 4 : i32",
        f"operand_layouts = [{', '.join(_rows(a) for a in args)}]",
        f"result_layouts = [{', '.join(map(_rows, results))}]",
        f"output_operand_aliases = [{aliases}]",
    ]
    names = results[0].name.partition("#")[0] + (f":{len(results)}" if len(results) > 1 else "")
    given = ", ".join(tensor_type(a.shape, a.dtype) for a in args)
    made = ", ".join(tensor_type(r.shape, r.dtype) for r in results)
    e.writer.line(
        f"{names} = stablehlo.custom_call @{loop.name}({', '.join(a.name for a in args)}) "
        f"{{{', '.join(fields)}}} : ({given}) -> " + (f"({made})" if len(results) > 1 else made)
    )


def _rows(value: Value) -> str:
    """The layout in which the last axis changes fastest."""
    rank = len(value.shape)
    order = ", ".join(map(str, range(rank - 1, -1, -1)))
    return f"dense<[{order}]> : tensor<{rank}xindex>" if rank else "dense<> : tensor<0xindex>"
