"""Errors as in NumPy: their type, and the place that they name; before the run and during it."""

from __future__ import annotations

import copy
import functools
import linecache
import math
import pickle
import sys
import traceback
from typing import Any

import numpy as np
import pytest
from carets import marked

import untraced.errors
from untraced import accelerate, custom_vjp, device_put, eval_shape, grad, vmap
from untraced.runtime.calls import entries
from untraced.translator.errors import (
    AxisError,
    CutError,
    Diagnostic,
    ShapeError,
    Span,
    SquareError,
    UntracedError,
    excerpt,
)

X = np.arange(6.0)
A = np.ones((4, 6))
I = np.arange(6)


def of_numpy(f: Any, args: tuple[Any, ...]) -> Exception:
    with pytest.raises(Exception) as caught, np.errstate(all="ignore"):
        f(*copy.deepcopy(args))
    return caught.value


def inner(x: Any, a: Any) -> Any:
    return x @ a


def calls(x: Any, a: Any) -> Any:
    return inner(x, a)


def many_lines(x: Any) -> Any:
    return np.sin(x) + (
        x[:2]
        + x
    )  # fmt: skip


def unpacks(x: Any) -> Any:
    a, b = x
    return a


def changes_type(i: Any) -> Any:
    i += 0.5
    return i


def writes_too_much(a: Any, x: Any) -> Any:
    a[:, 0] = x
    return a


def writes_a_number(x: Any) -> Any:
    x[0] = 1.0
    return x


def over(f: Any) -> Any:
    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return wrapper


CASES: list[tuple[Any, tuple[Any, ...], str]] = [
    # indices, known and not
    (lambda x: (x * 2)[10], (X,), "(x * 2)[10]"),
    (lambda a: a[0, 0, 0] + 1, (A,), "a[0, 0, 0]"),
    (lambda x: x["a"], (X,), 'x["a"]'),
    (lambda x, i: np.sin(x)[i] + x[0], (X, 7), "np.sin(x)[i]"),
    (lambda x, i: x[0] + x[i], (X, -7), "x[i]"),
    (lambda x, i: x[i].sum(), (X, np.array([1, 9])), "x[i]"),
    (lambda x, i: np.take(x, i), (X, np.array([1, 9])), "np.take(x, i)"),
    (lambda x: np.take(x, 7), (X,), "np.take(x, 7)"),
    (lambda x, m: x[m].sum(), (X, np.array([True, False])), "x[m]"),
    (lambda x: x[0], (3.0,), "x[0]"),
    (lambda items: items[5], ([1.0, 2.0],), "items[5]"),
    (lambda d: d["b"], ({"a": 1.0},), 'd["b"]'),
    # shapes and axes
    (calls, (X, A), "x @ a"),
    (many_lines, (X,), "x[:2] + x"),
    (lambda x: x.reshape(4, 2), (X,), "x.reshape(4, 2)"),
    (lambda a: np.sum(a, axis=2), (A,), "np.sum(a, axis=2)"),
    (lambda a: np.sort(a, axis=-3), (A,), "np.sort(a, axis=-3)"),
    (lambda a: np.concatenate([a, a.T]), (A,), "np.concatenate([a, a.T])"),
    (lambda a: 1 + np.linalg.inv(a), (A,), "np.linalg.inv(a)"),
    (lambda x: np.max(x[:0]), (X,), "np.max(x[:0])"),
    (lambda x: 1 if x else 2, (X,), "x"),
    (lambda x: max(x, 2 * x), (X,), "max(x, 2 * x)"),
    (unpacks, (X,), "a, b = x"),
    (writes_too_much, (A, X), "a[:, 0] = x"),
    # types
    (lambda x: ~x, (X,), "~x"),
    (lambda x: x + None, (X,), "x + None"),
    (lambda x: x + {"a": 1}, (X,), 'x + {"a": 1}'),
    (lambda x: float(x), (X,), "float(x)"),
    (lambda x: math.sin(x), (X,), "math.sin(x)"),
    (lambda x: x.astype("nonsense"), (X,), 'x.astype("nonsense")'),
    (lambda x: len(x), (3,), "len(x)"),
    (lambda x: x(3), (X,), "x(3)"),
    (changes_type, (I,), "i += 0.5"),
    (writes_a_number, (3.0,), "x[0] = 1.0"),
    # names and calls
    (lambda x: x + undefined, (X,), "undefined"),  # noqa: F821
    (lambda x: x.nonsense, (X,), "x.nonsense"),
    (lambda x: np.nonsense(x), (X,), "np.nonsense"),
    (lambda x: inner(x), (X,), "inner(x)"),
    (lambda x: inner(x, x, x), (X,), "inner(x, x, x)"),
    (lambda x: np.sum(x, nonsense=1), (X,), "np.sum(x, nonsense=1)"),
    (lambda x: np.sin(), (X,), "np.sin()"),
    (over(calls), (X, A), "x @ a"),
    # divisions and powers
    (lambda n: 1 / (n - 5), (5,), "1 / (n - 5)"),
    (lambda n: 7 // (n - 5), (5,), "7 // (n - 5)"),
    (lambda x, n: x * (7 % n), (X, 0), "7 % n"),
    (lambda i: i ** (i - 3), (I,), "i ** (i - 3)"),
    (lambda a: np.linalg.cholesky(a - 2 * np.eye(3)), (np.eye(3),), "np.linalg.cholesky(a - 2 * np.eye(3))"),
]


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize(("f", "args", "text"), CASES, ids=[c[2] for c in CASES])
def test_type_and_place(f: Any, args: tuple[Any, ...], text: str, target: str) -> None:
    expected = of_numpy(f, args)
    with pytest.raises(Exception) as caught:
        accelerate(f, target=target)(*copy.deepcopy(args))
    wanted = TypeError if "UFunc" in type(expected).__name__ else type(expected)  # NumPy's private subclasses
    assert isinstance(caught.value, wanted), caught.value
    assert marked(caught.value) == text


def test_zero_divisors_where_nothing_is_wrong() -> None:
    def none(n: Any, count: Any) -> Any:
        total = 0
        for _ in range(count):
            total += 10 // n
        return total + (3 // n if n != 0 else 1)

    for target in ("cpu", "numpy"):
        assert accelerate(none, target=target)(0, 0) == 1
        np.testing.assert_array_equal(accelerate(lambda i: i // 0, target=target)(I), np.zeros(6))


def test_without_checks() -> None:
    f = accelerate(lambda x, i: x[i], target="cpu", checks=False)
    assert f(X, 2) == 2.0
    f(X, 9)


def test_a_chain_of_calls() -> None:
    def middle(x: Any, a: Any) -> Any:
        return [calls(x, v) for v in (a,)]

    with pytest.raises(ShapeError) as caught:
        accelerate(lambda x, a: middle(x, a))(X, A)
    chain = [line.split(": ", 1)[1] for line in str(caught.value).split("\n") if "called from" in line]
    assert chain == ["inner(x, a)", "calls(x, v)", "middle(x, a)"]

    def down(x: Any, n: Any) -> Any:
        return x[n] if n > 30 else down(x, n + 1)

    with pytest.raises(IndexError) as deep:
        accelerate(lambda x: down(x, 0))(X)
    assert str(deep.value).count("called from") == 4 and "28 more calls" in str(deep.value)


def test_python_errors_name_the_calls_too() -> None:
    def get(d: Any) -> Any:
        return d["k"]

    with pytest.raises(KeyError) as caught:
        accelerate(lambda d: get(d))({"a": X})
    assert str(caught.value) == "'k'"
    assert any("called from" in note and "get(d)" in note for note in caught.value.__notes__)


def test_the_users_own_words_are_kept() -> None:
    def raises(x: Any) -> Any:
        if x.ndim == 1:
            raise LookupError(f"{x.ndim} axis")
        return x

    for fun in (accelerate(raises), grad(raises)):
        with pytest.raises(LookupError) as caught:
            fun(X)
        assert str(caught.value) == "1 axis"


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_derivatives_and_batches_name_the_users_line(target: str) -> None:
    def loss(x: Any, i: Any) -> Any:
        return np.sum(x[i] * x)

    with pytest.raises(IndexError) as caught:
        accelerate(grad(loss), target=target)(X, 9)
    assert marked(caught.value) == "x[i]"
    with pytest.raises(IndexError) as caught:
        accelerate(vmap(lambda x, i: x[i]), target=target)(A, np.array([0, 1, 2, 9]))
    assert marked(caught.value) == "x[i]"
    with pytest.raises(ShapeError) as shapes:
        grad(lambda x: np.sum(x[:2] + x))(X)
    assert marked(shapes.value) == "x[:2] + x"


def test_on_a_device() -> None:
    with pytest.raises(IndexError) as caught:
        accelerate(lambda x, i: x[i], target="cpu")(device_put(X, "cpu"), 9)
    assert marked(caught.value) == "x[i]"


def test_in_a_notebook_with_odd_text() -> None:
    text = "def f(x):\r\n\té = 'ü'; 变量 = x[:2] + x\r\n\treturn 变量\r\n"
    linecache.cache["<cell 7>"] = (len(text), None, text.splitlines(keepends=True), "<cell 7>")
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "<cell 7>", "exec"), space)
    with pytest.raises(ShapeError, match="<cell 7>:2:") as caught:
        accelerate(space["f"])(X)
    assert marked(caught.value) == "x[:2] + x"
    assert "|\t^" in str(caught.value).replace("| \t", "|\t").replace(" ", "").replace("\t^", "\t^")


def test_what_is_wrong_in_a_library_is_told_at_the_call() -> None:
    import json

    with pytest.raises(UntracedError) as caught:
        grad(lambda x: np.sum(x) + len(json.dumps({"a": object()})))(X)
    assert caught.value.diagnostic.span.file == __file__


def test_long_lines_and_many_lines() -> None:
    row = "y = " + " + ".join(["x"] * 200)
    lines = excerpt(Span("f.py", 3, 404, 3, 405), row)
    assert len(lines[1]) < 130 and lines[2].index("^") == lines[1].index("x", lines[2].index("^"))
    rows = "a(\n    b,\n    c)\n"
    assert excerpt(Span("f.py", 9, 0, 11, 6), rows)[1:] == [
        " 9 | a(", "   | ^^", "10 |     b,", "   |     ^^", "11 |     c)", "   |     ^^",
    ]  # fmt: skip


def test_errors_travel_between_processes() -> None:
    found = AxisError(3, 2), SquareError("not square"), ShapeError(Diagnostic("what", why="because")), CutError("no")
    for error in found:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
    assert (AxisError(3, 2).axis, pickle.loads(pickle.dumps(AxisError(3, 2))).ndim) == (3, 2)


def test_sizes_below_zero() -> None:
    for make in (accelerate, grad):
        with pytest.raises(ValueError, match="must be non-negative"):
            make(lambda x: np.sum(np.resize(x, -3)))(X)


# ---- tracebacks ----------------------------------------------------------------------------------


def prints_and_fails(d: Any) -> Any:
    print(end="")
    return d["missing"] + 1


def raises_of_data(x: Any) -> Any:
    if np.sum(x) > 3:
        raise ValueError(f"too large: {np.sum(x)}")
    return x


def catches(x: Any) -> Any:
    try:
        return x[{}]
    except IndexError as error:
        raise RuntimeError("no such element") from error


def steps(error: BaseException) -> list[str]:
    return [f.f_code.co_filename for f, _ in traceback.walk_tb(error.__traceback__)][1:]  # behind `raised`


def raised(call: Any) -> BaseException:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


FAILING: list[Any] = [
    lambda: accelerate(calls)(X, A),
    lambda: accelerate(lambda x: x + undefined)(X),  # noqa: F821
    lambda: accelerate(lambda n: 1 / n)(0),
    lambda: accelerate(lambda x: np.sum(x, nonsense=1))(X),
    lambda: accelerate(prints_and_fails)({}),
    lambda: accelerate(raises_of_data)(X),
    lambda: accelerate(lambda x: over(raises_of_data)(x))(X),
    lambda: accelerate(lambda x: x).inspect(),
    lambda: grad(calls)(X, A),
    lambda: grad(lambda x: x["a"])(X),
    lambda: grad(custom_vjp(lambda x: x))(3.0),
    lambda: vmap(lambda x: x)(3.0),
    lambda: eval_shape(calls, X, A),
]


@pytest.mark.parametrize("call", FAILING)
def test_nothing_of_the_package_is_in_tracebacks(call: Any) -> None:
    error = raised(call)
    assert set(steps(error)) == {__file__}
    assert error.__context__ is None and error.__cause__ is None


def test_only_what_a_compiled_function_calls_is_in_tracebacks() -> None:
    assert set(steps(raised(lambda: accelerate(max)(np.ones(0))))) == {__file__}
    found = steps(raised(lambda: accelerate(np.linalg.inv)(np.zeros((2, 2)))))
    assert found[0] == __file__ and all("numpy" in file for file in found[1:])


def test_shortened_calls_are_out_of_tracebacks_too() -> None:
    f = accelerate(lambda x, i: x[i] * 2)
    f(X, 3)
    assert type(f).shortened and steps(raised(lambda: f(X, 9))) == [__file__]


def test_what_users_handle_stays_in_tracebacks() -> None:
    error = raised(lambda: accelerate(catches)(X))
    assert isinstance(error, RuntimeError) and isinstance(error.__cause__, IndexError)

    def within() -> None:
        try:
            raise KeyError("handled")
        except KeyError:
            accelerate(raises_of_data)(X)

    assert isinstance(raised(within).__context__, KeyError)


def test_generated_source_is_in_tracebacks() -> None:
    files = steps(raised(lambda: grad(lambda a: np.sum(np.linalg.cholesky(a)))(-np.eye(3))))
    assert files[0] == __file__ and files[1].startswith("<untraced ") and "numpy" in files[2]


def test_errors_of_the_package_keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any("runtime" in f for f in steps(raised(lambda: accelerate(calls)(X, A))))
    with monkeypatch.context() as m:
        m.setenv("UNTRACED_TRACEBACK", "full")
        assert any("runtime" in f for f in steps(raised(lambda: accelerate(calls)(X, A))))
    monkeypatch.delattr(entries, "translate")
    assert any("entries" in f for f in steps(raised(lambda: grad(lambda x: x)(3.0))))


def test_users_find_the_classes_where_tracebacks_say() -> None:
    for cls in vars(untraced.errors).values():
        if isinstance(cls, type) and issubclass(cls, UntracedError):
            assert getattr(sys.modules[cls.__module__], cls.__name__) is cls
            assert cls.__module__ in ("untraced", "untraced.errors") and cls.__doc__


def test_things_that_cannot_be_called() -> None:
    for thing, name in ((3, "int"), (2.5, "float"), (X, "numpy.ndarray"), ("a", "str"), ([], "list")):
        with pytest.raises(TypeError, match=f"^'{name}' object is not callable"):
            grad(lambda x: thing(x))(X)
    with pytest.raises(TypeError, match=r"options go by name: accelerate\(target='cpu'\)"):
        accelerate("cpu")  # type: ignore[call-overload]


# ---- NumPy has the last word ---------------------------------------------------------------------


def adds_then_fails(x: Any, n: Any) -> Any:
    x += 1
    return x[n]


def writes_sometimes(x: Any, n: Any) -> Any:
    if n > 3:
        x[0] = 1.0
    return x * 2


def of_too_few_axes(x: Any) -> Any:
    return np.correlate(x, [1.0, 2.0], mode="same")


@pytest.mark.parametrize("target", ["cpu", "numpy"])
class TestLastWord:
    def test_type(self, target: str) -> None:
        for f, x in ((lambda x: np.gcd(x, 2), X), (of_too_few_axes, np.float64(1.0)), (lambda x: x @ x, np.int64(3))):
            with pytest.raises(Exception) as theirs:
                f(x)
            with pytest.raises(type(theirs.value)):
                accelerate(f, target=target)(x)

    def test_place_that_only_it_knows(self, target: str) -> None:
        x = X.copy()
        x.setflags(write=False)
        error = raised(lambda: accelerate(writes_a_number, target=target)(x))
        assert isinstance(error, ValueError) and "read-only" in str(error)
        assert traceback.extract_tb(error.__traceback__)[-1].line == "x[0] = 1.0"

    @pytest.mark.parametrize(
        ("f", "args", "ours"),
        [
            (lambda x, y: x + y, (np.ones(3), np.ones(4)), "operands of np.add"),
            (lambda x: x.reshape(7, -1), (np.ones(10),), "cannot reshape an array of shape"),
            (lambda x, y: x + y, (1.0, None), "None cannot stand in arithmetic"),
            (lambda x: x if x > 0 else -x, (np.ones(3),), "its shape is"),
            (lambda a, b: (a / b, a // b), (1.0, 0.0), "lambda"),
            (lambda x: x & 300, (np.uint8(3),), "out of bounds"),
        ],
    )
    def test_words(self, f: Any, args: Any, ours: str, target: str) -> None:
        with pytest.raises(Exception) as theirs:
            f(*args)
        with pytest.raises(type(theirs.value)) as error:
            accelerate(f, target=target)(*args)
        assert str(theirs.value) in str(error.value) and ours in str(error.value)

    def test_an_error_of_another_line_is_not_told_at_the_one_that_was_found(self, target: str) -> None:
        def twice_wrong(x: Any) -> Any:
            y = np.linalg.cholesky(x)[:, 7:9]
            return y + x

        with pytest.raises(np.linalg.LinAlgError) as error:
            accelerate(twice_wrong, target=target)(-np.eye(3))
        assert "y + x" not in str(error.value)

    def test_what_was_written_before(self, target: str) -> None:
        x = X.copy()
        with pytest.raises(IndexError):
            accelerate(adds_then_fails, target=target)(x, 100)
        np.testing.assert_array_equal(x, X + 1)  # once, also where the program had written it already

    def test_nothing_is_wrong_after_all(self, target: str) -> None:
        x = X.copy()
        x.setflags(write=False)
        f = accelerate(writes_sometimes, target=target)
        with pytest.warns(UserWarning, match="runs as it is"):
            np.testing.assert_array_equal(f(x, 1), X * 2)
        with pytest.raises(ValueError, match="read-only"):
            f(x, 4)
