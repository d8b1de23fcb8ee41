"""`untraced.random` gives JAX's numbers: under CPython, compiled, batched, in loops, and its derivatives are JAX's.

What JAX gives stands in `golden/random_numbers.json`; `--update-golden` asks it anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import untraced
from untraced import random
from untraced.translator.ops.random import threefry2x32, threefry_bits32
from untraced.translator.precision import PRECISION

f32, bf16 = np.float32, ml_dtypes.bfloat16
P, LOGITS = np.array([0.1, 0.2, 0.3, 0.4], f32), np.arange(12, dtype=f32).reshape(3, 4) / 9
ROWS = np.arange(12).reshape(4, 3)
MEAN, COV = np.ones(3, f32), np.array([[2, 1, 0], [1, 3, 0.5], [0, 0.5, 1]], f32)
RATES = np.array([0.0, 0.5, 9.0, 11.0, 1000.0], f32)

EXACT = """
split(k) | split(k, 3) | split(k, (2, 3)) | fold_in(k, 77) | fold_in(k, np.int32(-5))
bits(k) | bits(k, (3, 4)) | bits(k, (5,), np.uint8) | bits(k, (5,), np.uint16)
uniform(k) | uniform(k, (2, 3)) | uniform(k, (4,), np.float16) | uniform(k, (4,), bf16)
uniform(k, (4,), f32, -2.0, 2.0)
randint(k, (8,), 0, 10) | randint(k, (8,), -100, 2**31 - 1) | randint(k, (8,), 0, 256, np.uint8)
randint(k, (4,), 5, 2)
randint(k, (8,), -128, 127, np.int8) | randint(k, (8,), 0, 7, np.uint32)
randint(k, (3,), np.array([0, 5, 10]), 50)
bernoulli(k) | bernoulli(k, 0.3, (9,)) | bernoulli(k, 0.3, (9,), mode="high") | bernoulli(k, P)
rademacher(k, (9,)) | rademacher(k, (9,), f32) | permutation(k, 10) | permutation(k, 2000)[:20]
permutation(k, ROWS)
permutation(k, ROWS, axis=1) | permutation(k, ROWS, axis=1, independent=True)
choice(k, 10) | choice(k, 10, (5,)) | choice(k, ROWS, (5, 2), axis=1) | choice(k, 10, (5,), replace=False)
choice(k, ROWS, (2,), axis=1, replace=False) | choice(k, 4, (5,), p=P) | choice(k, 4, (3,), p=P, replace=False)
categorical(k, LOGITS) | categorical(k, LOGITS, axis=0, shape=(5, 4))
categorical(k, LOGITS, shape=(2, 3), replace=False)
geometric(k, 0.2, (9,)) | poisson(k, 4.0, (9,)) | poisson(k, RATES) | poisson(k, 40.0, (9,))
binomial(k, 10, 0.3, (9,))
binomial(k, 100, 0.3, (9,)) | binomial(k, np.array([1, 50, 1000, 9], f32), np.array([0.9, 0.7, 0.5, 0.0], f32))
multinomial(k, 100, P) | multinomial(k, np.array([10, 1000], f32), np.stack([P, P[::-1]]))
"""
CLOSE = """
uniform(k, (4,), f32, -2.0, 3.0) | uniform(k, (2, 3), minval=MEAN, maxval=3.0) | normal(k) | normal(k, (3, 4))
normal(k, (5,), np.float16) | normal(k, (5,), bf16) | normal(k, (5,), np.complex64)
truncated_normal(k, -1.0, 2.0, (5,))
truncated_normal(k, -1.0, MEAN) | lognormal(k, 0.5, (5,)) | lognormal(k, shape=(5,)) | exponential(k, (5,))
gumbel(k, (5,))
gumbel(k, (5,), mode="high") | laplace(k, (5,)) | logistic(k, (5,)) | cauchy(k, (5,)) | pareto(k, 2.5, (5,))
rayleigh(k, f32(2.5), (5,)) | weibull_min(k, 2.0, 3.0, (5,)) | maxwell(k, (5,))
double_sided_maxwell(k, MEAN, 2.0, (5,))
triangular(k, 0.0, 1.0, 3.0, (5,)) | wald(k, f32(2), (5,)) | multivariate_normal(k, MEAN, COV, (2,))
orthogonal(k, 4)
multivariate_normal(k, MEAN, COV, (2,), method="svd") | orthogonal(k, 3, (2,), m=4) | gamma(k, 2.5, (9,))
gamma(k, 0.3)
gamma(k, P) | loggamma(k, P / 9) | beta(k, 2.0, P, (2, 4)) | dirichlet(k, P, (2,)) | chisquare(k, 3.0, (5,))
t(k, 3.0, (5,))
f(k, 3.0, 4.0, (5,)) | generalized_normal(k, 1.5, (5,)) | ball(k, 3, shape=(4,)) | ball(k, 3, 1.5, (4,))
"""


def calls(table: str) -> list[str]:
    return [call.strip() for line in table.strip().splitlines() for call in line.split(" | ")]


def value(call: str, module: Any, key: Any) -> Any:
    return eval(f"r.{call}", {**globals(), "r": module, "k": key})


def plain(x: Any) -> dict[str, Any]:
    """An array as JSON has it; keys as their data."""
    x = random.key_data(x) if getattr(x, "dtype", None) == np.uint64 else np.asarray(x)
    wide = x.astype(np.float64) if x.dtype.name == "bfloat16" else x.view(x.real.dtype) if x.dtype.kind == "c" else x
    return {"dtype": x.dtype.name, "shape": list(x.shape), "values": wide.ravel().tolist()}


def asked_of_jax() -> str:
    import jax

    with jax.enable_x64(False):
        key = jax.random.key(42)
        found = {}
        for call in calls(EXACT) + calls(CLOSE):
            x = value(call, jax.random, key)
            typed = jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
            found[call] = plain(np.asarray(jax.random.key_data(x) if typed else x))
    return "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n"


@pytest.fixture(scope="module")
def jax_numbers(request: pytest.FixtureRequest) -> dict[str, Any]:
    path = request.config.rootpath / "tests/golden/random_numbers.json"
    if request.config.getoption("--update-golden"):
        path.write_text(asked_of_jax())
    numbers: dict[str, Any] = json.loads(path.read_text())
    return numbers


@pytest.fixture(autouse=True)
def single_precision() -> Iterator[None]:
    """What other tests told JAX does not matter here."""
    PRECISION.told = False
    yield
    PRECISION.told = None


def assert_same(call: str, found: Any, wanted: dict[str, Any], exact: bool) -> None:
    got = plain(found)
    assert got["shape"] == wanted["shape"]
    if "ROWS" not in call:  # integers that are given keep their dtype: JAX's are narrower
        assert got["dtype"] == wanted["dtype"]
    if exact:
        assert got["values"] == wanted["values"]
    else:  # logarithms, erfinv, products of matrices: other last digits than XLA's
        rtol = {"float16": 2e-3, "bfloat16": 1e-2}.get(wanted["dtype"], 2e-5)
        np.testing.assert_allclose(got["values"], wanted["values"], rtol, atol=rtol / 10)


@pytest.mark.parametrize("call", calls(EXACT))
def test_integers_and_bits_are_those_of_jax(call: str, jax_numbers: dict[str, Any]) -> None:
    for key in (random.key(42), random.PRNGKey(42)):
        assert_same(call, value(call, random, key), jax_numbers[call], exact=True)


@pytest.mark.parametrize("call", calls(CLOSE))
def test_floats_are_those_of_jax_but_for_last_digits(call: str, jax_numbers: dict[str, Any]) -> None:
    assert_same(call, value(call, random, random.key(42)), jax_numbers[call], exact=False)


COMPILED = calls("""
split(k, (2, 3)) | fold_in(k, 77) | bits(k, (3, 4)) | uniform(k, (4,), bf16) | randint(k, (8,), -100, 2**31 - 1)
bernoulli(k, P) | permutation(k, ROWS) | choice(k, 4, (5,), p=P) | categorical(k, LOGITS) | normal(k, (3, 4))
poisson(k, RATES) | gamma(k, P) | multivariate_normal(k, MEAN, COV, (2,)) | truncated_normal(k, -1.0, MEAN)
""")


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("call", COMPILED)
def test_compiled_numbers_are_the_same(call: str, target: str, jax_numbers: dict[str, Any], tmp_path: Any) -> None:
    file = tmp_path / "drawing.py"
    file.write_text(f"def draw(k):\n    return r.{call}\n")
    space = {**globals(), "r": random}
    exec(compile(file.read_text(), str(file), "exec"), space)
    draw = untraced.accelerate(space["draw"], target=target)
    assert_same(call, draw(random.key(42)), jax_numbers[call], exact=call in calls(EXACT))


def test_the_cipher_is_that_of_its_authors() -> None:
    """Known answers of the Random123 distribution for threefry2x32, 20 rounds."""
    known = [
        (0, 0, 0x6B20015999BA4EFE), (2**64 - 1, 2**64 - 1, 0x1CB996FCBB002BE7),
        (0x13198A2E03707344, 0x243F6A8885A308D3, 0xC4923A9C483DF7A0),
    ]  # fmt: skip
    for key, count, block in known:
        assert threefry2x32(np.uint64(key), np.uint64(count)) == block
        many = threefry2x32(np.uint64(key), np.full(20_000, count, np.uint64))
        assert many.dtype == np.uint64 and np.all(many == block)
        assert threefry_bits32(np.uint64(key), np.uint64(count)) == (block >> 32) ^ (block & 0xFFFFFFFF)


def test_keys_are_numbers() -> None:
    key = random.key(5)
    keys = random.split(key, (2, 3))
    assert keys.dtype == np.uint64 and keys.shape == (2, 3) and key.shape == ()
    assert random.normal(key, 3).tolist() == random.normal(key, (3,)).tolist()
    assert random.key_data(keys).shape == (2, 3, 2)
    assert np.array_equal(random.wrap_key_data(random.key_data(keys)), keys)
    assert np.array_equal(random.key_data(key), random.PRNGKey(5))
    assert np.array_equal(random.split(random.PRNGKey(5)), random.key_data(random.split(key)))
    assert random.key_impl(key) == "threefry2x32" and random.clone(key) is key
    assert random.key(-1) == 0xFFFFFFFF and random.key(2**32 + 5) == 5


def test_precision_is_that_of_jax() -> None:
    """One switch: told to the package, or by JAX where it is loaded, or by the environment; programs follow it."""
    draw = untraced.accelerate(lambda key: random.uniform(key, (2,)), target="cpu")
    key = random.key(3)
    assert draw(key).dtype == random.uniform(key, (2,)).dtype == np.float32
    untraced.config.update("jax_enable_x64", True)
    assert draw(key).dtype == random.uniform(key, (2,)).dtype == np.float64
    assert random.randint(key, (2,), 0, 9).dtype == np.int64 and random.key(-1) == 2**64 - 1
    untraced.config.jax_enable_x64 = None
    script = "from untraced import random; print(random.normal(random.key(0)).dtype, random.bernoulli(random.key(0)))"
    for setting, wanted in (("0", "float32"), ("1", "float64")):
        environment = {**os.environ, "JAX_ENABLE_X64": setting}
        said = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True).stdout
        assert said.decode().split()[0] == wanted


def test_in_loops_batches_and_trees() -> None:
    def walk(key: Any, n: int) -> Any:
        x = 0.0
        for _ in range(n):
            key, sub = random.split(key)
            x = x + random.normal(sub)
        return x

    def scanned(state: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            key, sub = random.split(carry["key"])
            return {"key": key, "x": carry["x"] + random.normal(sub)}, carry["x"]

        return untraced.lax.scan(step, state, None, length=5)[0]

    keys = random.split(random.key(1), 4)
    singly = np.stack([walk(k, 5) for k in keys])
    for target in ("cpu", "numpy"):
        walking = untraced.accelerate(walk, target=target)
        np.testing.assert_allclose([walking(k, 5) for k in keys], singly, 1e-5)  # logarithms
        batched = untraced.accelerate(untraced.vmap(walk, in_axes=(0, None)), target=target)
        np.testing.assert_allclose(batched(keys, 5), singly, 1e-5)
        end = untraced.accelerate(scanned, target=target)({"key": keys[0], "x": f32(0)})
        np.testing.assert_allclose(end["x"], singly[0], 1e-5)
        assert end["key"].dtype == np.uint64
    raw = untraced.vmap(lambda k: random.uniform(k, (3,)))(random.key_data(keys))
    assert np.array_equal(raw, np.stack([random.uniform(k, (3,)) for k in keys]))
    both = untraced.vmap(lambda k, i: random.fold_in(k, i), in_axes=(None, 0))(keys[0], np.arange(3))
    assert np.array_equal(both, [random.fold_in(keys[0], i) for i in range(3)])


def test_derivatives_go_through_draws() -> None:
    """Of what is drawn by a formula, by the formula; of gamma draws implicitly: d P(a, x(a)) / da = 0."""
    key = random.key(7)

    def scaled(s: Any) -> Any:
        return np.sum((s * random.normal(key, (3,), np.float64)) ** 2)

    assert untraced.grad(scaled)(2.0) == pytest.approx(scaled(2.0))
    from untraced.scipy.special import gammainc

    a = np.array([0.05, 0.4, 1.0, 3.0, 40.0, 300.0])
    for draw, of in ((random.gamma, lambda x: x), (random.loggamma, np.exp)):
        x = draw(key, a, (40, 6), np.float64)
        slope = untraced.jvp(lambda a, d=draw: d(key, a, (40, 6), np.float64), (a,), (np.ones(6),))[1]
        h = 1e-4 * a
        with np.errstate(under="ignore"):
            moved = gammainc(a + h, of(x + h * slope)) - gammainc(a - h, of(x - h * slope))
            still = gammainc(a + h, of(x)) - gammainc(a - h, of(x))
        assert np.all(np.abs(moved) <= 1e-5 * np.abs(still).max(axis=0))  # h ** 2, and the rounding of P


def test_moments_and_distributions() -> None:
    """Kolmogorov's test against SciPy at one in ten thousand, with fixed keys."""
    import scipy.stats as st

    n, key = 4000, random.key(11)
    drawn = {
        "uniform": (random.uniform(key, (n,)), st.uniform()), "normal": (random.normal(key, (n,)), st.norm()),
        "gumbel": (random.gumbel(key, (n,)), st.gumbel_r()), "cauchy": (random.cauchy(key, (n,)), st.cauchy()),
        "gamma": (random.gamma(key, 0.7, (n,)), st.gamma(0.7)),
        "beta": (random.beta(key, 2.0, 0.5, (n,)), st.beta(2, 0.5)),
        "t": (random.t(key, 3.0, (n,)), st.t(3)), "wald": (random.wald(key, f32(2), (n,)), st.invgauss(2)),
    }  # fmt: skip
    for name, (x, law) in drawn.items():
        assert st.kstest(x, law.cdf).pvalue > 1e-4, name
    assert np.mean(random.poisson(key, 30.0, (n,))) == pytest.approx(30, abs=4 * np.sqrt(30 / n))
    assert np.mean(random.binomial(key, 50, 0.4, (n,))) == pytest.approx(20, abs=4 * np.sqrt(12 / n))


BAD = [
    (lambda k: random.normal(0, (3,)), TypeError, "unexpected PRNG key"),
    (lambda k: random.normal(random.split(k), (3,)), ValueError, r"key array of shape \(2,\)"),
    (lambda k: random.split(np.zeros(3, np.uint32)), TypeError, "last axis"),
    (lambda k: random.key(1.5), TypeError, "integer"),
    (lambda k: random.key(np.arange(3)), TypeError, "scalar seed"),
    (lambda k: random.key(0, impl="rbg"), ValueError, "rbg"),
    (lambda k: random.normal(k, 2.5), TypeError, "sequences of integers, got 2.5"),
    (lambda k: random.uniform(k, (3,), np.int32), ValueError, "`uniform` must be a float dtype"),
    (lambda k: random.randint(k, (3,), 0, 5, np.float32), TypeError, "integer dtypes"),
    (lambda k: random.bernoulli(k, 1), TypeError, "floating dtype"),
    (lambda k: random.gamma(k, np.ones(3), (2,)), ValueError, "broadcast"),
    (lambda k: random.choice(k, 3, (5,), replace=False), ValueError, "larger sample"),
    (lambda k: random.fold_in(k, np.arange(2)), TypeError, "accepts a scalar"),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD, ids=range(len(BAD)))
def test_errors_are_those_of_jax(call: Any, kind: type[Exception], words: str) -> None:
    key = random.key(0)
    with pytest.raises(kind, match=words):
        call(key)
    with pytest.raises(kind, match=words):
        untraced.accelerate(call, target="cpu")(key)


def test_arrays_in_arrays_out() -> None:
    key = untraced.device_put(random.key(3))
    drawn = random.normal(key, (2, 3))
    assert isinstance(drawn, untraced.Array) and isinstance(random.split(key), untraced.Array)
    np.testing.assert_allclose(np.asarray(drawn), random.normal(random.key(3), (2, 3)), 1e-5)  # logarithms
    assert isinstance(random.normal(random.key(3), (2, 3)), np.ndarray)
    keys = random.split(random.key(3), 4)
    singly = np.stack([random.uniform(k, (3,)) for k in keys])
    assert np.array_equal(untraced.vmap(random.uniform, in_axes=(0, None))(keys, (3,)), singly)
    assert np.array_equal(untraced.accelerate(random.uniform, static_argnums=1)(keys[1], (3,)), singly[1])


def test_single_points_of_a_ball() -> None:
    def point(key: Any) -> Any:
        return random.ball(key, 3)

    keys = random.split(random.key(0), 4)
    expected = np.stack([point(k) for k in keys])
    np.testing.assert_allclose(untraced.vmap(point)(keys), expected, rtol=1e-6)
    np.testing.assert_allclose(untraced.accelerate(point)(keys[0]), expected[0], rtol=1e-6)
