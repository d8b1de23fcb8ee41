"""What `grad`, `vjp` and `jvp` take, give and refuse."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from gradient_helpers import Program, read_program

from untraced import accelerate, dtypes, grad, jacfwd, jacrev, jvp, testing, vjp, vmap
from untraced.translator.derive import forward, reverse
from untraced.translator.errors import DTypeError, ShapeError
from untraced.translator.same import same
from untraced.translator.tree import Kind

X = np.linspace(0.5, 1.5, 6).reshape(2, 3)


def loss(x, c, k):
    return np.sum(x * x) * c * k


def test_value_and_gradients():
    f = read_program(loss, X, 3.0, 2).function
    value, d_x, d_c = Program(reverse.grad(f, [0, 1], value=True))(X, 3.0, 2)
    assert value == loss(X, 3.0, 2)
    np.testing.assert_allclose(d_x, 12.0 * X, rtol=1e-15)
    assert isinstance(d_c, np.float64) and d_c == pytest.approx(2.0 * np.sum(X * X), rel=1e-15)


def test_one_result_is_no_tuple():
    f = read_program(loss, X, 3.0, 2).function
    assert reverse.grad(f, [0]).out.kind is Kind.LEAF
    assert reverse.grad(f, [0, 1]).out.leaf_count == 2


def test_auxiliary_results():
    def g(x):
        y = np.sin(x)
        return np.sum(y), (y, 3)

    f = read_program(g, X).function
    aux = f.out.leaf_count - 1
    *rest, d_x = Program(reverse.grad(f, [0], aux=aux))(X)
    np.testing.assert_array_equal(rest[0], np.sin(X))
    np.testing.assert_allclose(d_x, np.cos(X), rtol=1e-15)
    assert len(Program(reverse.grad(f, [0], aux=aux, value=True))(X)) == aux + 2


def test_independent_arguments_have_zero_gradients():
    f = read_program(lambda x, y: np.sum(x), X, X).function
    d_x, d_y = Program(reverse.grad(f, [0, 1]))(X, X)
    np.testing.assert_array_equal(d_x, np.ones_like(X))
    np.testing.assert_array_equal(d_y, np.zeros_like(X))


def test_stop_at_integers():
    f = read_program(lambda x: np.sum(x.astype(np.int64) * x), X).function
    (d_x,) = Program(reverse.grad(f, [0]))(X)
    np.testing.assert_array_equal(d_x, X.astype(np.int64))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_gradients_keep_the_dtype(dtype):
    x = X.astype(dtype)
    f = read_program(lambda x, c: np.sum(np.tanh(x) * c) / 3.0, x, 2.0).function
    d_x, d_c = Program(reverse.grad(f, [0, 1]))(x, 2.0)
    assert d_x.dtype == dtype and d_c.dtype == np.float64


@pytest.mark.parametrize("bad", [np.arange(3), np.array([True]), 3])
def test_integer_inputs_are_refused(bad):
    f = read_program(lambda x: np.sum(x * 1.0), bad).function
    with pytest.raises(TypeError, match="requires real- or complex-valued inputs"):
        reverse.grad(f, [0])
    with pytest.raises(DTypeError, match="requires real- or complex-valued inputs"):
        forward.jvp(f, [True])


@pytest.mark.parametrize(
    ("fun", "message"),
    [
        (lambda x: x, r"Gradient only defined for scalar-output functions. Output had shape: \(2, 3\)."),
        (lambda x: (np.sum(x), np.sum(x)), "Gradient only defined for scalar-output functions"),
        (lambda x: np.sum(x) * 1j, "real-valued outputs"),
        (lambda x: np.argmax(x), "real-valued outputs"),
    ],
)
def test_results_that_are_no_real_number_are_refused(fun, message):
    with pytest.raises(TypeError, match=message):
        reverse.grad(read_program(fun, X).function, [0])


def test_arguments_that_hold_no_number_have_no_derivative():
    for fun, x in ((lambda f, x: f(x), np.sin), (lambda s, x: x * 2.0, "abc")):
        for transform in (grad, jacfwd, jacrev):
            with pytest.raises(DTypeError, match="the argument holds no number"):
                transform(fun)(x, 1.0)
    assert grad(lambda t: t["x"] ** 2)({"x": 3.0, "kind": "square"}) == {"x": 6.0, "kind": "square"}


def test_a_result_with_axes_is_an_error_of_shapes_and_of_types():
    for error in (ShapeError, TypeError, ValueError):
        with pytest.raises(error, match="scalar-output"):
            grad(lambda x: x)(X)


def test_jvp_has_tangents_for_real_results_only():
    f = read_program(lambda x, n: (np.sin(x), n + 1), X, 2).function
    j = forward.jvp(f, [True, False])
    y, n, d_y = Program(j)(X, 2, np.ones_like(X))
    assert n == 3
    np.testing.assert_allclose(d_y, np.cos(X), rtol=1e-15)
    assert [p.name for p in j.params] == ["x", "n", "d_x"]


def test_names_do_not_collide():
    f = read_program(lambda x, d_x, ct: x * d_x * ct, X, X, X).function
    assert len({p.name for p in forward.jvp(f, [True] * 3).params}) == 6
    assert len({p.name for p in reverse.vjp(f, [0]).params}) == 4


def test_mutated_arguments_have_no_cotangent_and_are_not_written():
    def g(x):
        y = np.sum(x * x)
        x[0] = 0.0
        return y

    f = read_program(g, X.copy()).function
    assert f.mutated == (0,)
    d = reverse.grad(f, [0])
    assert d.mutated == ()
    x = X.copy()
    np.testing.assert_allclose(Program(d)(x)[0], 2 * X, rtol=1e-15)
    np.testing.assert_array_equal(x, X)


def test_derivatives_are_deterministic():
    f = read_program(loss, X, 3.0, 2).function
    assert same(reverse.grad(f, [0, 1]), reverse.grad(f, [0, 1]))


def test_a_bool_has_no_derivative() -> None:
    f = lambda p: np.sum(np.where(p["on"], p["x"], 0.0) ** 2)  # noqa: E731
    p = {"on": True, "x": np.arange(3.0)}
    for g in (grad(f), jacrev(f), jacfwd(f)):
        with pytest.raises(TypeError, match="got bool"):
            g(p)
    with pytest.raises(TypeError, match="got bool"):
        grad(lambda on: 2.0 * on)(True)
    for found in (grad(f, allow_int=True)(p), jacrev(f, allow_int=True)(p), vjp(f, p)[1](1.0)[0]):
        assert found["on"].dtype in (dtypes.float0, bool)
        np.testing.assert_array_equal(found["x"], 2.0 * p["x"])


def test_rows_beside_integers() -> None:
    x, n = np.arange(3.0), np.arange(3)
    rows = jacrev(lambda x, n: x * n, argnums=(0, 1), allow_int=True)(x, n)
    np.testing.assert_array_equal(rows[0], np.diag(n))
    np.testing.assert_array_equal(rows[1], np.zeros((3, 3), int))  # of integers, as JAX has it
    assert rows[1].dtype == n.dtype


x = np.linspace(0.5, 1.0, 3)  # the name of a parameter below


def outer(y):
    return np.sum(np.sin(x * y))


def test_what_a_helper_takes_from_outside_may_have_the_name_of_a_parameter() -> None:
    y = np.array([0.3, -0.2, 1.1])
    slope = lambda x: np.sum(grad(outer)(x) * 2.0)  # noqa: E731
    np.testing.assert_allclose(grad(lambda x: outer(x))(y), x * np.cos(x * y), rtol=1e-15)
    np.testing.assert_allclose(grad(slope)(y), -2.0 * x * x * np.sin(x * y), rtol=1e-14)


def test_a_tangent_of_numpys_for_a_number_of_pythons():
    value, tangent = jvp(lambda a: -a * np.sin(a), (2.0,), (np.float64(1.0),))
    assert (value, tangent) == pytest.approx((-2.0 * np.sin(2.0), -np.sin(2.0) - 2.0 * np.cos(2.0)), rel=1e-14)
    assert accelerate(lambda x, t: jvp(lambda a: -a * a, (x,), (t,))[1])(2.0, np.float64(1.0)) == -4.0


@pytest.mark.parametrize(
    ("blend", "sums"),
    [
        (lambda s, x, y: (1.0 - s) * x + s * y, 1),
        (lambda s, x, y: s * x + y * s, 1),
        (lambda s, x, y: x - s * x - s * y, 1),
        (lambda s, x, y: (1.0 - s) * x + (1.0 + s) * np.sum(y), 3),
        (lambda s, x, y: s * x + s * y[0], 3),
    ],
)
def test_sums_of_products_that_share_a_factor_are_one(blend, sums):
    x, y = np.linspace(0.1, 1.0, 6).reshape(2, 3), np.linspace(1.0, 0.3, 6).reshape(2, 3)

    def loss(s, x, y):
        return np.sum(blend(s, x, y) ** 3)

    testing.check_grads(loss, (0.7, x, y), order=2)
    source = grad(loss).source(0.7, x, y)
    assert source.count("np.sum(") == sums, source


def test_operator_index_of_an_axis() -> None:
    def f(x, axis):
        return np.sum(np.sum(x, axis=operator.index(axis) % 2) ** 2)

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(grad(f)(x, -1), 2 * np.sum(x, 1, keepdims=True) * np.ones((2, 3)))
    np.testing.assert_allclose(vmap(f, in_axes=(0, None))(np.stack([x, x]), 0), [f(x, 0)] * 2)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        grad(f)(x, 1.0)
