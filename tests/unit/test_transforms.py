"""grad, vmap, jvp, vjp, jacobians: JAX's behaviour, arguments and errors, on plain and on accelerated functions."""

from __future__ import annotations

import functools
import pickle
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import (
    Array,
    accelerate,
    device_put,
    dtypes,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    tree,
    value_and_grad,
    vjp,
    vmap,
)

rng = Drawn(0)
X = rng.standard_normal((3, 4))
V = rng.standard_normal(4)


def quadratic(x: Any, a: Any = 2.0) -> Any:
    return np.sum(a * x * x)


def layer(params: Any, x: Any) -> Any:
    return np.tanh(x @ params["w"] + params["b"])


def mean_square(params: Any, x: Any, y: Any) -> Any:
    e = layer(params, x) - y
    return np.mean(e * e)


def with_aux(x: Any) -> Any:
    y = np.sin(x)
    return np.sum(y), {"y": y, "n": 3}


def vector(x: Any) -> Any:
    return np.sin(x) * np.sum(x * x)


def mat_vec(m: Any, v: Any) -> Any:
    return m @ v


def pair(x: Any, y: Any) -> Any:
    return {"s": x * y, "d": (x - y,)}


def cube(x: Any) -> Any:
    return x * x * x


Params = namedtuple("Params", "w b")


def named(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ p.w + p.b))


def maybe(fun: Callable[..., Any], how: str) -> Any:
    return accelerate(fun, target="cpu") if how == "cpu" else fun


HOW = pytest.mark.parametrize("how", ["plain", "cpu"])


@HOW
class TestGrad:
    def test_array(self, how: str) -> None:
        g = grad(maybe(quadratic, how))(X)
        assert type(g) is np.ndarray and g.dtype == np.float64
        np.testing.assert_allclose(g, 4 * X)

    def test_python_float_gives_a_numpy_scalar(self, how: str) -> None:
        assert float(grad(maybe(cube, how))(2.0)) == 12.0
        assert float(grad(grad(maybe(cube, how)))(2.0)) == 12.0
        assert float(grad(grad(grad(maybe(cube, how))))(2.0)) == 6.0

    def test_argnums(self, how: str) -> None:
        f = maybe(quadratic, how)
        by_x, by_a = grad(f, argnums=(0, 1))(X, 3.0)
        np.testing.assert_allclose(by_x, 6 * X)
        np.testing.assert_allclose(by_a, np.sum(X * X))
        np.testing.assert_allclose(grad(f, argnums=-1)(X, 3.0), np.sum(X * X))
        np.testing.assert_allclose(grad(f, argnums=[1])(X, 3.0)[0], np.sum(X * X))

    def test_keyword_and_default_arguments(self, how: str) -> None:
        f = maybe(quadratic, how)
        np.testing.assert_allclose(grad(f)(X, a=0.5), X)
        np.testing.assert_allclose(grad(f)(X), 4 * X)

    def test_trees(self, how: str) -> None:
        params = {"w": rng.standard_normal((4, 2)), "b": np.zeros(2)}
        y = rng.standard_normal((3, 2))
        value, grads = value_and_grad(maybe(mean_square, how))(params, X, y)
        assert set(grads) == {"w", "b"} and grads["w"].shape == (4, 2)
        np.testing.assert_allclose(value, mean_square(params, X, y))
        e = layer(params, X) - y
        d = 2 * e / e.size * (1 - layer(params, X) ** 2)
        np.testing.assert_allclose(grads["w"], X.T @ d, rtol=1e-12)
        np.testing.assert_allclose(grads["b"], d.sum(0), rtol=1e-12)

    def test_namedtuple(self, how: str) -> None:
        p = Params(rng.standard_normal((4, 2)), np.zeros(2))
        g = grad(maybe(named, how))(p, X)
        assert type(g) is Params and g.w.shape == (4, 2) and g.b.shape == (2,)

    def test_aux(self, how: str) -> None:
        f = maybe(with_aux, how)
        g, aux = grad(f, has_aux=True)(V)
        np.testing.assert_allclose(g, np.cos(V))
        np.testing.assert_allclose(aux["y"], np.sin(V))
        assert aux["n"] == 3
        (value, aux), g = value_and_grad(f, has_aux=True)(V)
        np.testing.assert_allclose(value, np.sum(np.sin(V)))
        np.testing.assert_allclose(g, np.cos(V))

    def test_refuses_what_jax_refuses(self, how: str) -> None:
        with pytest.raises(TypeError, match="real- or complex-valued inputs"):
            grad(maybe(quadratic, how))(np.arange(3))
        with pytest.raises(TypeError, match="scalar-output"):
            grad(maybe(vector, how))(V)
        with pytest.raises(TypeError, match="pair"):
            grad(maybe(quadratic, how), has_aux=True)(V)
        with pytest.raises(ValueError, match="positional arguments"):
            grad(maybe(cube, how), argnums=1)(2.0)

    def test_integer_leaves_are_allowed_on_demand(self, how: str) -> None:
        def f(p: Any) -> Any:
            return np.sum(p["x"] * p["n"])

        g = grad(maybe(f, how), allow_int=True)({"x": V, "n": np.arange(4)})
        np.testing.assert_allclose(g["x"], np.arange(4))
        assert (g["n"].dtype, g["n"].shape) == (dtypes.float0, (4,))

    def test_holomorphic(self, how: str) -> None:
        z = np.array(0.5 + 0.25j)
        np.testing.assert_allclose(grad(maybe(cube, how), holomorphic=True)(z), 3 * z * z, rtol=1e-12)
        with pytest.raises(TypeError, match="holomorphic"):
            grad(maybe(cube, how), holomorphic=True)(1.0)

    def test_loops_whose_length_is_an_argument(self, how: str) -> None:
        def decay(x: Any, n: int) -> Any:
            y = x
            for _ in range(n):
                y = np.sin(y) * x
            return np.sum(y)

        g = grad(maybe(decay, how))
        for n in (0, 1, 4):
            e = 1e-6
            direction = rng.standard_normal(4)
            numeric = (decay(V + e * direction, n) - decay(V - e * direction, n)) / (2 * e)
            np.testing.assert_allclose(g(V, n) @ direction, numeric, rtol=1e-6, atol=1e-8)


@HOW
class TestVmap:
    def test_axes(self, how: str) -> None:
        m = rng.standard_normal((5, 3, 4))
        v = rng.standard_normal((4, 5))
        f = maybe(mat_vec, how)
        expected = np.stack([m[i] @ v[:, i] for i in range(5)])
        np.testing.assert_allclose(vmap(f, in_axes=(0, 1))(m, v), expected, rtol=1e-12)
        np.testing.assert_allclose(vmap(f, in_axes=(0, -1), out_axes=1)(m, v), expected.T, rtol=1e-12)
        np.testing.assert_allclose(vmap(f, in_axes=(0, None))(m, V), m @ V, rtol=1e-12)
        np.testing.assert_allclose(vmap(f, in_axes=[None, 1])(X, v), (X @ v).T, rtol=1e-12)

    def test_trees_of_axes(self, how: str) -> None:
        params = {"w": rng.standard_normal((5, 4, 2)), "b": np.zeros(2)}
        out = vmap(maybe(layer, how), in_axes=({"w": 0, "b": None}, None))(params, X)
        np.testing.assert_allclose(out, np.tanh(X @ params["w"]), rtol=1e-12)
        out = vmap(maybe(layer, how), in_axes=(None, 0))({"w": params["w"][0], "b": params["b"]}, X)
        np.testing.assert_allclose(out, np.tanh(X @ params["w"][0]), rtol=1e-12)

    def test_trees_of_results(self, how: str) -> None:
        out = vmap(maybe(pair, how), out_axes={"s": 1, "d": 0})(X, X)
        np.testing.assert_allclose(out["s"], (X * X).T)
        assert out["d"][0].shape == X.shape

    def test_truth_values_known_before_the_run_are_results_too(self, how: str) -> None:
        found = vmap(maybe(lambda x: (x, x.ndim == 0, {"positive": True}), how))(V)
        np.testing.assert_array_equal(found[1], np.full(len(V), True))
        np.testing.assert_array_equal(found[2]["positive"], np.full(len(V), True))

    def test_unbatched_result(self, how: str) -> None:
        def f(x: Any, y: Any) -> Any:
            return np.sum(y)

        np.testing.assert_allclose(vmap(maybe(f, how), in_axes=(0, None), out_axes=None)(X, V), np.sum(V))
        np.testing.assert_allclose(vmap(maybe(f, how), in_axes=(0, None))(X, V), np.full(3, np.sum(V)))

    def test_nesting(self, how: str) -> None:
        def dot(x: Any, y: Any) -> Any:
            return np.sum(x * y)

        a, b = rng.standard_normal((3, 4)), rng.standard_normal((5, 4))
        outer = vmap(vmap(maybe(dot, how), in_axes=(None, 0)), in_axes=(0, None))
        np.testing.assert_allclose(outer(a, b), a @ b.T, rtol=1e-12)

    def test_gradients_of_batches_and_batches_of_gradients(self, how: str) -> None:
        per_row = vmap(grad(maybe(quadratic, how)))
        np.testing.assert_allclose(per_row(X), 4 * X)

        def total(x: Any) -> Any:
            return np.sum(vmap(vector)(x))

        np.testing.assert_allclose(
            grad(maybe(total, how))(X), np.stack([grad(lambda r: np.sum(vector(r)))(r) for r in X]), rtol=1e-12
        )

    def test_keywords_are_mapped_over_axis_0(self, how: str) -> None:
        out = vmap(maybe(pair, how))(X, y=X)
        np.testing.assert_allclose(out["s"], X * X)
        across = vmap(maybe(pair, how), in_axes=1, out_axes=1)(X, y=X.T)
        np.testing.assert_allclose(across["s"], X * X)

    def test_what_a_call_does_not_give_is_the_same_for_all(self, how: str) -> None:
        def scaled(x: Any, factors: Any = V) -> Any:
            return x * np.sum(factors)

        f = maybe(scaled, how)
        np.testing.assert_allclose(vmap(f)(V), V * np.sum(V))
        np.testing.assert_allclose(vmap(f)(V, V), V * V)
        np.testing.assert_allclose(vmap(functools.partial(f, factors=V))(V), V * np.sum(V))
        np.testing.assert_allclose(vmap(grad(functools.partial(f, factors=V)))(V), np.full(4, np.sum(V)))

        def of_rows(x: Any, rows: Any) -> Any:
            return vmap(lambda row: vmap(functools.partial(scaled, factors=row))(x))(rows)

        np.testing.assert_allclose(maybe(of_rows, how)(V, X), np.outer(np.sum(X, 1), V))

    def test_options_of_numpys_functions_come_in_their_order(self, how: str) -> None:
        clip, total = maybe(np.clip, how), maybe(np.sum, how)
        np.testing.assert_array_equal(vmap(clip, (0, None, 0))(X, 0.0, V[:3]), np.clip(X, 0.0, V[:3, None]))
        np.testing.assert_allclose(vmap(total, (0, None))(X[None], 1), np.sum(X[None], 2))

    def test_refuses_what_jax_refuses(self, how: str) -> None:
        f = maybe(mat_vec, how)
        with pytest.raises(ValueError, match="inconsistent sizes"):
            vmap(f)(X, np.zeros((2, 4)))
        with pytest.raises(ValueError, match="it has only 1 axes|has only"):
            vmap(f, in_axes=(0, 1))(X, V)
        with pytest.raises(ValueError, match=r"len\(in_axes\)=3, len\(args\)=2 for mat_vec(.|\n)*def mat_vec"):
            vmap(f, in_axes=(0, 0, 0))(X, V)
        with pytest.raises(ValueError, match=r"len\(in_axes\)=1, len\(args\)=2 for pair"):
            vmap(maybe(pair, how), in_axes=(0,))(X, X)
        with pytest.raises(ValueError, match=r"len\(in_axes\)=2, len\(args\)=1 for pair"):
            vmap(maybe(pair, how), in_axes=(0, 0))(X, y=X)
        with pytest.raises(ValueError, match="map axis 0 of the argument y of pair, which is no array but 'all'"):
            vmap(maybe(pair, how), in_axes=(0, 0))(X, "all")
        with pytest.raises(ValueError, match="at least one"):
            vmap(f, in_axes=(None, None))(X, V)
        with pytest.raises(ValueError, match="does not match"):
            vmap(layer, in_axes=({"w": 0}, None))({"w": X, "b": V}, V)
        with pytest.raises(ValueError, match=r"axis 1 of the argument params\['b'\] of layer that has shape \(4,\)"):
            vmap(layer, in_axes=(1, None))({"w": X, "b": V}, V)
        with pytest.raises(ValueError, match=r"out_axes=2 is out of range for result\['s'\] of pair"):
            vmap(maybe(pair, how), out_axes={"s": 2, "d": 0})(X, X)
        with pytest.raises(ValueError, match=r"argument x: size 3(.|\n)*def layer"):
            vmap(layer)({"w": np.zeros((2, 3, 4)), "b": np.zeros((2, 3))}, np.zeros((3, 4)))
        with pytest.raises(TypeError, match="in_axes"):
            vmap(f, in_axes="0")
        with pytest.raises(TypeError, match="in_axes"):
            vmap(f, in_axes=(0, 1.0))


@HOW
class TestProducts:
    def test_jvp(self, how: str) -> None:
        t = rng.standard_normal(4)
        out, tangent = jvp(maybe(vector, how), (V,), (t,))
        np.testing.assert_allclose(out, vector(V))
        np.testing.assert_allclose(tangent, np.cos(V) * t * np.sum(V * V) + np.sin(V) * 2 * (V @ t), rtol=1e-12)

    def test_jvp_of_python_numbers(self, how: str) -> None:
        out, tangent = jvp(maybe(cube, how), (2.0,), (1.0,))
        assert (float(out), float(tangent)) == (8.0, 12.0)

    def test_jvp_with_aux_and_trees(self, how: str) -> None:
        out, tangent, aux = jvp(maybe(with_aux, how), (V,), (V,), has_aux=True)
        np.testing.assert_allclose(tangent, np.sum(np.cos(V) * V))
        np.testing.assert_allclose(aux["y"], np.sin(V))
        out, tangent = jvp(maybe(pair, how), (X, X), (X, 2 * X))
        np.testing.assert_allclose(tangent["d"][0], -X)

    def test_jvp_refuses(self, how: str) -> None:
        f = maybe(vector, how)
        with pytest.raises(TypeError, match="tuple or list"):
            jvp(f, V, V)
        with pytest.raises(TypeError, match="tree structure"):
            jvp(f, (V,), (V, V))
        with pytest.raises(TypeError, match="float0"):
            jvp(f, (np.arange(4),), (np.arange(4),))
        with pytest.raises(ValueError, match=r"shapes: \(4,\) and \(2,\) for primals\[0\]"):
            jvp(f, (V,), (V[:2],))
        with pytest.raises(TypeError, match="dtypes must be equal"):
            jvp(f, (V,), (V.astype("f4"),))

    def test_vjp(self, how: str) -> None:
        ct = rng.standard_normal(3)
        out, pull = vjp(maybe(mat_vec, how), X, V)
        np.testing.assert_allclose(out, X @ V)
        by_m, by_v = pull(ct)
        np.testing.assert_allclose(by_m, np.outer(ct, V))
        np.testing.assert_allclose(by_v, X.T @ ct)
        np.testing.assert_allclose(pull(2 * ct)[1], 2 * X.T @ ct)

    def test_vjp_with_trees_and_aux(self, how: str) -> None:
        out, pull = vjp(maybe(pair, how), X, X)
        by_x, by_y = pull({"s": X, "d": (X,)})
        np.testing.assert_allclose(by_x, X * X + X)
        np.testing.assert_allclose(by_y, X * X - X)
        out, pull, aux = vjp(maybe(with_aux, how), V, has_aux=True)
        np.testing.assert_allclose(pull(1.0)[0], np.cos(V))
        np.testing.assert_allclose(aux["y"], np.sin(V))
        with pytest.raises(ValueError, match="structure"):
            vjp(maybe(pair, how), X, X)[1](X)
        with pytest.raises(ValueError, match="shape"):
            vjp(maybe(mat_vec, how), X, V)[1](V)

    def test_linearize(self, how: str) -> None:
        out, f_jvp = linearize(maybe(vector, how), V)
        np.testing.assert_allclose(out, vector(V))
        np.testing.assert_allclose(f_jvp(V), jvp(vector, (V,), (V,))[1], rtol=1e-12)


@HOW
class TestJacobians:
    def test_forward_and_reverse_agree_with_the_formula(self, how: str) -> None:
        expected = np.diag(np.cos(V)) * np.sum(V * V) + np.outer(np.sin(V), 2 * V)
        np.testing.assert_allclose(jacfwd(maybe(vector, how))(V), expected, rtol=1e-12)
        np.testing.assert_allclose(jacrev(maybe(vector, how))(V), expected, rtol=1e-12)

    def test_shapes_and_trees(self, how: str) -> None:
        for jacobian in (jacfwd, jacrev):
            matrix = np.array([[1.0, np.inf, 3.0, 0.0], [np.nan, 5.0, 6.0, 7.0]])  # untouched by zeros of the identity
            np.testing.assert_array_equal(jacobian(maybe(lambda x, m=matrix: m @ x, how))(V), matrix)
            np.testing.assert_array_equal(jacobian(maybe(lambda x, m=matrix: x @ m.T, how))(V), matrix)
            for f in (lambda x: X @ x, lambda x: np.sin(X @ x), lambda x: X @ np.sin(x), lambda x: -(X @ (x / 3.0))):
                assert "eye" not in jacobian(f).source(V)
                steps = np.stack([f(V + 1e-6 * d) - f(V - 1e-6 * d) for d in np.eye(4)], axis=1) / 2e-6
                np.testing.assert_allclose(jacobian(maybe(f, how))(V), steps, rtol=1e-7, atol=1e-9)
                batched = vmap(jacobian(maybe(f, how)))(X)
                np.testing.assert_allclose(batched[1], jacobian(f)(X[1]), rtol=1e-12)
            j = jacobian(maybe(pair, how), argnums=(0, 1))(X, X)
            assert j["s"][0].shape == (3, 4, 3, 4)
            np.testing.assert_allclose(j["d"][0][1], -np.eye(12).reshape(3, 4, 3, 4))
            j = jacobian(maybe(mat_vec, how))(X, V)
            np.testing.assert_allclose(j, np.einsum("ij,k->ijk", np.eye(3), V))

    def test_hessian(self, how: str) -> None:
        def f(x: Any) -> Any:
            return np.sum(x * x * x) + np.prod(x[:2])

        expected = np.diag(6 * V)
        expected[0, 1] = expected[1, 0] = 1.0
        np.testing.assert_allclose(hessian(maybe(f, how))(V), expected, rtol=1e-10, atol=1e-12)

    def test_aux(self, how: str) -> None:
        j, aux = jacrev(maybe(with_aux, how), has_aux=True)(V)
        np.testing.assert_allclose(j, np.cos(V))
        assert aux["n"] == 3
        j, aux = jacfwd(maybe(with_aux, how), has_aux=True)(V)
        np.testing.assert_allclose(j, np.cos(V))


class TestObjects:
    def test_metadata(self) -> None:
        g = grad(quadratic)
        assert g.__name__ == "quadratic" and g.__wrapped__ is quadratic
        assert repr(g) == "<grad of quadratic>"
        assert repr(grad(accelerate(quadratic))) == "<accelerated grad of quadratic for auto>"
        assert repr(accelerate(vmap(grad(quadratic)))) == "<accelerated vmap of grad of quadratic for auto>"

    def test_the_same_transformation_is_found_again(self) -> None:
        assert grad(quadratic) is grad(quadratic)
        assert grad(quadratic) is not grad(quadratic, argnums=1)
        assert vmap(quadratic, in_axes=0) is not vmap(quadratic, in_axes=(0,))

    def test_pickle(self) -> None:
        g = pickle.loads(pickle.dumps(grad(quadratic, argnums=0)))
        np.testing.assert_allclose(g(X), 4 * X)
        v = pickle.loads(pickle.dumps(vmap(mat_vec, in_axes=(None, 0))))
        assert v(X, X).shape == (3, 3)

    def test_as_a_method(self) -> None:
        class Model:
            power = 3

            @grad
            def slope(x: Any) -> Any:  # type: ignore[misc]  # noqa: N805
                return x * x

        assert float(Model.slope(3.0)) == 6.0

    def test_of_numpy_functions_methods_partials_and_objects(self) -> None:
        class Scaled:
            def __init__(self, k: float) -> None:
                self.k = k

            def __call__(self, x: Any) -> Any:
                return self.k * x * x

            def times(self, x: Any, n: int = 2) -> Any:
                return self.k * x * n

        s = Scaled(3.0)
        np.testing.assert_allclose(grad(np.sin)(0.5), np.cos(0.5))
        np.testing.assert_allclose(grad(np.sum)(X), np.ones_like(X))
        np.testing.assert_allclose(vmap(np.dot)(X, X), np.sum(X * X, axis=1))
        assert (
            float(grad(s)(2.0)) == 12.0 and float(grad(s.times)(2.0)) == 6.0 and float(grad(s.times)(2.0, n=5)) == 15.0
        )
        s.k = 1.0
        assert float(grad(s)(2.0)) == 4.0 and float(grad(s.times)(2.0)) == 2.0
        assert float(grad(functools.partial(quadratic, a=3.0))(2.0)) == 12.0

    def test_not_a_function(self) -> None:
        with pytest.raises(TypeError, match="grad wants a function"):
            grad(3)
        with pytest.raises(TypeError, match="argnums"):
            grad(quadratic, argnums="x")

    def test_source_and_stages(self) -> None:
        g = grad(vmap(quadratic))
        source = vmap(grad(quadratic)).source(X)
        assert source.startswith("def ") and "return" in source
        stages = vmap(grad(quadratic)).inspect(X).stages
        assert list(stages) == ["read", "derive", "batch", "simplify", "fuse"]
        assert g is not None

    def test_plain_functions_need_no_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from untraced.tpu.client import executable as client

        monkeypatch.setattr(client, "compile", None)
        np.testing.assert_allclose(grad(lambda x: np.sum(x * x))(X), 2 * X)

    def test_inside_a_function(self) -> None:
        def step(params: Any, x: Any, y: Any) -> Any:
            value, grads = value_and_grad(mean_square)(params, x, y)
            return value, tree.map(lambda p, g: p - 0.1 * g, params, grads)

        params = {"w": rng.standard_normal((4, 2)), "b": np.zeros(2)}
        y = rng.standard_normal((3, 2))
        value, new = accelerate(step, target="cpu")(params, X, y)
        plain_value, plain_new = step(params, X, y)
        np.testing.assert_allclose(value, plain_value, rtol=1e-12)
        np.testing.assert_allclose(new["w"], plain_new["w"], rtol=1e-12)

    def test_of_inner_functions(self) -> None:
        def step(w: Any, x: Any, n: int) -> Any:
            scale = 2.0 * np.sum(x)

            def loss(v: Any, k: Any = 1.0) -> Any:
                y = v
                for _ in range(n):
                    y = np.sin(y) * x
                return np.sum(y) * scale * k

            value, g = value_and_grad(loss)(w)
            h = grad(lambda v: loss(v, 3.0))(w)
            rows = vmap(lambda r: r * x)(np.outer(x, x))
            return value, g, h, rows

        args = V, X[0], 3
        expected = step(*args)
        got = accelerate(step, target="cpu")(*args)
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_allclose(got[2], 3 * got[1], rtol=1e-12)

    def test_inner_functions_of_inner_functions(self) -> None:
        def f(x: Any, a: Any) -> Any:
            def energy(p: Any) -> Any:
                return np.sum(p * p * a) + grad(lambda q: np.sum(q * p * a))(p)[0]

            return jvp(grad(energy), (x,), (a,))[1], vjp(energy, x)[1](1.0)[0]

        for got, expected in zip(accelerate(f, target="cpu")(V, X[0]), f(V, X[0]), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)

    def test_products_inside_a_function(self) -> None:
        def newton(x: Any) -> Any:
            value, slope = jvp(cube, (x,), (np.ones_like(x),))
            return x - (value - 2.0) / slope

        np.testing.assert_allclose(accelerate(newton, target="cpu")(V), newton(V), rtol=1e-12)

        def hvp(x: Any, t: Any) -> Any:
            return jvp(grad(quadratic), (x,), (t,))[1]

        np.testing.assert_allclose(accelerate(hvp, target="cpu")(V, V), 4 * V, rtol=1e-12)

    def test_arrays_in_arrays_out(self) -> None:
        a = device_put(X)
        g = grad(quadratic)(a)
        assert type(g) is Array
        np.testing.assert_allclose(np.asarray(g), 4 * X)
        out, pull = vjp(mat_vec, a, device_put(V))
        assert type(out) is Array and type(pull(out)[0]) is Array


def test_stop_gradient() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * stop_gradient(x))

    np.testing.assert_allclose(grad(f)(V), V)
    np.testing.assert_allclose(accelerate(grad(f), target="cpu")(V), V)
    assert stop_gradient({"a": 1}) == {"a": 1}


def test_an_argument_whose_value_decides_cannot_be_differentiated() -> None:
    def f(n: Any) -> Any:
        return np.sum(np.zeros(n)) * 1.0

    with pytest.raises(TypeError):
        grad(f)(3)


def test_errors_of_transformations_leave_the_way_through_the_translator_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def files() -> list[str]:
        with pytest.raises(TypeError, match=r"got int64 for `x` of [^~]*\n  instead: pass floats \(3.0, not") as caught:
            grad(lambda x: x * x)(3)
        return [str(entry.path) for entry in caught.traceback]

    assert not any("translator" in f for f in files())
    monkeypatch.setenv("UNTRACED_TRACEBACK", "full")
    assert any("translator" in f for f in files())


@pytest.mark.parametrize(
    ("call", "expected", "marked"),
    [
        (lambda: grad(lambda x: x.nothing)(V), AttributeError, "x.nothing"),
        (lambda: grad(lambda x: np.sum(x["a"] * x["b"]))({"a": V}), KeyError, 'x["b"]'),
        (lambda: grad(lambda x: x, argnums=1)(V), TypeError, "lambda x: x"),
        (lambda: accelerate(value_and_grad(lambda x: x, has_aux=True))(V), TypeError, "lambda x: x"),
        (lambda: accelerate(lambda x: x + undefined)(V), NameError, "undefined"),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_exceptions_of_python_say_where_and_leave_the_way_out(
    call: Callable[[], Any], expected: type[Exception], marked: str
) -> None:
    with pytest.raises(expected) as caught:
        call()
    assert not any("translator" in str(entry.path) for entry in caught.traceback)
    line, carets = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())]).splitlines()[-2:]
    assert line[carets.index("^") : carets.rindex("^") + 1] == marked
