"""Lists that loops append to: rows of arrays while the loop runs, lists again behind it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

from untraced import Array, accelerate, device_put, eval_shape, grad, value_and_grad, vmap

X = np.random.default_rng(0).normal(size=40)
CASES: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    CASES.append(f)
    return f


@case
def scores(x):
    out = []
    for i in range(len(x) - 4):
        part = x[i : i + 5]
        out.append((part[-1] - part.mean()) / part.std())
    return np.array(out), len(out), out[3]


@case
def recurrence(x):
    out = [0.5]
    for i in range(1, len(x)):
        out.append(0.9 * out[-1] + x[i])
    return np.array(out), out[0], out[1]


@case
def history(x):
    w, states = np.zeros(3), []
    for v in x:
        w = 0.9 * w + v
        states.append(w)
    states[2] = states[2] + 1
    return np.stack(states), np.stack(states, axis=1), np.vstack(states[3:6]), states[-1]


@case
def counted(x):
    places, values = [], []
    for i in range(2, 40, 2):
        places.append(i)
        values.append(float(x[i]))
    for _ in reversed(range(20)):
        places.append(len(x))
    return np.array(places), np.array(values), type(places[0]).__name__, type(values[1]).__name__


@case
def written_afterwards(x):
    w, states = np.zeros(3), []
    for v in x:
        w = w + v
        states.append(w)
    w *= 2
    return np.array(states), w


@case
def written_in_the_loop(x):
    w, states = np.zeros(3), []
    for v in x:
        states.append(w)
        w += v
    return np.array(states), w


@case
def views(x):
    a, states = np.outer(x[:20], x[:3]), []
    for i in range(20):
        states.append(a[i])
        a[i] *= 2
    return np.array(states)


@case
def kinds(x):
    out, chosen = [], 0
    for i in range(20):
        out.append(x[i] if chosen else 1.5)
        chosen = chosen + int(x[i] > 0)
    return tuple(out)


@case
def two_names(x):
    out = other = []
    for v in x:
        out.append(v)
        if len(other) > 39:
            other[0] = 7.0
    return np.array(out), len(other)


def losses(x):
    w, history = np.zeros(3), []
    for row in x.reshape(-1, 3):
        e = row @ w - 1.0
        w = w - 0.1 * e * row
        history.append(e * e)
    return w, history


@case
def returned(x):
    """Lists that leave the function are in one piece; what was changed of them is not."""
    rows, numbers, changed, s = [], [0.5], [], 1.0
    for _ in range(80):
        s = 0.5 * s + 1.0
        y = x[:3] * s
        rows.append(y)
        numbers.append(s)
        changed.append(y + 1.0)
    changed[3] = changed[4]
    changed.pop()
    return {"rows": rows, "numbers": numbers}, changed, np.array(rows), rows[2], len(numbers)


@case
def copied(x):
    """As printed sources say it: list(x), x.tolist()."""
    y = np.cumsum(np.outer(x, x), axis=0)
    return list(y), y[:, 0].tolist(), [list(y)]


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function", CASES, ids=[f.__name__ for f in CASES])
def test_equals_numpy(function: Any, target: str) -> None:
    plain, ours = copy.deepcopy(X), copy.deepcopy(X)
    expected = function(plain)
    assert_same(accelerate(function, target=target)(ours), expected, "result")
    assert_same(ours, plain, "arguments")


@pytest.mark.parametrize("function", [scores, recurrence, history], ids=lambda f: f.__name__)
def test_no_turn_is_written_out(function: Any) -> None:
    source = accelerate(function, target="numpy").inspect(X).source
    assert len(source.splitlines()) < 20, source
    assert "CPython" not in accelerate(function, target="cpu").inspect(np.resize(X, 3000)).source


def test_a_list_that_is_returned_is_a_list() -> None:
    x = np.linspace(1.0, 2.0, 600).reshape(200, 3)
    made = accelerate(losses)(x)
    for target in ("cpu", "numpy"):
        _, history = accelerate(losses, target=target)(x)
        assert type(history) is list and [type(v) for v in history] == [np.float64] * 200
        assert np.allclose(history, losses(x)[1])
    assert "list(" in accelerate(losses).inspect(x).source and "CPython" not in accelerate(losses).inspect(x).source
    history = made[1]
    history.append(0.0)
    assert accelerate(losses)(x)[1] == history[:-1]
    assert [v.shape for v in eval_shape(losses, x)[1]] == [()] * 200
    on_device = accelerate(losses)(device_put(x))[1]
    assert [type(v) for v in on_device] == [Array] * 200 and np.allclose([float(v) for v in on_device], history[:-1])
    batched = vmap(losses)(np.stack([x, x + 1.0]))[1]
    assert len(batched) == 200 and np.allclose(batched[7], [losses(x)[1][7], losses(x + 1.0)[1][7]])
    (_, aux), g = value_and_grad(lambda x: (np.sum(losses(x)[0]), losses(x)[1]), has_aux=True)(x)
    assert np.allclose(aux, losses(x)[1]) and g.shape == x.shape


def test_derivatives() -> None:
    def f(x: Any) -> Any:
        states, w = [], np.zeros(2)
        for i in range(len(x)):
            w = np.tanh(0.5 * w + x[i])
            states.append(w)
        return np.sum(np.array(states) ** 2)

    direction, h = np.cos(np.arange(40.0)), 1e-6
    expected = (f(X + h * direction) - f(X - h * direction)) / (2 * h)
    assert np.dot(accelerate(grad(f), target="cpu")(X), direction) == pytest.approx(expected, rel=1e-7)
    assert len(grad(f).source(X).splitlines()) < 40


STORES = {
    "beside a product": "w[{j}] = x[{i}]; w = 0.9 * w + x[0]",
    "added": "w[{j}] += 0.1",
    "of the one before": "w[{j}] = w[{p}] * 0.5 + x[{i}]",
    "by way of a number": "s = s * 0.5 + w[{p}]; w[{j}] = s",
}


@pytest.mark.parametrize("lines", STORES.values(), ids=STORES)
def test_few_elements_stored_by_turns_compile_at_once(lines: str) -> None:
    """XLA writes what is behind an update once for each use of it: of 18 such lines it made a program in 130 s."""
    source = ["def f(x):", "    w, s = np.zeros(3), x[0]"]
    source += ["    " + lines.format(i=k, j=k % 3, p=(k + 1) % 3) for k in range(40)]
    scope: dict[str, Any] = {"np": np}
    compiled = _from_source(scope, source)
    np.testing.assert_allclose(compiled(X), scope["f"](X))


def _from_source(scope: dict[str, Any], source: list[str]) -> Any:
    import linecache

    text = "\n".join([*source, "    return w"]) + "\n"
    linecache.cache["<stores>"] = (len(text), None, text.splitlines(True), "<stores>")
    exec(compile(text, "<stores>", "exec"), scope)
    return accelerate(scope["f"], target="cpu")


def peak(row, k):
    best = row[0]
    for j in range(1, len(row) - k):
        if row[j] > best:
            best = row[j] * 0.5 + row[j + k]
    return best


def swept(row, k):
    out = np.zeros_like(row)
    for j in range(k, len(row)):
        out[j] = max(row[j], row[j - k])
    return out


def rows_swept(x, k):
    return np.array([swept(np.array([swept(r, k) for r in x])[:, i], k) for i in range(x.shape[1])]).T


def peaks(x, k):
    found = [peak(r, k) for r in x]
    return found, sum(found[:3]), [peak(x[:, i], k) * k for i in range(x.shape[1])]


def numbered(x, k):
    return [(i, peak(r, k)) for i, r in enumerate(x)]


def shorter(x, k):
    return [swept(x[i, i:], k) for i in range(x.shape[1] - k)]


def counted_peaks(x, k):
    count = 0
    found = [(count := count + 1) * peak(r, k) for r in x]
    return found, count


def chosen_views(x, k):
    found = [x[i] if swept(x[i], k).sum() > 0 else x[i - 1] for i in range(len(x))]
    found[2][1] = -1.0
    return found, x


def appended_views(x, k):
    found = []
    for i in range(len(x)):
        found.append(x[i] if x[i].sum() > 0 else x[i - 1])
    found[2][1] = -k
    return found, x


def written(x, k):
    seen = np.zeros(len(x))

    def note(i):
        seen[i] = seen[i - 1] + peak(x[i], k)
        return seen[i] * 2

    return [note(i) for i in range(len(x))], seen


def out_of_range(x, k):
    return [peak(x[i], k) + x[i + 1, 0] for i in range(len(x))]


COMPREHENSIONS = [rows_swept, peaks, numbered, shorter, counted_peaks, chosen_views, appended_views, written]


@pytest.mark.parametrize("f", COMPREHENSIONS, ids=lambda f: f.__name__)
def test_comprehensions_of_much_code(f: Callable[..., Any]) -> None:
    """Read as loops where their lists can be rows of an array, written out else: always what CPython makes."""
    x = np.random.default_rng(3).normal(size=(22, 24))
    mine, theirs = x.copy(), x.copy()
    g = accelerate(f)
    for _ in range(2):
        assert_same(g(mine, 2), f(theirs, 2), f.__name__)
        np.testing.assert_array_equal(mine, theirs)


def test_comprehensions_of_much_code_are_loops() -> None:
    """Written out, twenty filters of thirty numbers each took seven seconds to compile."""
    x = np.random.default_rng(3).normal(size=(22, 24))
    for f, inner in ((rows_swept, 2), (peaks, 2), (written, 1)):
        source = accelerate(f).inspect(x, 2).source
        assert source.count("for ") == 2 * inner, source
    with pytest.raises(IndexError):
        accelerate(out_of_range)(x, 2)


def factors(a):
    """Cholesky's, with sums over as many products as there are columns before."""
    n, low = len(a), np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = sum(low[i, k] * low[j, k] for k in range(j))
            low[i, j] = np.sqrt(a[i, i] - s) if i == j else (a[i, j] - s) / low[j, j]
    return low


def asked(a):
    return (
        all(abs(a[i, j] - a[j, i]) < 1e-9 for i in range(len(a)) for j in range(len(a))),
        any(v > 1e9 for v in a[0]),
        sum(1 for v in a[0] if v > 0.5),
        sum(v > 0.5 for v in a[1]),
        sum(row for row in a),
        sum([x * y for x, y in zip(a[0], a[1])]),
        sum(k * v for k, v in enumerate(a[2].astype(np.int8))),
        np.zeros(sum(1 for _ in range(40))),
    )


def passed_the_end(a):
    return sum(a[0, k + 1] for k in range(a.shape[1]))


@pytest.mark.parametrize("f", [factors, asked])
def test_sums_and_questions_of_comprehensions_are_loops(f: Callable[..., Any]) -> None:
    x = np.random.default_rng(4).normal(size=(24, 24))
    a = x @ x.T
    g = accelerate(f)
    for _ in range(2):
        assert_same(g(a), f(a), f.__name__)
    assert not g._cut and g.inspect(a).source.count("sum(") == 0
    with pytest.raises(IndexError):
        accelerate(passed_the_end)(a)


def gamma_table(image, gamma):
    table = [np.uint8(0)] * 256
    for k in range(256):
        table[k] = np.uint8(pow(k / 255.0, gamma) * 255)
    return np.array([table[v] for v in image])


def test_tables_of_checked_numbers_are_left_to_cpython() -> None:
    """Each power of Python's numbers is checked: 256 written out took three seconds to compile."""
    image = np.arange(0, 250, 50, dtype=np.uint8)
    g = accelerate(gamma_table, target="cpu")
    np.testing.assert_array_equal(g(image, 2.2), gamma_table(image, 2.2))
    assert g._cut
