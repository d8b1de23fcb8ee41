"""Random bits: a block cipher of a key and a counter, so that each number can be made where it is used, in any order.

    threefry2x32(key, count)         64 bits
    threefry_bits32(key, count)      32 bits: the two halves of those, combined by exclusive or

Keys are 64-bit numbers. The rows are elementwise: keys and counters broadcast, batches and kernels need nothing of
their own, and no bits are stored where a kernel makes them from an index. J. Salmon et al., "Parallel random numbers:
as easy as 1, 2, 3", SC 2011: Threefry-2x32 with 20 rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ir import Aval, DType
from .core import Elementwise
from .samples import UNIT
from .special import HALF_SQRT_PI, float_loop, horner

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA  # of the key schedule
_BLOCK = 1 << 13  # counters at a time under NumPy: four arrays of them fit the first caches
_FEW = 8  # elements from which arrays are faster than Python's integers


def _loop(result: DType) -> Any:
    def loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
        key, count = avals
        if key.dtype != _U64 or (count.dtype not in (_U32, _U64) and not count.weak):
            raise DTypeError(f"threefry takes a key of uint64 and counters of uint32 or uint64, not {key}, {count}")
        return (_U64, _U32 if count.dtype == _U32 else _U64), result

    return loop


# ---- the cipher as NumPy source ------------------------------------------------------------------


def _rounds(key: Any, count: Any) -> tuple[Any, Any]:
    """The two 32-bit words of the block."""
    k0, k1 = (key >> 32).astype(np.uint32), key.astype(np.uint32)
    keys = (k0, k1, k0 ^ k1 ^ np.uint32(PARITY))
    x0, x1 = keys[0], count.astype(np.uint32) + keys[1]
    if count.dtype == np.uint64:
        x0 = (count >> 32).astype(np.uint32) + x0
    for group in (1, 2, 3, 4, 5):
        for r in ROTATIONS[(group - 1) % 2]:
            x0 = x0 + x1
            x1 = (x1 << r | x1 >> 32 - r) ^ x0
        x0 = x0 + keys[group % 3]
        x1 = x1 + (keys[(group + 1) % 3] + np.uint32(group))
    return x0, x1


def threefry_source(key: Any, count: Any) -> Any:
    x0, x1 = _rounds(key, count)
    return x0.astype(np.uint64) << 32 | x1.astype(np.uint64)


def bits32_source(key: Any, count: Any) -> Any:
    x0, x1 = _rounds(key, count)
    return x0 ^ x1


# ---- the same under NumPy ------------------------------------------------------------------------


def threefry2x32(key: Any, count: Any) -> Any:
    """64 random bits for each key (uint64) and counter (uint32 or uint64), which broadcast: an array of uint64."""
    return _evaluate(key, count, folded=False)


def threefry_bits32(key: Any, count: Any) -> Any:
    """32 random bits for each key (uint64) and counter (uint32 or uint64), which broadcast: an array of uint32."""
    return _evaluate(key, count, folded=True)


def _evaluate(key: Any, count: Any, folded: bool) -> Any:
    key, count = np.asarray(key), np.asarray(count)
    if key.ndim == count.ndim == 0 and key.dtype == _U64 and count.dtype in (_U32, _U64):
        return (np.uint32 if folded else np.uint64)(_of_ints(int(key), int(count), folded))
    _loop(_U64)([Aval(key.shape, key.dtype), Aval(count.shape, count.dtype)])
    shape = np.broadcast_shapes(key.shape, count.shape)
    out = np.empty(shape, _U32 if folded else _U64)
    if out.size <= _FEW:
        pairs = zip(_listed(key, shape), _listed(count, shape))
        out.ravel()[:] = [_of_ints(k, c, folded) for k, c in pairs]
        return out
    if key.ndim == 0 or key.size == 1:
        counts, flat = (count if count.shape == shape else np.broadcast_to(count, shape)).ravel(), out.ravel()
        for at in range(0, out.size, _BLOCK):
            _block(key.reshape(1), counts[at : at + _BLOCK], flat[at : at + _BLOCK], folded)
        return out
    keys, counts, flat = np.broadcast_to(key, shape).ravel(), np.broadcast_to(count, shape).ravel(), out.ravel()
    for at in range(0, out.size, _BLOCK):
        part = slice(at, at + _BLOCK)
        _block(keys[part], counts[part], flat[part], folded)
    return out


def _listed(x: Any, shape: tuple[int, ...]) -> list[int]:
    whole = x if x.shape == shape else np.broadcast_to(x, shape)
    numbers: list[int] = whole.ravel().tolist()
    return numbers


def _of_ints(key: int, count: int, folded: bool) -> int:
    mask = 0xFFFFFFFF
    k0, k1 = key >> 32, key & mask
    keys = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = ((count >> 32) + k0) & mask, (count + k1) & mask
    for group in range(1, 6):
        for r in ROTATIONS[(group - 1) % 2]:
            x0 = (x0 + x1) & mask
            x1 = ((x1 << r | x1 >> 32 - r) & mask) ^ x0
        x0 = (x0 + keys[group % 3]) & mask
        x1 = (x1 + keys[(group + 1) % 3] + group) & mask
    return x0 ^ x1 if folded else x0 << 32 | x1


_SHIFTS = {r: np.array(r, _U32) for group in ROTATIONS for s in group for r in (s, 32 - s)}


def _block(key: Any, count: Any, out: Any, folded: bool) -> None:
    """`_rounds` in place."""
    k0, k1 = (key >> 32).astype(_U32), key.astype(_U32)
    keys = (k0, k1, k0 ^ k1 ^ np.uint32(PARITY))
    x1 = count.astype(_U32) + k1
    x0 = (count >> 32).astype(_U32) + k0 if count.dtype == _U64 else np.empty_like(x1)
    if count.dtype != _U64:
        x0[...] = k0
    rotated = np.empty_like(x1)
    for group in range(1, 6):
        for r in ROTATIONS[(group - 1) % 2]:
            np.add(x0, x1, x0)
            np.left_shift(x1, _SHIFTS[r], rotated)
            np.right_shift(x1, _SHIFTS[32 - r], x1)
            np.bitwise_or(x1, rotated, x1)
            np.bitwise_xor(x1, x0, x1)
        np.add(x0, keys[group % 3], x0)
        np.add(x1, keys[(group + 1) % 3] + np.uint32(group), x1)
    if folded:
        np.bitwise_xor(x0, x1, out)
    else:
        np.left_shift(x0, np.uint64(32), out, dtype=_U64)
        np.bitwise_or(out, x1, out)


THREEFRY = Elementwise(
    name="threefry2x32", numpy="untraced.random.threefry2x32", evaluate=threefry2x32, arity=2, loop=_loop(_U64),
    decompose=threefry_source, cuda="threefry2x32({0}, {1})",
    triton="threefry2x32({0}.to(tl.uint64), {1}.to(tl.uint64))", samples=(),
)  # fmt: skip
THREEFRY_BITS32 = Elementwise(
    name="threefry_bits32", numpy="untraced.random.threefry_bits32", evaluate=threefry_bits32, arity=2,
    loop=_loop(_U32), decompose=bits32_source, cuda="threefry_bits32({0}, {1})",
    triton="threefry_bits32({0}.to(tl.uint64), {1}.to(tl.uint64))", samples=(),
)  # fmt: skip

# ---- from uniform to normal ----------------------------------------------------------------------

# x / erfinv(x) as polynomials of w = -log(1 - x * x) or of its root: M. Giles, "Approximating the erfinv function",
# GPU Computing Gems Jade Edition, 2012; the constant terms first
_NEAR32 = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
    3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_FAR32 = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322,
    0.000100950558, -0.000200214257,
)  # fmt: skip
_NEAR64 = (
    1.6536545626831027, 0.24015818242558962, -0.006033670871430149, -0.000740702534166267, 0.00018673420803405714,
    -1.388252336278647e-05, -1.3654692000834679e-06, 4.2347877827932404e-07, -2.9070369957882005e-08,
    -4.112633980346984e-09, 1.0512122733215323e-09, -5.415412054294628e-11, -1.2975133253453532e-11,
    2.6335093153082323e-12, -8.151934197605472e-14, -4.054566272975207e-14, 6.637638134358324e-15,
    2.0972767875968562e-17, -1.333171662854621e-16, 1.1157877678025181e-17, 1.2858480715256400e-18,
    -1.6850591381820166e-19, -3.64441206401782e-21,
)  # fmt: skip
_FAR64 = (
    3.0838856104922208, 1.0052589676941592, 0.005370914553590064, -0.0037512085075692412, 0.002491442096107851,
    -0.0016882755560235047, 0.000953288937973738, -0.0003550375203628475, 2.4031110387097894e-05,
    6.828485145957318e-05, -4.731822900595558e-05, 1.2475304481671779e-05, 2.9234449089955446e-06,
    -4.013867526981546e-06, 1.5027403968909828e-06, 1.8239629214389228e-08, -2.7517406297064545e-07,
    9.075656193888539e-08, 2.213737692177579e-09,
)  # fmt: skip
_FARTHEST64 = (
    4.849906401408584, 1.0103004648645344, -0.00013871931833623122, -0.00021503011930044477, 7.599527703001776e-05,
    -1.968178105531671e-05, 4.526062597223154e-06, -9.9298272942317e-07, 2.2900482228026655e-07,
    -6.771199775845234e-08, 2.9147953450901081e-08, -1.4960026627149240e-08, 7.61570120807834e-09,
    -3.789465440126737e-09, 1.5076572693500548e-09, -2.5556418169965252e-10, -2.7109920616438573e-11,
)  # fmt: skip


def normal_root_source(x: Any) -> Any:
    """erfinv(x) to what samples need, and to JAX's last digits; `scipy.special.erfinv` is exact and slower."""
    if x.dtype == np.float64:
        w = -np.log1p(-x * x)
        r = np.sqrt(w)
        near, middle = horner(w - 3.125, _NEAR64), horner(r - 3.25, _FAR64)
        p = np.where(w < 6.25, near, np.where(w < 16.0, middle, horner(r - 5.0, _FARTHEST64)))
        return np.where(w < np.inf, p * x, x * np.inf)
    v = x.astype(np.float32)
    w = -np.log1p(-v * v)
    p = np.where(w < 5.0, horner(w - 2.5, _NEAR32), horner(np.sqrt(w) - 3.0, _FAR32))
    return np.where(w < np.inf, p * v, v * np.float32(np.inf)).astype(x.dtype)


def normal_root(x: Any) -> Any:
    """`normal_root_source` a block at a time, with the rare numbers near the ends apart."""
    (dtype,), _ = float_loop([Aval((), np.asarray(x).dtype)])
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    given = np.asarray(x).astype(wide)
    out = np.empty(given.shape, wide)
    flat, found = given.ravel(), out.ravel()
    with np.errstate(all="ignore"):
        for at in range(0, flat.size, _BLOCK):
            _root_of_block(flat[at : at + _BLOCK], found[at : at + _BLOCK])
    return out.astype(dtype, copy=False)[()]


def _root_of_block(v: Any, out: Any) -> None:
    w = np.multiply(v, -v)
    np.log1p(w, w)
    np.negative(w, w)
    single = v.dtype == np.float32
    rare = w >= (5.0 if single else 6.25)
    near = _NEAR32 if single else _NEAR64
    t = w - v.dtype.type(2.5 if single else 3.125)
    out[...] = near[-1]
    for c in near[-2::-1]:
        np.multiply(out, t, out)
        np.add(out, v.dtype.type(c), out)
    np.multiply(out, v, out)
    if rare.any():
        out[rare] = normal_root_source(v[rare])


def d_normal_root(x: Any, y: Any) -> Any:
    return HALF_SQRT_PI * np.exp(y * y)


NORMAL_ROOT = Elementwise(
    name="normal_root", numpy="untraced.random.normal_root", evaluate=normal_root, loop=float_loop,
    partials=(d_normal_root,), decompose=normal_root_source, samples=(UNIT,),
)  # fmt: skip
ROWS = (THREEFRY, THREEFRY_BITS32, NORMAL_ROOT)
