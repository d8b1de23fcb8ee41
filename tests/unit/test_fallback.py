"""What is outside the language: the refusal, word for word, and `fallback="numpy"`, which runs it all the same."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refused_programs import REFUSED, Refused

import untraced
from untraced import Array, DTypeError, ShapeError, TargetError, UnsupportedError, UntracedError, accelerate, device_put

NAMES = sorted(REFUSED)
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix


def message(error: UntracedError) -> str:
    """The class and the text, without what depends on the machine."""
    return f"{type(error).__name__}: {error}\n".replace(str(Path(__file__).parents[1]), "tests")


def as_is(r: Refused) -> tuple[Any, Any]:
    args = r.args()
    return r.finish(r.fun(*args)), args


@pytest.mark.parametrize("name", NAMES)
def test_refusal(name: str, golden: Callable[[str, str], None]) -> None:
    r = REFUSED[name]
    before = copy.deepcopy(r.seen())
    with pytest.raises(UntracedError) as caught:
        accelerate(r.fun, target="cpu")(*r.args())
    golden(f"refusals/{name}.txt", message(caught.value))
    assert caught.value.diagnostic.instead
    assert r.seen() == before, "refused before anything runs"


@pytest.mark.parametrize("name", NAMES)
def test_fallback(name: str) -> None:
    r = REFUSED[name]
    f = accelerate(r.fun, target="cpu", fallback="numpy")
    expected, _ = as_is(r)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        results = [r.finish(f(*r.args())) for _ in range(2)]
    (warning,) = (w for w in told if w.category is UserWarning)
    assert "runs as it is, with NumPy" in str(warning.message) and warning.filename == __file__
    with pytest.raises(UntracedError) as caught:
        accelerate(r.fun, target="cpu")(*r.args())
    assert str(caught.value) in str(warning.message)
    for result in results:
        assert type(result) is type(expected)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.filterwarnings("ignore:.*runs as it is")
def test_it_runs_once() -> None:
    r = REFUSED["executes_text"]
    f = accelerate(r.fun, fallback="numpy")
    before = r.seen()
    for _ in range(3):
        f(*r.args())
    assert r.seen() == before + 3


X = np.array([3.0, -1.0, 2.0])


def in_place(x: Any, strict: Any = False) -> Any:
    x[0] = len(dir()) != 0
    if strict:
        raise LookupError(f"strict: {x[1]}")
    return {"twice": x * 2, "text": "done"}


def test_changes_in_place_and_exceptions_are_the_functions_own() -> None:
    f = accelerate(in_place, fallback="numpy")
    x = X.copy()
    with pytest.warns(UserWarning, match="in_place runs as it is"):
        result = f(x)
    np.testing.assert_array_equal(x, [1, -1, 2])
    np.testing.assert_array_equal(result["twice"], [2, -2, 4])
    x = X.copy()
    with pytest.raises(LookupError) as caught:
        f(x, True)
    assert str(caught.value) == "strict: -1.0"
    np.testing.assert_array_equal(x, [1, -1, 2])


def counted(x: Any, n: Any = 2) -> Any:
    return {"parts": [x * len(dir()) * 0 + n], "n": n, "none": None}


def test_arrays_in_arrays_out() -> None:
    f = accelerate(counted, target="cpu", fallback="numpy")
    with pytest.warns(UserWarning, match="counted runs as it is"):
        result = f(device_put(X, "cpu"), n=3)
    assert isinstance(result["parts"][0], Array) and result["n"] == 3 and result["none"] is None
    np.testing.assert_array_equal(result["parts"][0], [3.0, 3.0, 3.0])


def test_an_array_is_not_written() -> None:
    f = accelerate(in_place, target="cpu", fallback="numpy")
    a = device_put(X, "cpu")
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="read-only"):
        f(a)
    np.testing.assert_array_equal(a, X)


def test_one_warning_for_each_reason() -> None:
    f = accelerate(lambda x, how: x * len(dir()) * 0 if how == "dir" else eval("x * 2"), fallback="numpy")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for how in ("dir", "eval", "dir", "eval"):
            for size in (3, 4):
                f(np.ones(size), how)
    assert len(told) == 2
    assert f.explain_recompiles().count("runs as it is") == 2


def test_the_callers_own_mistakes_are_numpys_to_tell() -> None:
    f = accelerate(lambda x, y: x @ y, fallback="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="mismatch in its core dimension") as caught:
            f(np.ones((2, 3)), np.ones(4))
        assert not isinstance(caught.value, ShapeError)
        with pytest.raises(TypeError, match="positional argument"):
            f(X)
        np.testing.assert_array_equal(f(X, X), X @ X)
    with pytest.raises(ShapeError):
        accelerate(lambda x, y: x @ y)(np.ones((2, 3)), np.ones(4))


def test_static_arguments_arrive_as_they_are() -> None:
    f = accelerate(lambda x, shape: x.reshape(shape) * len(dir()) * 0, static_argnums=1, fallback="numpy")
    with pytest.warns(UserWarning):
        assert f(np.ones(6), (2, 3)).shape == (2, 3)


def test_methods() -> None:
    class Model:
        def __init__(self) -> None:
            self.calls = 0

        @accelerate(fallback="numpy")
        def __call__(self, x: Any) -> Any:
            exec("")
            self.calls += 1
            return x * self.calls

    model = Model()
    with pytest.warns(UserWarning, match="__call__ runs as it is"):
        np.testing.assert_array_equal(model(X), X)
    np.testing.assert_array_equal(model(X), 2 * X)


def test_a_missing_device_is_no_reason() -> None:
    from untraced.runtime.targets.devices import cuda_present

    if cuda_present():
        pytest.skip("this machine has a GPU")
    with pytest.raises(TargetError):
        accelerate(lambda x: x * 2, target="cuda", fallback="numpy")(X)


def test_the_traceback_leads_to_the_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def files() -> list[str]:
        with pytest.raises(UnsupportedError) as caught:
            accelerate(in_place)(X.copy())
        return [str(entry.path) for entry in caught.traceback]

    assert not any("translator" in f for f in files())
    monkeypatch.setenv("UNTRACED_TRACEBACK", "full")
    assert any("translator" in f for f in files())


def test_options() -> None:
    with pytest.raises(ValueError, match="fallback must be"):
        accelerate(in_place, fallback="python")
    with pytest.raises(UnsupportedError):
        accelerate(in_place)(X.copy())
    with pytest.raises(DTypeError, match="as x is here"):
        accelerate(in_place)([np.array([None])])


def test_arrays_keep_their_methods_where_cpython_runs_the_function() -> None:
    """Of what is cut at a `with`, CPython runs a part: it is given arrays that cannot be written and have `at`."""
    shielded = contextlib.suppress(OverflowError)

    @accelerate
    def f(x: Any, y: Any) -> Any:
        with shielded:
            z = x.at[0].set(5.0)
        return z * y, np.sum(z), x.block_until_ready()

    x = device_put(np.arange(3.0))
    for _ in range(3):
        scaled, total, same = f(x, 2.0)
        assert np.array_equal(scaled, [10.0, 2.0, 4.0]) and total == 8.0 and np.array_equal(same, [0.0, 1.0, 2.0])
        assert all(type(v) is Array for v in (scaled, total, same))


def test_disable_jit_inside_has_no_effect() -> None:
    def f(x: Any) -> Any:
        with untraced.disable_jit():
            y = x * 2
        return y + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(untraced.grad(lambda x: f(x).sum())(np.ones(2)), [2.0, 2.0])
        assert np.array_equal(accelerate(f)(np.ones(2)), [3.0, 3.0])
