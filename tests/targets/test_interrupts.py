"""Ctrl-C ends loops that run outside Python, native ones and XLA's; what was interrupted gives an error, no value."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from untraced import accelerate
from untraced.tpu import compiler

pytestmark = pytest.mark.skipif(not compiler.available(), reason="there is no C++ compiler")

SCRIPT = """
import os, signal, sys, threading
import numpy as np
from untraced import accelerate, device_put

signal.signal(signal.SIGINT, signal.default_int_handler)     # a shell's background jobs ignore it

def counted(x):                                 # one function of XLA's
    s = 0.0
    while s < 1e300:
        s += x[0] * 1e-9
    return s

def whole_arrays(x):                            # XLA goes from operation to operation
    largest = 1.0
    while largest > -1.0:
        x = np.sin(x) * 0.5
        largest = np.max(np.abs(x))
    return x

def steps(x):
    for _ in range(10**9):
        x = np.sin(x) * 0.5
    return x

def little(x, n):                               # one function of XLA's, in some turns
    for _ in range(n):
        x = np.sin(x) * 1.1
    return x

def by_numpy(x):                                # with calls of NumPy
    for _ in range(10**9):
        x = np.cumsum(x) * 1e-3
    return x

def nest(x):                                    # C++
    s = 0.0
    for i in range(10**6):
        for j in range(10**6):
            s = s * 0.5 + x[(i * j) % 3]
    return s

def interrupted(f, *args):
    g = accelerate(f, target="cpu")
    g.inspect(*args)
    over = threading.Event()

    def press():                                # again, if the first comes before the loop listens
        wait = 0.3
        while not over.wait(wait):
            os.kill(os.getpid(), signal.SIGINT)
            wait = 10.0

    threading.Thread(target=press).start()
    try:
        result = g(*args)
        print(f.__name__, type(getattr(result, "block_until_ready", lambda: result)()))
    except BaseException as error:
        return type(error).__name__ + (": SIGINT" if "SIGINT" in str(error) else "")
    finally:
        over.set()

few, some, many = np.ones(3), np.ones(10_000), np.ones(100_000)
given = (counted, few), (whole_arrays, many), (steps, many), (little, some, 10**9), (by_numpy, some), (nest, few)
for f, x, *rest in given:
    for argument in (x, device_put(x)):
        print(f.__name__, interrupted(f, argument, *rest))

def halvings(x):
    n = 0
    while np.max(x) > 1e-3:
        x = x * 0.5
        n += 1
    return n

print([accelerate(halvings, target="cpu")(x) for x in (few, many)])

def counted_to(x, n):
    s, i = 0.0, 0
    while i < n:
        s += x[i % 3]
        i += 1
    return s

def nested(x, n):
    s = 0.0
    for i in range(n):
        for j in range(1000):
            s = s * 0.5 + x[(i * j) % 3]
    return s

come = []
signal.signal(signal.SIGINT, lambda *_: come.append(1))
for f, n in ((counted_to, 30_000_000), (nested, 100_000)):
    g = accelerate(f, target="cpu")
    expected = g(few, n)
    for _ in range(2):
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
        print("a handler that raises nothing:", g(few, n) == expected)
print(len(come))

def late(*_):
    raise TimeoutError("late")

def timed(f, *args):
    g = accelerate(f, target="cpu")
    g.inspect(*args)
    kinds = []
    for _ in range(2):                          # the second call takes the shortest path
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        try:
            kinds.append(type(g(*args)).__name__)
        except TimeoutError as error:
            kinds.append(f"{type(error).__name__}: {error}")
        signal.setitimer(signal.ITIMER_REAL, 0)
    return kinds

def written(x):
    for i in range(10**6):
        for j in range(10**6):
            x[(i * j) % 3] = x[i % 3] * 0.5
    return x

signal.signal(signal.SIGALRM, late)
for f, x, *rest in (*given, (written, few)):
    print(f.__name__, *timed(f, x, *rest))
alarms = []
signal.signal(signal.SIGALRM, lambda *_: alarms.append(1))
for f, n in ((counted_to, 30_000_000), (nested, 100_000)):
    g = accelerate(f, target="cpu")
    expected = g(few, n)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    print("alarms that raise nothing:", [bool(g(few, n) == expected) for _ in range(2)])
    signal.setitimer(signal.ITIMER_REAL, 0)
print(len(alarms) >= 4, signal.getsignal(signal.SIGALRM).__name__)

signal.signal(signal.SIGINT, signal.default_int_handler)
others = [accelerate(f, target="cpu") for f in (nest, nested)]
background = threading.Thread(target=lambda: [others[1](few, 3_000) for _ in range(200)], daemon=True)
background.start()
print("beside another thread's loops:", interrupted(nest, few))
background.join()
"""


def test_loops_that_never_end(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=240)
    names = ("counted", "whole_arrays", "steps", "little", "by_numpy", "nest")
    assert done.stdout.splitlines() == [
        *(f"{name} KeyboardInterrupt" for name in names for _ in range(2)),
        "[10, 10]",
        *("a handler that raises nothing: True",) * 4,
        "4",
        *(f"{name} TimeoutError: late TimeoutError: late" for name in (*names, "written")),
        *("alarms that raise nothing: [True, True]",) * 2,
        "True <lambda>",
        "beside another thread's loops: KeyboardInterrupt",
    ], done.stderr


def relaxed(u: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
    n, change = 0, 1.0
    while change > tolerance:
        v = u.copy()
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        change = np.max(np.abs(v - u))
        u, n = v, n + 1
    return u, n


@pytest.mark.parametrize("size", [6, 40_000])
def test_loops_that_listen_give_what_they_gave(size: int) -> None:
    u = np.zeros(size)
    u[0] = 1.0
    ours, theirs = accelerate(relaxed, target="cpu")(u, 1e-2), relaxed(u, 1e-2)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12)
    assert ours[1] == theirs[1]
    assert "untraced_poll" in accelerate(relaxed, target="cpu").inspect(u, 1e-2).stablehlo
