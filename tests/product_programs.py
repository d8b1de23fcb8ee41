"""Programs around products, attention and running sums, as a user writes them; every test of such kernels runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from untraced.kernels.facts import Facts
from untraced.translator.ir import Function
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

DTYPES = ("float16", "bfloat16", "float32", "float64")
# A device on which a kernel always beats the library, so that small shapes become kernels.
KERNELS_WIN = Facts(1.0, 1.0, 0, 1 << 60, dict.fromkeys(DTYPES, 1e12), *[dict.fromkeys(DTYPES, 1.0)] * 2)
TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 3e-5, "float64": 1e-10}
BFLOAT = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Case:
    function: Callable[..., Any]
    args: tuple[Any, ...]

    def translated(self, language: str) -> Function:
        return translate(self.function, abstract_with_leaves(self.function, self.args, {})[0], target=language).function

    @property
    def tolerance(self) -> float:
        return TOLERANCE.get(self.args[0].dtype.name, 0.0)  # integers are exact

    def expected(self) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            found = self.function(*self.args)
        return found if isinstance(found, tuple) else (found,)

    def check(self, got: Any) -> None:
        for a, want in zip(got, self.expected(), strict=True):
            a = np.asarray(a)
            assert (a.dtype, a.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(
                a.astype("f8"), want.astype("f8"), rtol=self.tolerance, atol=self.tolerance, equal_nan=True
            )


def gelu_layer(x: Any, w: Any, b: Any) -> Any:
    h = x @ w + b
    return 0.5 * h * (1 + np.tanh(0.8 * (h + 0.045 * h * h * h)))


def scaled(x: Any, s: Any, w: Any) -> Any:
    return (np.exp(x) * s[:, None]) @ np.maximum(w, 0).T * 0.5


def turned(x: Any, w: Any) -> Any:
    return x.T @ w.T + 1


def many(x: Any, w: Any, b: Any) -> Any:
    return np.tanh(x @ w + b[:, None])


def labelled(x: Any, w: Any) -> Any:
    return np.einsum("aibk,kajb->abij", x, w) * 2


def two_axes(x: Any, w: Any, b: Any) -> Any:
    return np.einsum("abk,kc->abc", x, w) + b


def two_results(x: Any, w: Any) -> Any:
    h = x @ w
    return h, np.maximum(h, 0)


def widened(x: Any, w: Any) -> Any:
    return np.sqrt(np.abs(x)).astype(np.float32) @ w.astype(np.float32) - 1


def with_itself(x: Any) -> Any:
    return x @ x.T / x.shape[1]


def positions(x: Any, w: Any) -> Any:
    h = x @ w
    n, m = h.shape
    return np.where(np.arange(n)[:, None] >= np.arange(m), h, 0)


def attention(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T / q.shape[1] ** 0.5
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True) @ v


def rounded(q: Any, k: Any, v: Any) -> Any:
    s = (q @ k.T).astype(np.float32) * 0.25
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    return ((e / np.sum(e, axis=1, keepdims=True)).astype(v.dtype) @ v).astype(v.dtype)


def causal(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.transpose(0, 2, 1) * 0.25
    s = np.where(np.tril(np.ones(s.shape[1:], bool)), s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v + 1


def softmax_of(s: Any) -> Any:
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sees_ahead(q: Any, k: Any, v: Any) -> Any:
    return softmax_of(np.where(np.tri(len(q), len(k), 3, dtype=bool), q @ k.T, -np.inf)) @ v


def sees_what_is_behind(q: Any, k: Any, v: Any) -> Any:
    i, j = np.arange(len(q))[:, None], np.arange(len(k))
    return softmax_of(np.where(j + 2 > i, -np.inf, q @ k.T)) @ v


def sees_some(q: Any, k: Any, v: Any, keep: Any) -> Any:
    i, j = np.arange(len(q))[:, None], np.arange(len(k))
    return softmax_of(np.where((i >= j) & keep, q @ k.T, -np.inf)) @ v


def sees_a_window(q: Any, k: Any, v: Any) -> Any:
    i, j = np.arange(len(q))[:, None], np.arange(len(k))
    s = np.where(i - j > 40, -np.inf, q @ k.T)
    return softmax_of(np.where(i < j, -np.inf, s)) @ v


def adds_a_mask(q: Any, k: Any, v: Any) -> Any:
    return softmax_of(q @ k.T * 0.5 + np.triu(np.full((len(q), len(k)), -np.inf, v.dtype), 1)) @ v


def fills_a_mask(q: Any, k: Any, v: Any) -> Any:
    i, j = np.arange(len(q))[:, None], np.arange(len(k))
    return softmax_of(np.where(j > i + 1, -1e9, q @ k.T / 4)) @ v


def subtracts_a_mask(q: Any, k: Any, v: Any) -> Any:
    mask = np.tri(len(q), len(k), dtype=v.dtype)
    return softmax_of(q @ k.T * mask - 1e4 * (1 - mask)) @ v


def fills_a_mask_twice(q: Any, k: Any, v: Any, keep: Any) -> Any:
    i, j = np.arange(len(q))[:, None], np.arange(len(k))
    return softmax_of(np.where(i >= j, np.where(keep, q @ k.T, -1e9), -1e9)) @ v


def sees_the_rest(q: Any, k: Any, v: Any) -> Any:
    i, j = np.arange(len(q))[:, None], np.arange(len(k))
    return softmax_of(np.where(i <= j, q @ k.T, -np.inf)) @ v


def heads(q: Any, k: Any, v: Any, bias: Any) -> Any:
    s = np.einsum("bihd,bjhd->bhij", q, k) + bias
    e = np.exp(s - np.max(s, axis=-1)[..., None])
    p = e / np.sum(e, axis=-1)[..., None]
    return np.einsum("bhij,bjhd->bihd", p, v)


def masked(q: Any, k: Any, v: Any, keep: Any) -> Any:
    s = np.where(keep, q @ k.T, -np.inf)
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True) @ v


def running(x: Any, y: Any) -> Any:
    return np.exp(np.cumsum(x * y, axis=1) * 0.1)


def shares(x: Any) -> Any:
    return np.cumsum(x, axis=-1) / np.sum(x, axis=-1, keepdims=True)


def likeliest(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.cumsum(e / np.sum(e, axis=1, keepdims=True), axis=1) < 0.9


def down(x: Any, y: Any) -> Any:
    return np.cumsum(x * y, axis=0) * 2 + y


def highest(x: Any) -> Any:
    return np.maximum.accumulate(x * 2, axis=-1) - x


def lowest_below(x: Any) -> Any:
    return np.minimum.accumulate(x, axis=0)


def turned_back(x: Any) -> Any:
    return np.cumsum(x[:, ::-1], axis=1)[:, ::-1]


def middle(x: Any) -> Any:
    return np.cumprod(1 + x * 0.1, axis=1) * 2


def growth(x: Any) -> Any:
    return np.cumprod(1 + x * 0.01) - 1


def counts(x: Any) -> Any:
    return np.cumsum(x > 0, axis=1) * 2


def last_of_all(x: Any) -> Any:
    return np.argmax(x)


def least(x: Any) -> Any:
    return np.argmin(x, axis=0)


def doubled_place(x: Any) -> Any:
    y = x * 2
    return np.argmax(y) + 1, np.max(y)


NOWHERE = np.iinfo(np.int64).max


def elsewhere(x: Any, y: Any) -> Any:
    """Places of another array's extreme, and other numbers than places: no np.argmax."""
    k = np.arange(x.shape[0])
    among = np.min(np.where((x == np.max(y)) | (x != x), k, NOWHERE))
    return among, np.min(np.where(x.astype(np.int64) == np.max(x.astype(np.int64)), (k * 7919) % 40_000, NOWHERE))


def some(*shape: int, dtype: Any = "float32", seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def _masks(n: int, m: int) -> Any:
    """Rows that see everything, nothing at first, nothing at all."""
    keep = np.ones((n, m), bool)
    keep[1, : m - 1] = False
    keep[2] = False
    return keep


PRODUCTS = {
    **{
        f"gelu_{d}": Case(gelu_layer, (some(37, 45, dtype=d), some(45, 70, dtype=d), some(70, dtype=d))) for d in DTYPES
    },
    "gelu_one": Case(gelu_layer, (some(1, 1), some(1, 1), some(1))),
    "gelu_no_rows": Case(gelu_layer, (some(0, 5), some(5, 3), some(3))),
    "gelu_no_depth": Case(gelu_layer, (some(20, 0), some(0, 17), some(17))),
    "scaled": Case(scaled, (some(33, 20), some(33), some(18, 20))),
    "scaled_half": Case(scaled, (some(33, 20, dtype="f2"), some(33, dtype="f2"), some(18, 20, dtype="f2"))),
    "turned": Case(turned, (some(20, 35), some(17, 20))),
    "many": Case(many, (some(3, 18, 5), some(3, 5, 21), some(3, 21))),
    "one_for_many": Case(many, (some(4, 18, 5), some(5, 21), some(4, 21))),
    "labelled": Case(labelled, (some(2, 5, 3, 4), some(4, 2, 6, 3))),
    "two_axes": Case(two_axes, (some(4, 9, 33), some(33, 20), some(20))),
    "two_results": Case(two_results, (some(20, 33, dtype="f8"), some(33, 20, dtype="f8"))),
    "widened": Case(widened, (some(20, 33, dtype="f2"), some(33, 20, dtype="f2"))),
    "with_itself": Case(with_itself, (some(40, 19),)),
    "positions": Case(positions, (some(40, 19), some(19, 40))),
    "backwards": Case(turned, (some(20, 35)[::-1, ::-1], some(34, 20)[::2])),
    "broadcast": Case(turned, (np.broadcast_to(some(35), (20, 35)), np.broadcast_to(some(17, 1), (17, 20)))),
}
RUNNING = {
    **{f"running_{d}": Case(running, tuple(some(2, 40, 50, dtype=d))) for d in ("float16", "float32", "float64")},
    "running_far": Case(running, (some(64, 2100, dtype="f8"), some(2100, dtype="f8") * 1e-3)),
    "running_backwards": Case(running, (some(40, 50).T[::-1], some(40))),
    "running_nothing": Case(running, (some(5, 0), some(5, 0))),
    "running_no_rows": Case(running, (some(0, 5), some(5))),
    "running_one": Case(running, (some(7, 1), some(7, 1))),
    "shares": Case(shares, (np.abs(some(5, 6, 70)),)),
    "likeliest": Case(likeliest, (some(9, 70),)),
    "growth": Case(growth, (some(300, dtype="f8"),)),
    "down": Case(down, (some(50, 33), some(33))),
    "down_wide": Case(down, (some(3, 300, dtype="f8"), some(300, dtype="f8"))),
    "down_half": Case(down, (some(5, 40, dtype="f2"), some(40, dtype="f2"))),
    "down_nothing": Case(down, (some(0, 40), some(40))),
    "middle": Case(middle, (some(4, 30, 21),)),
    "turned_back": Case(turned_back, (some(9, 70),)),
    **{f"highest_{d}": Case(highest, (some(9, 70, dtype=d),)) for d in ("float16", "bfloat16", "float32", "float64")},
    "highest_far": Case(highest, (some(2, 2100),)),
    "highest_line": Case(highest, (some(3000),)),
    "highest_none": Case(highest, (np.where(some(9, 70) > 2, np.nan, some(9, 70)),)),
    "highest_integers": Case(highest, ((some(9, 70) * 9).astype("i4"),)),
    "lowest_below": Case(lowest_below, (some(70, 40),)),
    "lowest_bytes": Case(lowest_below, ((some(70, 40) * 20 + 100).astype("u1"),)),
    "lowest_bools": Case(lowest_below, (some(7, 40) > -1,)),
    "counts": Case(counts, (some(20, 33),)),
}
_TIES = np.random.default_rng(3).integers(0, 50, 40_000).astype("f4")
PLACES = {  # of rows longer than one block takes: each array is read once
    "ties": Case(last_of_all, (_TIES,)),
    "nowhere": Case(last_of_all, (np.where(np.arange(40_000) % 9000 == 8999, np.nan, _TIES),)),
    "lowest": Case(last_of_all, (np.full(40_001, -np.inf),)),
    "infinite": Case(last_of_all, (np.where(_TIES == 7, np.inf, -np.inf),)),
    "half": Case(last_of_all, (some(40_000, dtype="f2"),)),
    "integers": Case(last_of_all, ((_TIES - 60).astype("i8"),)),
    "bytes": Case(last_of_all, (_TIES.astype("u1"),)),
    "bools": Case(last_of_all, (_TIES == 7,)),
    "least": Case(least, (some(900, 40),)),
    "least_integers": Case(least, (_TIES.reshape(4000, 10).astype("i4"),)),
    "elsewhere": Case(elsewhere, (_TIES, np.minimum(_TIES, 30))),
    "doubled_place": Case(doubled_place, (some(40_000, dtype="f8"),)),
}
ATTENTION = {
    **{f"attention_{d}": Case(attention, (some(70, 20, dtype=d), *some(2, 45, 20, dtype=d))) for d in DTYPES},
    **{f"rounded_{d}": Case(rounded, (some(70, 16, dtype=d), *some(2, 45, 16, dtype=d))) for d in DTYPES[:2]},
    "attention_one": Case(attention, (some(1, 1), some(1, 1), some(1, 1))),
    "attention_no_queries": Case(attention, (some(0, 4), some(5, 4), some(5, 4))),
    "attention_strided": Case(attention, (some(20, 70).T, some(45, 20)[::-1], some(90, 33)[::2])),
    "causal": Case(causal, (some(2, 70, 16), some(2, 70, 16, seed=1), some(2, 70, 16, seed=2))),
    "causal_half": Case(causal, tuple(some(2, 70, 16, dtype="f2", seed=k) for k in range(3))),
    "attention_wide": Case(attention, tuple(some(n, 200, dtype="f2", seed=n) for n in (70, 45, 45))),
    "causal_wide": Case(causal, tuple(some(2, 40, 130, dtype="f2", seed=k) for k in range(3))),
    "heads": Case(heads, (some(2, 40, 3, 8), some(2, 50, 3, 8), some(2, 50, 3, 8), some(3, 1, 50))),
    "masked": Case(masked, (some(9, 8), some(70, 8), some(70, 8), _masks(9, 70))),
    "infinite": Case(attention, (np.where(some(20, 4) > 1.5, np.inf, some(20, 4)), np.abs(some(9, 4)), some(9, 4))),
}  # fmt: skip
_Q, _K, _V = (some(150, 16, seed=n) for n in range(3))
_FEW = np.zeros((150, 16), "f4")
_FEW[140, 3], _FEW[20, 5] = np.inf, np.nan
CAUSAL = {  # of several blocks of rows, and of columns that some of them do not see
    "causal": Case(causal, tuple(some(2, 150, 16, seed=k) for k in range(3))),
    "half": Case(causal, tuple(some(2, 150, 16, dtype="f2", seed=k) for k in range(3))),
    "turned": Case(causal, tuple(some(150, 2, 16, seed=k).transpose(1, 0, 2) for k in range(3))),
    "values": Case(causal, (_Q[None], _K[None], np.stack([_V + _FEW]))),
    "values_of_one": Case(causal, (np.stack([_Q, _K]), np.stack([_K, _V]), np.stack([_V, _V + _FEW]))),
    "keys": Case(causal, (_Q[None], (_K + _FEW)[None], _V[None])),
    "ahead": Case(sees_ahead, (_Q[:100], _K, _V)),
    "behind": Case(sees_what_is_behind, (_Q, _K[:120], _V[:120])),
    "some": Case(sees_some, (_Q, _K, _V, some(150, 150) > -1)),
    "window": Case(sees_a_window, (_Q, _K, _V)),
    "added": Case(adds_a_mask, (_Q, _K, _V)),
    "added_half": Case(adds_a_mask, tuple(some(150, 16, dtype="f2", seed=k) for k in range(3))),
    "added_to_odd_keys": Case(adds_a_mask, (_Q, _K + _FEW, _V)),
    "added_to_an_odd_query": Case(adds_a_mask, (np.concatenate([_Q[:-1], np.full((1, 16), np.inf, "f4")]), _K, _V)),
    "filled": Case(fills_a_mask, (_Q, _K, _V)),
    "filled_values": Case(fills_a_mask, (_Q, _K, _V + _FEW)),
    "filled_below_large_keys": Case(fills_a_mask, (_Q, (_K - 1e10 * (_FEW == np.inf)).astype("f4"), _V)),
    "filled_below_large_queries": Case(fills_a_mask, ((_Q * np.geomspace(1e11, 1, 150)[:, None]).astype("f4"), _K, _V)),
    "subtracted": Case(subtracts_a_mask, (_Q, _K, _V)),
    "subtracted_below_large_keys": Case(subtracts_a_mask, (_Q, _K * 1000, _V)),
}
PACKED = {  # rows of multiples of 16 bytes
    **{f"gelu_{d}": Case(gelu_layer, (some(136, 40, dtype=d), some(40, 72, dtype=d), some(72, dtype=d)))
       for d in ("float16", "float32", "float64")},
    "turned": Case(turned, (some(40, 136, dtype="f2"), some(72, 40, dtype="f2"))),
    "scaled": Case(scaled, (some(64, 16), some(64), some(32, 16))),
    "widened": Case(widened, (some(64, 16, dtype="f2"), some(16, 32, dtype="f2"))),
    "many": Case(many, (some(2, 64, 16), some(2, 16, 32), some(2, 32))),
    "attention": Case(attention, tuple(some(136, 24, dtype="f2", seed=k) for k in range(3))),
    "attention_wide": Case(attention, tuple(some(80, 256, dtype="f2", seed=k) for k in range(3))),
    "causal": Case(causal, tuple(some(2, 72, 16, seed=k) for k in range(3))),
}  # fmt: skip


# ---- variances -------------------------------------------------------------------------------------


def variance(x: Any) -> Any:
    return np.var(x, axis=0)


def deviation(x: Any) -> Any:
    return np.std(x)


def mean_and_variance(x: Any) -> Any:
    y = np.exp(x)
    return np.mean(y, axis=0, keepdims=True), np.var(y, axis=0, keepdims=True, ddof=1)


def standard(x: Any) -> Any:
    return (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + 1e-5)


VARIANCES = {
    "columns": (variance, some(3000, 7), 0.0),
    "columns_far": (variance, some(3000, 7), 1e4),
    "columns_double": (variance, some(2000, 5, dtype="f8"), 1e6),
    "whole": (deviation, some(70_001), 100.0),
    "chunks": (variance, some(20, 5000).T[::-1], 10.0),
    "computed": (mean_and_variance, some(3000, 7), 0.0),
    "standard": (standard, some(3000, 7), 10.0),
}


def check_variance(name: str, backend: Any) -> None:
    """Against float64, in what a number's own rounding makes of it: eps * mean / deviation."""
    from untraced.kernels.launching.executor import GpuExecutor, kernels_of

    function, x, offset = VARIANCES[name]
    x = x + x.dtype.type(offset)
    program = Case(function, (x,)).translated(backend.language)
    sources = [k.source for k in kernels_of(program, backend.language)]
    assert sum("squares" in source for source in sources) >= 2 and len(sources) <= 4
    found, wanted = GpuExecutor(program, backend)([x]), function(x.astype("f8"))
    for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert got.dtype == x.dtype and got.shape == want.shape
        error = np.abs(got.astype("f8") - want) / np.maximum(np.abs(want), 1)
        assert np.max(error) <= 8 * np.finfo(x.dtype).eps * max(100, offset), name


# ---- sums of exponentials --------------------------------------------------------------------------


def log_of_sum(x: Any) -> Any:
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def logs_of_sums(x: Any) -> Any:
    m = np.max(x, axis=0, keepdims=True)
    return m[0] + np.log(np.sum(np.exp(x - m), axis=0)), m


def of_computed(x: Any) -> Any:
    z = x * 2 + 1
    m = np.max(z)
    return np.sum(np.exp(z - m)), m


def whole_softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


LONG = some(70_000) * 5
EXPONENTIALS = {
    "whole": (log_of_sum, LONG),
    "odd": (log_of_sum, LONG[:-1]),
    "sorted": (log_of_sum, np.sort(LONG)),
    "backwards": (log_of_sum, LONG[::-2]),
    "double": (log_of_sum, LONG.astype("f8") * 100),
    "columns": (logs_of_sums, LONG.reshape(7000, 10)),
    "computed": (of_computed, LONG),
    "softmax": (whole_softmax, LONG),
    "some_nothing": (log_of_sum, np.where(np.arange(70_000) % 7 == 0, -np.inf, LONG)),
    "chunks_of_nothing": (log_of_sum, np.where(np.arange(70_000) < 60_000, -np.inf, LONG)),
    "nothing": (log_of_sum, np.full(70_000, -np.inf)),
    "infinite": (log_of_sum, np.where(np.arange(70_000) == 60_007, np.inf, LONG)),
    "not_a_number": (whole_softmax, np.where(np.arange(70_000) == 7, np.nan, LONG)),
}


def check_exponentials(name: str, backend: Any) -> None:
    """Against float64. The array is read once; a softmax reads it again, and writes."""
    from untraced.kernels.launching.executor import GpuExecutor, kernels_of

    function, x = EXPONENTIALS[name]
    program = Case(function, (x,)).translated(backend.language)
    kernels = kernels_of(program, backend.language)
    assert len(kernels) == (3 if function is whole_softmax else 2)
    assert kernels[0].bytes_moved <= 1.2 * x.nbytes
    with np.errstate(all="ignore"):
        wanted = function(x.astype("f8"))
        found = GpuExecutor(program, backend)([x])
    for got, want in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert got.dtype == x.dtype and got.shape == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=100 * np.finfo(x.dtype).eps)
