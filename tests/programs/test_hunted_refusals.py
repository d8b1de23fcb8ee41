"""What was refused, wrong or endless once, though NumPy runs it: compiled now, or left to CPython where it must be."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate
from untraced.translator.reading.functions import inlining
from untraced.translator.reading.paths import written

CASES = Cases()
X, WIDE = np.linspace(-1.0, 2.0, 12, dtype=np.float32), np.linspace(0.0, 1.0, 12)


@CASES((X, WIDE), (WIDE, X), (X, X))
def number_of_either_dtype_is_stored(gaps, service):
    finish = np.zeros(len(gaps))
    for i in range(len(gaps)):
        start = gaps[i] if i % 3 == 0 else finish[i - 1]
        finish[i] = start
        finish[i] += (gaps[i] if service[i] > 0.5 else finish[0]) * WIDE[1] + service[i]
    return finish


@CASES((X,), (-X,))
def error_where_nobody_goes(x):
    if x[0] > 0:
        y = x.reshape(5, 5)
    elif x[1] > 100:
        y = np.zeros(3) @ np.zeros(4) + x[100]
    else:
        y = x * 2
    return y


@CASES(([1.0, 2.0, 3.0], 3), ([1.0, 2.0, 3.0], 5), ([1.0, 2.0, 3.0], 90))
def place_in_a_list_by_a_break(items, least):
    place = -1
    for i in range(40):
        if i * i >= least:
            place = i
            break
    return items[place]


@CASES((X,), (-X,))
def key_where_nobody_goes(x):
    names, total = {"up": 1.0, 3: 2.0}, 0.0
    for i in range(4):
        total += names["up" if x[i] > 0 else i]
    return total


@CASES((WIDE,), (-WIDE,))
def error_behind_an_early_return(x):
    if x.sum() >= 0:
        return x + 1
    return np.concatenate([x, x.reshape(3, 4)])


@CASES((X, WIDE))
def options_without_a_rule(x, w):
    return np.quantile(x, [0.25, 0.5], weights=w, method="inverted_cdf") + 1, np.ravel(x.reshape(3, 4), "K")


@CASES(([1.0, 2.5],), (["a"],))
def iterators_asked_for_their_methods(items):
    return enumerate(items).__next__(), zip(items, items).__next__(), items.__iter__().__next__()


@CASES((X,), (WIDE,), (np.arange(12),))
def dtypes_are_results(x):
    return x.dtype, {"of": (x + 1.5).dtype, "as": np.dtype(np.int8)}, type(x[0])


@CASES((X,), (WIDE,))
def texts_of_numbers(x):
    return "%.2f %s" % (x[0], x.shape), "%d" % x[1], "%s of %d" % ("one", len(x))


@CASES((np.arange(9.0).reshape(3, 3),))
def elements_in_line_are_changed(x):
    x.flat[::4] += 1
    x.flat[3] *= 2
    x.flat[[1, 2]] -= 5
    x.flat[x.ravel() > 6] /= 2


@CASES((X.astype(np.complex64),))
def parts_of_complex_numbers_are_written(z):
    z.real[:2] = 0
    z.imag = z.real + 1
    return z * 1j


@CASES((X,), (WIDE,))
def iterator_made_by_an_expression(x):
    return (v * 2 for v in x).__next__() + x


@CASES((X,))
def classes_of_libraries(x):
    return np.ma.array(x, mask=x > 0).mean() + x


@CASES((np.arange(12.0).reshape(3, 4) ** 2,), (np.ones((3, 4)),), (np.zeros((2, 3)),))
def row_echelon(m):
    lead = 0
    for row in range(m.shape[0]):
        if lead >= m.shape[1]:
            return m
        i = row
        while m[i, lead] == 0:
            i += 1
            if i == m.shape[0]:
                i = row
                lead += 1
                if lead == m.shape[1]:
                    return m
        m[[i, row]] = m[[row, i]]
        m[row] /= m[row, lead]
        for i in range(m.shape[0]):
            if i != row:
                m[i] -= m[row] * m[i, lead]
        lead += 1
    return m


@CASES((WIDE.copy(), 3.0), (WIDE.copy(), 0.4), (-WIDE, 3.0))
def arrays_returned_from_a_loop(x, limit):
    y, k = x * 2, 0
    while True:
        x[k] += 1
        if x[k] > limit:
            return x, y, k
        k += 1
        if k == 6:
            return x, y, -k
        y += x[k]


@CASES((WIDE.astype(np.float16),))
def polynomial_of_halves(x):
    return np.poly(x[:3])


class Doubling(np.ndarray):
    def __add__(self, other):
        return np.asarray(self) + np.asarray(other) * 2


@CASES((WIDE[:4].reshape(2, 2),), (X[:4].reshape(2, 2),))
def arrays_of_derived_classes(x):
    m = np.matrix("1 2; 3 4")
    return np.asarray(m * x), x.view(Doubling) + x, x.view(type=np.ndarray) + 1, np.ma.arange(3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function, arguments", CASES.found)
def test_functions(function: Any, arguments: tuple[Any, ...], target: str) -> None:
    check(function, arguments, target)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
def test_zero_is_added_to_negative_zero(dtype: Any) -> None:
    x = np.array([-0.0, 0.0, 1.0, np.nan], dtype)
    for f in (lambda x: x + 0.0, lambda x: 0 + x, lambda x: x + -0.0, lambda x: np.where(x == 1, 0, x) + 0):
        found, expected = accelerate(f, target="cpu")(x), f(x)
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(np.signbit(part(found))[:3], np.signbit(part(expected))[:3])
            np.testing.assert_array_equal(part(found), part(expected))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128])
def test_sums_begin_at_zero_and_running_sums_with_their_first(dtype: Any) -> None:
    x = np.full((1, 40), -0.0, dtype)
    for f in (lambda x: np.sum(x, axis=0), lambda x: x[:, :1].sum(axis=1), lambda x: np.cumsum(x[:, ::3], axis=1)):
        found, expected = accelerate(f, target="cpu")(x), f(x)
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(np.signbit(part(found)), np.signbit(part(expected)))


def grows(x, n):
    y = x[:1]
    for k in range(n):
        y = np.append(y, y[-1] * 0.5 + x[k])
    return y


def halves(x, n):
    return x if n == 0 else np.concatenate([halves(x[::2] + 1, n - 1), halves(x[1::2], n - 1)])


@pytest.mark.parametrize(
    "function, n, module, limit, size",
    [(grows, 40, written, "WRITTEN_LIMIT", 100), (halves, 4, inlining, "MAX_REPEATS", 20)],
)
def test_long_programs_are_left_to_cpython(
    function: Any, n: int, module: Any, limit: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that must be written out, a recursion: compiled while it is short, region by region when it is long."""
    x = np.linspace(0, 1, 64)
    whole = accelerate(function, target="cpu")
    np.testing.assert_allclose(whole(x, n), function(x, n), rtol=1e-14)
    assert not whole._cut
    monkeypatch.setattr(module, limit, size)
    parts = accelerate(function, target="cpu")
    np.testing.assert_allclose(parts(x, n), function(x, n), rtol=1e-14)
    assert parts._cut


def greatest_product(x, n, least):
    """Reads no choice: 20 of 40 are 10**11."""
    best = x[0]
    chosen = itertools.combinations(range(len(x)), n) if n < least else [range(n)]
    for places in chosen:
        best = max(best, x[places[0]] * x[places[-1]])
    return best


def test_choices_without_number_are_left_to_cpython() -> None:
    """A branch that is not taken is read all the same."""
    x = np.linspace(0, 1, 40)
    fast = accelerate(greatest_product, target="cpu")
    for n in (20, 2):
        assert fast(x, n, 3) == greatest_product(x, n, 3)


def fills(board, row, count):
    """Places `count` marks, one in each row, no two in a column: the data say where the search goes on."""
    if row == count:
        return True
    for column in range(board.shape[1]):
        free = True
        for k in range(row):
            if board[k, column] != 0:
                free = False
        if free and board[row, column] == 0:
            board[row, column] = 1
            if fills(board, board[:, 0].size * 0 + int(np.sum(board == 1)), count):
                return True
            board[row, column] = 0
    return False


def merged(x):
    if len(x) < 2:
        return x
    a, b = merged(x[: len(x) // 2]), merged(x[len(x) // 2 :])
    out = np.empty_like(x)
    i = j = 0
    for k in range(len(x)):
        if j >= len(b) or (i < len(a) and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def counted_down(x):
    left = len(x)

    def go(v):
        nonlocal left
        left -= 1
        return v if left < 0 else go(np.sin(v) + x)

    return go(x)


def test_recursions_that_the_data_end_are_cut_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read to the end they were inlined hundreds of times, each in the loops of all those around it."""
    inlined = 0
    run = inlining._run

    def counted(*args: Any) -> Any:
        nonlocal inlined
        inlined += 1
        return run(*args)

    monkeypatch.setattr(inlining, "_run", counted)
    board = np.zeros((5, 5), int)
    board[0, 0] = board[1, 2] = 2
    mine, others = board.copy(), board.copy()
    assert accelerate(fills, target="cpu")(others, 0, 5) == fills(mine, 0, 5)
    np.testing.assert_array_equal(others, mine)
    assert inlined < 30


def test_recursions_that_end_by_known_values_are_read_to_the_end() -> None:
    for n in (2, 12, 90):
        assert accelerate(factorial, target="cpu")(n) == factorial(n)
    whole = accelerate(counted_down, target="cpu")
    x = np.linspace(0, 1, 40)
    np.testing.assert_allclose(whole(x[:5]), counted_down(x[:5]), rtol=1e-14)
    assert not whole._cut
    np.testing.assert_allclose(whole(x), counted_down(x), rtol=1e-12)


def deep(n, x):
    return x if n == 0 or x < -1 else deep(n - 1, x) + 1


def endless(x):
    return endless(x + 1)


def test_decorated_recursions_go_as_deep_as_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two of its calls lie frames of this package: at a depth of 150 Python's limit was reached."""
    limit = sys.getrecursionlimit()
    for f in (deep, endless):
        monkeypatch.setitem(globals(), f.__name__, accelerate(f, target="cpu"))
    assert deep(700, 0.5) == 700.5
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        endless(np.ones(2))
    assert sys.getrecursionlimit() == limit


def test_loops_in_recursions_count_as_many_calls() -> None:
    """XLA compiled 63 loops for half a minute to merge 64 numbers."""
    x = np.random.default_rng(0).random(64)
    for n, cut in ((4, False), (64, True)):
        f = accelerate(merged, target="cpu")
        np.testing.assert_array_equal(f(x[:n]), merged(x[:n]))
        assert bool(f._cut) == cut


def arnoldi(A, b, tol):
    """The number of columns that is reached decides a size behind the loop: what follows is read for each way out."""
    m = 30
    Q = np.zeros((b.size, m + 1))
    H = np.zeros((m + 1, m))
    Q[:, 0] = b / np.linalg.norm(b)
    for k in range(m):
        y = A @ Q[:, k]
        for j in range(k + 1):
            H[j, k] = Q[:, j] @ y
            y -= H[j, k] * Q[:, j]
        H[k + 1, k] = np.linalg.norm(y)
        if H[k + 1, k] < tol:
            m = k + 1
            break
        Q[:, k + 1] = y / H[k + 1, k]
    return np.linalg.eigvals(H[:m, :m] + np.eye(m)).sum().real, Q[:, :m].sum()


def escapes(n, turns):
    def escape(c):
        z = c
        for k in range(turns):
            if abs(z) > 2.0:
                return k
            z = z * z + c
        return turns

    axis = [-2.0 + 3.0 * i / n for i in range(n)]
    return [escape(complex(x, y)) for x in axis for y in axis]


def test_loops_with_many_ways_out_are_left_to_cpython() -> None:
    """They would be as many copies of what follows; a comprehension over numbers, as many loops as it has elements."""
    matrix = np.random.default_rng(0).random((40, 40)) + np.eye(40)
    solve = accelerate(arnoldi, target="cpu")
    np.testing.assert_allclose(solve(matrix, np.ones(40), 1e-6), arnoldi(matrix, np.ones(40), 1e-6), rtol=1e-9)
    picture = accelerate(escapes, target="cpu")
    assert picture(12, 20) == escapes(12, 20)
    assert solve._cut and picture._cut


def fits(x, y, chosen):
    return np.array([np.polyfit(x[i], y[i], 2) for i in chosen])


def fits_with_sizes(x, y, chosen):
    return [(np.polyfit(x[i], y[i], 2), i.size) for i in chosen]


def norms(layers):
    return [np.sqrt(np.sum(w * w)) for w in layers]


def test_comprehensions_over_rows_are_left_to_cpython_where_they_are_long() -> None:
    """Written out, fifty fits were seventeen seconds of compilation: a loop makes them where they are rows of an array.
    A list of arrays is no longer than its program.
    """
    rng = np.random.default_rng(0)
    x, y, chosen = rng.random(40), rng.random(40), rng.integers(0, 40, (50, 40))
    rows = accelerate(fits, target="cpu")
    np.testing.assert_allclose(rows(x, y, chosen), fits(x, y, chosen), rtol=1e-7)
    fit = accelerate(fits_with_sizes, target="cpu")
    for (found, n), (expected, size) in zip(fit(x, y, chosen), fits_with_sizes(x, y, chosen), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7)
        assert type(n) is type(size) and n == size
    layers = [rng.random((2, n)) for n in range(1, 41)]
    norm = accelerate(norms, target="cpu")
    np.testing.assert_allclose(norm(layers), norms(layers))
    assert fit._cut and not rows._cut and not norm._cut


def pooled(image, k):
    rows, columns = image.shape
    return np.array([[image[i : i + k, j : j + k].max() for j in range(0, columns, k)] for i in range(0, rows, k)])


def test_comprehensions_in_comprehensions_count_together() -> None:
    """A hundred maxima of ten by ten elements are as many kernels, though each row is short."""
    image = np.random.default_rng(0).random((30, 20))
    pool = accelerate(pooled, target="cpu")
    for k, cut in ((10, False), (2, True)):
        np.testing.assert_array_equal(pool(image, k), pooled(image, k))
        assert bool(pool._cut) is cut


def test_signs_of_zeros_that_begin_with_a_positive_one() -> None:
    """0 + -0.0 is 0.0; np.clip keeps the zero of its argument where the bounds are numbers."""
    def f(x: Any, low: Any) -> Any:
        total = 0.0
        for i in range(1):
            total += x[i]
        sums = sum([x[0]]), sum(x[0] for _ in range(2)), sum([x]), sum(x.tolist()), sum([x[0]], -0.0)
        return total, *sums, np.clip(x, 0.0, 1.0), np.clip(x[0], -0.0, 1), np.clip(x, low, 1.0)

    for target in ("cpu", "numpy"):
        fast = accelerate(f, target=target)
        for x in (np.array([-0.0, 0.0]), np.array([0.0, -0.0]), np.array([-0.0 + 0j])[:1].real.repeat(2)):
            for found, expected in zip(fast(x, x[::-1].copy()), f(x, x[::-1].copy()), strict=True):
                np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("value", ["[[1, 2]]", "[x[2:4]]", "((5,), (6,))"])
def test_lists_nested_deeper_than_what_they_are_stored_in_are_refused(value: str, tmp_path: Any) -> None:
    """An array of more axes of size 1 is not."""
    path = tmp_path / "stores.py"
    path.write_text(f"def f(x):\n    x[:2] = {value}\n    return x\n\ndef g(x, v):\n    x[:2] = v\n    return x\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    x = np.arange(6.0)
    for f in (names["f"], accelerate(names["f"])):
        with pytest.raises(ValueError, match="setting an array element with a sequence"):
            f(x)
    assert accelerate(names["g"])(x, np.array([[7.0, 8.0]]))[:2].tolist() == [7.0, 8.0]
