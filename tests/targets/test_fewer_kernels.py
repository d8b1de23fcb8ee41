"""Programs that take fewer kernels, or move fewer bytes, than their statements: each against NumPy, in both languages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from host_cuda import HostCuda

from untraced.kernels.executor import GpuExecutor, Kernel, kernels_of
from untraced.translator.ir import Function
from untraced.translator.pipeline import translate
from untraced.translator.reading.signature import abstract_with_leaves

pytest.importorskip("triton")
from triton_interpreter import TritonInterpreter  # noqa: E402

LANGUAGES = ("cuda", "triton")
rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def backends() -> Iterator[dict[str, Any]]:
    interpreter = TritonInterpreter()
    yield {"cuda": HostCuda(), "triton": interpreter}
    interpreter.close()


def translated(function: Callable[..., Any], args: tuple[Any, ...], language: str) -> Function:
    return translate(function, abstract_with_leaves(function, args, {})[0], target=language).function


def kernels(function: Callable[..., Any], args: tuple[Any, ...], language: str) -> tuple[Kernel, ...]:
    return kernels_of(translated(function, args, language), language)


def check(function: Callable[..., Any], args: tuple[Any, ...], backend: Any, rtol: float = 1e-5) -> None:
    found = GpuExecutor(translated(function, args, backend.language), backend)(list(args))
    wanted = function(*args)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, want in zip(found, wanted, strict=True):
        assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(want).dtype, np.shape(want))
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


# ---- reductions of the same array ----------------------------------------------------------------


def whole(x: Any, y: Any) -> Any:
    return (x * y).sum(), np.abs(y).max(), x.mean(), x.min(), (x > 1).sum()


def by_columns(x: Any, y: Any) -> Any:
    return x.mean(0), x.std(0), (x * y).sum(0), x.argmax(0)


def of_integers(x: Any) -> Any:
    return x.sum(), x.max(), x.min()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (whole, tuple(rng.standard_normal((2, 300, 70)).astype("f4"))),
        (by_columns, tuple(rng.standard_normal((2, 300, 70)).astype("f4"))),
        (of_integers, (rng.integers(-(2**31), 2**31, (50, 300)).astype("i4"),)),
    ],
)
def test_reductions_over_the_same_axes_read_their_arrays_once(
    function: Callable[..., Any], args: tuple[Any, ...], language: str, backends: dict[str, Any]
) -> None:
    assert len(kernels(function, args, language)) <= 2  # the parts, and their sums
    check(function, args, backends[language])
