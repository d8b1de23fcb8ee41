"""custom_jvp and custom_vjp: every mode and order, under vmap, in loops and branches, as JAX has them; and refusals.

The rules are wrong on purpose (a factor), so that using them cannot be confused with the function's own derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import untraced
from untraced import accelerate, custom_jvp, custom_vjp, grad, hessian, jacfwd, jvp, lax, random, tree, vjp, vmap

A = np.arange(6.0).reshape(2, 3) / 3 + 0.2
V = np.array([0.3, 0.7, 1.1])


def programs(lib: Any, np: Any) -> dict[str, Callable[[], Any]]:
    """The same programs over `untraced` and over JAX."""

    @lib.custom_jvp
    def f(x, y):
        return np.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        x, y = primals
        d_x, d_y = tangents
        return f(x, y), 2 * np.cos(x) * d_x * y + np.sin(x) * d_y

    @lib.custom_vjp
    def clipped(x, low, high):
        return x * 1.0

    clipped.defvjp(lambda x, low, high: (x * 1.0, (low, high)), lambda r, g: (np.clip(g, r[0], r[1]), None, None))

    @lib.custom_jvp
    def log1pexp(x):
        return np.log(1.0 + np.exp(x))

    log1pexp.defjvps(lambda t, ans, x: (1 - 1 / (1 + np.exp(x))) * t)

    @lib.custom_jvp
    def twice(x, y):
        return {"sum": x + y, "product": x * y}

    twice.defjvps(lambda t, ans, x, y: {"sum": t, "product": 3 * t * ans["sum"]}, None)

    @lib.custom_vjp
    def pair(x, y):
        return x * y, x + y

    pair.defvjp(lambda x, y: (pair(x, y), (x, y)), lambda r, ct: (2 * ct[0] * r[1], ct[0] * r[0] + 7 * ct[1]))

    @lib.custom_vjp
    def of_tree(p):
        return {"s": p["a"] * p["b"], "t": p["a"] + 1}

    of_tree.defvjp(lambda p: (of_tree(p), p), lambda p, ct: ({"a": 3 * ct["s"] * p["b"], "b": ct["s"] * p["a"]},))

    @functools.partial(lib.custom_jvp, nondiff_argnums=(0, 2))
    def applied(g, x, n):
        return g(x) * n

    @applied.defjvp
    def applied_jvp(g, n, primals, tangents):
        return applied(g, primals[0], n), 10 * n * tangents[0]

    @functools.partial(lib.custom_vjp, nondiff_argnums=(0,))
    def applied_back(g, x):
        return g(x)

    applied_back.defvjp(lambda g, x: (g(x), x), lambda g, x, ct: (5 * ct * g(x),))

    weights = np.arange(3.0) + 1

    @lib.custom_jvp
    def weighted(x):
        return x * weights

    @weighted.defjvp
    def weighted_jvp(primals, tangents):
        return weighted(primals[0]), tangents[0] * weights * weights

    def loop(step):
        def run(x):
            y = x
            for _ in range(4):
                y = step(y, x) + y
            return np.sum(y)

        return run

    def tree_loss(p):
        out = of_tree(p)
        return np.sum(out["s"] * out["t"])

    def one_of_two(x):
        return np.sum(pair(x, x)[1])

    def pair_loss(x, y):
        first, second = pair(x, y)
        return np.sum(first) + np.sum(second)

    def clipped_sum(x):
        return np.sum(clipped(x * x, -1.0, 1.0))

    rows = lambda x: np.sum(lib.vmap(lambda r: clipped(r * r, -1.0, 1.0))(x))
    return {
        "jvp rule, both arguments": lambda: lib.grad(f, (0, 1))(2.0, 3.0),
        "jvp rule, second order": lambda: lib.grad(lib.grad(f))(2.0, 3.0),
        "jvp rule, third order": lambda: lib.grad(lib.grad(lib.grad(f)))(2.0, 3.0),
        "jvp rule, jvp": lambda: lib.jvp(f, (2.0, 3.0), (1.0, 0.5)),
        "jvp rule, one argument in both places": lambda: lib.grad(lambda x: np.sum(f(x, x * x)))(A),
        "jvp rule, grad of vmap": lambda: lib.grad(lambda x: np.sum(lib.vmap(f, (0, None))(x, 3.0)))(V),
        "jvp rule, vmap of grad": lambda: lib.vmap(lib.grad(f))(A[0], A[1]),
        "jvp rule, hessian of vmap": lambda: lib.hessian(lambda x: np.sum(lib.vmap(f, (0, None))(x, 3.0)))(V),
        "jvp rule, loop": lambda: lib.grad(loop(f))(A),
        "jvp rule, hessian of loop": lambda: lib.hessian(loop(f))(V),
        "jvps": lambda: lib.grad(log1pexp)(100.0),
        "jvps, second order": lambda: lib.grad(lib.grad(log1pexp))(1.0),
        "jvps, tree": lambda: lib.jacfwd(twice)(V, V),
        "jvps, tree, reverse": lambda: lib.jacrev(twice)(V, V),
        "vjp rule": lambda: lib.grad(clipped_sum)(A),
        "vjp rule, vmap of grad": lambda: lib.vmap(lib.grad(clipped_sum))(A),
        "vjp rule, grad of vmap": lambda: lib.grad(rows)(A),
        "vjp rule, second order": lambda: lib.hessian(lambda x: np.sum(clipped(x * x * x / 9, -1.0, 1.0)))(V),
        "vjp rule, loop": lambda: lib.grad(loop(lambda y, x: clipped(y * x, -1.0, 1.0)))(A),
        "vjp rule, two results": lambda: lib.grad(pair_loss, (0, 1))(A, A + 1),
        "vjp rule, one result of two": lambda: lib.grad(one_of_two)(A),
        "vjp rule, vjp": lambda: lib.vjp(pair, A, A + 1)[1]((A, A)),
        "vjp rule, jacrev": lambda: lib.jacrev(lambda x: pair(x, x * x))(V),
        "vjp rule, tree": lambda: lib.grad(tree_loss)({"a": A, "b": A + 1}),
        "nondiff, jvp rule": lambda: lib.grad(lambda x: applied(np.sin, x, 3))(2.0),
        "nondiff, vjp rule": lambda: lib.grad(lambda x: applied_back(np.sin, x))(2.0),
        "captured array": lambda: lib.grad(lambda x: np.sum(weighted(x) ** 2))(V),
        "captured array, second order": lambda: lib.hessian(lambda x: np.sum(weighted(x) ** 2))(V),
        "captured array, vmap": lambda: lib.vmap(lib.grad(lambda x: np.sum(weighted(x) ** 2)))(A),
    }


@functools.lru_cache
def of_jax() -> dict[str, Callable[[], Any]]:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return programs(jax, jax.numpy)


@pytest.mark.parametrize("name", programs(untraced, np))
def test_as_in_jax(name):
    got, want = tree.leaves(programs(untraced, np)[name]()), tree.leaves(of_jax()[name]())
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, np.asarray(w), rtol=1e-12, atol=1e-14)


# ---- control flow, inner functions, targets ------------------------------------------------------


@custom_jvp
def root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@root.defjvp
def root_jvp(primals, tangents):
    x = root(*primals)
    return x, tangents[0] / (2 * x)


@custom_vjp
def clipped(x):
    return x * 1.0


clipped.defvjp(lambda x: (x * 1.0, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))


def branches(x):
    y = clipped(x * x) if np.sum(x) > 0 else clipped(3 * x)
    while np.sum(y) < 20:
        y = y + clipped(y * x) ** 2 + 0.5
    return np.sum(y)


def inner(x, w):
    @custom_vjp
    def g(z):
        return z * w

    def forward(z):
        return z * w, None

    def backward(_, ct):
        return (10 * ct * w,)

    g.defvjp(forward, backward)
    return grad(lambda q: np.sum(g(q) * q))(x)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_branches_and_loops(sign):
    x = sign * V

    def by_hand(x):
        """The derivative of `branches`, a cotangent at a time."""
        first = x * x if np.sum(x) > 0 else 3 * x
        ys = [first]
        while np.sum(ys[-1]) < 20:
            ys.append(ys[-1] + (ys[-1] * x) ** 2 + 0.5)
        d_y, d_x = np.ones_like(x), np.zeros_like(x)
        for y in reversed(ys[:-1]):
            d_t = np.clip(d_y * 2 * y * x, -1.0, 1.0)
            d_x, d_y = d_x + d_t * y, d_y + d_t * x
        d_y = np.clip(d_y, -1.0, 1.0)
        return d_x + (d_y * 2 * x if np.sum(x) > 0 else 3 * d_y)

    np.testing.assert_allclose(grad(branches)(x), by_hand(x), rtol=1e-12)
    np.testing.assert_allclose(accelerate(grad(branches), target="cpu")(x), by_hand(x), rtol=1e-12)


def test_a_rule_instead_of_the_derivative_of_a_loop():
    assert grad(root)(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)
    assert grad(grad(root))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-12)
    np.testing.assert_allclose(vmap(grad(root))(V), 0.5 / np.sqrt(V), rtol=1e-12)
    assert "while" in grad(root).source(2.0)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_defined_inside(target):
    np.testing.assert_allclose(accelerate(inner, target=target)(V, 2.0), 22 * V, rtol=1e-14)


def test_called_without_a_derivative_it_is_the_function():
    assert clipped(2.0) == 2.0
    assert "np.clip" not in accelerate(clipped, target="numpy").source(V)
    assert "np.clip" in grad(lambda x: np.sum(clipped(x * x) ** 3)).source(V)


def test_integers_have_cotangents_of_no_size():
    @custom_vjp
    def scaled(x, n):
        return x * n

    scaled.defvjp(lambda x, n: (x * n, n), lambda n, ct: (2 * ct * n, np.zeros(n.shape, untraced.dtypes.float0)))
    assert grad(lambda x, n: np.sum(scaled(x, n)))(2.0, np.array(3)) == 6.0


def test_nothing_is_stale():
    """Neither an array that a rule uses, nor the rule."""
    scale = np.ones(3)

    @custom_jvp
    def f(x):
        return x * scale

    @f.defjvp
    def first(primals, tangents):
        return f(*primals), 10 * scale * tangents[0]

    g = accelerate(grad(lambda x: np.sum(f(x))), target="numpy")
    np.testing.assert_array_equal(g(V), [10, 10, 10])
    scale[:] = 2.0
    np.testing.assert_array_equal(g(V), [20, 20, 20])
    scale = np.full(3, 3.0)
    np.testing.assert_array_equal(g(V), [30, 30, 30])
    f.defjvp(lambda primals, tangents: (f(*primals), 7 * tangents[0]))
    np.testing.assert_array_equal(g(V), [7, 7, 7])


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def fixed_point(step, a, start):
    x = start
    for _ in range(60):
        x = step(a, x)
    return x


def fixed_point_back(step, residuals, ct):
    a, x = residuals
    u = ct
    for _ in range(60):
        u = ct + untraced.vjp(lambda x: step(a, x), x)[1](u)[0]
    return untraced.vjp(lambda a: step(a, x), a)[1](u)[0], np.zeros_like(x)


def fixed_point_ahead(step, a, start):
    x = fixed_point(step, a, start)
    return x, (a, x)


fixed_point.defvjp(fixed_point_ahead, fixed_point_back)


def root_by_steps(a):
    return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)


def test_inner_functions_as_arguments():
    """The implicit derivative of a fixed point, whose step is a lambda inside the function that is differentiated."""
    assert grad(root_by_steps)(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)
    assert grad(grad(root_by_steps))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-12)
    np.testing.assert_allclose(grad(lambda x: np.sum(vmap(root_by_steps)(x)))(V), 0.5 / np.sqrt(V), rtol=1e-12)
    np.testing.assert_allclose(accelerate(vmap(grad(root_by_steps)), target="cpu")(V), 0.5 / np.sqrt(V), rtol=1e-12)


# ---- refusals ------------------------------------------------------------------------------------


def test_forward_mode_through_a_vjp_rule():
    with pytest.raises(TypeError, match=r"can't apply forward-mode differentiation \(jvp\) to a custom_vjp function"):
        jvp(clipped, (V,), (V,))
    with pytest.raises(TypeError, match="custom_vjp") as caught:
        jacfwd(branches)(V)
    assert "clipped(x * x)" in str(caught.value)
    np.testing.assert_allclose(hessian(lambda x: np.sum(clipped(x) ** 2) / 9)(V), 2 / 9 * np.eye(3), rtol=1e-14)


def test_functions_without_a_rule():
    with pytest.raises(AttributeError, match="No JVP defined for custom_jvp function bare using defjvp"):
        custom_jvp(bare)(2.0)
    with pytest.raises(AttributeError, match="No VJP defined for custom_vjp function bare using defvjp"):
        grad(custom_vjp(bare))(2.0)


def bare(x):
    return x * 2


@pytest.mark.parametrize(
    ("forward", "backward", "message"),
    [
        (lambda x: x * 2, lambda r, ct: (ct,), "must produce a pair"),
        (lambda x: ((x, x), x), lambda r, ct: (ct,), "must give a result like that of bare"),
        (lambda x: (x[0], x), lambda r, ct: (ct,), "must give a result like that of bare"),
        (lambda x: (x * 2, x), lambda r, ct: ct, "same container .pytree. structure as the args tuple"),
        (lambda x: (x * 2, x), lambda r, ct: (ct, ct), "same container .pytree. structure as the args tuple"),
        (lambda x: (x * 2, x), lambda r, ct: (ct[0],), "must have the shape and dtype"),
    ],
)
def test_vjp_rules_that_do_not_fit(forward, backward, message):
    f = custom_vjp(bare)
    f.defvjp(forward, backward)
    with pytest.raises(TypeError, match=message):
        grad(lambda x: np.sum(f(x)))(V)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda primals, tangents: primals[0], "must produce a pair"),
        (lambda primals, tangents: (primals[0], (tangents[0],)), "equal container .pytree. structures"),
        (lambda primals, tangents: (primals[0], tangents[0][0]), "must have the shape and dtype"),
    ],
)
def test_jvp_rules_that_do_not_fit(rule, message):
    f = custom_jvp(bare)
    f.defjvp(rule)
    with pytest.raises(TypeError, match=message):
        grad(lambda x: np.sum(f(x)))(V)


def looped(t, x):
    out, i = t, 0
    while i < 3 and x < 100.0:
        out = out * 0.5 + t
        i += 1
    return out


def stored(t, x):
    out = np.zeros(3)
    out[0] = t / x
    out[1:] = t * x
    return np.sum(out)


def stored_among_ones(t, x):
    out = np.ones(3)
    out[0] = t
    return np.sum(out)


def powered(t, x):
    out = t
    for _ in range(3):
        out = out * t
    return out


NOT_LINEAR = {
    "square": lambda t, x: t * t,
    "abs": lambda t, x: np.abs(t),
    "sign": lambda t, x: np.sign(t) * x,
    "floor": lambda t, x: np.floor(t),
    "remainder": lambda t, x: t % 0.25,
    "fmod": lambda t, x: np.fmod(t, x),
    "divmod": lambda t, x: np.divmod(t, 0.25)[1],
    "shifted": lambda t, x: t + 1.0,
    "by a value": lambda t, x: t + x,
    "maximum": lambda t, x: np.maximum(t, 0.0),
    "where": lambda t, x: np.where(t > 0, t, 2.0 * t),
    "constant": lambda t, x: np.cos(x),
    "norm": lambda t, x: np.linalg.norm(np.array([t, t])),
    "loop": powered,
    "store": stored_among_ones,
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_what_is_not_linear_is_not_transposed(name):
    tangent = NOT_LINEAR[name]
    f = custom_jvp(lambda x: x * x)
    f.defjvp(lambda primals, tangents: (f(*primals), tangent(tangents[0], primals[0])))
    assert np.array_equal(jvp(f, (0.7,), (0.3,))[1], tangent(0.3, 0.7))
    with pytest.raises(untraced.UnsupportedError, match="not linear in its tangents"):
        grad(f)(0.7)


def stored_in_empty(t, x):
    out = np.empty(3)
    for i in range(3):
        out[i] = t * x * i
    return np.sum(out)


LINEAR = {
    "store in empty": stored_in_empty,
    "scan": lambda t, x: np.sum(lax.scan(lambda c, a: (c * x + a, c * x + a), 0.0, np.full(3, t))[1]),
    "map": lambda t, x: np.sum(lax.map(lambda a: a * x, np.full(3, t))),
    "along an axis": lambda t, x: np.sum(np.apply_along_axis(lambda r: r * x, 0, np.full((3, 2), t))),
    "branch": lambda t, x: 3.0 * t if x > 0 else -t,
    "derivative": lambda t, x: jvp(lambda v: v * np.sin(v), (x,), (t,))[1],
    "solve": lambda t, x: np.sum(np.linalg.solve(np.eye(2) * x, np.array([t, 2.0 * t]))),
    "masked": lambda t, x: np.where(x > 0, t, 0.0) + t * 0,
    "zero": lambda t, x: np.zeros_like(t),
    "while": looped,
    "store": stored,
}


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_linear_is_transposed(name):
    tangent = LINEAR[name]
    f = custom_jvp(lambda x: x * x)
    f.defjvp(lambda primals, tangents: (f(*primals), tangent(tangents[0], primals[0])))
    assert np.allclose(grad(f)(0.7), tangent(1.0, 0.7), rtol=1e-14)


def test_what_a_rule_holds_fixed_has_no_derivative():
    @functools.partial(custom_jvp, nondiff_argnums=(1,))
    def scaled(x, w):
        return x * w

    @scaled.defjvp
    def scaled_jvp(w, primals, tangents):
        return scaled(primals[0], w), tangents[0] * w

    with pytest.raises(untraced.UnsupportedError, match="holds fixed"):
        grad(lambda x: np.sum(scaled(x, x)))(V)
    np.testing.assert_allclose(grad(lambda x: np.sum(scaled(x, V)))(V), V)
    with pytest.raises(TypeError, match="defjvps"):
        scaled.defjvps(lambda t, ans, x: t)


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, a, x):
    """x = f(a, x), by iteration."""
    after = f(a, x)
    while np.abs(after - x) > 1e-12:
        x, after = after, f(a, after)
    return after


def fixed_point_ahead(f, a, x):
    x = fixed_point(f, a, x)
    return x, (a, x)


def fixed_point_back(f, residuals, ct):
    """By the implicit function theorem; the linear system is a fixed point too, of another function."""
    a, x = residuals
    along = functools.partial(next_cotangent, f)
    (d_a,) = untraced.vjp(lambda a: f(a, x), a)[1](fixed_point(along, (a, x, ct), ct))
    return d_a, np.zeros_like(x)


def next_cotangent(f, packed, u):
    a, x, ct = packed
    return ct + untraced.vjp(lambda x: f(a, x), x)[1](u)[0]


fixed_point.defvjp(fixed_point_ahead, fixed_point_back)


def test_a_rule_that_needs_its_own_function_ever_deeper():
    """Read as deep as derivatives are taken of it, no deeper."""

    def root(a):
        return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)

    np.testing.assert_allclose(grad(root)(2.0), 0.5 / np.sqrt(2.0), rtol=1e-9)
    np.testing.assert_allclose(grad(grad(root))(2.0), -0.25 / 2.0**1.5, rtol=1e-9)
    np.testing.assert_allclose(accelerate(grad(root))(2.0), 0.5 / np.sqrt(2.0), rtol=1e-9)


def test_what_is_wrong_in_this_package_is_told_at_the_users_call() -> None:
    @untraced.custom_gradient
    def alone(x: Any) -> Any:
        return x * 2

    for call in (lambda x: alone(x), lambda x: np.sum(random.normal(x, (3,)))):
        with pytest.raises(TypeError) as caught:
            grad(call)(3.0)
        said = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
        assert f"--> {__file__}:" in said and "runtime" not in said and "library" not in said


def test_residuals_may_be_a_pullback() -> None:
    """`vjp` gives a pytree, as JAX's does: what it holds passes on from `fwd` to `bwd`, and leaves functions."""

    @custom_vjp
    def square(x: Any) -> Any:
        return x**2

    square.defvjp(lambda x: vjp(lambda v: v**3, x), lambda pull, ct: pull(ct))  # of a cube, to tell the two apart
    for g in (grad(square), accelerate(grad(square))):
        assert g(2.0) == 12.0
    assert grad(grad(square))(2.0) == 12.0
    np.testing.assert_allclose(vmap(grad(square))(np.arange(3.0)), [0.0, 3.0, 12.0])
    pull = accelerate(lambda x: vjp(square, x)[1])(2.0)
    assert pull(10.0) == (120.0,)
    assert accelerate(lambda pull, ct: pull(ct))(pull, 10.0) == (120.0,)


def test_rules_of_functions_without_results_are_not_asked() -> None:
    @custom_vjp
    def nothing(x: Any) -> None:
        return None

    def unused(_: Any, ct: Any) -> Any:
        raise AssertionError("the backward rule of nothing")

    nothing.defvjp(lambda x: (None, x), unused)

    def f(x: Any) -> Any:
        nothing(x)
        return x * x

    assert grad(f)(3.0) == 6.0


def test_a_function_with_a_rule_is_cut_like_any_other() -> None:
    @custom_vjp
    def guarded(x: Any) -> Any:
        try:
            return 1.0 / x
        except ZeroDivisionError:
            return 0.0

    guarded.defvjp(lambda x: (guarded(x), x), lambda x, ct: (3.0 * ct,))
    compiled = accelerate(guarded)
    assert (compiled(2.0), compiled(0.0), accelerate(grad(guarded))(2.0)) == (0.5, 0.0, 3.0)
