"""`If`, `For` and `While` in StableHLO. Regions see the values around them; the flag of checks is one more value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...translator.ir import Apply, Block, Const, For, If, Range, Var, While, may_raise
from ...translator.ops.core import Cast, Elementwise, Reshape
from ..loops.interrupts import TURNS, is_function, poll, quiet
from .across import agreed, holds_collective
from .python import check_step
from .writer import BOOL, I64, Value, Writer, tensor_type

if TYPE_CHECKING:
    from .program import Emitter

_SELECT_STATEMENTS = 6
_SELECT_ELEMENTS = 256


def emit_if(e: Emitter, s: If) -> None:
    w = e.writer
    condition = e.value(s.condition)
    flagged = e.checked.block(s.then) or e.checked.block(s.orelse)
    if not s.targets and not flagged:
        return
    if not flagged and _is_light(s.then) and _is_light(s.orelse):
        _emit_select(e, s, condition)
        return
    flag = e.flag
    results = fresh_results(w, s.targets, flagged)

    def branch(block: Block) -> list[Value]:
        e.flag = flag
        e.block(block)
        values = [e.result(r, t) for r, t in zip(block.results, s.targets, strict=True)]
        return [*values, e.flag_value()] if flagged else values

    emit_branches(w, results, condition, lambda: branch(s.then), lambda: branch(s.orelse))
    bind_results(e, s.targets, results, flagged)


def emit_branches(
    w: Writer,
    results: Sequence[Value],
    condition: Value,
    then: Callable[[], Sequence[Value]],
    orelse: Callable[[], Sequence[Value]],
) -> None:
    """An `if` whose branches are written by calls that give the values of the results."""
    w.line(f'{_names_of(results)} = "stablehlo.if"({condition.name}) ({{')
    with w.region():
        _return(w, then())
    w.line("}, {")
    with w.region():
        _return(w, orelse())
    w.line(f"}}) : ({tensor_type((), BOOL)}) -> ({', '.join(_types(results))})")


def _is_light(block: Block) -> bool:
    """A branch that costs less than branching does: a few elementwise statements on few elements."""
    return len(block.statements) <= _SELECT_STATEMENTS and all(
        isinstance(s, Apply)
        and isinstance(s.op, Elementwise | Cast | Reshape)
        and all(t.aval.size <= _SELECT_ELEMENTS for t in s.targets)
        for s in block.statements
    ) and all(r.aval.size <= _SELECT_ELEMENTS for r in block.results)


def _emit_select(e: Emitter, s: If, condition: Value) -> None:
    w = e.writer
    sides = []
    for block in (s.then, s.orelse):
        e.block(block)
        sides.append([e.result(r, t) for r, t in zip(block.results, s.targets, strict=True)])
    for t, x, y in zip(s.targets, *sides, strict=True):
        e.bind(t, x if x == y else w.select(condition, x, y))


def _return(w: Writer, results: Sequence[Value]) -> None:
    w.line(f"stablehlo.return {', '.join(r.name for r in results)} : {', '.join(_types(results))}")


def _types(values: Sequence[Value]) -> list[str]:
    return [tensor_type(v.shape, v.dtype) for v in values]


def fresh_results(w: Writer, targets: Sequence[Var], flagged: bool) -> list[Value]:
    """Names of the results of a region operation: one name, `#k` behind it when there are several."""
    avals = [(t.aval.shape, t.aval.dtype) for t in targets] + ([((), I64)] if flagged else [])
    hint = targets[0].hint if targets else "flag"
    return w.several(hint, avals)


def _names_of(results: Sequence[Value]) -> str:
    base = results[0].name.partition("#")[0]
    return base if len(results) == 1 else f"{base}:{len(results)}"


def bind_results(e: Emitter, targets: Sequence[Var], results: Sequence[Value], flagged: bool) -> None:
    for t, r in zip(targets, results, strict=False):
        e.bind(t, r)
    if flagged:
        e.flag = results[-1]


# ---- for -----------------------------------------------------------------------------------------


def emit_for(e: Emitter, s: For) -> None:
    """A while over a counter 0, 1, ... n - 1, whose trip count XLA recognises; the index is computed from it.

    A loop that raises ends there, and one of an unknown number of turns where a check fails: it may be long.
    """
    flagged = e.checked.statement(s)
    if not s.targets and not flagged:
        return
    w = e.writer
    together = _met(e, s)
    start, step, trips = _plan(e, s.range)
    if e.flag is not None and not isinstance(trips, int):  # it may be what a `raise` refused
        trips = w.select(_all_is_well(w, e.flag), trips, w.integer(0))
    ends = flagged and (may_raise(s) or not isinstance(trips, int))
    inits = [w.integer(0), *(e.result(a, p) for a, p in zip(s.inits, s.body.params[1:], strict=True))]
    if flagged:
        inits.append(e.flag_value())
    hints = ["k"] + [p.hint for p in s.body.params[1:]] + ["flag"] * flagged

    def go(values: Sequence[Value], end: Number = trips) -> Value:
        further = w.compare("LT", values[0], _value(w, end))
        return w.both(further, _all_is_well(w, values[-1])) if ends else further

    def turn(values: Sequence[Value]) -> list[Value]:
        counter, *carried = values
        e.bind(s.body.params[0], _loop_index(w, counter, start, step, trips, s.range.reverse))
        for p, v in zip(s.body.params[1:], carried, strict=False):
            e.bind(p, v)
        if flagged:
            e.flag = carried[-1]
        e.block(s.body)
        after = [e.result(r, p) for r, p in zip(s.body.results, s.body.params[1:], strict=True)]
        if flagged:
            after.append(_known_flag(e, together))
        return [w.add(counter, w.integer(1)), *after]

    def several(values: Sequence[Value]) -> list[Value]:
        end = w.op("minimum", w.add(values[0], w.integer(TURNS)), _value(w, trips))
        return write_while(w, hints, values, lambda inner: go(inner, end), turn)

    results = _listening_loop(e, s, hints, inits, go, turn, several)
    bind_results(e, s.targets, results[1:], flagged)


def _met(e: Emitter, s: For | While) -> bool:
    """Whether devices meet inside the loop: then its first turn, too, knows what failed on any of them."""
    together = e.replicas is not None and holds_collective(s)
    if e.flag is not None:
        e.flag = _known_flag(e, together)
    return together


def _known_flag(e: Emitter, together: bool) -> Value:
    return agreed(e, e.flag_value()) if together else e.flag_value()


def write_while(
    w: Writer,
    hints: Sequence[str],
    inits: Sequence[Value],
    go: Callable[[Sequence[Value]], Value],
    turn: Callable[[Sequence[Value]], Sequence[Value]],
) -> list[Value]:
    """A `while` whose condition and body are written by calls on what it carries."""
    carried = [Value(w.fresh(h), v.shape, v.dtype) for h, v in zip(hints, inits, strict=True)]
    results = w.several("loop", [(v.shape, v.dtype) for v in carried])
    _open_while(w, results, carried, inits)
    with w.region():
        _return(w, [go(carried)])
    w.line("} do {")
    with w.region():
        _return(w, turn(carried))
    w.line("}")
    return results


Turn = Callable[[Sequence[Value]], Sequence[Value]]


def _listening_loop(
    e: Emitter,
    s: For | While,
    hints: Sequence[str],
    inits: Sequence[Value],
    go: Callable[[Sequence[Value]], Value],
    turn: Turn,
    several: Turn,
) -> list[Value]:
    """A loop that Ctrl-C can end, if it stands where signals are listened to. `several` writes up to TURNS turns."""

    def polled(values: Sequence[Value]) -> Sequence[Value]:
        poll(e)
        if not is_function(s):
            return turn(values)
        with quiet(e):
            return several(values)

    return write_while(e.writer, hints, inits, go, turn if e.begun is None else polled)


def _open_while(w: Writer, results: Sequence[Value], params: Sequence[Value], inits: Sequence[Value]) -> None:
    pairs = ", ".join(f"{p.name} = {i.name}" for p, i in zip(params, inits, strict=True))
    w.line(f"{_names_of(results)} = stablehlo.while({pairs}) : {', '.join(_types(params))}")
    w.line("cond {")


def _all_is_well(w: Writer, flag: Value) -> Value:
    return w.compare("EQ", flag, w.integer(0))


Number = int | Value


def _plan(e: Emitter, r: Range) -> tuple[Number, Number, Number]:
    """Start, step and number of iterations, as Python integers where they are known."""
    start, stop, step = (_number(e, a) for a in (r.start, r.stop, r.step))
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return start, step, len(range(start, stop, step))
    w = e.writer
    if isinstance(step, int):
        gap = _minus(w, stop, start) if step > 0 else _minus(w, start, stop)
        size = abs(step)
        if size > 1:
            gap = w.divide(w.add(gap, w.integer(size - 1)), w.integer(size))
        return start, step, w.op("maximum", gap, w.integer(0))
    check_step(e, step, r)
    zero, one = w.integer(0), w.integer(1)
    forward = w.compare("GT", step, zero)
    a, b = _value(w, start), _value(w, stop)
    gap = w.select(forward, w.subtract(b, a), w.subtract(a, b))
    stride = w.op("maximum", w.op("abs", step), one)
    return start, step, w.op("maximum", w.divide(w.add(gap, w.subtract(stride, one)), stride), zero)


def _number(e: Emitter, atom: Var | Const) -> Number:
    if isinstance(atom, Const):
        return int(atom.value)
    return e.writer.convert(e.value(atom), I64)


def _value(w: Writer, x: Number) -> Value:
    return w.integer(x) if isinstance(x, int) else x


def _minus(w: Writer, x: Number, y: Number) -> Value:
    return _value(w, x) if isinstance(y, int) and y == 0 else w.subtract(_value(w, x), _value(w, y))


def _loop_index(w: Writer, counter: Value, start: Number, step: Number, trips: Number, backwards: bool) -> Value:
    """start + counter * step, or the same from the other end."""
    if backwards:
        if isinstance(start, int) and isinstance(step, int) and isinstance(trips, int):
            start, step = start + (trips - 1) * step, -step
        else:
            counter = w.subtract(_minus(w, trips, 1), counter)
    if not (isinstance(step, int) and step == 1):
        counter = w.multiply(counter, _value(w, step))
    return counter if isinstance(start, int) and start == 0 else w.add(counter, _value(w, start))


# ---- while ---------------------------------------------------------------------------------------


def emit_while(e: Emitter, s: While) -> None:
    """As it stands; where the condition itself may fail, it is evaluated before the loop and at the end of the body.

    A failed check ends the loop, and those behind it: they might otherwise never end.
    """
    flagged = e.checked.statement(s)
    early = e.checked.block(s.condition)
    together = _met(e, s)
    w = e.writer
    inits = [e.result(a, p) for a, p in zip(s.inits, s.body.params, strict=True)]
    if early:
        inits.append(_condition(e, s.condition, inits))
    if flagged:
        inits.append(e.flag_value())
    hints = [p.hint for p in s.body.params] + ["go"] * early + ["flag"] * flagged
    count = len(s.body.params)

    def go(values: Sequence[Value]) -> Value:
        further = values[count] if early else _condition(e, s.condition, values[:count])
        if flagged:
            return w.both(further, _all_is_well(w, values[-1]))
        return further if e.flag is None else w.both(further, _all_is_well(w, e.flag))

    def turn(values: Sequence[Value]) -> list[Value]:
        if flagged:
            e.flag = values[-1]
        for p, v in zip(s.body.params, values, strict=False):
            e.bind(p, v)
        e.block(s.body)
        after = [e.result(r, p) for r, p in zip(s.body.results, s.body.params, strict=True)]
        if early:
            after.append(_condition(e, s.condition, after))
        if flagged:
            after.append(_known_flag(e, together))
        return after

    def several(values: Sequence[Value]) -> list[Value]:
        *after, _ = write_while(
            w,
            [*hints, "turns"],
            [*values, w.integer(0)],
            lambda inner: w.both(go(inner[:-1]), w.compare("LT", inner[-1], w.integer(TURNS))),
            lambda inner: [*turn(inner[:-1]), w.add(inner[-1], w.integer(1))],
        )
        return after

    results = _listening_loop(e, s, hints, inits, go, turn, several)
    bind_results(e, s.targets, [*results[:count], *results[-1:]] if flagged else results, flagged)


def _condition(e: Emitter, block: Block, values: Sequence[Value]) -> Value:
    for p, v in zip(block.params, values, strict=False):
        e.bind(p, v)
    e.block(block)
    return e.value(block.results[0])
