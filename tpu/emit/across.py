"""Collectives between devices in StableHLO, for programs that several devices run in step, each a replica.

    y = x / lax.psum(x, "i")      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = [[0, 1, 2, 3]]}> ({ add })

A device that waits in a collective which another one left out would wait for ever. So what decides whether one is come
to must be the same on all of them (`batch.spread` refuses the rest), and a failed check on one device is made known to
all (`agreed`) before it ends a loop that holds a collective.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ...translator.errors import Diagnostic, UnsupportedError
from ...translator.ir import Apply, For, While, blocks_of, walk
from ...translator.ops.core import Collective, CollectiveAttrs
from .checks import FAILED_ELSEWHERE
from .writer import I64, Value, Writer, tensor_type

if TYPE_CHECKING:
    from .program import Emitter


def across(e: Emitter, s: Apply, op: Collective) -> Value:
    """The value that this device receives. Raises UnsupportedError in a program for a single device."""
    assert isinstance(s.attrs, CollectiveAttrs)
    if e.replicas is None:
        raise UnsupportedError(f"lax.{op.name} has no value outside the function that is mapped")
    if s.attrs.size != e.replicas:
        raise UnsupportedError(
            Diagnostic(f"lax.{op.name} over {s.attrs.axis!r}, which is no axis of the {e.replicas} devices", s.span)
        )
    w = e.writer
    match op.name:
        case "axis_index":
            return _index(w)
        case "psum":
            return _reduced(w, e.value(s.args[0]), e.replicas)
        case "all_gather":
            return _gathered(w, e.value(s.args[0]), e.replicas)
        case "ppermute":
            return _permuted(w, e.value(s.args[0]), s.attrs.pairs)
        case _:
            assert_never(op.name)  # type: ignore[arg-type]  # a str: the family has four rows


def holds_collective(s: For | While) -> bool:
    """Whether devices meet inside the loop."""
    return any(isinstance(t, Apply) and isinstance(t.op, Collective) for block in blocks_of(s) for t in walk(block))


def agreed(e: Emitter, flag: Value) -> Value:
    """The flag of checks; where only other devices have failed, `FAILED_ELSEWHERE`."""
    assert e.replicas is not None
    w, zero = e.writer, e.writer.integer(0)
    failed = w.compare("NE", flag, zero)
    anywhere = _reduced(w, w.convert(failed, I64), e.replicas)
    alone = w.select(w.compare("NE", anywhere, zero), w.integer(FAILED_ELSEWHERE), zero)
    return w.select(failed, flag, alone)


def _index(w: Writer) -> Value:
    own = Value(w.fresh("own"), (), I64)
    raw = w.fresh("replica")
    w.line(f"{raw} = stablehlo.replica_id : tensor<ui32>")
    w.line(f"{own.name} = stablehlo.convert {raw} : (tensor<ui32>) -> tensor<i64>")
    return own


def _everybody(count: int) -> str:
    return f"replica_groups = dense<[{list(range(count))}]> : tensor<1x{count}xi64>"


def _reduced(w: Writer, x: Value, count: int) -> Value:
    out, kind, one = Value(w.fresh("all"), x.shape, x.dtype), tensor_type(x.shape, x.dtype), tensor_type((), x.dtype)
    a, b, r = w.fresh("a"), w.fresh("b"), w.fresh("r")
    w.line(f'{out.name} = "stablehlo.all_reduce"({x.name}) <{{{_everybody(count)}}}> ({{')
    w.line(f"^bb0({a}: {one}, {b}: {one}):")
    with w.region():
        w.line(f"{r} = stablehlo.add {a}, {b} : {one}")
        w.line(f"stablehlo.return {r} : {one}")
    w.line(f"}}) : ({kind}) -> {kind}")
    return out


def _gathered(w: Writer, x: Value, count: int) -> Value:
    row = w.reshape(x, (1, *x.shape))
    out = Value(w.fresh("gathered"), (count, *x.shape), x.dtype)
    types = f"({_type(row)}) -> {_type(out)}"
    how = f"all_gather_dim = 0 : i64, {_everybody(count)}"
    w.line(f'{out.name} = "stablehlo.all_gather"({row.name}) <{{{how}}}> : {types}')
    return out


def _permuted(w: Writer, x: Value, pairs: tuple[tuple[int, int], ...]) -> Value:
    if not pairs:
        return w.splat(0, x)
    out = Value(w.fresh("sent"), x.shape, x.dtype)
    sent = f"source_target_pairs = dense<{[list(p) for p in pairs]}> : tensor<{len(pairs)}x2xi64>"
    w.line(f'{out.name} = "stablehlo.collective_permute"({x.name}) <{{{sent}}}> : ({_type(x)}) -> {_type(x)}')
    return out


def _type(x: Value) -> str:
    return tensor_type(x.shape, x.dtype)
