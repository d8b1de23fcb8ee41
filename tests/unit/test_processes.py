"""Accelerated functions in forked processes, in pickles, in several threads, and under np.errstate."""

from __future__ import annotations

import os
import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad

X = np.linspace(0.0, 1.0, 20)


@accelerate
def total(x: Any, n: Any = 2) -> Any:
    s = 0.0
    for i in range(n):
        s = s + np.sum(np.sin(x + i))
    return s, x * 2


@accelerate
def cut(x: Any) -> Any:
    y = x * 2
    print(end="")
    return y[y > 1], np.unique(y)


slope = accelerate(grad(lambda x: np.sum(x * x)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded")
def test_forked() -> None:
    expected = total(X)[0]
    cut(X)
    slope(X)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for x in (X, X[:7]):  # known to the parent, and new
                right = np.isclose(total(x)[0], expected) == (len(x) == len(X)) and np.array_equal(total(x)[1], x * 2)
                right = right and np.array_equal(slope(x), 2 * x) and np.array_equal(cut(x)[1], 2 * x)
                code = 0 if right else 2
                if code:
                    break
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.02)
    os.kill(pid, 9)
    pytest.fail("the forked process hangs")


def test_pickled() -> None:
    assert pickle.loads(pickle.dumps(total)) is total  # a decorated function goes by its name
    again = pickle.loads(pickle.dumps(accelerate(_plain)))
    np.testing.assert_array_equal(again(X), _plain(X))


def _plain(x: Any) -> Any:
    return x * 3


def test_threads() -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        for i in range(20):
            x = np.full(10 + (k + i) % 3, float(i))
            if not np.array_equal(total(x)[1], x * 2):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_floating_point_errors(target: str) -> None:
    def strict(x: Any) -> Any:
        with np.errstate(divide="raise"):
            y = 1.0 / x
        return y + 1

    def silent(x: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1.0 / x

    f = accelerate(strict, target=target)
    np.testing.assert_array_equal(f(X + 1), strict(X + 1))
    with pytest.raises(FloatingPointError):
        f(X)
    np.testing.assert_array_equal(accelerate(silent, target=target)(X)[1:], 1.0 / X[1:])


