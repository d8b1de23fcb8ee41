"""Ctrl-C ends native loops, which Python's own handler of SIGINT cannot: it waits until they are done.

    for (;;) {
        if (shared->interrupts != begun) return INTERRUPTED;      one load a turn
        ...

While such a loop runs, SIGINT is counted before it is handed on to Python's handler. The loop that sees the count
change gives up, and the program fails with `MESSAGE`; Python then raises KeyboardInterrupt. The count is the process's:
all libraries of loops share one memory (`share`), so there is one handler, however many loops run.
"""

from __future__ import annotations

import ctypes

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
    volatile sig_atomic_t interrupts, handing_on;
    int loops;
    char lock;
    Handler *ours;
    struct sigaction python;
}};
static Shared *shared;
constexpr long long INTERRUPTED = {INTERRUPTED};

extern "C" int untraced_share(void *memory, unsigned long size) {{
    shared = (Shared *)memory;
    return size >= sizeof *shared;
}}

static void interrupted(int number, siginfo_t *info, void *context) {{
    if (shared->handing_on) return;
    shared->interrupts = shared->interrupts + 1;
    shared->handing_on = 1;
    if (shared->python.sa_flags & SA_SIGINFO)
        shared->python.sa_sigaction(number, info, context);
    else
        shared->python.sa_handler(number);
    shared->handing_on = 0;
}}

// The first loop that runs begins to listen, the last one ends it. Where nobody handles SIGINT nobody listens. What was
// found is looked at, not the number of loops: a program that fails may leave one that has not ended.
struct Listening {{
    Listening() {{ begin(); }}
    ~Listening() {{ end(); }}
    static void begin() {{
        hold();
        struct sigaction found;
        shared->loops++;
        if (!sigaction(SIGINT, nullptr, &found) && !is_ours(found) && handles(found)) {{
            shared->python = found;
            shared->ours = interrupted;
            found.sa_sigaction = interrupted;
            found.sa_flags |= SA_SIGINFO;
            sigaction(SIGINT, &found, nullptr);
        }}
        release();
    }}
    static void end() {{
        hold();
        struct sigaction found;
        if (!--shared->loops && !sigaction(SIGINT, nullptr, &found) && is_ours(found))
            sigaction(SIGINT, &shared->python, nullptr);
        release();
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


def share(library: ctypes.CDLL) -> None:
    """Give a library with `LISTENING` in it the process's memory."""
    fits = library.untraced_share(ctypes.byref(_memory), ctypes.c_ulong(ctypes.sizeof(_memory)))
    assert fits


def was_interrupted(error: BaseException) -> bool:
    """Whether it is what XLA says of a program whose loops gave up."""
    return MESSAGE in str(error)
