"""Operations without a primitive in a kernel language, replaced by the NumPy source of their rows.

before                      after (of floating-point numbers)
y = np.sign(x)              y = np.where(x != x, x, (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype))

In half precision all of the source is computed in float32 and rounded once, as NumPy does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...translator import make
from ...translator.builder import Builder
from ...translator.errors import Diagnostic, UnsupportedError
from ...translator.ir import Apply, Atom, Aval, Block, Const, Fused, Var, inputs_of
from ...translator.ops import (
    BITWISE_AND,
    FLOOR_DIVIDE,
    LOGICAL_AND,
    LOGICAL_OR,
    NOT_EQUAL,
    REMAINDER,
    RIGHT_SHIFT,
    WHERE,
)
from ...translator.ops.core import Elementwise
from ...translator.rewrite import prune
from ..source.dialects import primitive, working
from ..source.powers import by_products, exponent_of
from ..source.values import Call

DEPTH = 8  # decompositions of decompositions; a longer chain would be a cycle


def decompose(fused: Fused, language: str) -> Fused:
    """The group over primitives of `language` alone. Raises UnsupportedError for operations that have none."""
    block, language = fused.body, language_of(fused, language)
    for _ in range(DEPTH):
        if not any(_needs(s, language) for s in block.statements if isinstance(s, Apply)):
            return fused if block is fused.body else replace(fused, body=_without_truths(block))
        block = _once(block, language)
    raise UnsupportedError(f"an operation decomposes without end for {language}")


def language_of(fused: Fused, language: str) -> str:
    """The language of the group's kernels: Triton has no complex numbers, CUDA serves both targets."""
    everything = (a for s in fused.body.statements for a in (*s.targets, *inputs_of(s)))
    return "cuda" if any(a.aval.dtype.kind == "c" for a in everything) else language


def _needs(s: Apply, language: str) -> bool:
    if not isinstance(s.op, Elementwise):
        return False
    call = Call(s.op, s.op.loop_dtypes([a.aval for a in s.args])[0])
    return exponent_of(s) is not None or not primitive(call, language)


def _once(block: Block, language: str) -> Block:
    from ...translator.reading.splicing import splice

    renamed: dict[Var, Atom] = {}

    def current(a: Atom) -> Atom:
        return renamed.get(a, a) if isinstance(a, Var) else a

    b = Builder()
    for s in block.statements:
        assert isinstance(s, Apply)
        s = replace(s, args=tuple(map(current, s.args)))
        if not _needs(s, language):
            b.statements.append(s)
            continue
        assert isinstance(s.op, Elementwise)
        with b.at(s.span):
            known = _by_bits(b, s) or by_products(b, s)
        if known is not None:
            renamed[s.targets[0]] = known
            continue
        if s.op.decompose is None:
            dtype = s.op.loop_dtypes([a.aval for a in s.args])[0][-1].name
            raise UnsupportedError(Diagnostic(f"{s.op.numpy} of {dtype} has no {language} form", s.span))
        with b.at(s.span):
            dtypes, result = s.op.loop_dtypes([a.aval for a in s.args])
            args = [make.astype(b, a, working(d)) for a, d in zip(s.args, dtypes, strict=True)]
            y = splice(b, s.op.decompose, args)
            assert isinstance(y, Var | Const)
            renamed[s.targets[0]] = make.broadcast_to(b, make.astype(b, y, result), s.targets[0].aval.shape)
    return Block(block.params, tuple(b.statements), tuple(map(current, block.results)))


def _without_truths(block: Block) -> Block:
    """What a known divisor decides of the source of `//` and `%` is not computed.

    up = (x < 0) & True; near = np.where(x < 0 & False, x - 1, x)          up = x < 0; near = x
    """
    known: dict[Var, Atom] = {}
    kept: list[Apply] = []
    for s in block.statements:
        assert isinstance(s, Apply)
        s = replace(s, args=tuple(known.get(a, a) if isinstance(a, Var) else a for a in s.args))
        found = _decided(s) if s.targets[0] not in block.results else None
        if found is None:
            kept.append(s)
        else:
            known[s.targets[0]] = found
    return prune(replace(block, statements=tuple(kept)))


def _decided(s: Apply) -> Atom | None:
    """What the statement gives, if bools that are known decide it."""
    truths = [bool(a.value) if isinstance(a, Const) and _is_truth(a.aval) else None for a in s.args]
    if all(t is None for t in truths):
        return None
    (target,), found = s.targets, None
    match s.op, truths:
        case op, [x, y] if op is LOGICAL_AND or op is LOGICAL_OR:
            neutral = op is LOGICAL_AND
            if (not neutral) in (x, y):
                return Const(np.bool_(not neutral), Aval((), np.dtype(np.bool_)))
            found = s.args[0] if y is neutral else s.args[1]
        case op, [x, y] if op is NOT_EQUAL and False in (x, y):
            found = s.args[0] if y is False else s.args[1]
        case op, [bool(condition), _, _] if op is WHERE:
            found = s.args[1 if condition else 2]
    return found if found is not None and found.aval == target.aval else None


def _is_truth(aval: Aval) -> bool:
    return not aval.shape and aval.dtype.kind == "b"


def _by_bits(b: Builder, s: Apply) -> Atom | None:
    """The remainder and the quotient of integers by a power of two: both round down, as masks and shifts do.

    k = i % 256; n = i // 8          k = i & 255; n = i >> 3
    """
    if s.op not in (REMAINDER, FLOOR_DIVIDE):
        return None
    x, y = s.args
    assert isinstance(s.op, Elementwise)
    dtype = s.op.loop_dtypes([a.aval for a in s.args])[1]
    divisor = int(y.value) if isinstance(y, Const) and dtype.kind in "iu" and not y.aval.shape else 0
    if divisor <= 0 or divisor & (divisor - 1):
        return None
    x = make.astype(b, x, dtype)
    if s.op is REMAINDER:
        return make.elementwise(b, BITWISE_AND, x, Const(dtype.type(divisor - 1), Aval((), dtype)))
    return make.elementwise(b, RIGHT_SHIFT, x, Const(dtype.type(divisor.bit_length() - 1), Aval((), dtype)))
