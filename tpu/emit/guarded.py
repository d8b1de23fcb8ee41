"""Groups with sines and cosines of float64, written twice behind one branch on the largest argument.

    if max |x| <= SINE_LIMIT:   the group with the arithmetic of `transcendentals`, 3 to 5 times faster
    else:                       the group with the C library's functions, right for every argument

Each version is fused as a whole. What decides is one pass over the arguments, so they must be cheap to have: values
from outside the group, or a few plain operations on such values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...translator.ir import Apply, Atom, Block, Const, Fused, Statement, Var
from ...translator.ops.core import Cast, Create, Elementwise, Reshape
from . import transcendentals
from .control import bind_results, emit_branches, fresh_results
from .writer import F64, Value

if TYPE_CHECKING:
    from .program import Emitter

SMALLEST = 8_192  # elements
_LONGEST = 60  # statements
_CHEAP = frozenset(
    ("add", "subtract", "multiply", "divide", "negative", "absolute", "where", "maximum", "minimum", "sqrt")
)


def emit_fused(e: Emitter, s: Fused) -> None:
    """A group is XLA's own to fuse: its statements are written in line."""
    for p, a in zip(s.body.params, s.args, strict=True):
        e.bind(p, e.value(a))
        e.alias(p, a)
    if not emit_guarded(e, s.body, s.targets):
        e.block(s.body)
        for t, r in zip(s.targets, s.body.results, strict=True):
            e.bind(t, e.result(r, t))
    for t, r in zip(s.targets, s.body.results, strict=True):
        e.alias(t, r)


def emit_guarded(e: Emitter, block: Block, targets: Sequence[Var]) -> bool:
    """Write a block (its parameters bound) with its results bound to `targets`; False, and nothing written, where the
    branch would not pay.
    """
    if e.bounded is not None or e.target != "cpu" or len(block.statements) > _LONGEST or e.checked.block(block):
        return False
    arguments = [s.args[0] for s in block.statements if isinstance(s, Apply) and is_slow(s)]
    cheap = _cheap_statements(block.statements, arguments)
    if not arguments or cheap is None:
        return False
    for s in cheap:
        e.block(Block((), (s,), ()))
    inside = _all_inside(e, list(dict.fromkeys(arguments)))
    results = fresh_results(e.writer, targets, False)

    def branch(bounded: bool) -> Sequence[Value]:
        e.bounded = bounded
        e.block(block)
        e.bounded = None
        values = [e.result(r, t) for r, t in zip(block.results, targets, strict=True)]
        # plain arithmetic would be merged: both ways computed, and one selected
        return [e.writer.op("optimization_barrier", v) for v in values]

    emit_branches(e.writer, results, inside, lambda: branch(True), lambda: branch(False))
    bind_results(e, targets, results, False)
    return True


def is_slow(s: Apply) -> bool:
    """Whether a statement asks for two versions of its group."""
    if not isinstance(s.op, Elementwise) or s.targets[0].aval.size < SMALLEST:
        return False
    return transcendentals.bounded_rule_for(s.op.name, s.targets[0].aval.dtype) is not None


def _cheap_statements(statements: Sequence[Statement], wanted: Sequence[Atom]) -> list[Statement] | None:
    """The statements that compute the wanted values, in order; None where one is dearer than arithmetic."""
    needed = {a for a in wanted if isinstance(a, Var)}
    found: list[Statement] = []
    for s in reversed(statements):
        if not needed.intersection(s.targets):
            continue
        if not isinstance(s, Apply) or not _is_cheap(s):
            return None
        found.insert(0, s)
        needed.update(a for a in s.args if isinstance(a, Var))
    return found


def _is_cheap(s: Apply) -> bool:
    if isinstance(s.op, Elementwise):
        square = s.op.name == "power" and isinstance(s.args[1], Const) and s.args[1].value in (2, 3)
        return square or s.op.name in _CHEAP
    return isinstance(s.op, Cast | Reshape | Create)


def _all_inside(e: Emitter, arguments: Sequence[Atom]) -> Value:
    """Whether no |x| is above the limit. A NaN may be on either side: both ways lead to NaN."""
    w = e.writer
    answers = []
    for a in arguments:
        x = w.op("abs", w.convert(e.value(a), F64))
        largest = w.reduce(x, w.constant(0.0, (), x.dtype), "maximum", range(len(x.shape)))
        answers.append(w.compare("LE", largest, w.splat(transcendentals.SINE_LIMIT, largest)))
    total = answers[0]
    for answer in answers[1:]:
        total = w.both(total, answer)
    return total
