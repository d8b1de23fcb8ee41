"""Ctrl-C in native loops, for which Python's own handler of SIGINT would wait until they are done.

    for (;;) {
        if (interrupts != begun) return INTERRUPTED;      one load a turn
        ...

While such a loop runs, SIGINT is counted before it is handed on to Python's handler. The loop that sees the count
change gives up, and the program fails with `MESSAGE`; Python then raises KeyboardInterrupt.
"""

from __future__ import annotations

MESSAGE = "interrupted by SIGINT"
LONG = 64
"""Turns of a loop from which on it listens, where it does so at all: shorter ones are over soon."""
BEGIN = "const int begun = interrupts;"
POLL = "if (__builtin_expect(interrupts != begun, 0)) return INTERRUPTED;"

LISTENING = f"""
#include <signal.h>
static volatile sig_atomic_t interrupts;
static struct sigaction python;
constexpr long long INTERRUPTED = -1;

static void interrupted(int number, siginfo_t *info, void *context) {{
    interrupts = interrupts + 1;
    if (python.sa_flags & SA_SIGINFO)
        python.sa_sigaction(number, info, context);
    else
        python.sa_handler(number);
}}

// The first loop that runs begins to listen, the last one ends it. Where nobody handles SIGINT nobody listens. All this
// is a library's own: where loops of several libraries run, each hands the signal on to the one that came before it.
static int listening;
static char lock;

struct Listening {{
    Listening() {{ begin(); }}
    ~Listening() {{ end(); }}
    static void begin() {{
        hold();
        struct sigaction found;
        if (!listening++ && !sigaction(SIGINT, nullptr, &found) && handles(found)) {{
            python = found;
            found.sa_sigaction = interrupted;
            found.sa_flags |= SA_SIGINFO;
            sigaction(SIGINT, &found, nullptr);
        }}
        release();
    }}
    static void end() {{
        hold();
        struct sigaction found;
        if (!--listening && !sigaction(SIGINT, nullptr, &found) && is_ours(found))
            sigaction(SIGINT, &python, nullptr);
        release();
    }}
    static bool is_ours(const struct sigaction &a) {{
        return a.sa_flags & SA_SIGINFO && a.sa_sigaction == interrupted;
    }}
    static bool handles(const struct sigaction &a) {{
        return !is_ours(a) && (a.sa_flags & SA_SIGINFO || (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN));
    }}
    static void hold() {{ while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {{}} }}
    static void release() {{ __atomic_clear(&lock, __ATOMIC_RELEASE); }}
}};

static XLA_FFI_Error *was_interrupted(XLA_FFI_CallFrame *frame) {{
    XLA_FFI_Error_Create_Args e = {{sizeof e, nullptr, "{MESSAGE}", XLA_FFI_Error_Code_CANCELLED}};
    return frame->api->XLA_FFI_Error_Create(&e);
}}
"""
