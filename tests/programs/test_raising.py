"""`raise` and `assert` that depend on data: compiled, differentiated and batched, they raise what CPython raises."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from raising_programs import CALLS, CUT, Calls, X, stores_then_raises, with_a_match

from untraced import Array, accelerate, checkpoint, custom_jvp, device_put, grad, jvp, vjp, vmap
from untraced.runtime.calls import regions, worth
from untraced.testing import check_grads
from untraced.translator.errors import CutError

UNBATCHED = (stores_then_raises, with_a_match)  # written rows are read-only when stacked, a mode is known before

Fun = Callable[..., Any]


def outcome(fun: Fun, args: Any) -> tuple[Any, Any, Any]:
    """What a call returns, or raises, and its arguments afterwards."""
    own = copy.deepcopy(args)
    try:
        return fun(*own), None, own
    except Exception as error:
        return None, (type(error), error.args), own


def check(fast: Fun, fun: Fun, args: Any, memory: bool = True) -> None:
    got, want = outcome(fast, args), outcome(fun, args)
    assert got[1] == want[1]
    if want[1] is None:
        np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    if memory:
        for g, w in zip(got[2], want[2], strict=True):
            np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("calls", CALLS, ids=repr)
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_as_in_cpython(calls: Calls, target: str) -> None:
    fast = accelerate(calls.fun, target=target)
    memory = target == "cpu"  # generated source writes what the function leaves behind, not what it does on the way
    for args in (calls.good, *calls.bad, calls.good):
        check(fast, calls.fun, args, memory)
    assert not fast._drivers, "it is compiled as a whole"


# ---- derivatives and batches ----------------------------------------------------------------------


@pytest.mark.parametrize("calls", [c for c in CALLS if c.bad], ids=repr)
def test_derivatives_raise_the_same(calls: Calls) -> None:
    """In order, once each, and to second order."""
    first = grad(calls.fun)
    second = grad(lambda *args: np.sum(np.sin(first(*args))))
    for g in (first, second, accelerate(first, target="cpu")):
        for args in calls.bad:
            assert outcome(g, args)[1] == outcome(calls.fun, args)[1]
        assert np.all(np.isfinite(g(*calls.good)))
    for words in ("raise ", "assert "):
        assert second.source(*calls.good).count(words) == first.source(*calls.good).count(words)


@pytest.mark.parametrize("calls", [c for c in CALLS if c.fun not in UNBATCHED], ids=repr)
@pytest.mark.parametrize("both", [False, True])
def test_a_batch_raises_where_a_lane_does(calls: Calls, both: bool) -> None:
    batched = vmap(calls.fun, in_axes=(0, 0 if both else None))
    compiled = accelerate(batched, target="cpu")
    for middle in (calls.good, *calls.bad):
        lanes = [(np.asarray(a[0]), np.asarray(a[1], dtype=float)[()]) for a in (calls.good, middle, middle)]
        if not both:
            lanes = [(x, middle[1]) for x, _ in lanes]
        args = (np.stack([x for x, _ in lanes]), np.stack([y for _, y in lanes]) if both else middle[1])

        def python(*_: Any, lanes: Any = lanes) -> Any:
            return [calls.fun(x.copy()[()], y) for x, y in lanes]

        for fast in (batched, compiled):
            check(fast, python, args, memory=False)


def test_loops_in_segments_raise_on_the_way_forwards() -> None:
    def decay(x: Any, limit: float) -> Any:
        y = x
        for i in range(400):
            if y[0] > limit:
                raise ValueError(f"{y[0]} at {i}")
            y = np.sin(y) * x
        return np.sum(y)

    g = grad(checkpoint(decay, memory=2_000))
    assert g.source(X, 5.0).count("raise ") == 1
    np.testing.assert_allclose(g(X, 5.0), grad(decay)(X, 5.0), rtol=1e-12)
    assert outcome(g, (X, 0.1))[1] == outcome(decay, (X, 0.1))[1]


def test_windows_of_unknown_length_raise_on_the_way_forwards() -> None:
    g = grad(grows)
    assert g.source(1.1, 100.0).count("raise ") == 1
    check_grads(grows, (1.13, 100.0), order=2, eps=1e-6)
    assert outcome(accelerate(g), (1.5, 4.0))[1] == outcome(grows, (1.5, 4.0))[1]


def grows(x: Any, limit: float) -> Any:
    y, n = x, 0
    while y < 9.0:
        n += 1
        if y > limit:
            raise RuntimeError(f"{y:.3f} after {n}")
        y = y * x
    return y * x


def test_rules_and_jvp() -> None:
    @custom_jvp
    def root(x: Any) -> Any:
        if x < 0:
            raise ValueError(f"root of {x}")
        return np.sqrt(x)

    root.defjvp(lambda primals, tangents: (root(primals[0]), tangents[0] * 0.5 / root(primals[0])))
    assert grad(root)(4.0) == 0.25
    assert jvp(root, (4.0,), (1.0,)) == (2.0, 0.25)
    for fun in (grad(root), accelerate(grad(root)), lambda x: jvp(root, (x,), (1.0,))):
        assert outcome(fun, (-4.0,))[1] == (ValueError, ("root of -4.0",))
    assert outcome(lambda x: vjp(root, x), (-4.0,))[1] == (ValueError, ("root of -4.0",))


# ---- accelerate -----------------------------------------------------------------------------------


def test_of_arrays_and_their_shortest_way() -> None:
    fast = accelerate(lambda x: refuse_negative(x) * 2.0, target="cpu")
    good, bad = device_put(X), device_put(-X)
    for _ in range(3):
        assert isinstance(fast(good), Array)
        with pytest.raises(ValueError, match=r"^negative: -1.4$"):
            fast(bad)
        with pytest.raises(ValueError, match=r"^negative: -1.4$"):
            fast(-X)


def refuse_negative(x: Any) -> Any:
    if np.any(x < 0):
        raise ValueError(f"negative: {np.min(x)}")
    return x


def test_without_checks_the_user_s_own_stay() -> None:
    def element(x: Any, i: int) -> Any:
        if i < -3:
            raise ValueError("far out")
        return x[i]

    fast = accelerate(element, target="cpu", checks=False)
    assert fast(X, 2) == X[2]
    fast(X, 100)  # reads some element
    with pytest.raises(ValueError, match="far out"):
        fast(X, -4)


def test_donated_arrays_are_there_to_run_again() -> None:
    fast = accelerate(refuse_negative, target="cpu", donate_argnums=0)
    with pytest.raises(ValueError, match="negative"):
        fast(device_put(-X))


def for_certain(x: Any) -> Any:
    x[0] = 3.0
    if x.ndim == 1:
        raise LookupError(f"{x.ndim} axis")
    return x


@pytest.mark.parametrize(("fun", "error"), [(refuse_negative, ValueError), (for_certain, LookupError)])
def test_the_traceback_and_the_arguments_are_cpython_s(fun: Fun, error: type[Exception]) -> None:
    x = -X
    with pytest.raises(error) as info:
        accelerate(fun, target="cpu")(x)
    assert info.traceback[-1].name == fun.__name__
    assert not hasattr(info.value, "__notes__")
    assert (x[0] == 3.0) == (fun is for_certain)


def test_what_comes_first_is_raised_first() -> None:
    def f(x: Any, i: int, k: float) -> Any:
        if k < 0:
            raise ValueError("k")
        y = x[i]
        if y < 0:
            raise KeyError("y")
        total = 0.0
        for j in range(3):
            if y > 1:
                raise RuntimeError("large")
            total += x[i + j] * k + x[i + 3]
        return total + 1 // i

    fast = accelerate(f, target="cpu")
    for args in ((X, 1, 1.0), (X, 9, -1.0), (X, 9, 1.0), (-X, 2, 1.0), (X, 5, 1.0), (X, 4, 1.0), (X, 0, 1.0)):
        want, got = outcome(f, args)[1], outcome(fast, args)[1]
        assert (want and want[0]) == (got and got[0])


def broadcasts_in_a_loop(x, n):
    y = x * 1.0
    if n > 0:
        for _ in x:
            y += 3.5
            y -= x + x[[0, 1]]
    return y


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_words_and_line_are_those_of_what_raises(target: str) -> None:
    with pytest.raises(ValueError) as theirs:
        broadcasts_in_a_loop(np.arange(4.0), 3)
    with pytest.raises(ValueError) as ours:
        accelerate(broadcasts_in_a_loop, target=target)(np.arange(4.0), 3)
    assert str(theirs.value) in str(ours.value)


def test_inside_another_function() -> None:
    def outer(x: Any, k: float) -> Any:
        g = grad(lambda v: np.sum(refuse_negative(v) ** 2))(x)
        return g + vmap(lambda v: refuse_negative(v) * k)(x)

    fast = accelerate(outer, target="cpu")
    np.testing.assert_allclose(fast(X, 2.0), 4 * X)
    with pytest.raises(ValueError, match="negative"):
        fast(-X, 2.0)


@pytest.mark.parametrize("fun", CUT, ids=lambda f: f.__name__)
def test_what_stays_cut(fun: Fun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "PLAINLY", 0)
    monkeypatch.setattr(regions, "AT_ONCE", 1000)
    fast = accelerate(fun, target="cpu")
    for x in (X, -X, X):
        check(fast, fun, (x,))
    assert fast._drivers
    with pytest.raises(CutError):
        grad(fun)(X)


def test_values_kept_from_a_loop_that_ends_in_else() -> None:
    """Names that only the body binds are known in the `else`."""
    def f(x: Any, tol: float) -> Any:
        for i in range(5):
            y = x * i
            if np.sum(y) > tol:
                break
        else:
            return -y
        return y

    fast = accelerate(f, target="cpu")
    for tol in (1.0, 1e9):
        np.testing.assert_allclose(fast(X, tol), f(X, tol))


def test_the_condition_of_a_loop_without_turns() -> None:
    def f(x: Any) -> Any:
        def refused(s: Any) -> bool:
            if s < 0:
                raise ValueError("negative")
            return False

        turns = 0
        while (turns := turns + 1) < 1 or refused(x[0]):
            x -= 1
        return turns

    for target in ("cpu", "numpy"):
        fast = accelerate(f, target=target)
        for args in ((X,), (-X,), (X,)):
            check(fast, f, args)
