"""Collectives by the name of a mapped axis: as JAX's, under vmap, nested, and with derivatives around and inside."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import untraced
from untraced import accelerate, grad, jvp, lax, vmap
from untraced import tree as trees

X = np.arange(24.0).reshape(4, 2, 3) / 7 - 1
SQUARE = np.arange(16.0).reshape(4, 4) ** 2
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def share(lib: Any) -> Callable[..., Any]:
    """The same program over `untraced.lax` and over `jax.lax`."""

    def normalised(x):
        return x / (1.0 + lib.psum(x * x, "i"))

    def statistics(x):
        return {"mean": lib.pmean(x, "i"), "range": (lib.pmax(x, "i"), lib.pmin(x, "i")), "n": lib.psum(1, "i") * x}

    def places(x):
        return x * lib.axis_index("i"), lib.all_gather(x, "i"), lib.all_gather(x, "i", axis=1, tiled=True)

    def rings(x):
        return lib.ppermute(x, "i", RING), lib.pshuffle(x, "i", [2, 0, 3, 1]), lib.pshuffle(x, "i", [3, 2, 1, 0])

    def exchanged(x):
        rows = lib.all_to_all(x, "i", 0, 0)
        tiled = lib.all_to_all(x, "i", 0, 0, tiled=True)
        return rows, tiled, lib.psum_scatter(x, "i"), lib.psum_scatter(x * x, "i", tiled=True)

    return {f.__name__: f for f in (normalised, statistics, places, rings, exchanged)}[share.name]  # type: ignore


def both(name: str) -> tuple[Any, Any]:
    share.name = name  # type: ignore[attr-defined]
    return share(lax), share(jax.lax)


def same(ours: Any, theirs: Any) -> None:
    given, wanted = trees.leaves(ours), jax.tree.leaves(theirs)
    assert len(given) == len(wanted)
    for a, b in zip(given, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-12)


@pytest.fixture(autouse=True)
def wide() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", ["normalised", "statistics", "places", "rings", "exchanged"])
def test_as_in_jax_under_vmap(name):
    ours, theirs = both(name)
    x = SQUARE if name == "exchanged" else X
    wanted = jax.vmap(theirs, axis_name="i")(x)
    same(vmap(ours, axis_name="i")(x), wanted)
    same(accelerate(vmap(ours, axis_name="i"), target="cpu")(x), wanted)


@pytest.mark.parametrize("name", ["normalised", "rings", "places"])
def test_derivatives_inside_and_outside(name):
    ours, theirs = both(name)

    def loss(x):
        return sum(np.sum(np.sin(y)) for y in untraced.tree.leaves(ours(x)))

    def their_loss(x):
        return sum(jax.numpy.sum(jax.numpy.sin(y)) for y in jax.tree.leaves(theirs(x)))

    same(vmap(grad(loss), axis_name="i")(X), jax.vmap(jax.grad(their_loss), axis_name="i")(X))
    total, their_total = vmap(loss, axis_name="i"), jax.vmap(their_loss, axis_name="i")
    same(grad(lambda x: np.sum(total(x)))(X), jax.grad(lambda x: jax.numpy.sum(their_total(x)))(X))
    pushed = vmap(lambda x: jvp(loss, (x,), (x * x,))[1], axis_name="i")(X)
    same(pushed, jax.vmap(lambda x: jax.jvp(their_loss, (x,), (x * x,))[1], axis_name="i")(X))


def test_nested_axes():
    def nested(lib, mapped, x):
        def inner(y):
            both_axes = lib.psum(y, ("i", "j")) + lib.axis_index(("i", "j"))
            gathered = lib.all_gather(y, "i") * lib.pmean(y, "j")
            return both_axes, gathered, lib.ppermute(y, "i", RING), lib.pmax(y, "j")

        return mapped(mapped(inner, axis_name="j"), axis_name="i")(x)

    same(nested(lax, vmap, X), nested(jax.lax, jax.vmap, X))


def test_printed_as_a_person_would():
    def share_of(x):
        return x / lax.psum(x, "i")

    def passed_on(x):
        return x + lax.ppermute(x, "i", RING)

    assert "x / np.sum(x, axis=0)" in vmap(share_of, axis_name="i").source(X)
    assert "x + np.roll(x, 1, axis=0)" in vmap(passed_on, axis_name="i").source(X)


def test_zeros_where_nobody_sends():
    def partly(x):
        return lax.ppermute(x, "i", [(0, 2), (3, 1)]) * lax.axis_size("i")

    zero = np.zeros((2, 3))
    assert np.array_equal(vmap(partly, axis_name="i")(X), 4 * np.stack([zero, X[3], X[0], zero]))
    back = vmap(grad(lambda x: np.sum(partly(x) * x)), axis_name="i")(X)
    np.testing.assert_allclose(back, 4 * np.stack([X[2], X[3], X[0], X[1]]))


def test_what_is_the_same_for_all_needs_no_axis():
    def total(x):
        return lax.psum(x, "i")

    assert np.array_equal(vmap(total, axis_name="i", out_axes=None)(X), np.sum(X, axis=0))
    fives = vmap(total, in_axes=None, axis_name="i", axis_size=5)(X)
    assert np.array_equal(fives, np.broadcast_to(5 * X, (5, 4, 2, 3)))
    assert np.array_equal(vmap(total, axis_name="i")(X.astype(np.float32) > 0)[0], np.sum(X > 0, axis=0))


def over(axis, groups):
    """The collectives that go by groups, over all of an axis or in groups of it."""

    def f(x):
        by = {"axis_index_groups": groups}
        sums = lax.psum(x, axis, **by), lax.pmean({"x": x}, axis, **by), lax.pmax(x, axis, **by)
        whole = lax.all_gather(x, axis, **by)
        pieces = lax.all_to_all(whole, axis, 0, 0, **by), lax.psum_scatter(whole * x, axis, **by)
        return sums, lax.pmin(x, axis, **by), whole, lax.all_gather(x, axis, axis=1, tiled=True, **by), pieces

    return f


@pytest.mark.parametrize("groups", [[[0, 1], [2, 3]], [[3, 1], [0, 2]], [[2, 0, 1, 3]], [[0], [3], [2], [1]]])
def test_groups_are_axes_of_their_own(groups):
    order = np.array(groups)

    def in_groups(x):
        return vmap(over("i", groups), axis_name="i")(x)

    def nested(x):
        apart = vmap(vmap(over("j", None), axis_name="j"))(x[order])
        return trees.map(lambda leaf: leaf.reshape(4, *leaf.shape[2:])[np.argsort(order.ravel())], apart)

    def energy(f):
        return lambda x: sum(np.sum(np.sin(leaf) * k) for k, leaf in enumerate(trees.leaves(f(x))))

    same(in_groups(X), nested(X))
    same(accelerate(in_groups)(X), nested(X))
    same(grad(energy(in_groups))(X), grad(energy(nested))(X))
    same(jvp(in_groups, (X,), (X * X,))[1], jvp(nested, (X,), (X * X,))[1])
    whole = vmap(lambda n: lax.psum(n, "i", axis_index_groups=groups), axis_name="i")(np.arange(4, dtype=np.int32))
    assert whole.dtype == np.int32 and whole[order[0, 0]] == sum(groups[0])


def test_groups_hold_each_position_once():
    for groups in ([[0, 1]], [[0, 1], [1, 2, 3]], [[0, 1], [1, 2]], [[0, 1, 2], [3, 4, 5]]):
        with pytest.raises(ValueError, match="each position of the axis 'i' of size 4 once"):
            vmap(over("i", groups), axis_name="i")(X)
    with pytest.raises(ValueError, match="must be of one size"):
        vmap(over("i", [[0], [1, 2, 3]]), axis_name="i")(X)


def test_errors_name_the_axis_and_the_line():
    def unknown(x):
        return lax.psum(x, "rows")

    def outside(x):
        return lax.ppermute(x, "i", [(0, 9)])

    def twice(x):
        return lax.ppermute(x, "i", [(0, 1), (2, 1)])

    def uneven(x):
        return lax.all_to_all(x, "i", 0, 0)

    def apart(x):
        if x[0, 0] > 0:
            return lax.psum(x, "i")
        return x

    with pytest.raises(NameError, match=r"unbound axis name: rows(.|\n)*'i'(.|\n)*lax.psum\(x, \"rows\"\)"):
        vmap(unknown, axis_name="i")(X)
    with pytest.raises(NameError, match="unbound axis name: rows"):
        unknown(X)
    with pytest.raises(ValueError, match=r"size is 4: a destination(.|\n)*\[\(0, 9\)\]"):
        vmap(outside, axis_name="i")(X)
    with pytest.raises(ValueError, match="destination indices of perm must be unique"):
        vmap(twice, axis_name="i")(X)
    with pytest.raises(ValueError, match="axis 0 has size 2, which must be equal to the size 4 of the axis 'i'"):
        vmap(uneven, axis_name="i")(X)
    with pytest.raises(untraced.UnsupportedError, match=r"lax.psum over 'i'(.|\n)*np.where"):
        vmap(apart, axis_name="i")(X)
    with pytest.raises(untraced.UnsupportedError, match=r"lax.psum over 'i'(.|\n)*np.where"):
        vmap(vmap(apart, axis_name="j"), axis_name="i")(np.stack([X, X]))


def halvings(x):
    n = 0
    while x > 1.0:
        x = x / 2
        n += 1
    return x


def both_ways(x):
    y = halvings(x)
    share = y / lax.psum(y, "i")
    return halvings(share * 1000.0) + lax.pmax(y, "i")


@pytest.mark.parametrize("lanes", ["loop", "lockstep"])
def test_between_loops_of_lanes(lanes):
    x = np.linspace(1.0, 900.0, 50)
    y = np.array([halvings(v) for v in x])
    wanted = [halvings(v) + np.max(y) for v in y / np.sum(y) * 1000.0]
    batched = vmap(both_ways, axis_name="i", lanes=lanes)
    for run in (batched, accelerate(batched)):
        np.testing.assert_allclose(run(x), wanted, rtol=1e-12)


def test_laws_and_reading_again():
    def network(w, x):
        h = np.tanh(x @ w)
        g = lax.pmean(np.outer(x, h), "i")
        return w - 0.1 * g, lax.ppermute(h, "i", RING)

    w, x = np.ones((3, 2)), X[:, 0]
    batched = vmap(network, in_axes=(None, 0), out_axes=(None, 0), axis_name="i")
    source = batched.source(w, x)
    scope: dict[str, Any] = {"np": np}
    exec(source, scope)
    given = scope["network_batched"](w, x)
    for a, b in zip(given, batched(w, x), strict=True):
        assert np.array_equal(a, b)
    assert "lax" not in source


def test_swapped_and_broadcast() -> None:
    swapped = vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(SQUARE)
    np.testing.assert_array_equal(swapped, SQUARE.T)
    told = vmap(lambda x: lax.pbroadcast(x, "i", 2), axis_name="i")(X)
    np.testing.assert_array_equal(told, np.broadcast_to(X[2], X.shape))


@pytest.mark.parametrize("lanes", ["loop", "lockstep", "auto"])
def test_positions_in_branches_and_loops_that_differ(lanes):
    def counted(x):
        y = lax.while_loop(lambda v: v < lax.axis_index("i"), lambda v: v + 2.0, x)
        return lax.cond(x > 0, lambda v: v * lax.axis_index("i"), lambda v: v - lax.axis_index("j"), y)

    def alone(x, i, j):
        y = x
        while y < i:
            y = y + 2.0
        return y * i if x > 0 else y - j

    x = np.array([[0.5, -1.0, 3.0], [-4.0, 1.0, 0.0]])
    wanted = [[alone(x[j, i], i, j) for i in range(3)] for j in range(2)]
    f = vmap(vmap(counted, axis_name="i", lanes=lanes), axis_name="j", lanes=lanes)
    slopes = grad(lambda x: np.sum(f(x)))(x)
    assert np.array_equal(f(x), wanted) and np.array_equal(accelerate(f)(x), wanted)
    assert np.array_equal(slopes, np.where(x > 0, np.arange(3.0), 1.0))


SEVERAL = {
    "gathered": lambda v, axis: lax.all_gather(v, axis, axis=1),
    "exchanged": lambda v, axis: lax.all_to_all(v, axis, 0, 0),
    "scattered": lambda v, axis: lax.psum_scatter(v, axis),
    "sent": lambda v, axis: lax.ppermute(v, axis, zip([0, 1, 2], [1, 2, 5], strict=True)),
    "shuffled": lambda v, axis: lax.pshuffle(v, axis, [1, 2, 3, 4, 5, 0]),
    "told": lambda v, axis: lax.pbroadcast(v, axis, 4),
    "groups": lambda v, axis: lax.psum(v, axis, axis_index_groups=[[0, 4, 2], [1, 3, 5]]),
    "largest": lambda v, axis: lax.pmax(v, axis, axis_index_groups=[[0, 4, 2], [1, 3, 5]]),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_names_are_one_axis(name):
    f = SEVERAL[name]
    x = np.random.default_rng(3).normal(size=(6, 6, 2))
    one = vmap(lambda v: f(v, "k"), axis_name="k")
    two = vmap(vmap(lambda v: f(v, ("i", "j")), axis_name="j"), axis_name="i")
    rows = x.reshape(2, 3, 6, 2)
    wanted = one(x)
    np.testing.assert_allclose(two(rows).reshape(wanted.shape), wanted, rtol=1e-15)
    slope = grad(lambda x: np.sum(np.sin(one(x))))(x)
    np.testing.assert_allclose(grad(lambda r: np.sum(np.sin(two(r))))(rows).reshape(x.shape), slope, rtol=1e-14)
