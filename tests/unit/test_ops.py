"""Every elementwise row, from its samples: types, values, derivatives, decompositions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from untraced.translator import ops
from untraced.translator.evaluate import apply_op
from untraced.translator.ir import Aval
from untraced.translator.ops.core import NO_ATTRS, Elementwise
from untraced.translator.ops.samples import Domain

ROWS = [op for op in ops.ALL if isinstance(op, Elementwise)]
DTYPES = {
    "b": ["bool"],
    "i": ["int8", "int32", "int64"],
    "u": ["uint8", "uint32", "uint64"],
    "f": ["float16", "float32", "float64"],
    "c": ["complex64", "complex128"],
}
PYTHON = {"int64": int, "float64": float, "complex128": complex}
N = 5


def draw(domain: Domain, dtype: str, rng: np.random.Generator) -> np.ndarray:
    low, high = domain.low, domain.high
    match np.dtype(dtype).kind:
        case "b":
            return rng.integers(0, 2, N).astype(dtype)
        case "u":
            return rng.integers(max(0, np.ceil(low)), max(1, np.ceil(high)), N).astype(dtype)
        case "i":
            return rng.integers(np.ceil(low), max(np.ceil(high), np.ceil(low) + 1), N).astype(dtype)
        case "c":
            return (rng.uniform(low, high, N) + 1j * rng.uniform(-0.5, 0.5, N)).astype(dtype)
        case _:
            return rng.uniform(low, high, N).astype(dtype)


def combinations(op: Elementwise) -> list[tuple[str, ...]]:
    """Every dtype of the samples in each argument with the first of each kind in the others."""
    lists = [[d for k in s.kinds for d in DTYPES[k]] for s in op.samples]
    if len(lists) == 1:
        return [(d,) for d in lists[0]]
    firsts = [[DTYPES[k][-1] for k in s.kinds] for s in op.samples]
    found = {combo for combo in itertools.product(*firsts)}
    for i, choices in enumerate(lists):
        for d in choices:
            rest = [d if d in names else names[0] for names in lists]
            rest[i] = d
            found.add(tuple(rest))
    return sorted(found)


def valid(op: Elementwise, avals: list[Aval]) -> bool:
    try:
        op.loop_dtypes(avals)
    except TypeError:
        return False
    return True


def callable_of(op: Elementwise) -> Any:
    return op.evaluate


def aval_of(x: Any) -> Aval:
    if type(x) in (int, float, complex):
        return Aval((), np.result_type(type(x)), weak=True)
    return Aval(np.shape(x), np.asarray(x).dtype)


def test_there_are_enough_rows_and_each_is_complete() -> None:
    assert len(ROWS) >= 65
    for op in ROWS:
        assert len(op.samples) == op.arity, op.name
        assert op.name == op.name.lower()
        assert ops.BY_NAME[op.name] is op
        for rules in (op.partials, op.jvps, op.vjps):
            assert len(rules) in (0, op.arity), op.name
        for language in ("stablehlo", "cuda", "triton"):
            if (op, language) != (ops.OF_PARTS, "triton"):  # which has no complex numbers
                assert getattr(op, language) or op.decompose is not None or language == "cuda", (op.name, language)


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_types_and_values_are_numpys(op: Elementwise) -> None:
    rng = np.random.default_rng(0)
    seen = 0
    for dtypes in combinations(op):
        arrays = [draw(s, d, rng) for s, d in zip(op.samples, dtypes, strict=True)]
        for weak in ((), *((i,) for i in range(op.arity)), tuple(range(op.arity))):
            if any(dtypes[i] not in PYTHON for i in weak):
                continue
            values = [PYTHON[d](x[0]) if i in weak else x for i, (x, d) in enumerate(zip(arrays, dtypes, strict=True))]
            avals = [aval_of(v) for v in values]
            if not valid(op, avals):
                with pytest.raises(TypeError), np.errstate(all="ignore"):
                    callable_of(op)(*values)
                continue
            seen += 1
            try:
                with np.errstate(all="ignore"):
                    found = apply_op(op, values, NO_ATTRS)
            except OverflowError:  # a negative Python int beside unsigned integers
                assert any(type(v) is int and v < 0 for v in values)
                continue
            (aval,) = op.infer(avals, NO_ATTRS)
            assert np.shape(found) == aval.shape
            assert aval.weak == (type(found) in (int, float, complex)) or op.name in ("real", "imag", "stop_gradient")
            assert np.asarray(found).dtype == aval.dtype, (op.name, dtypes, weak)
            if not aval.weak:
                with np.errstate(all="ignore"):
                    np.testing.assert_array_equal(found, callable_of(op)(*values))
    assert seen


def differentiable(op: Elementwise) -> list[int]:
    wanted = range(0 if "f" in op.flat else op.arity)
    return [i for i in wanted if (op.partials and op.partials[i]) or (op.jvps and op.jvps[i])]


OF_REALS = [op for op in ROWS if differentiable(op) and op is not ops.OF_PARTS]


@pytest.mark.parametrize("op", OF_REALS, ids=lambda op: op.name)
def test_partials_are_the_slopes(op: Elementwise) -> None:
    rng = np.random.default_rng(1)
    xs = [draw(s, "bool" if s.kinds == "b" else "float64", rng) for s in op.samples]
    y = op.evaluate(*xs)
    h = 1e-6
    for i in differentiable(op):
        near = [[x + s * h if k == i else x for k, x in enumerate(xs)] for s in (1, -1)]
        slope = (op.evaluate(*near[0]) - op.evaluate(*near[1])) / (2 * h)
        for rule in derivative_rules(op, i):
            np.testing.assert_allclose(rule(xs, y), slope, rtol=2e-6, atol=1e-8, err_msg=op.name)


def derivative_rules(op: Elementwise, i: int) -> list[Any]:
    """Functions (xs, y) -> slope, from the partial and from both overrides."""
    rules: list[Any] = []
    if op.partials and op.partials[i]:
        partial = op.partials[i]
        rules.append(lambda xs, y: np.broadcast_to(partial(*xs, y), np.shape(y)))
    for table in (op.jvps, op.vjps):
        if table and table[i]:
            rules.append(lambda xs, y, rule=table[i]: rule(np.ones_like(y), *xs, y))
    return rules


@pytest.mark.parametrize("op", OF_REALS, ids=lambda op: op.name)
def test_partials_keep_float32(op: Elementwise) -> None:
    rng = np.random.default_rng(2)
    xs = [draw(s, "bool" if s.kinds == "b" else "float32", rng) for s in op.samples]
    y = op.evaluate(*xs)
    for i in differentiable(op):
        if op.partials and op.partials[i] and op.name != "float_power":
            slope = op.partials[i](*xs, y)
            assert isinstance(slope, float) or slope.dtype == np.float32, op.name
        for table in (op.jvps, op.vjps):
            if table and table[i]:
                assert table[i](np.ones_like(y), *xs, y).dtype == np.float32, op.name


HOLOMORPHIC = [
    op for op in ROWS if op.partials and all("c" in s.kinds for s in op.samples) and op.name not in ("absolute", "sign")
]


@pytest.mark.parametrize("op", HOLOMORPHIC, ids=lambda op: op.name)
def test_complex_partials_are_the_slopes(op: Elementwise) -> None:
    rng = np.random.default_rng(3)
    xs = [draw(s, "complex128", rng) for s in op.samples]
    y = op.evaluate(*xs)
    for i, partial in enumerate(op.partials):
        if partial is None:
            continue
        for h in (1e-6, 1e-6j):
            near = [[x + s * h if k == i else x for k, x in enumerate(xs)] for s in (1, -1)]
            slope = (op.evaluate(*near[0]) - op.evaluate(*near[1])) / (2 * h)
            np.testing.assert_allclose(np.broadcast_to(partial(*xs, y), y.shape), slope, rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["real", "imag", "conjugate", "absolute", "sign"])
def test_parts_of_complex_numbers_are_adjoint(name: str) -> None:
    """JAX's convention: Re(ct * jvp(t)) == Re(vjp(ct) * t) for real and complex results alike."""
    op = ops.BY_NAME[name]
    assert isinstance(op, Elementwise)
    rng = np.random.default_rng(4)
    x, t = (rng.normal(size=N) + 1j * rng.normal(size=N) for _ in range(2))
    y = op.evaluate(x)
    h = 1e-6
    slope = (op.evaluate(x + h * t) - op.evaluate(x - h * t)) / (2 * h)
    tangent = op.jvps[0](t, x, y)
    np.testing.assert_allclose(tangent, slope, rtol=1e-6, atol=1e-8)
    ct = rng.normal(size=N) + (1j * rng.normal(size=N) if y.dtype.kind == "c" else 0)
    back = op.vjps[0](ct, x, y)
    np.testing.assert_allclose(np.real(ct * tangent), np.real(back * t), rtol=1e-12, atol=1e-12)


def test_parts_are_joined_as_they_are() -> None:
    """Bit for bit; the derivative is that of re + im * 1j, in the convention above."""
    parts = np.array(SPECIAL_FLOATS)
    z = ops.OF_PARTS.evaluate(parts[:, None], parts)
    np.testing.assert_array_equal(z.real.view(np.int64), np.broadcast_to(parts[:, None], z.shape).view(np.int64))
    np.testing.assert_array_equal(z.imag.view(np.int64), np.broadcast_to(parts, z.shape).view(np.int64))
    rng = np.random.default_rng(5)
    re, im, t = rng.normal(size=(3, N))
    ct, z = rng.normal(size=N) + 1j * rng.normal(size=N), ops.OF_PARTS.evaluate(re, im)
    for i, unit in enumerate((1.0, 1j)):
        tangent, back = ops.OF_PARTS.jvps[i](t, re, im, z), ops.OF_PARTS.vjps[i](ct, re, im, z)
        np.testing.assert_array_equal(tangent, t * unit)
        np.testing.assert_array_equal(back, np.real(ct * unit))


# ---- decompositions ------------------------------------------------------------------------------

SPECIAL_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-300, 7.3, -7.3]
SPECIAL_INTEGERS = [0, 1, -1, 2, -2, 5, -5, 7, 127, -128]


def special_values(op: Elementwise, kind: str) -> list[np.ndarray]:
    if kind == "f":
        pool: np.ndarray = np.array(SPECIAL_FLOATS)
    elif kind == "i":
        pool = np.array(SPECIAL_INTEGERS, np.int8)
    elif kind == "u":
        pool = np.array([0, 1, 2, 3, 7, 8, 200, 255], np.uint8)
    elif kind == "b":
        pool = np.array([False, True])
    else:
        pool = np.array([a + 1j * b for a in (0.5, -2.0, 3.0) for b in (0.0, -1.5, 2.0)])
    grid = np.meshgrid(*([pool] * op.arity), indexing="ij")
    return [g.ravel() for g in grid]


@pytest.mark.parametrize("op", [op for op in ROWS if op.decompose], ids=lambda op: op.name)
def test_decompositions_are_exact(op: Elementwise) -> None:
    """In the loop's dtypes, special values included; composed functions round more than once, hence four ulps."""
    assert op.decompose is not None
    tried = 0
    for kind in "fiubc":
        xs = special_values(op, kind)
        avals = [aval_of(x) for x in xs]
        if not valid(op, avals) or (kind == "c" and not all("c" in s.kinds for s in op.samples)):
            continue
        languages = ("stablehlo",) if kind == "c" else ("stablehlo", "cuda", "triton")  # kernels: complex_numbers
        if all(op.primitive(language, avals) for language in languages):
            continue
        tried += 1
        if op.name == "power" and kind in "iu":
            xs[1] = np.abs(xs[1])
            xs = [x[xs[1] >= 0] for x in xs]
        dtypes, result = op.loop_dtypes(avals)
        cast = [x.astype(d) for x, d in zip(xs, dtypes, strict=True)]
        with np.errstate(all="ignore"):
            found, wanted = op.decompose(*cast), op.evaluate(*xs)
        assert np.asarray(found).dtype == result, (op.name, kind)
        if op.name == "reciprocal" and kind in "iu":
            found, wanted = found[cast[0] != 0], wanted[cast[0] != 0]
        ulps = 4 * np.finfo(result).eps if result.kind in "fc" else 0
        np.testing.assert_allclose(found, wanted, rtol=ulps, atol=0, err_msg=f"{op.name} {kind}")
        if kind == "f" and np.asarray(found).dtype.kind == "f":
            same = np.signbit(found) == np.signbit(wanted)
            zeros_differ = op.name in ("maximum", "minimum", "fmax", "fmin", "clip")
            assert np.all(same | np.isnan(wanted) | (zeros_differ & (wanted == 0))), op.name
    assert tried


def test_integer_division_by_zero_is_zero() -> None:
    x = np.array([5, -5], np.int32)
    for op in (ops.FLOOR_DIVIDE, ops.REMAINDER, ops.FMOD):
        assert op.decompose is not None
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(op.decompose(x, np.zeros_like(x)), 0)


@pytest.mark.parametrize(
    ("op", "xs", "expected"),
    [
        (ops.HYPOT, (0.0, 0.0), (0.0, 0.0)),
        (ops.ARCTAN2, (0.0, 0.0), (0.0, 0.0)),
        (ops.LOGADDEXP, (-np.inf, 1.0), (0.0, 1.0)),
        (ops.POWER, (0.0, 2.0), (0.0, 0.0)),
        (ops.POWER, (0.0, 0.0), (0.0, 0.0)),
        (ops.POWER, (-2.0, 3.0), (12.0, 0.0)),
        (ops.MAXIMUM, (1.0, 1.0), (0.5, 0.5)),
        (ops.MINIMUM, (1.0, 1.0), (0.5, 0.5)),
        (ops.ABSOLUTE, (0.0,), (0.0,)),
    ],
    ids=lambda v: v.name if isinstance(v, Elementwise) else "",
)
def test_derivatives_at_corners(op: Elementwise, xs: tuple[float, ...], expected: tuple[float, ...]) -> None:
    args = [np.array([x]) for x in xs]
    with np.errstate(all="ignore"):
        y = op.evaluate(*args)
        for i, slope in enumerate(expected):
            for rule in derivative_rules(op, i):
                assert rule(args, y)[0] == slope, (op.name, i)


def test_where_hides_what_is_not_chosen() -> None:
    t = np.array([np.inf, 1.0])
    carried = ops.WHERE.vjps[1](t, np.array([False, True]), t, t, t)
    np.testing.assert_array_equal(carried, [0.0, 1.0])
