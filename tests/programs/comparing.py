"""Small programs beside CPython: results to the type and the order of keys, arguments after the call, exceptions.

@CASES((3,), (10,))                     each tuple is the arguments of a call; so is what a function returns
def halves(n): ...
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate

TARGETS = ("numpy", "cpu")
Arguments = tuple[Any, ...] | Callable[[], tuple[Any, ...]]


class Cases:
    """The programs of one file, in order."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def __call__(self, *calls: Arguments) -> Callable[[Any], Any]:
        def note(function: Any) -> Any:
            for i, arguments in enumerate(calls):
                self.found.append(pytest.param(function, arguments, id=f"{function.__name__}{i or ''}"))
            return function

        return note


def check(function: Callable[..., Any], arguments: Arguments, target: str) -> None:
    """The accelerated function does what the function does."""
    mine, others = (arguments() if callable(arguments) else copy.deepcopy(arguments) for _ in range(2))
    expected, error = _outcome(function, mine)
    if error is not None:
        with pytest.raises(type(error)):
            accelerate(function, target=target)(*others)
        return
    found = accelerate(function, target=target)(*others)
    assert_same(found, expected, "result")
    for i, (x, y) in enumerate(zip(others, mine, strict=True)):
        assert_same(x, y, f"argument {i}")


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments), None
        except Exception as error:
            return None, error


def assert_same(found: Any, expected: Any, where: str) -> None:
    assert type(found) is type(expected), f"{where}: {found!r} is no {type(expected).__name__}"
    if isinstance(expected, np.ndarray | np.generic):
        assert found.dtype == expected.dtype and found.shape == expected.shape, where
        places = 4096 * np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(found, expected, rtol=places, atol=places / 8, err_msg=where)
    elif isinstance(expected, float | complex):
        assert found == pytest.approx(expected, rel=1e-12, nan_ok=True), where
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            assert_same(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), where
        for i, (x, y) in enumerate(zip(found, expected, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif hasattr(expected, "__dataclass_fields__"):
        fields = expected.__dataclass_fields__
        assert_same(*({f: getattr(x, f) for f in fields} for x in (found, expected)), where)
    else:
        assert found == expected, where
