"""Ctrl-C in XLA's own loops: they ask a native handler whether SIGINT came (`kernels/loops/interrupts`).

    while err > tol:               %begun = custom_call @untraced_listen()
        u, err = step(u)           while ... { custom_call @untraced_poll(%begun)  ... }
                                   custom_call @untraced_listened(%err)

A loop on little memory, of which XLA makes one function if there are no calls in it, asks once in TURNS turns, from a
loop around it. Loops of a known number of turns listen where that many may take long. None does without a C++ compiler,
nor on several devices, which might wait for one that has given up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

from ...kernels.digest import digest
from ...kernels.loops.interrupts import LISTENING, LONG
from ...translator.ir import Block, For, Statement, Var, While, walk
from ..emit.writer import I32, Value, tensor_type
from ..shaping.apart import LOOP_BYTES

if TYPE_CHECKING:
    from ...kernels.loops.native import NativeLoop
    from ..emit.program import Emitter

TURNS = 1 << 12
LONG_FUNCTION = 1 << 14
"""Turns of a loop of which XLA makes one function from which on it listens: some 0.1 s where arrays are largest."""

_HANDLERS = {
    "listen": """
        Listening::begin();
        *(int *)result(frame, 0) = shared->interrupts;
        return nullptr;""",
    "poll": """
        if (shared->interrupts == *(const int *)argument(frame, 0)) return nullptr;
        Listening::end();
        return was_interrupted(frame);""",
    "listened": """
        Listening::end();
        return nullptr;""",
}


@cache
def _handler(what: str) -> NativeLoop:
    from ...kernels.loops.native import NativeLoop

    name = f"untraced_{what}_{digest(LISTENING + ''.join(_HANDLERS.values()))}"
    head = f'extern "C" XLA_FFI_Error *{name}(XLA_FFI_CallFrame *frame) {{'
    body = f"\n        if (answered(frame)) return nullptr;{_HANDLERS[what]}\n}}\n"
    return NativeLoop(name, head + body, listens=True)


@contextmanager
def listening(e: Emitter, s: For | While) -> Iterator[None]:
    """Around the emission of a loop. The outermost one that is to end by Ctrl-C begins to listen; within a loop that
    XLA makes a function of nobody does.
    """
    if isinstance(s, For) and not _is_long(s):
        with quiet(e) if is_function(s) else nullcontext():
            yield
        return
    if e.begun is not None or e.quiet or not s.targets or not _may_listen(e):
        yield
        return
    (e.begun,) = e.writer.several("begun", [((), I32)])
    _call(e, "listen", [], [e.begun])
    yield
    e.begun = None
    smallest = min(s.targets, key=lambda t: t.aval.size)
    _call(e, "listened", [e.value(smallest)], [])


@contextmanager
def quiet(e: Emitter) -> Iterator[None]:
    """Inside it no loop asks."""
    before, e.begun, e.quiet = (e.begun, e.quiet), None, True
    yield
    e.begun, e.quiet = before


def poll(e: Emitter) -> None:
    """The test for Ctrl-C at the beginning of a turn."""
    if e.begun is not None:
        _call(e, "poll", [e.begun], [])


def _may_listen(e: Emitter) -> bool:
    from .native import wanted

    return e.target == "cpu" and e.replicas is None and wanted()


def _is_long(s: For) -> bool:
    turns = s.range.static()
    return turns is None or len(turns) >= (LONG_FUNCTION if is_function(s) else LONG)


def is_function(s: For | While) -> bool:
    """Whether XLA makes one function of a loop."""
    return all(_bytes(t) < LOOP_BYTES for t in walk(Block((), (s,), ())))


def _bytes(s: Statement) -> int:
    return sum(t.aval.nbytes for t in s.targets if isinstance(t, Var))


def _call(e: Emitter, what: str, args: list[Value], results: list[Value]) -> None:
    given = ", ".join(a.name for a in args)
    types = ", ".join(tensor_type(a.shape, a.dtype) for a in args)
    made = ", ".join(tensor_type(r.shape, r.dtype) for r in results)
    named = f"{results[0].name} = " if results else ""
    fields = "api_version = 4 : i32, has_side_effect = true"
    handler = _handler(what)
    e.writer.line(f"{named}stablehlo.custom_call @{handler.name}({given}) {{{fields}}} : ({types}) -> ({made})")
    if handler not in e.natives:
        e.natives += map(_handler, _HANDLERS)  # in one library, whose count they share
