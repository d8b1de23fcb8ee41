"""The library's NumPy source, run by CPython, against NumPy's own functions; dtypes and shapes included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special

from untraced import accelerate, grad
from untraced.translator import surface
from untraced.translator.library import (
    comparing,
    convolving,
    joining,
    linalg,
    padding,
    rearranging,
    special,
    statistics,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))
V = RNG.normal(size=5)
T = RNG.normal(size=(2, 3, 4))
I = RNG.integers(-5, 6, size=(3, 4))
S = RNG.normal(size=(4, 4))
D = S / 8 + np.eye(4)
Z = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))
HOLES = np.where(RNG.random((3, 4)) < 0.3, np.nan, X)

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def calls_of_statistics() -> list[Call]:
    found: list[Call] = []
    for name in ("mean", "var", "std", "nanmean", "nanvar", "nanstd", "ptp", "count_nonzero", "nansum", "nanmax"):
        for a in (X, I, X.astype(np.float32), X.astype(np.float16)):
            found += [(name, (a,), {}), (name, (a, 0), {}), (name, (a,), {"axis": -1, "keepdims": True})]
        found.append((name, (T,), {"axis": (0, 2)}))
    for name in ("var", "std"):
        found += [(name, (X,), {"axis": 1, "ddof": 1}), (name, (Z,), {}), (name, (I,), {"dtype": np.float32})]
    for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nancumsum", "nancumprod"):
        found += [(name, (HOLES,), {}), (name, (HOLES,), {"axis": 1})]
    found += [("nanargmax", (HOLES,), {"axis": 1}), ("nanargmin", (HOLES,), {})]
    found += [("average", (X,), {}), ("average", (X, 1), {"weights": V[:4]}), ("average", (X,), {"weights": X * X})]
    found += [("average", (X, 0), {"weights": V[:3], "returned": True})]
    found += [("diff", (X,), {}), ("diff", (X, 2, 0), {}), ("diff", (I > 0,), {}), ("ediff1d", (X,), {})]
    found += [("trapezoid", (X,), {}), ("trapezoid", (X, V[:4]), {}), ("trapezoid", (X,), {"dx": 0.5, "axis": 0})]
    found += [("gradient", (V,), {}), ("gradient", (X, 0.5), {}), ("gradient", (X, 2.0), {"axis": 1, "edge_order": 2})]
    found += [("polyval", ([1.0, -2.0, 3.0], X), {}), ("polyval", (V, 2.0), {})]
    found += [
        ("cov", (X,), {}),
        ("cov", (V,), {}),
        ("cov", (X,), {"rowvar": False, "bias": True}),
        ("corrcoef", (X,), {}),
    ]
    return found


def calls_of_joining() -> list[Call]:
    found: list[Call] = [(n, (a,), {}) for n in ("atleast_1d", "atleast_2d", "atleast_3d") for a in (2.0, V, X, T)]
    found += [(n, ([V, V + 1],), {}) for n in ("vstack", "hstack", "dstack", "column_stack")]
    found += [(n, ([X, X + 1],), {}) for n in ("vstack", "hstack", "dstack", "column_stack")]
    found += [("append", (X, V), {}), ("append", (X, X), {"axis": 1})]
    found += [
        ("split", (X, 2, 1), {}),
        ("split", (V, [1, 3]), {}),
        ("array_split", (V, 3), {}),
        ("array_split", (V, [4, 9]), {}),
    ]
    found += [("vsplit", (S, 2), {}), ("hsplit", (S, [1]), {}), ("dsplit", (T, 2), {}), ("unstack", (T,), {"axis": 1})]
    found += [("tile", (V, 3), {}), ("tile", (X, (2, 1, 2)), {}), ("tile", (T, 2), {}), ("tile", (2.0, (2, 2)), {})]
    found += [("repeat", (X, 2), {}), ("repeat", (X, 3, 1), {}), ("repeat", (V, [1, 0, 2, 1, 3]), {"axis": 0})]
    return found


def calls_of_padding() -> list[Call]:
    found: list[Call] = [("pad", (X, 1), {}), ("pad", (X, ((1, 2), (0, 3))), {"constant_values": 7.0})]
    found += [("pad", (X, ((1, 2), (2, 1)), mode), {}) for mode in ("edge", "reflect", "symmetric", "wrap")]
    found += [("pad", (a, (3, 2), mode), {}) for mode in ("linear_ramp", "mean", "median", "maximum") for a in (X, I)]
    found += [("pad", (X, 2, "mean"), {"stat_length": 2})]
    found += [("pad", (I, 1, "minimum"), {"stat_length": ((1, 9), (2, 1))})]
    found += [("pad", (V, (3, 2), "linear_ramp"), {"end_values": (5, -4)}), ("pad", (X, {-1: (1, 2)}), {})]
    found += [("pad", (V, (w, 9), mode), {"reflect_type": "odd"}) for mode in ("reflect", "symmetric") for w in (2, 17)]
    found += [("pad", (X, 1), {"constant_values": ((1, 2), (3, 4))}), ("pad", (V[:1], 2, "reflect"), {})]
    return found


def calls_of_rearranging() -> list[Call]:
    found: list[Call] = [("flip", (T,), {}), ("flip", (T, 1), {}), ("flip", (T, (0, 2)), {}), ("flipud", (X,), {})]
    found += [("fliplr", (X,), {}), ("roll", (X, 2), {}), ("roll", (X, -1), {"axis": 1}), ("roll", (X, 3, 0), {})]
    found += [("roll", (T, (1, 2), (0, 2)), {})]
    found += [("rot90", (X, k), {}) for k in (0, 1, 2, 3, -1)] + [("rot90", (T,), {"axes": (1, 2)})]
    found += [("diag", (V,), {}), ("diag", (V, -2), {}), ("diag", (X, 1), {}), ("diagflat", (X[:2, :2], 1), {})]
    found += [("trace", (X,), {}), ("trace", (T, 1, 1, 2), {})]
    found += [(n, (a, k), {}) for n in ("tril", "triu") for a in (X, I, I > 0) for k in (-1, 0, 1)]
    found += [
        ("tril_indices", (4,), {}),
        ("triu_indices", (3, 1, 5), {}),
        ("vander", (V,), {}),
        ("vander", (V, 3, True), {}),
    ]
    return found


def calls_of_comparing() -> list[Call]:
    odd = np.array([np.nan, np.inf, -np.inf, 1.0, 0.0, -2.0])
    found: list[Call] = [("isclose", (odd, odd), {}), ("isclose", (odd, odd), {"equal_nan": True})]
    found += [("isclose", (X, X + 1e-9), {}), ("allclose", (X, X + 1e-3), {}), ("array_equal", (X, X), {})]
    found += [("array_equal", (X, V), {}), ("array_equal", (odd, odd, True), {}), ("array_equiv", (X, X[:1]), {})]
    found += [(n, (odd,), {}) for n in ("isposinf", "isneginf", "nan_to_num", "iscomplex", "isreal")]
    found += [
        ("iscomplex", (Z,), {}),
        ("isreal", (Z.real + 0j,), {}),
        ("nan_to_num", (odd,), {"nan": 3.0, "posinf": 9.0}),
    ]
    found += [("nan_to_num", (odd.astype(np.float32),), {}), ("nan_to_num", (I,), {})]
    found += [("isin", (I, [1, 2, 3]), {}), ("isin", (I, [1]), {"invert": True})]
    found += [
        ("sinc", (odd[3:],), {}),
        ("sinc", (X,), {}),
        ("angle", (Z,), {}),
        ("angle", (Z, True), {}),
        ("angle", (X,), {}),
    ]
    found += [("select", ([X > 0.5, X < -0.5], [X, X * X]), {}), ("select", ([X > 0.5], [X], 7.0), {})]
    found += [("cross", (X[:, :3], X[:, 1:]), {}), ("cross", (X.T[:3], X.T[1:]), {"axis": 0})]
    found += [("linalg.cross", (X[:, :3], X[:, 1:]), {}), ("linalg.cross", (X.T[:3], X.T[1:]), {"axis": 0})]
    return found


def calls_of_linalg() -> list[Call]:
    found: list[Call] = [("linalg.norm", (a,), {}) for a in (V, X, Z, T, I, V.astype(np.float32))]
    found += [("linalg.norm", (V, o), {}) for o in (1, 2, 3, 0, np.inf, -np.inf, 0.5)]
    found += [("linalg.norm", (X, o), {}) for o in ("fro", 1, -1, np.inf, -np.inf)]
    found += [("linalg.norm", (X,), {"axis": 1}), ("linalg.norm", (X, 1), {"axis": 0, "keepdims": True})]
    found += [("linalg.norm", (T,), {"axis": (0, 2)}), ("linalg.norm", (np.zeros(3),), {})]
    found += [
        ("linalg.vector_norm", (T,), {"axis": 1}),
        ("linalg.matrix_norm", (T,), {}),
        ("linalg.trace", (T[:, :, :3],), {}),
    ]
    found += [
        ("kron", (X, S), {}),
        ("kron", (V, X), {}),
        ("linalg.matrix_power", (S, 5), {}),
        ("linalg.matrix_power", (S, 0), {}),
        ("linalg.matrix_power", (D, -2), {}),
    ]
    found += [("linalg.norm", (X, o), {}) for o in (2, -2, "nuc")]
    found += [("linalg.norm", (T, "nuc"), {"axis": (2, 0), "keepdims": True}), ("linalg.inv", (D,), {})]
    found += [("linalg.cond", (D, p), {}) for p in (None, 2, -2, 1, np.inf, "fro")]
    found += [("linalg.matrix_rank", (a,), {}) for a in (X, S, V, I, np.ones((2, 3, 3)))]
    found += [("linalg.matrix_rank", (X,), {"tol": 1.0}), ("linalg.matrix_rank", (S + S.T,), {"hermitian": True})]
    found += [("linalg.lstsq", (X.T, V[:4]), {}), ("linalg.lstsq", (X, X[:, :2]), {"rcond": None})]
    found += [("linalg.tensorinv", (np.eye(6).reshape(6, 2, 3) * 2.0,), {"ind": 1})]
    found += [("linalg.tensorsolve", (np.eye(6).reshape(2, 3, 6) * 2.0, X[:2, :3]), {})]
    return found


MODULES = {
    convolving: [(name, (V, X[0], m), {}) for name in ("convolve", "correlate") for m in ("full", "same", "valid")],
    statistics: calls_of_statistics(),
    joining: calls_of_joining(),
    padding: calls_of_padding(),
    rearranging: calls_of_rearranging(),
    comparing: calls_of_comparing(),
    linalg: calls_of_linalg(),
}
CASES = [(module, *call) for module, calls in MODULES.items() for call in calls]


def numpys(name: str) -> Callable[..., Any]:
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part)
    return function  # type: ignore[no-any-return]


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted, strict=True):
            assert_same(f, w)
        return
    assert np.shape(found) == np.shape(wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    exact = np.asarray(wanted).dtype
    ulps = 16 * np.finfo(exact).eps if exact.kind in "fc" else 0  # sums in another order than NumPy's pairwise ones
    np.testing.assert_allclose(found, wanted, rtol=ulps, atol=ulps)


@pytest.mark.parametrize(("module", "name", "args", "kwargs"), CASES, ids=[f"{c[1]}-{i}" for i, c in enumerate(CASES)])
def test_library_is_numpys(module: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    with np.errstate(all="ignore"):
        wanted = numpys(name)(*args, **kwargs)
        assert_same(getattr(module, module.NUMPY_NAMES[name])(*args, **kwargs), wanted)


@pytest.mark.parametrize("function", [np.nanmax, np.nanmin])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_extremes_without_nans_keep_bfloat16(function: Any, axis: int | None) -> None:
    x = HOLES.astype(ml_dtypes.bfloat16)
    got, want = accelerate(function)(x, axis), function(x, axis)
    assert got.dtype == want.dtype == x.dtype
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


def triangles_and_roundings(x: Any) -> Any:
    return np.tril(x), np.triu(x, 1), np.round(x, 1), np.round(x, -1)


def test_triangles_and_roundings_keep_bfloat16() -> None:
    x = (np.arange(-12.0, 12).reshape(4, 6) * 1.37).astype(ml_dtypes.bfloat16)
    for got, want in zip(accelerate(triangles_and_roundings)(x), triangles_and_roundings(x), strict=True):
        assert got.dtype == want.dtype == x.dtype
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


def numbers_written(x: Any, n: Any) -> Any:
    """NaNs stay: bfloat16 is no inexact type of NumPy's."""
    t = x.copy()
    np.copyto(t[:2], 5)
    np.copyto(t[2:3], n)
    return t, np.nan_to_num(x)


def multiplied(x: Any, y: Any) -> Any:
    return x @ y, y @ x


def bounded(x: Any, y: Any) -> Any:
    clips = np.clip(x, 0.0, 6.0), np.clip(x, 1, 2.5), np.clip(x, y, 3), np.clip(x, -1, np.float64(2)), x.clip(-1, 1)
    return *clips, np.linalg.norm(x), np.linalg.norm(x, axis=1, ord=1)


@pytest.mark.parametrize(
    ("function", "other"),
    [
        (numbers_written, 2.5),
        *((bounded, np.eye(4, dtype=d)) for d in ("i1", "f8")),
        *((multiplied, np.eye(4, dtype=d)) for d in ("?", "i1", "i8", "f2")),
    ],
)
def test_bfloat16_beside_other_types(function: Any, other: Any) -> None:
    x = (np.arange(16.0).reshape(4, 4) - 7).astype(ml_dtypes.bfloat16)
    x[3, 3] = np.nan if function is numbers_written else 1
    run = accelerate(function, target="cpu", fallback="error")
    assert run.inspect(x, other).source
    for got, want in zip(run(x, other), function(x, other), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


def wrapped_mean(x: Any) -> Any:
    return x.mean(dtype=np.uint32), np.mean(x, axis=1, dtype=np.int8)


def test_means_as_small_integers_wrap_around() -> None:
    x = np.arange(-500, 400).reshape(9, 100)
    for got, want in zip(accelerate(wrapped_mean, target="cpu")(x), wrapped_mean(x), strict=True):
        assert_same(got, want)


def test_every_library_function_is_tested_and_found() -> None:
    for module, calls in MODULES.items():
        assert set(module.NUMPY_NAMES) <= {name for name, _, _ in calls}
        for name in module.NUMPY_NAMES:
            handler = surface.handler_for(numpys(name))
            assert handler is not None and handler.inline, name


P = RNG.uniform(0.05, 0.95, size=(3, 4))
SPECIAL: list[Call] = [
    ("logsumexp", (X,), {}),
    ("logsumexp", (X, 1), {"keepdims": True}),
    ("logsumexp", (np.array([-np.inf, -np.inf]),), {}),
    ("logsumexp", (X * 1000, 0), {}),
    ("logsumexp", (X, 1), {"b": P}),
    ("softmax", (X,), {"axis": 1}),
    ("softmax", (X,), {}),
    ("log_softmax", (X,), {"axis": 0}),
    ("expit", (X * 50,), {}),
    ("log_expit", (X * 50,), {}),
    ("logit", (P,), {}),
    ("xlogy", (np.array([0.0, 1.0, 2.0, 0.0]), np.array([0.0, 2.0, 0.5, np.nan])), {}),
    ("xlog1py", (np.array([0.0, 1.0]), np.array([-1.0, 2.0])), {}),
    ("entr", (np.array([0.0, 0.5, 2.0, -1.0, np.nan]),), {}),
    ("rel_entr", (np.array([0.0, 0.5, 2.0, -1.0]), np.array([1.0, 0.25, 0.0, 1.0])), {}),
    ("kl_div", (P, P.T.reshape(3, 4)), {}),
    ("ndtr", (X,), {}),
    ("exp10", (X,), {}),
    ("betaln", (P, P * 2), {}),
    ("digamma", (np.array([0.1, 0.5, 1.0, 3.7, 20.0, -0.3, -2.5, 0.0, -1.0, -3.0]),), {}),
    ("psi", (P,), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), SPECIAL, ids=[f"{c[0]}-{i}" for i, c in enumerate(SPECIAL)])
def test_special_functions_are_scipys(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    with np.errstate(all="ignore"):
        found, wanted = getattr(special, name)(*args, **kwargs), getattr(scipy.special, name)(*args, **kwargs)
    # SciPy's own formulas differ; 1e-13 is what two careful ones leave, and a logistic's tail is a small difference.
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)
    handler = surface.handler_for(getattr(scipy.special, name))
    assert handler is not None
    assert not handler.inline or handler.function is special.SCIPY_NAMES[name]


BY_NAME_ONLY = [
    lambda a: np.linalg.cross(a, a, -1),
    lambda a: np.linalg.tensordot(a, a, 1),
    lambda a: np.linalg.vecdot(a, a, -1),
    lambda a: np.linalg.diagonal(a, 1),
    lambda a: np.linalg.matrix_transpose(x=a),
]


@pytest.mark.parametrize("call", BY_NAME_ONLY)
def test_what_numpy_takes_by_name_or_by_place_alone(call: Any) -> None:
    for f in (call, accelerate(call), grad(lambda a: np.sum(call(a)))):
        with pytest.raises(TypeError):
            f(np.eye(3))
