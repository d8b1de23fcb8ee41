"""JAX as an oracle: values of first and second derivatives, and the convention for complex numbers."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Drawn
from gradient_helpers import Program, active_leaves, read_program

from untraced.translator.derive import forward, reverse

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

RNG = Drawn(11)
W, X, Y = RNG.standard_normal((5, 3)), RNG.standard_normal((4, 5)), RNG.standard_normal((4, 3))
Z = X + 1j * RNG.standard_normal((4, 5))


def mlp(xp):
    return lambda w, x, y: xp.mean((xp.tanh(x @ w) - y) ** 2)


def softmax(xp):
    def f(x):
        e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
        return xp.sum((e / xp.sum(e, axis=1, keepdims=True)) ** 2)

    return f


def layer_norm(xp):
    def f(x):
        c = x - xp.mean(x, axis=1, keepdims=True)
        return xp.sum(xp.sin(c / xp.sqrt(xp.mean(c * c, axis=1, keepdims=True) + 1e-5)))

    return f


def powers(xp):
    return lambda x: xp.sum(xp.abs(x) ** 2.5 + x**3 - xp.maximum(x, 0.0) ** 2)


def ties(xp):
    return lambda x: xp.max(xp.round(x)) + xp.min(xp.round(x) * 1.0) + xp.sum(xp.maximum(x, x))


def products(xp):
    return lambda x: xp.sum(xp.cumsum(x, axis=1) * xp.prod(x, axis=0)) + xp.sum(xp.cumprod(x, axis=0))


REAL = [(mlp, (W, X, Y)), (softmax, (X,)), (layer_norm, (X,)), (powers, (X,)), (ties, (X,)), (products, (X,))]


@pytest.mark.parametrize(("make", "args"), REAL, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients(make, args):
    f = read_program(make(np), *args).function
    wrt = active_leaves(f)
    want = jax.grad(make(jnp), argnums=tuple(wrt))(*args)
    for got, w in zip(Program(reverse.grad(f, wrt))(*args), want, strict=True):
        np.testing.assert_allclose(got, w, rtol=1e-9, atol=1e-12)  # other orders of summation


SMOOTH = [case for case in REAL if case[0] is not ties]


@pytest.mark.parametrize(("make", "args"), SMOOTH, ids=lambda v: getattr(v, "__name__", ""))
def test_hessian_times_vector(make, args):
    f = read_program(make(np), *args).function
    v = RNG.standard_normal(args[0].shape)
    h = forward.jvp(reverse.grad(f, [0]), [i == 0 for i in range(len(args))])
    got = Program(h)(*args, v)[1]
    want = jax.jvp(lambda x: jax.grad(make(jnp))(x, *args[1:]), (args[0],), (v,))[1]
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)  # second derivatives lose a digit or two


COMPLEX = {
    "abs": lambda xp: lambda z: xp.abs(z),
    "real": lambda xp: lambda z: xp.real(z) * xp.imag(z),
    "conjugate": lambda xp: lambda z: xp.conj(z) * z * z,
    "exp": lambda xp: lambda z: xp.exp(z) * xp.sin(z),
    "divide": lambda xp: lambda z: z / (1.0 + z * z),
    "matmul": lambda xp: lambda z: z @ xp.conj(z).T,
    "mixed": lambda xp: lambda z: xp.real(z) * z,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_the_convention_for_complex_numbers(name):
    f = read_program(COMPLEX[name](np), Z).function
    out, pull = jax.vjp(COMPLEX[name](jnp), Z)
    ct = RNG.standard_normal(out.shape)
    ct = ct + 1j * RNG.standard_normal(out.shape) if np.iscomplexobj(out) else ct
    (got,) = Program(reverse.vjp(f, [0]))(Z, ct)
    np.testing.assert_allclose(got, pull(ct)[0], rtol=1e-10, atol=1e-12)
    t = Z[::-1].copy()
    got = Program(forward.jvp(f, [True]))(Z, t)[1]
    np.testing.assert_allclose(got, jax.jvp(COMPLEX[name](jnp), (Z,), (t,))[1], rtol=1e-10, atol=1e-12)


def test_gradient_of_a_real_function_of_a_complex_array():
    make = lambda xp: lambda z: xp.sum(xp.abs(z) ** 2) + xp.sum(xp.real(z * z))  # noqa: E731
    f = read_program(make(np), Z).function
    np.testing.assert_allclose(Program(reverse.grad(f, [0]))(Z)[0], jax.grad(make(jnp))(Z), rtol=1e-10)


def loop(xp):
    def f(x):
        y = x[0]
        for i in range(1, 4):
            y = xp.sin(y) * x[i] + y
        return xp.sum(y)

    return f


def test_a_loop_twice():
    f = read_program(loop(np), X).function
    v = RNG.standard_normal(X.shape)
    g = reverse.grad(f, [0])
    np.testing.assert_allclose(Program(g)(X)[0], jax.grad(loop(jnp))(X), rtol=1e-12, atol=1e-14)
    want = jax.vjp(jax.grad(loop(jnp)), X)[1](v)[0]
    np.testing.assert_allclose(Program(reverse.vjp(g, [0]))(X, v)[0], want, rtol=1e-10, atol=1e-13)
