"""Arguments that hold their bytes in the other order, as files have them: results show the order that NumPy's have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate

OUTSIDE = np.arange(3.0).astype(">f8")


def filled(x):
    y = x.copy()
    for i in range(len(x)):
        y[i, 0] = x[i, 1] * 2.0
    return y


def listed(x):
    rows = []
    for i in range(len(x)):
        rows.append(x[i].copy())
    return rows


def chosen(x):
    y = np.zeros(3)
    for i in range(len(x)):
        if x[i, 0] > 9:
            y = x[i].copy()
    return y


def written(x):
    z = x * 2.0
    for i in range(len(x)):
        x[i] = z[i] + 1.0
    return z


def of_dtype(x):
    return x.dtype, x.dtype == np.float64, np.zeros(2, x.dtype)


def views(x):
    return x, x[1:], x.T, x.reshape(-1)


PROGRAMS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (filled, listed, chosen, written, of_dtype, views)},
    "copy": lambda x: x.copy(),
    "flatten": lambda x: x.flatten(),
    "copies reshaped": lambda x: x.T.reshape(-1),
    "zeros_like": lambda x: np.zeros_like(x),
    "gathered": lambda x: x[[0, 1]],
    "sorted": lambda x: np.sort(x),
    "padded": lambda x: np.pad(x, 1),
    "piecewise": lambda x: np.piecewise(x, [x < 2], [lambda t: t, lambda t: -t]),
    "bits": lambda x: x.view(np.int64) + 1,
    "bytes": lambda x: x.tobytes(),
    "sum": lambda x: np.sum(x, axis=0),
    "arithmetic": lambda x: np.where(x > 1, x, x + 1),
    "joined": lambda x: np.concatenate([x, x]),
    "neighbours": lambda x: (np.nextafter(x[1:], 1.0), np.spacing(x[1:]), np.spacing(x[1, 0]), np.spacing(OUTSIDE[1:])),
    "nothing added": lambda x: (+x, x * 1, x - 0.0, np.where(x > 1, x, x), np.maximum(x, x), x.astype(float)),
    "averages": lambda x: (np.mean(x, axis=0), x.var(0), np.nanstd(x, axis=1)),
    "rounded": lambda x: np.round(x.astype(np.int32)) + np.round(x),
    "imaginary part": lambda x: (x.imag, np.imag(x[0])),
    "in Fortran's order": lambda x: np.asfortranarray(x),
    "without axes": lambda x: (np.copy(x[0, 0, ...]), np.zeros_like(x[0, 0, ...]), np.roll(x[1, 0, ...], 1)),
    "outside": lambda x: (OUTSIDE.copy(), x + OUTSIDE),
}


def described(v: Any) -> Any:
    if isinstance(v, tuple | list):
        return [described(x) for x in v]
    return (v.dtype.str, v.shape, v.tolist()) if isinstance(v, np.ndarray) else repr(v)


def given() -> np.ndarray[Any, Any]:
    return np.arange(60.0).reshape(20, 3).astype(">f8")


@pytest.mark.parametrize("target", ["numpy", "auto"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_order_of_numpys(name: str, target: str) -> None:
    x, y = given(), given()
    expected, got = PROGRAMS[name](x), accelerate(PROGRAMS[name], target=target, fallback="numpy")(y)
    assert described(got) == described(expected)
    assert described(y) == described(x)


@pytest.mark.filterwarnings("error")
def test_arithmetic_on_them_is_compiled() -> None:
    f = accelerate(PROGRAMS["arithmetic"])
    assert f.inspect(given()).stablehlo
    np.testing.assert_array_equal(f(given()), PROGRAMS["arithmetic"](given()))


def test_a_global_may_change_its_order() -> None:
    namespace: dict[str, Any] = {"outside": np.arange(3.0)}

    def f(x):
        return holder["outside"].copy()

    holder = namespace
    g = accelerate(f)
    for dtype in ("<f8", ">f8", "<f8"):
        holder["outside"] = holder["outside"].astype(dtype)
        assert g(1.0).dtype.str == dtype
