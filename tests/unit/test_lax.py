"""`untraced.lax` against `jax.lax`: the same programs, un-accelerated, compiled, differentiated and batched."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import untraced
from untraced import ShapeDtypeStruct, accelerate, eval_shape, grad, lax, tree, tree_util, vmap

Fun = Callable[..., Any]
R = np.random.default_rng(0)
V, M = R.normal(size=6), R.normal(size=(5, 4))
IMAGES, KERNEL = R.normal(size=(2, 3, 8, 7)), R.normal(size=(4, 3, 3, 2))
OURS = SimpleNamespace(lax=lax, np=np)
JAXS = SimpleNamespace(lax=jax.lax, np=jnp)


def programs(x: Any) -> dict[str, Fun]:
    """The programs over one pair of namespaces."""
    lax, np_ = x.lax, x.np

    def cond(v: Any) -> Any:
        old = lax.cond(v[0] > 0, (v, v), lambda u: u[0] * u[1], v + 1, lambda u: u * 3)
        return old + lax.cond(v.sum() > 0, lambda u: np_.sin(u), lambda u: u * 2, v)

    def switch(i: Any, v: Any) -> Any:
        return lax.switch(i, [lambda u: u, lambda u: u * 2, lambda u: np_.cos(u)], v)

    def while_loop(v: Any) -> Any:
        return lax.while_loop(lambda s: s[1] < 10.0, lambda s: (s[0] + 1, s[1] * 1.5 + np_.abs(v).sum()), (0, 1.0))

    def fori_loop(v: Any) -> Any:
        return lax.fori_loop(0, 5, lambda i, s: s * np_.cos(v) + i, v)

    def scan(v: Any) -> Any:
        def step(c: Any, t: Any) -> Any:
            c = c * 0.9 + t
            return c, (np_.sin(c), c * 2)

        return lax.scan(step, 0.0, v)

    def scan_of_trees(v: Any, m: Any) -> Any:
        def step(c: Any, t: Any) -> Any:
            h = {"a": c["a"] + t[0], "b": np_.tanh(c["b"] * t[1])}
            return h, h["a"] * h["b"].sum()

        return lax.scan(step, {"a": 1.0, "b": np_.ones(4)}, (v[:5], m))

    def scan_reversed(v: Any) -> Any:
        return lax.scan(lambda c, t: (c + t, c * t), 1.0, v, reverse=True)

    def scan_of_a_length(v: Any) -> Any:
        return lax.scan(lambda c, _: (c * v, None), v, None, length=3)

    def scan_of_nothing(v: Any) -> Any:
        return lax.scan(lambda c, t: (c + t, t * c), 1.0, v[:0])

    def map_rows(m: Any) -> Any:
        return lax.map(lambda r: np_.sum(r * r), m)

    def associative_scan(m: Any) -> Any:
        def affine(a: Any, b: Any) -> Any:
            return a[0] * b[0], a[1] * b[0] + b[1]

        return (
            lax.associative_scan(lambda a, b: a + b, m),
            lax.associative_scan(lambda a, b: np_.maximum(a, b), m, reverse=True, axis=1),
            lax.associative_scan(np_.minimum, m, axis=1),
            lax.associative_scan(np_.add, m, reverse=True),
            lax.associative_scan(affine, (m, m * 2)),
        )

    def dynamic_slices(m: Any, i: Any) -> Any:
        return (
            lax.dynamic_slice(m, (i, 1), (2, 2)),
            lax.dynamic_slice_in_dim(m, i, 2, axis=0),
            lax.dynamic_index_in_dim(m, i, 0, keepdims=False),
            lax.dynamic_update_slice(m, np_.ones((2, 2)), (i, 1)),
            lax.dynamic_update_slice_in_dim(m, m[:1] * 0, i, 0),
            lax.dynamic_update_index_in_dim(m, np_.ones(4), i, 0),
        )

    def dot_general(a: Any, b: Any) -> Any:
        return lax.dot_general(a, b, (((1,), (1,)), ((0,), (0,))))

    def convolutions(a: Any, b: Any) -> Any:
        return (
            lax.conv_general_dilated(a, b, (1, 1), "SAME"),
            lax.conv_general_dilated(a, b, (2, 1), "VALID"),
            lax.conv_general_dilated(a, b, (1, 2), [(1, 2), (0, 1)], rhs_dilation=(2, 1)),
            lax.conv_general_dilated(a, b, (1, 1), [(2, 2), (2, 2)], lhs_dilation=(2, 2)),
            lax.conv(a, b, (1, 1), "SAME"),
        )

    def patches(a: Any, b: Any) -> Any:
        channels_last = ("NHWC", "HWIO", "NHWC")
        return (
            lax.conv_general_dilated_patches(a, (2, 3), (1, 2), "VALID"),
            lax.conv_general_dilated_patches(a, (3, 3), (1, 1), "SAME", rhs_dilation=(1, 2)),
            lax.conv_general_dilated_patches(a, (2, 2), (2, 2), "SAME", dimension_numbers=channels_last),
        )

    def strided(a: Any, b: Any) -> Any:
        return lax.conv_general_dilated(a[:1, :, :5, :5], b, (1, 2), [(1, 2), (0, 1)], rhs_dilation=(2, 1))

    def channels_last(a: Any, b: Any) -> Any:
        a, b = np_.transpose(a, (0, 2, 3, 1)), np_.transpose(b, (2, 3, 1, 0))
        return lax.conv_general_dilated(a, b, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def by_groups(a: Any, b: Any) -> Any:
        return lax.conv_general_dilated(a, b[:3, :1], (1, 1), "VALID", feature_group_count=3)

    def windows(a: Any) -> Any:
        return (
            lax.reduce_window(a, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
            lax.reduce_window(a, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 1, 1), "SAME"),
        )

    def top_k(m: Any) -> Any:
        return lax.top_k(m, 2)

    def shapes(m: Any) -> Any:
        return (
            lax.pad(m, 1.5, ((1, 2, 1), (-1, 0, 0))),
            lax.broadcast(m, (2,)),
            lax.broadcast_in_dim(m, (5, 3, 4), (0, 2)),
            lax.rev(m, (0,)),
            lax.slice(m, (0, 1), (4, 4), (2, 1)),
            lax.slice_in_dim(m, 1, 4, 2),
            lax.expand_dims(m, (0, 2)),
            lax.concatenate([m, m], 1),
            lax.reshape(m, (4, 5)),
            lax.transpose(m, (1, 0)),
        )

    def elements(m: Any) -> Any:
        return (
            lax.select(m > 0, m, m * 2),
            lax.clamp(-0.5, m, 0.5),
            lax.rsqrt(np_.abs(m)),
            lax.cumsum(m, 1, reverse=True),
            lax.cummax(m, 0),
            lax.integer_pow(m, 3),
            lax.logistic(m),
            lax.erf(m),
            lax.atan2(m, m * m + 1),
            lax.div(m, m + 9),
            lax.stop_gradient(m) * m,
        )

    def recurrent_network(m: Any, w: Any) -> Any:
        def cell(h: Any, t: Any) -> Any:
            h = np_.tanh(w @ h + t)
            return h, h

        return lax.scan(cell, np_.zeros(4), m)

    found = [
        cond, switch, while_loop, fori_loop, scan, scan_of_trees, scan_reversed, scan_of_a_length, scan_of_nothing,
        map_rows, associative_scan, dynamic_slices, dot_general, convolutions, patches, strided, channels_last,
        by_groups, windows, top_k, shapes, elements, recurrent_network,
    ]  # fmt: skip
    return {f.__name__: f for f in found}


ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "cond": [(V,), (-V,)],
    "switch": [(1, V), (7, V), (-3, V)],
    "scan_of_trees": [(V, M)],
    "associative_scan": [(M,), (M[:1, :2],)],
    "dynamic_slices": [(M, 2), (M, 9), (M, -2)],
    "dot_general": [(R.normal(size=(3, 4, 5)), R.normal(size=(3, 4, 2)))],
    "convolutions": [(IMAGES, KERNEL)],
    "strided": [(IMAGES, KERNEL)],
    "patches": [(IMAGES, KERNEL)],
    "channels_last": [(IMAGES, KERNEL)],
    "by_groups": [(IMAGES, KERNEL)],
    "windows": [(IMAGES,)],
    "recurrent_network": [(M, R.normal(size=(4, 4)))],
}
MATRICES = {"map_rows", "top_k", "shapes", "elements"}
NO_GRADIENT = {"while_loop", "windows"} | {"convolutions", "channels_last"}  # not in JAX; as `strided`
NAMES = list(programs(OURS))


def arguments(name: str) -> list[tuple[Any, ...]]:
    return ARGUMENTS.get(name, [(M,)] if name in MATRICES else [(V,)])


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    with jax.enable_x64(True):
        yield


def same(ours: Any, theirs: Any) -> None:
    """Equal shapes and values, to the rounding of a few hundred operations."""
    mine, others = untraced.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(mine) == len(others)
    for a, b in zip(mine, others, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, np.asarray(b), rtol=1e-10, atol=1e-12)


def total(x: Any, fun: Fun) -> Fun:
    """A number that depends on all that `fun` gives."""
    leaves = untraced.tree.leaves if x is OURS else jax.tree.leaves

    def summed(*args: Any) -> Any:
        s = 0.0
        for leaf in leaves(fun(*args)):
            if x.np.result_type(leaf).kind == "f":
                s = s + x.np.sum(x.np.sin(leaf))
        return s

    return summed


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    fun, theirs = programs(OURS)[name], jax.jit(programs(JAXS)[name])
    compiled = accelerate(fun, target="cpu")
    for args in arguments(name):
        want = theirs(*args)
        same(fun(*args), want)
        same(compiled(*args), want)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in NO_GRADIENT])
def test_gradients(name: str) -> None:
    where = tuple(i for i, a in enumerate(arguments(name)[0]) if isinstance(a, np.ndarray))
    theirs = jax.jit(jax.grad(total(JAXS, programs(JAXS)[name]), argnums=where))
    compiled = accelerate(grad(total(OURS, programs(OURS)[name]), argnums=where), target="cpu")
    for args in arguments(name):
        same(compiled(*args), theirs(*args))


@pytest.mark.parametrize("name", NAMES)
def test_batched(name: str) -> None:
    axes = tuple(0 if isinstance(a, np.ndarray) else None for a in arguments(name)[0])
    batched, theirs = vmap(programs(OURS)[name], axes), jax.jit(jax.vmap(programs(JAXS)[name], axes))
    for args in arguments(name):
        stacks = [np.stack([a, a * 0.5, -a]) if isinstance(a, np.ndarray) else a for a in args]
        same(batched(*stacks), theirs(*stacks))


def test_a_scan_is_a_loop() -> None:
    text = accelerate(programs(OURS)["recurrent_network"], target="cpu").source(M, np.eye(4))
    assert text.count("np.tanh") == 1
    assert "for i in range(5):" in text


def test_errors() -> None:
    with pytest.raises(ValueError, match="one length"):
        lax.scan(lambda c, x: (c, x), 0.0, (V, M))
    with pytest.raises(ValueError, match="at least one branch"):
        lax.switch(0, [])
    for run in (lambda f: f(V), lambda f: accelerate(f)(V), lambda f: vmap(f)(M)):
        for loop in (
            lambda v: lax.scan(lambda c, _: (np.concatenate([c, c]), c), v, length=2),
            lambda v: lax.fori_loop(0, 2, lambda i, c: np.sum(c), v),
            lambda v: lax.while_loop(lambda c: np.sum(c[0]) < 9, lambda c: (c[0] + 1, c[0]), (v,)),
        ):
            with pytest.raises(TypeError, match="carry input and carry output must have equal types"):
                run(loop)
    with pytest.raises(ValueError, match="padding must be"):
        lax.conv(IMAGES, KERNEL, (1, 1), "FULL")


def ways(f: Callable[..., Any]) -> list[Callable[[], Any]]:
    return [lambda: f(1.0), lambda: accelerate(f)(1.0), lambda: vmap(f)(np.ones(2))]


REFUSED: dict[str, tuple[str, Callable[..., Any]]] = {
    "a number goes on": ("boolean scalar", lambda x: lax.while_loop(lambda c: 1.5, lambda c: c, x)),
    "an integer goes on": ("boolean scalar", lambda x: lax.while_loop(lambda c: 0, lambda c: c, x)),
    "an array goes on": ("boolean scalar", lambda x: lax.while_loop(lambda c: np.zeros(1, bool), lambda c: c, x)),
    "a tree goes on": ("boolean scalar", lambda x: lax.while_loop(lambda c: (False,), lambda c: c, x)),
    "nothing goes on": ("boolean scalar", lambda x: lax.while_loop(lambda c: None, lambda c: c, x)),
    "a string decides": ("must be a truth value", lambda x: lax.cond("a", np.sin, np.cos, x)),
    "a complex number decides": ("must be a truth value", lambda x: lax.cond(1j, np.sin, np.cos, x)),
    "an array decides": ("must be a scalar", lambda x: lax.cond(np.zeros(1), np.sin, np.cos, x)),
    "nothing decides": ("must be a scalar", lambda x: lax.cond(None, np.sin, np.cos, x)),
    "a bool chooses": ("must be an integer", lambda x: lax.switch(True, [np.sin, np.cos], x)),
    "an array chooses": ("must be a scalar", lambda x: lax.switch(np.array([1]), [np.sin, np.cos], x)),
    "a misnamed operand": (
        "unexpected keyword argument 'operands'",
        lambda x: lax.cond(True, np.sin, np.cos, operands=x),
    ),
    "an operand twice": ("not both", lambda x: lax.switch(0, [np.sin, np.cos], x, operand=x)),
    "no pair": ("a pair", lambda x: lax.scan(lambda c, _: c, x, None, length=2)),
    "an array of two": ("a pair", lambda x: lax.scan(lambda c, _: np.zeros(2), x, None, length=2)),
    "a tuple becomes a list": ("pytree structure", lambda x: lax.fori_loop(0, 2, lambda i, c: list(c), (x, x))),
    "other keys": ("pytree structure", lambda x: lax.fori_loop(0, 2, lambda i, c: {"b": 1.0}, {"a": x})),
    "integers become floats": ("equal types", lambda x: lax.fori_loop(0, 2, lambda i, c: c + x, np.zeros(2, int))),
    "a float becomes an integer": ("equal types", lambda x: lax.while_loop(lambda c: c < 1, lambda c: 5, x - 5.0)),
    "a bool becomes a float": ("equal types", lambda x: lax.scan(lambda c, _: (x, c), False, None, length=1)),
    "no turn, another carry": ("equal types", lambda x: lax.scan(lambda c, _: ((c, c), c), x, np.zeros(0))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_jax_refuses_is_a_type_error(name: str) -> None:
    words, f = REFUSED[name]
    for way in ways(f):
        with pytest.raises(TypeError, match=words):
            way()


def test_one_operand_can_be_named() -> None:
    def f(i: Any, x: Any) -> Any:
        return lax.switch(i, [np.sin, np.cos], operand=x) + lax.cond(i > 0, np.exp, np.sqrt, operand=x)

    want = [np.sin(2.0) + np.sqrt(2.0), np.cos(2.0) + np.exp(2.0)]
    np.testing.assert_allclose([f(i, 2.0) for i in range(2)], want, rtol=1e-15)
    np.testing.assert_allclose(vmap(f)(np.arange(2), np.full(2, 2.0)), want, rtol=1e-15)  # an ulp or two of libm
    slope = accelerate(grad(f, argnums=1))(np.int64(1), 2.0)
    np.testing.assert_allclose(slope, np.exp(2.0) - np.sin(2.0), rtol=1e-14)


APART: dict[str, Callable[..., Any]] = {
    "structure": lambda x: lax.cond(x > 0, lambda: (x,), lambda: x),
    "keys": lambda x: lax.cond(x > 0, lambda: {"a": x}, lambda: {"b": x}),
    "shapes": lambda x: lax.cond(x > 0, lambda: np.zeros(2), lambda: np.zeros(3)),
    "dtypes": lambda x: lax.cond(x > 0, lambda: np.zeros(2, int), lambda: np.zeros(2)),
    "Python's numbers": lambda x: lax.cond(x > 0, lambda: 1, lambda: 2.0),
    "branches of a switch": lambda x: lax.switch(np.int64(x), [lambda: x, lambda: x, lambda: np.zeros(2)]),
}


@pytest.mark.parametrize("name", APART)
def test_branches_that_differ_are_refused_where_both_are_read(name: str) -> None:
    for way in ways(APART[name])[1:]:
        with pytest.raises(TypeError, match="they differ"):
            way()


def test_what_jax_takes_for_equal_types() -> None:
    for f in (
        lambda x: lax.fori_loop(0, 2, lambda i, c: c + x, 0),
        lambda x: lax.while_loop(lambda c: c["a"] < 5, lambda c: {"b": x, "a": c["a"] + x}, {"a": 1.0, "b": x})["a"],
        lambda x: lax.scan(lambda c, y: (c + y, c), np.float32(0), x * np.ones(3))[0],
        lambda x: lax.cond(x > 0, lambda: np.float32(2), lambda: 2.0),
        lambda x: lax.cond(x, lambda: np.ones(()), lambda: 1.0),
    ):
        wanted, *got = (way() for way in ways(f))
        for found in got:
            np.testing.assert_allclose(found, np.broadcast_to(wanted, np.shape(found)))


SCALE = np.ones(4)


def scaled(row: Any) -> Any:
    return (row * SCALE).sum()


def test_what_a_function_given_to_the_library_reads_is_guarded() -> None:
    def rows(m: Any) -> Any:
        return np.apply_along_axis(scaled, 1, m), lax.map(scaled, m)

    global SCALE
    fast = accelerate(rows, target="cpu")
    for SCALE in (SCALE, np.arange(4.0), np.zeros(4)):
        same(fast(M), rows(M))
        SCALE[0] += 1.0
        same(fast(M), rows(M))


def test_arrays_in_a_closure() -> None:
    a = untraced.numpy.array(np.eye(4) * 2)

    def body(i: Any, v: Any) -> Any:
        v = a @ v
        return v / np.linalg.norm(v)

    got = untraced.jit(lambda v: lax.fori_loop(0, 20, body, v))(untraced.numpy.ones(4))
    np.testing.assert_allclose(np.asarray(got), np.full(4, 0.5), rtol=1e-12)


def test_carries_whose_numbers_become_arrays_without_axes() -> None:
    """As np.where makes them: JAX does not tell the two apart."""

    class State(NamedTuple):
        y: Any
        n: Any

    def decay(rate: Any, stops: Any) -> Any:
        def until(carry: State, stop: Any) -> Any:
            def turn(s: State) -> State:
                low = s.y * rate
                taken = State(low, s.n + 1), State(s.y * 0.5, s.n + 2)
                return tree.map(functools.partial(np.where, low > 0.1), *taken)

            return lax.while_loop(lambda s: s.y > stop, turn, carry)._replace(n=0), carry.n

        last, _ = lax.scan(until, State(1.0, 0), stops)
        return lax.fori_loop(0, 2, lambda i, s: State(np.where(i > 0, s.y, s.y * 2), s.n), last).y

    stops = np.array([0.5, 0.2, 0.05])
    want = np.array([decay(r, stops) for r in (0.9, 0.7)])
    np.testing.assert_allclose(accelerate(decay)(0.9, stops), want[0])
    np.testing.assert_allclose(vmap(decay, in_axes=(0, None))(np.array([0.9, 0.7]), stops), want)
    eps = 1e-6
    slope = (decay(0.9 + eps, stops) - decay(0.9 - eps, stops)) / (2 * eps)
    np.testing.assert_allclose(grad(decay)(0.9, stops), slope, rtol=1e-6)


@dataclass(frozen=True)
class Spring:
    x: Any
    n: int
    force: Callable[[Any], Any]


tree_util.register_dataclass(Spring, ["x"], ["n", "force"])


def test_data_of_the_structure_of_a_carry_stays_known() -> None:
    def step(s: Spring) -> Spring:
        return replace(s, x=s.force(s.x) * np.ones(s.n).sum())

    def looped(x: Any) -> Any:
        a = lax.fori_loop(0, 3, lambda i, s: step(s), Spring(x, 2, np.sin))
        b = lax.while_loop(lambda s: s.x.sum() < 50.0, step, Spring(x, 2, np.exp))
        c, ys = lax.scan(lambda s, v: (step(s), s.x * v), Spring(x, 2, np.sin), np.arange(3.0))
        return a.x + b.x + c.x * c.n, ys

    x = np.arange(3.0) + 0.1
    expected = looped(x)
    tree.map(np.testing.assert_allclose, accelerate(looped, target="cpu")(x), expected)
    tree.map(np.testing.assert_allclose, vmap(looped)(np.stack([x, x])), tree.map(lambda v: np.stack([v, v]), expected))
    with pytest.raises(TypeError, match="the same pytree structure"):
        accelerate(lambda x: lax.fori_loop(0, 3, lambda i, s: replace(s, n=s.n + 1), Spring(x, 2, np.sin)))(x)


def test_functions_are_leaves_of_trees_too() -> None:
    def f(x: Any) -> Any:
        both = tree.map(lambda g, v: g(v), np.sin, x) + tree.map(lambda v, g: g(v), x, lambda v: v * 2)
        return both.sum() + tree.map(lambda v: np.cos, x)(x).sum()

    x = np.arange(3.0)
    np.testing.assert_allclose(accelerate(f, target="cpu")(x), f(x))
    np.testing.assert_allclose(grad(f)(x), np.cos(x) + 2 - np.sin(x))


def test_eval_shape_inside() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3)

        def written(v: Any, scale: float = 1.0) -> Any:
            y[0] = 5.0
            return {"a": v @ v.T * scale, "b": (v.sum(), 3)}

        found = eval_shape(written, x, scale=2.0)
        product = eval_shape(np.matmul, ShapeDtypeStruct((4, 3), np.float32), x)
        return np.ones(found["a"].shape) * x.sum() + y, len(found["b"][0].shape), np.ones(product.shape)

    x = np.arange(6.0).reshape(3, 2)
    found = accelerate(f, target="cpu")(x)
    tree.map(np.testing.assert_allclose, found, (np.full((3, 3), 15.0), 0, np.ones((4, 2))))
    np.testing.assert_allclose(grad(lambda x: f(x)[0].sum())(x), np.full((3, 2), 9.0))
    assert vmap(f)(np.stack([x, x]))[0].shape == (2, 3, 3)


def test_what_is_made_of_inner_functions_outlives_the_call() -> None:
    scale = np.array([1.0, 2.0, 3.0])
    kept: dict[str, Any] = {}

    def force(x: Any) -> Any:
        if "grad" not in kept:
            kept["grad"] = grad(lambda y: (y * y * scale).sum())
        return kept["grad"](x)

    compiled = accelerate(force, target="cpu")
    for _ in range(3):
        np.testing.assert_allclose(compiled(np.ones(3)), 2 * scale)
    np.testing.assert_allclose(kept["grad"](np.ones(3)), 2 * scale)
    (made,) = accelerate(lambda x: [grad(lambda y: (y * x * scale).sum())], target="cpu")(np.ones(3))
    np.testing.assert_allclose(made(np.ones(3)), scale)


def test_truths_that_are_carried_have_their_other() -> None:
    """`~` of a truth is the other one, also where it began as Python's True, of which it would be -2."""

    def f(x: Any) -> Any:
        found = lax.while_loop(lambda c: ~c[1], lambda c: (c[0] * 2, c[0] > 10), (x, False))[0]
        rare = lax.fori_loop(0, 3, lambda i, c: ~c, True)
        last, _ = lax.scan(lambda c, v: (~c, v), True, np.arange(2))
        return found, rare, last, ~lax.cond(x > 3, lambda: True, lambda: False)

    for run in (f, accelerate(f)):
        assert [[*map(float, run(x))] for x in (3.0, 4.0)] == [[24.0, 0, 1, 1], [32.0, 0, 1, 0]]
    both = vmap(f)(np.array([3.0, 4.0]))
    assert np.array_equal(both[0], [24.0, 32.0]) and np.array_equal(both[3], [True, False])
    assert grad(lambda x: f(x)[0])(3.0) == 8.0


def test_loops_give_no_memory_away() -> None:
    """What a loop or a branch passes to a call with donate_argnums is still the caller's."""

    @functools.partial(accelerate, donate_argnums=0)
    def step(p: Any, x: Any) -> Any:
        return p + x

    for run in (
        lambda p: lax.scan(lambda c, x: (step(c, x), None), p, np.arange(3.0))[0],
        lambda p: lax.fori_loop(0, 3, lambda i, c: step(c, 1.0), p),
        lambda p: lax.while_loop(lambda c: np.sum(c) < 12, lambda c: step(c, c / 1), p),
        lambda p: lax.cond(True, step, lambda p, x: p, p, 3.0),
        lambda p: lax.map(lambda x: step(p, x), np.array([3.0]))[0],
    ):
        p = untraced.device_put(np.ones(3))
        for _ in range(3):  # the first calls are not yet shortened
            np.testing.assert_array_equal(run(p), 4.0)
        np.testing.assert_array_equal(p, 1.0)
    step(p, 1.0)
    assert p.is_deleted()


def test_carries_that_begin_as_numbers_of_python_are_compiled() -> None:
    """The first turn finds Python's number, the others NumPy's: nobody asks which, so no call is left to CPython."""
    x = np.arange(1.0, 5.0)
    for f in (
        lambda x: lax.scan(lambda c, v: (0.5 * c + v, c), 0.0, x),
        lambda x: lax.fori_loop(0, 4, lambda i, c: c + x[i], 0.0),
        lambda x: lax.while_loop(lambda s: s[0] < 9.0, lambda s: (s[0] + x[s[1]], s[1] + 1), (0.0, 0)),
        lambda x: lax.cond(len(x) > x[0], lambda v: v * 2, lambda v: v, 1.5),
    ):
        compiled = accelerate(f)
        assert "raise" not in compiled.inspect(x, compile=False).source
        for got, want in zip(tree.leaves(compiled(x)), tree.leaves(f(x)), strict=True):
            np.testing.assert_allclose(got, want)
    assert accelerate(lambda n: lax.cond(n > 2, lambda k: k * 2, lambda k: k, n))(3) == 6


def test_numbers_that_loops_pass_on_have_what_arrays_have() -> None:
    """Where they are read: CPython's own numbers have not."""

    def f(x: Any) -> Any:
        turn = lambda i, c: c * x + (i + 1).astype(x.dtype) / c.size + np.ones(2, i.dtype)[i.ndim]  # noqa: E731
        return lax.fori_loop(0, 3, turn, 0.0)

    xs = np.array([0.5, 2.0])
    want = [3 + 1 + x * (2 + 1) + x * x * (1 + 1) for x in xs]
    np.testing.assert_allclose(vmap(f)(xs), want)
    np.testing.assert_allclose(accelerate(f)(np.float64(2.0)), want[1])
    np.testing.assert_allclose(grad(f)(np.float64(2.0)), 3 + 2 * 2 * 2.0)
    last, sizes = accelerate(lambda x: lax.scan(lambda c, v: (c.astype(x.dtype) + v, c.size), 0.0, x))(xs)
    assert last == 2.5 and list(sizes) == [1, 1]


def test_numbers_have_what_arrays_have_where_jax_is_meant() -> None:
    """In what is derived or batched, and in a module that uses JAX's names; a NumPy program finds numbers."""

    def f(x: Any) -> Any:
        return (x.astype(np.float32) ** 2).astype(x.dtype) * x.reshape(1)[0] + x.size

    assert grad(f)(3.0) == 27.0
    assert untraced.jvp(f, (3.0,), (1.0,)) == (28.0, 27.0)
    assert accelerate(f)(3.0) == 28.0
    assert accelerate(lambda b: b.astype(int) + b.ndim)(True) == 1
    elsewhere = FunctionType(f.__code__, {"np": np}, "f")
    assert grad(elsewhere)(3.0) == 27.0
    with pytest.raises(AttributeError, match="'float' object has no attribute 'astype'"):
        accelerate(elsewhere)(3.0)
    assert accelerate(lambda x: x if hasattr(x, "dtype") else 2 * x)(3.0) == 6.0


@pytest.mark.parametrize("kind", [np.int32, np.int16, np.int64])
def test_starts_of_slices_are_not_specialised_on(kind: Any) -> None:
    """Narrow integers wrap, but not those that lie inside an axis."""
    f = accelerate(lambda m, i: untraced.lax.dynamic_slice(m, (i, kind(0)), (2, 2)))
    for i in range(3):
        np.testing.assert_array_equal(f(M, kind(i)), M[min(i, M.shape[0] - 2) :][:2, :2])
    assert "translated 1 time" in str(f.explain_recompiles())

    def after(x: Any, i: Any) -> Any:
        return x[i : i + kind(2)]

    with np.errstate(over="ignore"):
        for start in (1, np.iinfo(kind).max):
            np.testing.assert_array_equal(accelerate(after)(V, kind(start)), after(V, kind(start)))


def test_a_start_may_come_from_what_is_differentiated() -> None:
    def f(m: Any, x: Any) -> Any:
        return np.sum(untraced.lax.dynamic_slice(m, (np.asarray(x, np.int32), 0), (2, 2)) * x)

    d_m, d_x = untraced.grad(f, argnums=(0, 1))(M, 1.5)
    np.testing.assert_array_equal(d_m[1:3, :2], np.full((2, 2), 1.5))
    np.testing.assert_allclose(d_x, np.sum(M[1:3, :2]))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "bool", "float32"])
def test_least_elements_of_any_dtype(dtype: str) -> None:
    x = np.array([3, 0, -128 if dtype == "int8" else 1, 5]).astype(dtype)
    values, places = lax.approx_min_k(x, 2)
    np.testing.assert_array_equal(values, np.sort(x)[:2])
    np.testing.assert_array_equal(x[places], values)
    assert values.dtype == x.dtype
