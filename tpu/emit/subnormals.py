"""Subnormal numbers in XLA's programs: whoever runs a program takes them for zero, unless its first step says not to.

    func.func public @main(%x) {
      stablehlo.custom_call @untraced_subnormals_1f0c...() {api_version = 4, has_side_effect = true}
      ...

XLA sets the processor's mode in each thread of its pool, once, and in the thread that runs a program, at each run. The
call clears it for the run; a program of its own has cleared it in the threads of the pool before. The call takes 0.4
us, a tenth of what calls of the smallest programs take: by default programs of little work go without. With
UNTRACED_SUBNORMALS=1 all programs have it, with UNTRACED_SUBNORMALS=0 none; nor do any without a C++ compiler.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ...kernels.digest import digest
from ...translator.settings import switch
from ..client.stored import compile_or_load
from ..loops.work import operations

if TYPE_CHECKING:
    from ...kernels.loops.native import NativeLoop
    from ...translator.ir import Function
    from ..client.platform import Platform
    from .program import Emitted

LEAST_WORK = 1 << 17
"""Operations on elements that take XLA a hundred times as long as the call does."""
CALL = "untraced_subnormals"
_FIELDS = "{api_version = 4 : i32, has_side_effect = true}"
_CLEARED = """
#ifndef KEEPS_SUBNORMALS
#define KEEPS_SUBNORMALS
static void keep_subnormals() {
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x8040u);
#elif defined(__aarch64__)
    unsigned long mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    asm volatile("msr fpcr, %0" : : "r"(mode & ~(1ul << 24)));
#endif
}
#endif
"""
_MEETING = """
#include <stdlib.h>
#include <time.h>

// Tasks that wait for each other are in as many threads. The pool may have fewer to spare: they do not wait for long.
// Whoever leaves last frees it. Without C++'s library, which loops are not linked with.
struct Meeting { int64_t expected, come, gone, holders; };

static void leave(Meeting *meeting, int64_t count) {
    if (__atomic_sub_fetch(&meeting->holders, count, __ATOMIC_ACQ_REL) == 0) free(meeting);
}

static void wait_for(const int64_t *count, int64_t least, int milliseconds) {
    const timespec moment = {0, 50000};
    for (int k = 0; k < 20 * milliseconds && __atomic_load_n(count, __ATOMIC_ACQUIRE) < least; k++)
        nanosleep(&moment, nullptr);
}

static void take_part(void *data) {
    auto *meeting = (Meeting *)data;
    keep_subnormals();
    __atomic_add_fetch(&meeting->come, 1, __ATOMIC_ACQ_REL);
    wait_for(&meeting->come, meeting->expected, 1000);
    __atomic_add_fetch(&meeting->gone, 1, __ATOMIC_ACQ_REL);
    leave(meeting, 1);
}
"""
_HANDLERS = {
    "subnormals": """
    keep_subnormals();
    return nullptr;""",
    "threads": """
    int64_t asked = 0;
    XLA_FFI_ThreadPool_NumThreads_Args counted = {sizeof counted, nullptr, frame->ctx, &asked};
    if (auto *error = frame->api->XLA_FFI_ThreadPool_NumThreads(&counted)) return error;
    for (int attempt = 0; attempt < 3; attempt++) {  // the pool may be at work
        auto *meeting = (Meeting *)calloc(1, sizeof(Meeting));
        if (!meeting) return no_memory(frame);
        meeting->expected = asked;
        meeting->holders = asked + 1;
        for (int64_t k = 0; k < asked; k++) {
            XLA_FFI_ThreadPool_Schedule_Args task = {sizeof task, nullptr, frame->ctx, take_part, meeting};
            if (auto *error = frame->api->XLA_FFI_ThreadPool_Schedule(&task)) {
                leave(meeting, asked + 1 - k);
                return error;
            }
        }
        wait_for(&meeting->gone, asked, 2000);
        const bool all = __atomic_load_n(&meeting->come, __ATOMIC_ACQUIRE) >= asked;
        leave(meeting, 1);
        if (all) break;
    }
    return nullptr;""",
}
_lock = threading.Lock()
_told: WeakKeyDictionary[Platform, bool] = WeakKeyDictionary()


def keeping_subnormals(program: Emitted, p: Platform) -> str:
    """The text of a program, with the call where subnormal numbers are to be kept."""
    if program.form is None or not _asked(program.form):
        return program.text
    from .. import compiler

    if not compiler.available():
        return program.text
    _tell_threads(p)
    name, head, rest = program.text.split("\n", 2)  # the lines that follow keep their numbers, by which they are known
    return "\n".join((name, f"{head} {_call('subnormals')}", rest))


def _asked(function: Function) -> bool:
    work = sum(map(operations, function.body.statements))
    return switch("UNTRACED_SUBNORMALS", work >= LEAST_WORK)


def _tell_threads(p: Platform) -> None:
    """Clear the mode in the threads of a client's pool."""
    from .. import compiler

    with _lock:
        if p in _told:
            return
        compiler.register([_handler(what) for what in _HANDLERS])  # in one library
        head = "module @threads {\n  func.func public @main() {"
        text = f"{head}\n    {_call('threads')}\n    return\n  }}\n}}\n"
        made = compile_or_load(p.client, text, p.devices, p.xla_client.CompileOptions())
        made.execute_sharded([], with_tokens=True).consume_token().block_until_ready()
        _told[p] = True


def _call(what: str) -> str:
    return f"stablehlo.custom_call @{_handler(what).name}() {_FIELDS} : () -> ()"


@cache
def _handler(what: str) -> NativeLoop:
    from ...kernels.loops.native import NativeLoop

    name = f"untraced_{what}_{digest(_CLEARED + _MEETING + ''.join(_HANDLERS.values()))}"
    head = f'extern "C" XLA_FFI_Error *{name}(XLA_FFI_CallFrame *frame) {{\n    if (answered(frame)) return nullptr;'
    return NativeLoop(name, f"{_CLEARED}{_MEETING if what == 'threads' else ''}{head}{_HANDLERS[what]}\n}}\n")
