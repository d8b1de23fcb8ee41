"""vmap of functions whose branches and loops differ between elements: a loop over lanes, lockstep, compiled or not."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, jvp, lax, vmap
from untraced.tpu import compiler
from untraced.tpu.loops import refill

X = np.random.default_rng(0).uniform(-2.0, 3.0, 70)  # more than two blocks, the last of them not a whole one


def root(x: float) -> float:
    """Newton's method: as many steps as it takes."""
    y = abs(x) + 1.0
    while abs(y * y - abs(x)) > 1e-10:
        y = 0.5 * (y + abs(x) / y)
    return y


def guarded(x: float) -> tuple[float, int]:
    """What one branch would never finish, or divide by zero in, the others do not see."""
    n = 0
    total = 0.0
    if x > 0.0:
        y = x
        while y < 50.0:
            y = y * (1.0 + x)
            n += 1
        total = y / x
    elif x > -1.0:
        for k in range(int(10 * abs(x))):
            total += np.sqrt(-x) / (k + 1)
    return total, n


def left_early(x: float) -> float:
    y = x
    for k in range(40):
        if y > 4.0:
            return y * k
        if y < -8.0:
            break
        y = y + 0.3 * x
    return y - 1.0


def stored(x: float) -> np.ndarray:
    """An array of its own, filled as far as the lane goes."""
    a = np.zeros(6)
    k = 0
    while k < 6 and a[k - 1] < 2.0:
        a[k] = np.exp(x * 0.3) + k * 0.1
        k += 1
    return a


def nested(x: float) -> float:
    total = 0.0
    for i in range(3):
        y = x + i
        while y * y < 20.0:
            y = y * 1.5 + 0.1
            for _ in range(i):
                y = y + 0.01 * i
        total = total + y
    return total


def looked_up(x: float) -> float:
    table = np.arange(5.0) ** 2
    i = 0
    while i < 5 and table[i] < x:
        i += 1
    return table[i] if i < 5 else -1.0


PROGRAMS = [root, guarded, left_early, stored, nested, looked_up]


def each(f: Callable[..., Any], *columns: np.ndarray) -> Any:
    rows = [f(*row) for row in zip(*columns, strict=True)]
    return tuple(map(np.stack, zip(*rows, strict=True))) if isinstance(rows[0], tuple) else np.stack(rows)


def check(got: Any, want: Any) -> None:
    for g, w in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, want)), strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)  # XLA contracts products and sums


@pytest.mark.parametrize("lanes", ["auto", "loop", "lockstep"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_every_form_is_a_python_loop(f: Callable[..., Any], lanes: Any) -> None:
    with np.errstate(all="ignore"):  # of the branch that is not taken, in lockstep
        for batched in (vmap(f, lanes=lanes), accelerate(vmap(f, lanes=lanes))):
            check(batched(X), each(f, X))


def shared_and_own(x: float, y: np.ndarray, table: np.ndarray) -> tuple[Any, Any, int]:
    """Values before the loop that it and what follows it need, results with axes, looked up and raised in places."""
    limit, start = 4.0 + np.sum(table), np.sin(y) * 3.0
    v, n = start, 0
    while np.sum(v * v) < limit + x and n < 12:
        v = v * 1.3 + table[n % 4]
        n += 1
    return v - start, np.stack([v, y]) / limit, n if x > -1.0 else int(table[n % 4])


@pytest.mark.parametrize("native", ["0", "all"])  # XLA's loops, and C++ where there is a compiler
@pytest.mark.parametrize("handing", [1, 10_000])
def test_places_are_handed_on(monkeypatch: pytest.MonkeyPatch, handing: int, native: str) -> None:
    monkeypatch.setenv("UNTRACED_NATIVE_LOOPS", native)
    monkeypatch.setattr(refill, "FEWEST", 1)
    monkeypatch.setattr(refill, "HANDING", handing)
    for f in (root, looked_up):
        g = accelerate(vmap(f), target="cpu")
        check(g(X), each(f, X))
        stored = "@untraced_who" if native == "all" and compiler.available() else "stablehlo.scatter"
        assert stored in str(g.inspect(X, compile=False).stablehlo)  # by the lanes that places have
    y, table = np.random.default_rng(1).normal(size=(70, 2)), np.array([0.5, 1.0, -0.5, 0.25])
    g = accelerate(vmap(shared_and_own, in_axes=(0, 0, None), lanes="loop"), target="cpu")
    check(g(X, y, table), each(lambda x, v: shared_and_own(x, v, table), X, y))


@pytest.mark.parametrize("f", [root, nested, left_early], ids=lambda f: f.__name__)
@pytest.mark.parametrize("lanes", ["auto", "loop"])
def test_derivatives_of_batches_and_batches_of_derivatives(f: Callable[..., Any], lanes: Any) -> None:
    x = X[:40]

    def total(x: np.ndarray) -> Any:
        return np.sum(vmap(f, lanes=lanes)(x) ** 2)

    def one(x: float) -> Any:
        return f(x) ** 2

    want = each(grad(one), x)
    rows = vmap(grad(one), lanes=lanes)
    with np.errstate(all="ignore"):  # of lanes that are done, in lockstep
        for g in (rows, grad(total), accelerate(rows), accelerate(grad(total))):
            check(g(x), want)
    check(accelerate(lambda x, d: jvp(total, (x,), (d,))[1])(x, np.ones_like(x)), np.sum(want))


def test_nested_batches_and_batches_of_vectors() -> None:
    def walk(x: np.ndarray, step: float) -> np.ndarray:
        while np.sum(x * x) < 30.0:
            x = x * (1.0 + step)
        return x

    xs, steps = X[:68].reshape(34, 2), np.linspace(0.05, 0.5, 33)
    f = vmap(vmap(walk, in_axes=(None, 0)), in_axes=(0, None))
    want = np.stack([[walk(x, s) for s in steps] for x in xs])
    for g in (f, accelerate(f)):
        check(g(xs, steps), want)
    source = accelerate(f).inspect(xs, steps).source
    assert source.count("for lane") == 2 and "while np.sum(" in source


def test_the_report_says_which_form_and_why() -> None:
    def forms(f: Callable[..., Any], n: int = 70, **options: Any) -> list[tuple[str, str]]:
        return [(note.form, note.why) for note in accelerate(vmap(f, **options), target="cpu").inspect(X[:n]).loops]

    def wide(x: float) -> Any:
        a = x * np.ones(500)
        while a[0] < 9.0:
            a = a + np.sin(a) + 2.0
        return np.sum(a)

    assert forms(root) == [("loop", "each lane takes its own branches and number of turns")]
    assert forms(root, lanes="lockstep") == [("lockstep", "asked for by vmap(..., lanes=...)")]
    assert forms(wide) == [("lockstep", "a lane works on 500 elements at once: operations on whole arrays are cheaper")]
    assert forms(root, 8) == [("lockstep", "8 lanes step together at the same cost")]
    assert forms(lambda x: x * 2.0) == []
    with pytest.raises(ValueError, match="lanes must be one of 'auto', 'loop', 'lockstep'"):
        vmap(root, lanes="thread")  # type: ignore[arg-type]


def test_a_raise_is_that_of_the_first_lane_that_comes_to_it() -> None:
    def f(x: float) -> float:
        n = 0.0
        while n < x:
            n += 1.0
            if n > 20.0:
                raise ValueError(f"too far: {x:.1f}")
        return math.sqrt(n)

    fine, far = np.linspace(-3.0, 19.0, 50), np.linspace(3.0, 30.0, 50)
    for lanes in ("auto", "loop", "lockstep"):
        g = accelerate(vmap(f, lanes=lanes))
        check(g(fine), each(f, fine))
        with pytest.raises(ValueError, match="too far: 20.1"):
            g(far)


def test_lanes_that_tell_each_other_something_come_to_it_together() -> None:
    def f(x: float) -> float:
        for _ in range(3):
            x = x + lax.psum(x, "i") * 0.01
            while x * x < 4.0:
                x = x * 1.5 + 0.1
        return x

    want = X.copy()
    for _ in range(3):
        want = want + np.sum(want) * 0.01
        for k in range(len(want)):
            while want[k] * want[k] < 4.0:
                want[k] = want[k] * 1.5 + 0.1
    for lanes in ("auto", "loop", "lockstep"):
        np.testing.assert_allclose(accelerate(vmap(f, axis_name="i", lanes=lanes))(X), want, rtol=1e-10)


def growing(z, table):
    v = z
    k = 0
    while v < 100.0:
        v = np.sqrt(v * v + np.exp(-v)) * 1.01 + 0.01
        k += 1
    t = table[k]
    s = 0.0
    if v > 100.001:
        s = t * 2
    return s + t


def test_places_without_a_lane_store_what_they_have():
    """The lanes end at different times, and the last ones do not fill the places."""
    rng = np.random.default_rng(0)
    z = 10 ** rng.uniform(-3, 2, 2000)
    table = rng.normal(size=2000) + 5
    z[-40:] = 99.9
    z[:1900:7] = 1e-3
    found = accelerate(vmap(growing, in_axes=(0, None), lanes="loop"))(z, table)
    np.testing.assert_allclose(found, [growing(x, table) for x in z], rtol=1e-12)
