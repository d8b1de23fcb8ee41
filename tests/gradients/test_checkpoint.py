"""checkpoint: the same values and derivatives, less memory, and the choice to be seen in the source."""

from __future__ import annotations

import functools
import tracemalloc

import numpy as np
import pytest

from untraced import (
    ShapeDtypeStruct,
    accelerate,
    checkpoint,
    checkpoint_policies,
    grad,
    hessian,
    jacfwd,
    jacrev,
    remat,
    tree,
    vmap,
)
from untraced import numpy as unp
from untraced.ad_checkpoint import print_saved_residuals
from untraced.runtime.transforms.checkpointing import bytes_in
from untraced.translator.derive.segments import Budget, cut

X = np.linspace(0.1, 1.0, 50)
SMALL = np.array([0.3, 0.7, 1.1])


def simulate(x, n):
    y = x
    for _ in range(n):
        y = np.sin(y) * x + 0.1 * y
    return y


def reversed_and_nested(x, n):
    y, s = x.copy(), 0.0
    for i in range(3 * n, 2, -2):
        y = y * np.cos(x * i)
        s += np.sum(y)
        for j in range(5):
            y = y + np.sin(y) / (i + j + 1)
    return y * s


def early_end(x, n):
    y, k = x.copy(), 0
    while np.sum(y * y) > 0.1 and k < n:
        y = y * 0.9 * np.cos(y * 0.1)
        k += 1
    return y


def counting(x, n):
    """Python numbers are carried from one segment to the next, and decide a branch there."""
    y, turns, scale = x.copy(), 0, 1.0
    for _ in range(n):
        k = 0
        while k < 3 and np.sum(y * y) > 0.01:
            y, k = y * 0.9 * np.cos(y * scale), k + 1
        if turns % 2:
            y, scale = y + 0.1 * x, scale * 0.9
        turns += 1
    return y


def dense(x, n):
    w = np.outer(x, x)
    for _ in range(3):
        x = np.tanh(x @ w)
    return x


WAYS = {
    "all": checkpoint,
    "dots": checkpoint(policy=checkpoint_policies.dots_saveable),
    "everything": checkpoint(policy="everything_saveable"),
    "memory": checkpoint(memory="300 B"),
    "least memory": checkpoint(memory=0),
}


ROWS = np.stack([SMALL, 2 * SMALL])


@functools.cache
def without_checkpoints(f):
    """Gradient and Hessian of the sum of squares, and the gradient for each of ROWS."""

    def loss(x):
        return np.sum(f(x, 9) ** 2)

    return grad(loss)(SMALL), hessian(loss)(SMALL), vmap(grad(loss))(ROWS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [simulate, reversed_and_nested, early_end, counting, dense])
def test_derivatives_are_the_same(f, way):
    g = WAYS[way](f)

    def loss(x):
        return np.sum(g(x, 9) ** 2)

    gradient, second, gradients = without_checkpoints(f)
    np.testing.assert_allclose(grad(loss)(SMALL), gradient, rtol=1e-11)
    np.testing.assert_allclose(hessian(loss)(SMALL), second, rtol=1e-9, atol=1e-12)
    if f in (simulate, dense):
        np.testing.assert_allclose(jacrev(jacfwd(loss))(SMALL), second, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(vmap(grad(loss))(ROWS), gradients, rtol=1e-11)
        np.testing.assert_allclose(grad(lambda x: np.sum(vmap(loss)(x)))(ROWS), gradients, rtol=1e-11)


def peak(f, n):
    """Bytes that the gradient of sum(f(x, n)**2) holds at its peak, run by CPython."""
    g = grad(lambda x, n: np.sum(f(x, n) ** 2))
    g(X, n)
    tracemalloc.start()
    try:
        g(X, n)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_root_of_the_number_of_trips():
    sizes = [peak(checkpoint(simulate, memory="100kB"), n) for n in (400, 6400)]
    assert peak(simulate, 6400) > 6400 * X.nbytes
    assert sizes[1] < 100_000 and sizes[1] < 5 * sizes[0]  # sixteen times the trips, four times the memory
    assert peak(checkpoint(simulate, memory="20kB"), 6400) < 30_000  # segments of segments


def test_memory_on_the_compiled_target():
    loss = lambda h: lambda x: np.sum(h(x, 2500) ** 2)
    plain, saving = (
        accelerate(grad(loss(h)), target="cpu").inspect(X).memory["temporary"]
        for h in (simulate, checkpoint(simulate, memory="64kB"))
    )
    assert plain > 2500 * X.nbytes and saving < 80_000


def test_the_choice_is_visible():
    source = grad(lambda x: np.sum(checkpoint(simulate, memory="100kB")(x, 400))).source(X)
    assert "for first in range(0, 400, 20):" in source and "reversed(range(0, 400, 20))" in source
    step = lambda x: np.sum(loop_of(checkpoint(lambda y, x: np.sin(np.exp(-y) * x) * y))(x))
    assert step and grad(step).source(X).count("_tape = np.empty(") == 1


def loop_of(step):
    def run(x):
        y = x
        for _ in range(100):
            y = step(y, x)
        return y

    return run


@pytest.mark.parametrize("text, size", [("200MB", 2 * 10**8), ("1.5 GiB", 3 * 2**29), ("64K", 64_000), (7, 7)])
def test_sizes(text, size):
    assert bytes_in(text) == size


@pytest.mark.parametrize("trips, entry, state", [(10_000, 80, 80), (7, 10, 10), (1_000_003, 8, 800), (64, 0, 8)])
def test_cuts_fit(trips, entry, state):
    assert cut(trips, entry, state, Budget(trips * entry)) is None
    found = cut(trips, entry, state, Budget(trips * entry // 3)) if entry else None
    if found is not None:
        assert found.size * found.count >= trips > found.size * (found.count - 1)
        assert found.count * state + found.size * entry <= max(trips * entry // 3, 3 * (trips * entry * state) ** 0.5)


def test_what_makes_no_sense():
    assert remat is checkpoint
    with pytest.raises(ValueError, match="policies of checkpoint are"):
        checkpoint(simulate, policy="some")
    with pytest.raises(ValueError, match="not both"):
        checkpoint(simulate, policy="dots_saveable", memory=1)
    for bad in ("much", "12 XB", -1):
        with pytest.raises(ValueError, match="memory"):
            checkpoint(simulate, memory=bad)


def network(layer, x, weights):
    for w in weights:
        x = layer(x, w)
    return np.sum(x)


def layer(h, w):
    return np.tanh(np.tanh(np.tanh(h @ w)))


def test_layers_are_computed_again():
    x, weights = np.linspace(-1.0, 1.0, 4000).reshape(200, 20), [np.eye(20) * 0.5] * 8
    plain, saving, dots = (
        grad(lambda x, ws, f=f: network(f, x, ws), (0, 1))
        for f in (layer, checkpoint(layer), checkpoint(layer, policy="dots_saveable"))
    )
    for got, want in zip(tree.leaves(saving(x, weights)), tree.leaves(plain(x, weights)), strict=True):
        np.testing.assert_array_equal(got, want)
    counts = [g.source(x, weights).count("@") for g in (plain, saving, dots)]
    assert counts[0] == counts[2] < counts[1]
    sizes = [accelerate(g, target="cpu").inspect(x, weights).memory["temporary"] for g in (plain, saving)]
    assert sizes[1] < 0.6 * sizes[0]  # the inputs of the layers, and what one of them needs


def test_what_the_forward_half_keeps(capsys):
    def layer(w, x):
        return unp.sin(unp.dot(w, x))

    def network(w1, w2, x):
        return layer(w2, layer(w1, x))

    def kept(f):
        print_saved_residuals(f, np.ones((5, 4)), ShapeDtypeStruct((6, 5), np.float32), np.ones(4))
        return {line.replace(__file__, "") for line in capsys.readouterr().out.splitlines()}

    def of(text):
        line = layer.__code__.co_firstlineno + 1
        return f":{line}:{15 if text.startswith('unp.sin') else 23}: {text}"

    types = {"w1": "f64[5,4]", "w2": "f32[6,5]", "x": "f64[4]"}
    arguments = {f"{t} from the argument {name}" for name, t in types.items()}
    products = {f"f64[{n}] output of contract from {of('unp.dot(w, x)')}" for n in (5, 6)}
    assert kept(network) == arguments | products | {f"f64[5] output of sin from {of('unp.sin(unp.dot(w, x))')}"}
    assert kept(checkpoint(network)) == arguments
    assert kept(checkpoint(network, policy="dots_saveable")) == arguments | products
    assert kept(lambda w1, w2, x: np.sum(x)) == set()
