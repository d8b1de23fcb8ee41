"""Python's garbage collector stands still while a function is translated, and runs again afterwards as before."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from untraced import UntracedError, accelerate
from untraced.runtime.calls.uncollected import uncollected


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_translations_are_not_interrupted() -> None:
    seen: list[str] = []

    def watch(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    f = accelerate(lambda x: np.sum(np.sin(x) * x) + np.sum(np.cos(x + 1.0)), target="numpy")
    gc.collect()
    gc.callbacks.append(watch)
    try:
        with uncollected():
            f(np.ones(3))
            during = list(seen)
    finally:
        gc.callbacks.remove(watch)
    assert not during
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
