"""Functions cut into regions, compared with themselves run by CPython."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
from test_kernels import assert_same

from untraced import accelerate
from untraced.runtime.calls import regions, worth

Fun = Callable[..., Any]


@pytest.fixture(autouse=True)
def compile_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays here are small; regions are compiled all the same."""
    monkeypatch.setattr(worth, "PLAINLY", 0)
    monkeypatch.setattr(worth, "_ASKED", 0)
    monkeypatch.setattr(worth.Ledger, "is_slower", lambda self, size: False)
    monkeypatch.setattr(regions, "AT_ONCE", 1000)


def outcome(fun: Fun, args: Any) -> tuple[Any, Any, str, tuple[Any, ...]]:
    """What a call returns or raises, what it prints, and its arguments afterwards."""
    own = copy.deepcopy(args)
    out = io.StringIO()
    result, error = None, None
    with contextlib.redirect_stdout(out):
        try:
            result = fun(*own)
        except Exception as e:
            error = e
    return result, error, out.getvalue(), own


def check(fun: Fun, *args: Any, calls: int = 2) -> Any:
    """Compare an accelerated function with itself, run by CPython; the accelerated one."""
    fast = accelerate(fun, target="cpu")
    want = outcome(fun, args)
    for _ in range(calls):
        got = outcome(fast, args)
        assert type(got[1]) is type(want[1]), (got[1], want[1])
        assert str(got[1]) == str(want[1])
        assert got[2] == want[2]
        assert_same(got[0], want[0], "result")
        assert_same(list(got[3]), list(want[3]), "arguments")
    assert fast._drivers
    return fast
