"""Ctrl-C ends native loops, which Python's own handler of SIGINT cannot: it waits until they are done.

    for (;;) {
        if (shared->interrupts != begun) return INTERRUPTED;      one load a turn
        ...

While such a loop runs, SIGINT is counted before it is handed on to Python's handler. The loop that sees the count
change gives up, and the program fails with `MESSAGE`; Python then raises KeyboardInterrupt. The count is the process's:
all libraries of loops share one memory (`share`), so there is one handler, however many loops run.

An alarm that is set for the process, whose handler may raise to end what takes too long, is heard in the same way by
calls that can be made again (`hearing_alarms`).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

MESSAGE = "interrupted by SIGINT"
INTERRUPTED = -1
LONG = 64
"""Turns of a loop from which on it listens, where it does so at all: shorter ones are over soon."""
BEGIN = "const int begun = shared->interrupts;"
POLL = "if (__builtin_expect(shared->interrupts != begun, 0)) return INTERRUPTED;"

LISTENING = f"""
#include <signal.h>
typedef void Handler(int, siginfo_t *, void *);
struct Shared {{
    int hearing;
    volatile sig_atomic_t interrupts, handing_on;
    int loops, of_alarms;
    char lock;
    Handler *ours;
    struct sigaction python, alarm;
}};
static Shared *shared;
constexpr long long INTERRUPTED = {INTERRUPTED};

extern "C" int untraced_share(void *memory, unsigned long size) {{
    shared = (Shared *)memory;
    return size >= sizeof *shared;
}}

static void interrupted(int number, siginfo_t *info, void *context) {{
    if (shared->handing_on) return;
    const struct sigaction &python = number == SIGALRM ? shared->alarm : shared->python;
    shared->interrupts = shared->interrupts + 1;
    shared->handing_on = 1;
    if (python.sa_flags & SA_SIGINFO)
        python.sa_sigaction(number, info, context);
    else
        python.sa_handler(number);
    shared->handing_on = 0;
}}

// The first loop that runs begins to listen, the last one ends it. Where nobody handles SIGINT nobody listens. What was
// found is looked at, not the number of loops: a program that fails may leave one that has not ended.
struct Listening {{
    Listening() {{ begin(); }}
    ~Listening() {{ end(); }}
    static void begin() {{
        hold();
        shared->loops++;
        take(SIGINT, shared->python);
        if (shared->hearing) {{
            take(SIGALRM, shared->alarm);
            shared->of_alarms = 1;
        }}
        release();
    }}
    static void end() {{
        hold();
        if (!--shared->loops) {{
            give_back(SIGINT, shared->python);
            if (shared->of_alarms) give_back(SIGALRM, shared->alarm);
            shared->of_alarms = 0;
        }}
        release();
    }}
    static void take(int number, struct sigaction &python) {{
        struct sigaction found;
        if (sigaction(number, nullptr, &found) || is_ours(found) || !handles(found)) return;
        python = found;
        shared->ours = interrupted;
        found.sa_sigaction = interrupted;
        found.sa_flags |= SA_SIGINFO;
        sigaction(number, &found, nullptr);
    }}
    static void give_back(int number, const struct sigaction &python) {{
        struct sigaction found;
        if (!sigaction(number, nullptr, &found) && is_ours(found)) sigaction(number, &python, nullptr);
    }}
    static bool is_ours(const struct sigaction &a) {{
        return a.sa_flags & SA_SIGINFO && shared->ours && a.sa_sigaction == shared->ours;
    }}
    static bool handles(const struct sigaction &a) {{
        return a.sa_flags & SA_SIGINFO || (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN);
    }}
    static void hold() {{ while (__atomic_test_and_set(&shared->lock, __ATOMIC_ACQUIRE)) {{}} }}
    static void release() {{ __atomic_clear(&shared->lock, __ATOMIC_RELEASE); }}
}};

static XLA_FFI_Error *was_interrupted(XLA_FFI_CallFrame *frame) {{
    XLA_FFI_Error_Create_Args e = {{sizeof e, nullptr, "{MESSAGE}", XLA_FFI_Error_Code_CANCELLED}};
    return frame->api->XLA_FFI_Error_Create(&e);
}}
"""

_memory = (ctypes.c_longlong * 128)()
_hearing = ctypes.c_int.from_buffer(_memory)
_signal: Any = import_module("_signal")  # `signal` makes enumerations of the answers: 2 us a call


def share(library: ctypes.CDLL) -> None:
    """Give a library with `LISTENING` in it the process's memory."""
    fits = library.untraced_share(ctypes.byref(_memory), ctypes.c_ulong(ctypes.sizeof(_memory)))
    assert fits


def was_interrupted(error: BaseException) -> bool:
    """Whether it is what XLA says of a program whose loops gave up."""
    return MESSAGE in str(error)


def alarm_is_set() -> bool:
    """Whether a function in Python is to handle an alarm that will come."""
    return callable(_signal.getsignal(_signal.SIGALRM)) and _signal.getitimer(_signal.ITIMER_REAL)[0] > 0


def is_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


@contextmanager
def hearing_alarms() -> Iterator[None]:
    """Inside it an alarm ends the loops that begin, and the call is made again where Python's handler raises nothing:
    not in here, since an alarm may come again and again.
    """
    _hearing.value += 1
    try:
        yield
    finally:
        _hearing.value -= 1
