"""Sorts, searches, statistics of order, transforms and composed arrays: the interpreter and XLA against NumPy."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

import untraced
from untraced import accelerate
from untraced.translator.errors import UnsupportedError
from untraced.translator.library.checks import QUANTILE_METHODS

RNG = Drawn(0)
X = RNG.normal(size=(5, 6))
V = RNG.normal(size=9)
S = np.sort(V)
I = RNG.integers(-5, 5, (5, 6))
N = np.where(X > 1.2, np.nan, X)
Z = X + 1j * RNG.normal(size=X.shape)
T = RNG.normal(size=(2, 3, 4))
F = X.astype(np.float32)
H = X.astype(np.float16)
B = X > 0
ALL = {"float64": X, "int": I, "nan": N, "bool": B, "complex": Z, "float32": F, "float16": H}
REAL = {k: v for k, v in ALL.items() if v.dtype.kind in "fi"}
_numbers = itertools.count()

Case = tuple[Any, ...]


def function_of(expression: str, count: int) -> Callable[..., Any]:
    """A function of `count` arguments x, y, z whose source the reader can find."""
    name = f"<ordering {next(_numbers)}>"
    lines = [f"def f({', '.join('xyz'[:count])}):\n", f"    return {expression}\n"]
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    space: dict[str, Any] = {"np": np}
    exec(compile("".join(lines), name, "exec"), space)
    return space["f"]  # type: ignore[no-any-return]


def check(*cases: Case, target: str = "numpy") -> None:
    """The cases, compiled as one program."""
    functions = [function_of(expression, len(args)) for expression, *args in cases]

    def program(given: Any) -> list[Any]:
        return [f(*args) for f, args in zip(functions, given, strict=True)]

    given = [tuple(args) for _, *args in cases]
    with np.errstate(all="ignore"):
        wanted = program(given)
        found = untraced.accelerate(program, target=target)(given)  # type: ignore[call-overload]
    for (expression, *_), ours, theirs in zip(cases, found, wanted, strict=True):
        same(expression, ours, theirs)


def same(expression: str, found: Any, wanted: Any) -> None:
    assert isinstance(found, tuple | list) == isinstance(wanted, tuple | list), expression
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple | list) else [(found, wanted)]
    for ours, theirs in pairs:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), expression
        # sums in another order, XLA's own cosines; float16: NumPy rounds the scale of a transform to half precision
        tolerance = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-3}.get(theirs.dtype.name, 1e-11)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=expression)


SORTS = [
    (call, a)
    for call in ("np.sort(x)", "np.sort(x, axis=0)", "np.sort(x, axis=None)", "np.argsort(x, kind='stable')")
    for a in ALL.values()
]
SORTS += [("np.argsort(x, axis=-2, stable=True)", a) for a in ALL.values()]
SORTS += [("np.partition(x, 3)[3]", V), ("x[np.argpartition(x, (2, 4))[2]]", V), ("np.sort_complex(x)", V)]
SORTS += [("np.lexsort((x, y))", I[0], I[1] // 3), ("np.lexsort([x, y, z])", I[0] // 3, I[1] // 3, I[2] // 3)]
SORTS += [("np.sort(x)", V[:0]), ("np.argsort(x)", V[:1]), ("np.sort(x, axis=0)", X[:1])]
SORTS += [("np.take_along_axis(x, np.argsort(x, axis=1), axis=1)", X)]

MEDIANS: list[Case] = [
    (f"np.{name}(x{options})", a)
    for name in ("median", "nanmedian")
    for options in ("", ", axis=0", ", axis=-1, keepdims=True", ", axis=(0, 1)")
    for a in (X, I, N, F, X[:4])
]
MEDIANS += [("np.median(x)", Z), ("np.median(x, axis=1)", H), ("np.median(x)", T), ("np.median(x, axis=(0, 2))", T)]
QUANTILES: list[Case] = [
    (f"np.{name}(x, {q})", a)
    for name in ("quantile", "nanquantile")
    for q in ("0.3", "[0.0, 0.25, 1.0], axis=0", "np.array([[0.77, 0.1]]), keepdims=True")
    for a in REAL.values()
]
QUANTILES += [
    (f"np.{name}(x, {q})", a) for name in ("percentile", "nanpercentile") for q in (70, "[5.0, 30]") for a in (X, N, F)
]
QUANTILES += [("np.quantile(x, y, axis=1)", X, 0.6), ("np.percentile(x, y)", F, np.array([20.0, 80.0]))]
METHODS = QUANTILE_METHODS
QUANTILES += [(f"np.quantile(x, [0.0, 0.1, 0.35, 0.5, 1.0], method='{m}')", a) for m in METHODS for a in (V, I)]

SEARCHES: list[Case] = [
    (f"np.searchsorted(x, y, side='{side}')", a, v)
    for side in ("left", "right")
    for a, v in ((S, V), (S, X), (S, 0.3), (np.array([1, 2, 2]), np.arange(5)), (np.array([1.0, 2, 2]), np.arange(5)))
]
SEARCHES += [("np.searchsorted(x, y)", np.array([1.0, 2.0, np.nan]), np.array([0.0, np.nan, 2.0]))]
SEARCHES += [("x.searchsorted(y, 'right')", S, X), ("np.searchsorted(x, y, sorter=np.argsort(x))", V, X)]
SEARCHES += [("np.digitize(x, y)", X, S), ("np.digitize(x, y)", X, S[::-1].copy())]
SEARCHES += [("np.digitize(x, y, right=True)", S, S), ("np.digitize(x, y, right=True)", S, S[::-1].copy())]
ODD = np.array([np.nan, -np.inf, -0.5, 0.0, 1.0, 2.0, np.inf])
NANS = ([np.nan, np.nan], [np.nan, 1.0], [1.0, np.nan], [1.0, 1.0], [3.0, 3.0, np.nan], [-np.inf, np.nan], [2.0])
SEARCHES += [(f"np.digitize(x, y, {right})", ODD, np.array(bins)) for bins in NANS for right in (False, True)]
SEARCHES += [  # from infinite points lines go on to the right what they do not tell from the left
    ("np.interp(x, y, z)", ODD, np.array(xp), np.array(fp))
    for xp in ([-np.inf, 0.0, np.inf], [-0.5, -0.5, 1.5], [-2.0, 0.5, 1.5])
    for fp in ([1.0, 0.0, -0.5], [2.0, 2.0, -np.inf], [np.inf, 0.0, np.inf], [1j, 2.0, np.nan - 2j], [np.inf] * 3)
]
SEARCHES += [("np.interp(x, y, z)", X, S, V), ("np.interp(x, y, z, left=-1.0, right=7.0)", X, S, V)]
SEARCHES += [("np.interp(x, y, z, period=1.5)", X, S, V), ("np.interp(x, y, z)", 0.2, S, Z.ravel()[:9])]

EVEN = np.linspace(-3.0, 3.0, 40)
MANY = np.concatenate([np.random.default_rng(0).standard_normal(2000), EVEN, np.nextafter(EVEN, 9), [np.nan, np.inf]])
COUNTS: list[Case] = [
    ("np.histogram(x)", X),
    ("np.histogram(x, 5)", I),
    ("np.histogram(x, bins=7, range=(-1, 1))", X),
    ("np.histogram(x, bins=7, range=(-1.0, 1.0))", F),
    ("np.histogram(x, y)", X, S),
    ("np.histogram(x, [-2, 0, 1])", X),
    *(("np.histogram(x, y)", MANY, edges) for edges in (EVEN, EVEN**3, np.append(EVEN, np.inf), np.zeros(40))),
    ("np.histogram(x, bins=4, density=True)", X),
    ("np.histogram(x, bins=4, range=(-1, 1), weights=y)", X, X**2),
    ("np.histogram(x, 3)", np.ones(4)),
    ("np.histogram_bin_edges(x, 3)", X),
    ("np.bincount(x, minlength=12)", np.abs(I).ravel()),
    ("np.bincount(x, y, 12)", np.abs(I).ravel(), X.ravel()),
]

FOURIER: list[Case] = [
    (f"np.fft.{name}(x{options})", a)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    for options in ("", ", n=9, axis=0, norm='ortho'", ", 3, norm='forward'")
    for a in (X, I, B, F, H, Z, Z.astype(np.complex64))
    if not (name in ("rfft", "ihfft") and a.dtype.kind == "c")
]
FOURIER += [
    (f"np.fft.{name}{options}", a)
    for name in ("fft", "ifft", "rfft", "irfft")
    for options in ("2(x)", "2(x, s=(4, 5), norm='ortho')", "n(x)", "n(x, axes=(1, 0))", "n(x, s=(7, 6), axes=(0, 1))")
    for a in (X, Z, RNG.normal(size=(2, 3, 4, 5)))
    if not (name == "rfft" and a.dtype.kind == "c")
]
FOURIER += [(f"np.fft.{name}({n}, x)", 0.1) for name in ("fftfreq", "rfftfreq") for n in (1, 2, 7, 8)]
FOURIER += [
    (f"np.fft.{name}(x{axes})", T) for name in ("fftshift", "ifftshift") for axes in ("", ", axes=1", ", axes=(0, 2)")
]
FOURIER += [(f"np.{name}({n}) * x", 2.0) for name in ("bartlett", "blackman", "hamming", "hanning") for n in (1, 7, 8)]
FOURIER += [("np.unwrap(x * 8)", V), ("np.unwrap(x * 8, axis=0, period=3.0)", X), ("np.unwrap(x, discont=4.0)", X * 9)]

COMPOSED: list[Case] = [
    ("x[np.ix_([1, 2], [0, 3, 5])]", X),
    ("np.logspace(0, 2, 7) * x", 1.0),
    ("np.logspace(x, 2.0, 7, endpoint=False, base=2.0)", 1.0),
    ("np.geomspace(x, 3.0, 5)", 1.0),
    ("np.geomspace(x, -3.0, 5, endpoint=False)", -1.0),
    ("np.block([[x, y], [y, x]])", X, X * 2),
    ("np.block([x, y])", V, V),
    ("np.resize(x, (3, 7))", V),
    ("np.choose(x, [y, z, 1.0])", np.abs(I) % 3, X, X * 2),
    ("np.choose(x, [y, z], mode='wrap')", I, X, X * 2),
    ("np.choose(x, [y, z], mode='clip')", I, X, X * 2),
    ("np.piecewise(x, [x < 0, x >= 1], [lambda v: -v, lambda v: v * v])", X),
    ("np.piecewise(x, [x < 0, x > 1], [-1, lambda v: v, 7])", I),
    ("np.apply_along_axis(np.sum, 0, x)", X),
    ("np.apply_along_axis(lambda v: np.outer(v, v), 1, x)", T),
    ("np.apply_along_axis(np.sort, -1, x)", X),
    *((f"np.delete(x, {o}{axis})", X) for o in ("2", "[1, 3]", "slice(None, None, 2)") for axis in ("", ", axis=1")),
    ("np.delete(x, np.arange(0, 500, 3).tolist())", np.arange(500.0)),
    ("np.delete(x, [0, 1, 2, 3, 4])", np.arange(5.0)),
    ("np.insert(x, list(range(0, 90)), 7.0)", np.arange(100.0)),
    ("np.insert(x, [0, 2, -1], [[5.0], [6.0], [7.0]], axis=0)", X),
    ("np.insert(x, 2, 7.0)", V),
    ("np.insert(x, 1, [7, 8, 9])", V),
    ("np.insert(x, [3, 1], [7, 8])", I.ravel()),
    ("np.insert(x, 1, y, axis=1)", X, np.arange(5.0)),
    ("np.insert(x, [0, 2], y, axis=1)", X, np.arange(2.0)),
    *(
        (f"np.{name}(x, y, '{mode}')", V[:n], X[0, :m])
        for name in ("correlate", "convolve")
        for mode in ("full", "same", "valid")
        for n, m in ((9, 4), (4, 6), (5, 6), (6, 6), (8, 5))
    ),
    *((f"np.convolve(x, y, {k})", np.tile(MANY, 2), V[:m]) for k in ("'full'", "'same'", "'valid'") for m in (2, 5, 6)),
    ("np.correlate(x, y, 'full')", Z[0], Z[1]),
    ("np.polyadd(x, y)", V, V[:3]),
    ("np.polysub(x, y)", V[:4], V),
    ("np.polymul(x, y)", V, V[:3]),
    ("np.polyder(x, 2)", V),
    ("np.polyint(x)", V),
    ("np.polyint(x, 1, 3.0)", V),
    ("np.maximum.accumulate(x)", V),
    ("np.minimum.accumulate(x, axis=1)", N),
    ("np.cumulative_sum(x, axis=1, include_initial=True)", X),
    ("np.cumulative_prod(x)", V),
    ("x[np.diag_indices(3)]", X),
    ("np.mgrid[0:3, 0:4] * x", 1.0),
    ("np.mgrid[0:1:5j, 0:x] * 1.0", 2),
    ("np.mgrid[-1:1:0.5, 2:9:3] * x", 1.0),
    ("np.ogrid[0:3, 0:4][1] * x", 1.0),
    ("np.r_[x, 0.0, 0:4]", F[0]),
    ("np.r_[0:1:5j, x]", V),
    ("np.c_[x, x**2, np.ones(9)]", V),
    ("np.unravel_index(x, (3, 4))", np.array([3, 7, 11])),
    ("x[np.unravel_index(np.argmax(x), x.shape)]", T),
    *(
        (f"np.ravel_multi_index((x, y), (3, 4), mode='{mode}')", np.array([0, 1, last]), np.array([3, first, 0]))
        for mode, first, last in (("raise", 2, 2), ("wrap", -2, 5), ("clip", -2, 5))
    ),
    ("np.fromfunction(lambda i, j: i * 10 + j, (2, 3)) * x", 1.0),
    ("np.gradient(x, y)", V, S),
    ("np.gradient(x, y, axis=1, edge_order=2)", X, S[:6]),
    ("np.gradient(x)", I),
    ("np.diff(x, 2, prepend=0, append=1)", V),
    ("np.diff(x, append=y, axis=0)", X, X[:2]),
    ("np.ediff1d(x, to_end=9.0, to_begin=[1.0, 2.0])", X),
    ("np.cov(x, fweights=y)", X, np.arange(6) + 1),
    ("np.cov(x, aweights=y, fweights=z)", X, np.arange(6) + 1.0, np.arange(6) + 2),
    ("np.cov(x, aweights=y, ddof=0)", X, np.arange(6) + 1.0),
]

CASES: list[Case] = [*SORTS, *MEDIANS, *QUANTILES, *SEARCHES, *COUNTS, *FOURIER, *COMPOSED]
ON_XLA = [*SORTS, *MEDIANS[::6], *QUANTILES[::7], *SEARCHES[::2], *COUNTS[::2], *FOURIER[::6], *COMPOSED[::5]]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_as_numpy(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("start", range(0, len(ON_XLA), 12))
def test_on_xla_as_numpy(start: int) -> None:
    """Twelve to a program, each compiled once."""
    check(*ON_XLA[start : start + 12], target="cpu")


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_sorts_in_place(target: Any) -> None:
    def rows(x: Any) -> None:
        x[1:4].sort(axis=0)
        x[:, 2].sort()

    ours, theirs = X.copy(), X.copy()
    untraced.accelerate(rows, target=target)(ours)
    rows(theirs)
    np.testing.assert_array_equal(ours, theirs)


def test_ties_and_signed_zeros_keep_their_order() -> None:
    x = np.array([0.0, -0.0, 1.0, -0.0, 0.0, np.nan, -np.nan, np.nan, -np.inf])
    for target in ("numpy", "cpu"):
        for dtype in (np.float64, np.float32, np.float16):
            check(("np.argsort(x, kind='stable')", x.astype(dtype)), target=target)
    check(("np.argsort(x, kind='stable')", np.array([2**32 - 1, 0, 2**31, 0], dtype=np.uint32)), target="cpu")


@pytest.mark.parametrize("dtype", ["i8", "i4", "f8", "f4", "f2", "u1", "i2", "?", "c16"])
def test_equal_elements_stand_as_numpys_algorithms_leave_them(dtype: str) -> None:
    """Of arrays of every size, whatever vector instructions NumPy has here: not in the stable order."""
    for n in (1, 2, 9, 40, 300):
        x = RNG.integers(0, 2 if dtype == "?" else 5, (2, n)).astype(dtype)
        expressions = ["np.argsort(x)", "x.argsort(axis=0)", "np.argsort(x, kind='heapsort', axis=None)"]
        if dtype != "?":
            expressions += [f"np.partition(x, {n // 2})", f"np.argpartition(x, {n // 2})"]
        for expression in expressions:
            check((expression, x), target="cpu")
            check((expression, x), target="numpy")
        lanes = untraced.vmap(lambda row: np.argsort(row))(x)
        np.testing.assert_array_equal(lanes, [np.argsort(row) for row in x])


PARTLY_READ = {
    "np.median(x)": "np.partition(x, (4499, 4500",
    "np.sort(x)[[7, -1, 3]]": "np.partition(x, (3, 7, 8999))",
    "np.sort(np.reshape(x, (30, 300)), axis=0)[:, :3]": "np.sort",
    "np.sort(np.reshape(x, (30, 300)))[1:, -3:]": ", (297, 298, 299))",
    "np.sort(x)[:100]": "np.sort",
    "np.sort(x) - np.sort(x)[0]": "np.sort",
    "np.sort(x)[int(x[0])]": "np.sort",
    "np.sort(x[:9])[4]": "np.sort",
}


@pytest.mark.parametrize("expression", PARTLY_READ)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_long_sorts_that_are_read_in_part_are_partitions(expression: str, dtype: str) -> None:
    x = (RNG.normal(size=9000) * 100).astype(dtype)
    x[0] = 5
    check((expression, x), target="cpu")
    source = untraced.accelerate(function_of(expression, 1), target="cpu").inspect(x).source
    assert PARTLY_READ[expression] in source


DATA_DEPENDENT = ("np.unique(x)", "np.histogram(x, 'auto')", "np.bincount(np.abs(x).astype(int))")


@pytest.mark.parametrize("expression", DATA_DEPENDENT)
def test_sizes_that_depend_on_the_data_are_cut_out(expression: str) -> None:
    check((expression, V))
    if expression != "np.unique(x)":  # which has derivatives
        with pytest.raises(UnsupportedError, match=r"size of the result|gives the size|number of bins"):
            untraced.grad(function_of(f"np.sum({expression}[0])", 1))(V)


def test_counts_outside_the_bins_are_cpythons() -> None:
    count = untraced.accelerate(function_of("np.bincount(x, minlength=3)", 1), target="cpu")
    np.testing.assert_array_equal(count(np.array([0, 5])), [1, 0, 0, 0, 0, 1])
    with pytest.raises(ValueError, match="negative"):
        count(np.array([0, -1]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_even_bins_are_found_in_the_dtype_of_the_edges(dtype: Any) -> None:
    random = np.random.default_rng(3)
    ours = accelerate(lambda a: np.histogram(a, 50), target="cpu")
    for scale, middle in ((1.0, 0.0), (0.01, 100.0), (50.0, 0.0)):
        values = (random.normal(size=3000) * scale + middle).astype(dtype)
        try:
            want = np.histogram(values, 50)
        except ValueError as error:
            with pytest.raises(ValueError, match="Too many bins"):
                ours(values)
            assert "Too many bins" in str(error)
            continue
        got = ours(values)
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1].dtype == want[1].dtype


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_no_median_is_minus_zero(target: str) -> None:
    zeros = np.full((3, 4), -0.0)
    f = accelerate(lambda x: (np.median(x[:, 0]), np.median(x, 0), np.median(x)), target=target)
    middle, along, even = f(zeros)
    assert not np.signbit(np.array([middle, *along, even])).any()
