"""Numbers that are of one type or another by a condition that the run decides: each call gives NumPy's."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import Array, accelerate, device_put

X = np.array([3.0, -1.0, 2.5])
F = np.ones(3, np.float32)


def rectified(x: Any) -> Any:
    return max(0, x)


def of_three(x: Any) -> Any:
    return min(x, 1, 2.5), max(x, -1)


def early(x: Any) -> Any:
    if x > 0:
        return x * 2
    return 0


def sign(x: Any) -> Any:
    if x > 0:
        return 1
    elif x < 0:
        return -1.0
    return x


def computed_with(x: Any) -> Any:
    y = x if x > 0 else 0
    return y + 1, y * 2.0, -y, [y**2]


def beside_narrow_arrays(x: Any) -> Any:
    scale = x if x > 0 else 0.5
    return scale * F


def filled(x: Any) -> Any:
    return np.full(3, x if x > 0 else 2), np.full(2, x if x > 0 else 2, dtype=float)


def quotient(x: Any) -> Any:
    return 1.0 / x if x != 0 else 0


NUMBERS = [2.5, -2.5, 3, -3, 0, np.float64(2.5), np.float64(-1.5), np.int64(-3), np.float32(1.5), np.float32(-1.5)]
FUNCTIONS = [rectified, of_three, early, sign, computed_with, beside_narrow_arrays, filled, quotient]


def kinds(v: Any) -> Any:
    return [kinds(x) for x in v] if isinstance(v, tuple | list) else (type(v), getattr(v, "dtype", None))


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_numpy(f: Callable[..., Any], target: str) -> None:
    compiled = accelerate(f, target=target)
    for x in NUMBERS:
        found, expected = compiled(x), f(x)
        assert kinds(found) == kinds(expected), x
        for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_numbers_of_one_type_need_no_check() -> None:
    assert "raise" in accelerate(rectified).source(np.float64(1.0))
    assert "raise" not in accelerate(lambda x: max(x[0], x[1])).source(X)
    assert "raise" not in accelerate(lambda x: float(max(x[0], 0))).source(X)


def test_ints_near_the_ends_of_64_bits_after_small_ones() -> None:
    def next_to(n):
        return n + 1, -n

    compiled = accelerate(next_to, target="cpu")
    for n in (1, 2, 2**63 - 1, -(2**63), 3):
        assert compiled(n) == next_to(n)


def test_arrays_of_numbers_of_one_dtype_need_no_check() -> None:
    def f(x, done):
        if x > 0:
            done = np.True_
        return done, x

    compiled = accelerate(f, target="cpu")
    assert kinds(compiled(1.0, np.array(False))) == kinds(f(1.0, np.array(False)))
    found = compiled(device_put(np.array(1.0)), device_put(np.array(False)))
    assert [type(v) for v in found] == [Array, Array]
    assert [v.tolist() for v in found] == [True, 1.0]


def test_a_sum_that_added_nothing_is_not_run_again_for_its_class() -> None:
    """np.float64 is a subclass of float: it is returned in place of the 0.0 that the sum began with."""

    def positive(x):
        total = 0.0
        for v in x:
            if v > 0:
                total += v
        return total

    f = accelerate(positive)
    for x in (np.array([1.0, -2.0, 3.0]), np.array([-1.0, -2.0, -3.0])):
        got = f(x)
        assert type(got) is np.float64 and isinstance(got, float) and got == positive(x)
    source = f.inspect(np.ones(3)).source
    assert source is not None and "raise" not in source, source


def test_the_class_of_an_integer_is_told() -> None:
    """np.int64 is no subclass of int."""

    def found(x, k):
        where = -1
        for i in range(len(x)):
            if x[i] == k:
                where = x[i]
        return where

    f = accelerate(found)
    assert type(f(np.arange(3), 2)) is np.int64
    assert type(f(np.arange(3), 5)) is int


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize(
    "x", [np.array([0, 3, 255], np.uint8), np.array([-128, 5], np.int8), np.array([1], np.uint64)], ids=str
)
def test_negated_integers_wrap_before_they_are_cast(x: Any, target: str) -> None:
    """-x + 0.5 of a uint8 is not 0.5 - x, nor is -x * -y of floats beside it x * y."""

    def shifted(x: Any) -> Any:
        return -x + 0.5, 2.5 - -x, -(x - 3) / 5.0 + 1, -x * -np.arange(1.0, 1 + x.size), 10.0 ** (-x / 64.0 + 1.0)

    for ours, theirs in zip(accelerate(shifted, target=target)(x), shifted(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)
        assert ours.dtype == theirs.dtype

    def added(x: Any, y: Any) -> Any:
        y[1:] += -x
        np.add.at(y, [0, 0], -x[0])
        return y

    y = np.arange(1.0 + x.size)
    np.testing.assert_array_equal(accelerate(added, target=target)(x, y.copy()), added(x, y.copy()))


def compared_to_a_sum(x: Any, n: Any) -> Any:
    t = n * 1.5 if n < 3 else n
    return 1 if x[0] + t > 300 else 2


def stored_beside_a_double(x: Any, n: Any) -> Any:
    scale, y = 0.1 if n < 3 else x[1], np.zeros(1)
    y[0] = scale * 3.0
    return y, int(scale * 1e9), scale < y[0]


def added_to_singles(x: Any, n: Any) -> Any:
    y, best = np.array([2.5, 0.1, 7.0]), 0.1
    for v in y:
        if v > n:
            best = v
    y[1] = x[0] + best
    return y, 0.1 < x[0] + best


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("f", [compared_to_a_sum, stored_beside_a_double, added_to_singles])
def test_a_kind_decides_how_numbers_are_rounded(f: Callable[..., Any], dtype: Any, target: str) -> None:
    """Beside a uint8 the ints 100 and 100.0 are not one, nor are 0.1 and np.float64(0.1) beside a float32."""
    x = np.array([200.1, 3.7]).astype(dtype)
    compiled = accelerate(f, target=target)
    for n in (2, 5, 100):
        assert repr(compiled(x, n)) == repr(f(x, n)), n


def chosen_truth(x: Any) -> Any:
    r = np.True_ if x > 3 else np.False_
    return ~r, r + 1, -r.astype(int)


def turned_truth(x: Any) -> Any:
    r = np.bool_(False)
    for v in range(int(x)):
        r = np.bool_(v % 2 == 0) if v > 1 else np.bool_(True)
    return ~r


def pythons_truth(x: Any) -> Any:
    r = True if x > 3 else False  # noqa: SIM210
    return ~r, -r, r + 1, r


def returned_truth(x: Any) -> Any:
    if x > 3:
        return np.True_
    return np.bool_(False)


@pytest.mark.parametrize("f", [chosen_truth, turned_truth, pythons_truth, returned_truth])
def test_known_truths_are_of_the_class_that_they_were_given(f: Callable[..., Any]) -> None:
    """NumPy's bool_ and Python's bool differ in ~, - and +, also where a branch or a loop leaves a known one."""
    for x in (2.0, 4.0, np.float64(5.0)):
        wanted, given = f(x), accelerate(f)(x)
        assert given == wanted
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (given, wanted)), strict=True):
            assert type(a) is type(b)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_negated_python_ints_beside_narrow_arrays(target: str) -> None:
    """-n is what uint8 does not hold: no `x + n` for `x - -n`."""
    def f(x, n):
        return x - -n, -n + x, x * -n

    for dtype, n in ((np.uint8, 2), (np.uint8, -2), (np.int8, -128), (np.int8, 128), (np.int8, 127), (np.uint64, 1)):
        x = np.arange(3, dtype=dtype)
        try:
            expected = f(x, n)
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                accelerate(f, target=target)(x, n)
        else:
            for a, b in zip(accelerate(f, target=target)(x, n), expected, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_one_of_numpys_and_pythons_bools(target: str) -> None:
    def f(x, t):
        return (x[0] == 3) or t > 1, (x[0] == 3) and t > 1, t > 1 or x[0] == 3, (x[0] == 3) or not t == t

    compiled = accelerate(f, target=target)
    for x, t in itertools.product((np.array([3.0]), np.zeros(1)), (0.5, 2.0)):
        assert kinds(compiled(x, t)) == kinds(f(x, t)) and compiled(x, t) == f(x, t)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_arithmetic_of_one_of_numpys_and_pythons_bools(target: str) -> None:
    """Of Python's False `~` is -1 and `-` is 0; of NumPy's they are True and an error."""
    def left(x):
        b = False
        for v in x:
            if v > 0:
                b = v > 2
        return b

    def both(x):
        p, q = len(x) > 1 and float(x[1]) > 0, x[0] > 0
        return q and p

    def chosen(x):
        return np.True_ if x[0] > 0 else False

    def inverted(x):
        return ~left(x), ~both(x), ~chosen(x)

    def added(x):
        sums = left(x) + 1, left(x) + left(x), both(x) * 2, left(x) & both(x), chosen(x) | True
        return sums, abs(left(x)), divmod(left(x), 2), abs(float(x[0]) > 1), divmod(float(x[0]) > 1, 2)

    def negated(x):
        return -left(x)

    for f, x in itertools.product((chosen, both, inverted, added, negated), (X, -X, np.array([1.0, -1.0]))):
        try:
            expected = f(x)
        except TypeError:
            with pytest.raises(TypeError):
                accelerate(f, target=target)(x)
        else:
            found = accelerate(f, target=target)(x)
            assert kinds(found) == kinds(expected) and found == expected


def test_adding_zero_to_a_part_makes_positive_zeros() -> None:
    def f(x):
        x[::-1] += 0
        x[:2] -= -0.0
        return x

    for x in (np.full(3, -0.0), np.full((3, 2), -0.0 - 0.0j), np.full(200, -0.0, np.float32)):
        found, expected = accelerate(f, target="cpu")(x.copy()), f(x.copy())
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(np.signbit(part(found)), np.signbit(part(expected)))


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_python_numbers_of_a_list_keep_what_the_dtype_holds(target: str) -> None:
    def small(x: Any) -> Any:
        return np.array([x, 1], dtype=np.int8)

    def unsigned(x: Any) -> Any:
        return np.array([[x, 2], [3, x]], np.uint64)

    def precise(x: Any, y: Any) -> Any:
        return np.array([x, 1.5, y], np.int64)

    def large(x: Any) -> Any:
        return np.array([x, 2**70], np.float64), np.asarray((x, 2), "f4")

    def larger(x: Any) -> Any:
        return np.array([x, 2**63])

    def constant(x: Any) -> Any:
        return np.array([x, 300], np.int8)

    for f, *args in (
        *((small, x) for x in (3, -3, 300, 3.7, 300.7, np.nan, True)),
        *((unsigned, x) for x in (3, -3, 2**62)),
        *((precise, 2**53 + 1, y) for y in (2.5, 1e30)),
        *((f, x) for f in (large, larger, constant) for x in (3, 3.5)),
    ):
        fast = accelerate(f, target=target)
        try:
            expected = f(*args)
        except (OverflowError, ValueError) as error:
            with pytest.raises(type(error), match=str(error)):
                fast(*args)
            continue
        made = fast(*args)
        for x, y in zip(made, expected, strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_numpy_numbers_of_a_list_keep_what_the_dtype_holds(target: str) -> None:
    def small(x: Any) -> Any:
        return np.array([x[0], 1], dtype=np.int8)

    def unsigned(x: Any) -> Any:
        return np.asarray([[x[0], 2]], np.uint8)

    def many(x: Any) -> Any:
        return np.array([[v for v in x], [v + v for v in x]], "i4")

    def rows(x: Any) -> Any:
        out = np.zeros((2, 2), np.int16)
        for i in range(2):
            out[i] = np.array([x[i], i], np.int16)
        return out

    def cast(x: Any) -> Any:
        return np.array([x, x], np.int8), np.array(x[0], np.int8)

    given = [np.array(v) for v in ([3, 1], [300, 1], [-200, 2], [300.5, 1], [np.nan, 1.0], [2**31, 1], [70000, 1])]
    given += [np.arange(20) * k for k in (1, 2**27)]
    for f, x in itertools.product((small, unsigned, many, rows, cast), [*given, np.array([3 + 1j, 300])]):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = f(x)
            except (OverflowError, ValueError) as error:
                with pytest.raises(type(error), match=str(error)):
                    accelerate(f, target=target)(x)
                continue
            for made, want in zip(accelerate(f, target=target)(x), expected, strict=True):
                np.testing.assert_array_equal(made, want)
                assert made.dtype == want.dtype


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("number", [5, 5.0, True, np.int8(5), np.float64(5)])
def test_comparisons_with_known_numpy_numbers_are_numpys(number: Any, target: str) -> None:
    def compared(t: Any) -> Any:
        return np.int8(3) < t, np.float64(2) == t, 3 < t, np.int64(2) + 0 * t

    found, expected = accelerate(compared, target=target)(number), compared(number)
    assert [(type(x), x) for x in found] == [(type(x), x) for x in expected]


def listed(words):
    return words.tolist(), [int(w) for w in words], words[1].item()


def mixed(words, n):
    h = np.uint64(14695981039346656037)
    for i in range(n):
        h = (h ^ words[i % 3]) * np.uint64(1099511628211)
    return int(h), int(h) // 3


def chosen_sum(words, most):
    best = 0
    for mask in range(1 << len(words)):
        total = 0
        for k in range(len(words)):
            if mask >> k & 1:
                total += int(words[k])
        if best < total <= most:
            best = total
    return best


@pytest.mark.parametrize("words", [[0, 1, 2], [0, 2**63, 2**64 - 1]])
def test_python_ints_of_unsigned_numbers_do_not_wrap(words):
    for f, more in ((listed, ()), (mixed, (1,)), (mixed, (30,)), (mixed, (5_000,))):
        with np.errstate(over="ignore"):
            assert accelerate(f)(np.array(words, np.uint64), *more) == f(np.array(words, np.uint64), *more)


@pytest.mark.parametrize("last", [13, 2**64 - 1])
def test_python_ints_of_unsigned_numbers_in_native_loops(last):
    compiled = accelerate(chosen_sum)
    for most in (300, 301, 302):
        words = np.array([*range(5, 16), last], np.uint64)
        assert compiled(words, most) == chosen_sum(words, most)


def joined_numbers(re, im):
    return complex(re, im), complex(re), complex(re + 1j, im), complex(1j * re, 2j * im)


def joined_arrays(re, im):
    z = np.zeros(re.shape, complex)
    z.real = re
    z.imag = im
    w = np.zeros(len(re), complex)
    for i in range(len(re)):
        w[i] = complex(im[i], re[i])
    return z, w, np.nan_to_num(z)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_parts_are_joined_to_the_bit(target):
    """The signs of zeros, and infinities beside other numbers. NaN has none that counts."""
    special = [0.0, -0.0, 1.5, np.inf, -np.inf, np.nan]
    re, im = (x.ravel() for x in np.meshgrid(special, special))
    numbers, arrays = accelerate(joined_numbers, target=target), accelerate(joined_arrays, target=target)
    for x, y in zip(re.tolist(), im.tolist(), strict=True):
        assert repr(numbers(x, y)) == repr(joined_numbers(x, y))
    for found, expected in zip(arrays(re, im), joined_arrays(re, im), strict=True):
        assert list(map(repr, found)) == list(map(repr, expected))


def squared(x, h, n):
    total = x**2
    for i in range(n):
        total += ((i + 0.5) * h) ** 2
    return total


def filled_with_squares(h, y):
    for i in range(len(y)):
        y[i] = (i * h) ** 2
    return y


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_powers_of_python_floats_are_never_infinite(target):
    powers, filled = accelerate(squared, target=target), accelerate(filled_with_squares, target=target)
    assert powers(3.0, 0.5, 7) == squared(3.0, 0.5, 7)
    assert powers(np.inf, 0.5, 7) == np.inf
    assert filled(1e10, np.zeros(5)).tolist() == filled_with_squares(1e10, np.zeros(5)).tolist()
    for call in (lambda: powers(1e200, 0.5, 7), lambda: powers(1.0, 1e200, 7), lambda: filled(1e160, np.zeros(5))):
        with pytest.raises(OverflowError):
            call()


def numpys_own(x):
    return np.any(bool(x[0])), np.max(np.array_equal(x, x)), np.less(float(x[0]), 2), np.min(float(x[0])), bool(x[0])


def stored_into_a_number(x):
    place = np.argmin(x, axis=0)
    place[np.asarray(place) > 0] += 1
    return place


def sorted_number(x):
    total = x.sum()
    total.sort()
    return total


def divisors(x, k):
    return np.gcd(x, k), np.lcm(x, k)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_numbers_of_numpy_are_not_pythons(target):
    x, small = np.array([3.0, 1.0]), np.array([4, 6], np.uint8)
    found = accelerate(numpys_own, target=target)(x)
    assert list(map(type, found)) == [np.bool_, np.bool_, np.bool_, np.float64, bool]
    with pytest.raises(TypeError):
        accelerate(stored_into_a_number, target=target)(x)
    with pytest.raises(np.exceptions.AxisError):
        accelerate(sorted_number, target=target)(x)
    for k in (-1, 300):
        with pytest.raises(OverflowError):
            accelerate(divisors, target=target)(small, k)
    assert [v.tolist() for v in accelerate(divisors, target=target)(small, 10)] == [[2, 2], [20, 30]]


def roots_of_elements(x: Any, k: Any) -> Any:
    found = []
    for i in range(3):
        found.append(x[i] ** 0.5)
        k = k**0.5
    return found, k, np.float_power(x, 0.5)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("start", [-0.0, np.float64(-np.inf), np.float32(-0.0)])
def test_roots_of_numbers_are_not_those_of_arrays(target, start):
    """pow(-inf, 0.5) is inf and pow(-0.0, 0.5) is 0.0; `x ** 0.5` of an array is its square root."""
    x = np.array([-np.inf, -0.0, 4.0])
    expected = roots_of_elements(x, start)
    got = accelerate(roots_of_elements, target=target)(x, start)
    assert repr(got) == repr(expected)


def smoothed(x: Any) -> Any:
    s, y = 0.0, np.empty_like(x)
    for i in range(len(x)):
        s = 0.3 * s + (1 - 0.3) * x[i]
        y[i] = s
    return y, s


def halved(x: Any) -> Any:
    left, turns = 1, 0
    while left > 0.001:
        x = x * np.float32(0.5)
        left = x.sum()
        turns += 1
    return x, left, turns


def by_horner(x: Any) -> Any:
    r = 0
    for c in x:
        r = r * 3 + c
    return r


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("f", [smoothed, halved, by_horner])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_numbers_that_begin_as_pythons_are_compiled(target, f, dtype):
    """The first turn rounds a Python number otherwise than the others NumPy's: CPython made every such call."""
    x = np.array([3, 1, 0, 2], dtype)
    made = accelerate(f, target=target)
    assert repr(made(x)) == repr(f(x))
    assert "of another type than in the program" not in made.inspect(x).source
