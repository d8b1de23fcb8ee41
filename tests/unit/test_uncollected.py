"""Python's garbage collector stands still while a function is translated, and runs again afterwards as before."""

from __future__ import annotations

import gc
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from untraced import UntracedError, accelerate, grad
from untraced.runtime.calls.uncollected import uncollected


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def program(x: np.ndarray) -> np.ndarray:
    return np.sum(np.sin(x) * x) + np.sum(np.cos(x + 1.0))


@pytest.mark.parametrize("f", [accelerate(program, target="numpy"), accelerate(program, target="cpu"), grad(program)])
def test_translations_are_not_interrupted(f: Callable[..., object]) -> None:
    """Nor the printing of what CPython runs."""
    interrupted: set[str] = set()

    def watch(phase: str, info: dict[str, int]) -> None:
        frames = traceback.walk_stack(sys._getframe())
        interrupted.update(frame.f_code.co_qualname for frame, _ in frames)

    thresholds = gc.get_threshold()
    gc.set_threshold(10)
    gc.callbacks.append(watch)
    try:
        f(np.ones(3))
    finally:
        gc.callbacks.remove(watch)
        gc.set_threshold(*thresholds)
    assert interrupted.isdisjoint(("translate", "printed"))
    assert gc.isenabled()


def test_what_is_refused_starts_it_again() -> None:
    with pytest.raises(UntracedError):
        accelerate(lambda x: globals()["np"].sum(x), target="cpu")(np.ones(3))
    assert gc.isenabled()


def test_who_has_stopped_it_finds_it_stopped() -> None:
    gc.disable()
    accelerate(lambda x: np.sum(x * 3.0), target="cpu")(np.ones(3))
    assert not gc.isenabled()


def test_the_last_of_several_starts_it() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with uncollected():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with uncollected():
        thread.start()
        inside.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_a_forked_child_collects() -> None:
    with uncollected():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
