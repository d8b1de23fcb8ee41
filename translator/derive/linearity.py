"""Whether a program is linear in some of its parameters: what `custom_jvp` asks of a rule before it is transposed.

    y, dy = ..., t * t            the derivative by t depends on t             bent
    y, dy = ..., np.sign(t)       steps: t has an influence, but no slope      stepped
    y, dy = ..., t % 1.0          steps between slopes that are all the same   stepped
    y, dy = ..., -t if t < 0 else t                                            steered
    y, dy = ..., t + x            not zero where t is                          shifted

What none of these finds is linear: a derivative that does not depend on t, and zero at zero.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import assert_never

import numpy as np

from .. import ops
from ..errors import Diagnostic, Span, UnsupportedError
from ..ir import (
    Apply,
    Atom,
    Aval,
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
    inputs_of,
    walk,
)
from ..ops.core import ArgReduce, Concatenate, Contract, Create, Draw, Elementwise, Linalg, Put, Ruled, RuledAttrs, Tape
from ..passes.dead import dead_code
from ..rewrite import without_raises
from .activity import inexact, varied
from .forward import jvp

STEERED = "what they are decides which way it goes here"
STEPPED = "this does not follow them in proportion"
BENT = "its derivative by them depends on what they are"
SHIFTED = "what it gives is not seen to be zero where they are zero"


def check_linear(name: str, function: Function, bare: Function, tangents: Sequence[int]) -> None:
    """Raises UnsupportedError where branches, steps or what is added make a rule's results no linear functions of the
    parameters at `tangents`.

    `bare`: the function without raises, and without what is not differentiated, values for which other rules speak.
    """
    params, body = function.body.params, bare.body
    moving = {params[i] for i in tangents}
    bad = _bad(body, set(moving), varied(function.body, moving))
    if bad is not None:
        raise _not_linear(name, bad[0].span, bad[1])
    zero = _vanishing(body, moving)
    for r in body.results[len(body.results) - _count(function) :]:
        if not _is_zero(r, zero):
            raise _not_linear(name, _source(body, r, function.span), SHIFTED)


def check_transpose(name: str, function: Function, ahead: Function, tangents: Sequence[int]) -> None:
    """Raises UnsupportedError where the derivative by the parameters at `tangents` depends on them. `ahead`: what
    reverse mode computes first, the results and then what the backward half needs to know.

    What a loop of unknown length keeps to come back to its states says nothing: there forward mode, which keeps
    nothing, is asked. A rule for cotangents alone has none; it is asked last.
    """
    moving = {ahead.body.params[i] for i in tangents}
    kept = ahead.body.results[len(function.body.results) :]
    needed = dead_code(dataclasses.replace(ahead, body=dataclasses.replace(ahead.body, results=kept)))
    if any(a in moving for a in (*kept, *(a for s in walk(needed.body) for a in inputs_of(s)))):
        bent = _bent(function, set(tangents))
        if bent is not None:
            raise _not_linear(name, bent.span, BENT)


def _count(function: Function) -> int:
    """How many of the results are tangents: the last ones, one for each value that has one."""
    return sum(inexact(r.aval) for r in function.body.results) // 2


def _bent(function: Function, tangents: set[int]) -> Statement | None:
    """The first statement of the derivative by the tangents that needs to know them."""
    pushed = jvp(function, [i in tangents for i in range(len(function.body.params))])
    body = pushed.body
    moving = {body.params[i] for i in tangents}
    wanted = Block(body.params, without_raises(body.statements), body.results[len(body.results) - _count(function) :])
    needed = dead_code(dataclasses.replace(pushed, body=wanted)).body
    return next((s for s in walk(needed) if any(a in moving for a in inputs_of(s))), None)


def _not_linear(name: str, span: Span, why: str) -> UnsupportedError:
    return UnsupportedError(
        Diagnostic(
            f"the rule of {name} is not linear in its tangents, so it has no transpose",
            span,
            why=why,
            instead="take forward mode, or give the derivative by custom_vjp",
        )
    )


def _source(body: Block, value: Atom, default: Span) -> Span:
    return next((s.span for s in body.statements if value in s.targets), default)


# ---- branches and steps --------------------------------------------------------------------------


def _bad(block: Block, moving: set[Var], smooth: set[Var]) -> tuple[Statement, str] | None:
    """The first statement whose branch, number of trips or steps depend on these variables; they gain what depends on
    them. `smooth`: the values that follow them by a derivative."""
    for s in block.statements:
        found: tuple[Statement, str] | None = None
        match s:
            case If(condition=condition, then=then, orelse=orelse):
                if condition in moving:
                    return s, STEERED
                found = _bad(then, moving, smooth) or _bad(orelse, moving, smooth)
                sides = zip(s.targets, then.results, orelse.results, strict=True)
                moving.update(t for t, x, y in sides if x in moving or y in moving)
            case For(inits=inits, body=body):
                found = _bad_loop(s, body, body.params[1:], inits, moving, smooth)
            case While(inits=inits, condition=test, body=body):
                found = _bad_loop(s, body, body.params, inits, moving, smooth)
                moving.update(p for p, q in zip(test.params, body.params, strict=True) if q in moving)
                found = found or _bad(test, moving, smooth) or ((s, STEERED) if test.results[0] in moving else None)
            case _:
                if any(isinstance(a, Var) and a in moving for a in inputs_of(s)):
                    moving.update(s.targets)
                    if _wraps(s, moving) or not any(t in smooth for t in s.targets):
                        found = s, STEPPED
        if found is not None:
            return found
    return None


def _wraps(s: Statement, moving: set[Var]) -> bool:
    """Whether it is a remainder of one of these: as steep as that everywhere, and zero at zero, but for its jumps."""
    return isinstance(s, Apply) and s.op in (ops.REMAINDER, ops.FMOD) and s.args[0] in moving


def _bad_loop(
    s: For | While, body: Block, params: Sequence[Var], inits: Sequence[Atom], moving: set[Var], smooth: set[Var]
) -> tuple[Statement, str] | None:
    count = -1
    moving.update(p for p, a in zip(params, inits, strict=True) if a in moving)
    while count != len(moving):
        count = len(moving)
        found = _bad(body, moving, smooth)
        if found is not None:
            return found
        moving.update(p for p, r in zip(params, body.results, strict=True) if r in moving)
    moving.update(t for t, p in zip(s.targets, params, strict=True) if p in moving)
    return None


# ---- what is zero where the tangents are ---------------------------------------------------------


def _is_zero(a: Atom, zero: set[Var]) -> bool:
    return a in zero if isinstance(a, Var) else not np.any(a.value)


def _vanishing(block: Block, seeds: Iterable[Var]) -> set[Var]:
    """The variables of the block that are surely zero where the seeds are; other values are taken to be finite."""
    zero = set(seeds)
    for s in block.statements:
        match s:
            case Apply():
                if _stays_zero(s, zero):
                    zero.update(s.targets)
            case If(then=then, orelse=orelse):
                insides = [_vanishing(side, zero) for side in (then, orelse)]
                ends = zip(s.targets, then.results, orelse.results, strict=True)
                zero.update(t for t, *rs in ends if all(map(_is_zero, rs, insides)))
            case For(body=body) | While(body=body):
                carried = body.params[1:] if isinstance(s, For) else body.params
                zero.update(_vanishing_loop(s, body, carried, zero))
            case Invoke(args=args):
                if any(_is_zero(a, zero) for a in args):
                    zero.update(s.targets)
            case Raise():
                pass
            case Fused():
                raise AssertionError("derivatives are taken before fusion")
            case _:
                assert_never(s)
    return zero


def _vanishing_loop(s: For | While, body: Block, carried: Sequence[Var], zero: set[Var]) -> set[Var]:
    """The targets that are zero: those whose trips begin and end with zeros."""
    held = {i for i, a in enumerate(s.inits) if _is_zero(a, zero)}
    while True:
        inside = _vanishing(body, zero | {carried[i] for i in held})
        left = {i for i in held if _is_zero(body.results[i], inside)}
        if left == held:
            return {s.targets[i] for i in held}
        held = left


def _stays_zero(s: Apply, zero: set[Var]) -> bool:
    zeros = [_is_zero(a, zero) for a in s.args]
    match s.op:
        case Elementwise():
            return any(zeros) and all(_gives_zero(s, zeros, probe) for probe in ((False, 1.7), (True, 3.3)))
        case Contract() | Linalg():
            return any(zeros)
        case Ruled():
            assert isinstance(s.attrs, RuledAttrs)
            return any(zeros) if s.attrs.rule is not None else all(zeros)
        case Concatenate():
            return all(zeros)
        case Put():
            return all(zeros[:2])
        case ArgReduce() | Tape() | Draw():
            return False
        case Create():
            return s.op is ops.EMPTY or any(zeros)  # what nothing is stored over counts as zero: it is nobody's value
        case _:
            return bool(zeros) and zeros[0]


def _gives_zero(s: Apply, zeros: Sequence[bool], probe: tuple[bool, float]) -> bool:
    """Whether the operation gives zero: for arguments that are zero, the known ones, and `probe` for the others."""
    assert isinstance(s.op, Elementwise)

    def value(a: Atom, is_zero: bool) -> object:
        if isinstance(a, Const):
            return a.value
        return _number(a.aval, 0.0 if is_zero else probe[a.aval.dtype.kind != "b"])

    with np.errstate(all="ignore"):
        return not np.any(s.op.evaluate(*map(value, s.args, zeros)))


def _number(aval: Aval, value: float) -> object:
    return np.asarray(value).astype(aval.dtype)[()]
