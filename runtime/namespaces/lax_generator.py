"""`untraced.lax.rng_bit_generator`: the Philox generator (Salmon et al., Parallel Random Numbers, 2011)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .lax_options import RandomAlgorithm

_FACTORS, _STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


def rng_bit_generator(
    key: Any,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """(key of what comes next, uniform bits of an unsigned dtype), by Philox 4x32 of 10 rounds.

    key   uint32 of shape (4,) or uint64 of shape (2,): 64 bits of key, and the place in its stream, of 64 bits

    The bits are the same on every target, and others than JAX gives, whose bits depend on the backend. Raises
    TypeError for other keys and dtypes.
    """
    state, wanted = _state(key), np.dtype(dtype)
    if wanted.kind != "u":
        raise TypeError(f"rng_bit_generator: the dtype must be unsigned, not {wanted.name}")
    count = math.prod(shape)
    blocks = -(-count * max(wanted.itemsize // 4, 1) // 4)
    words = np.reshape(_philox(state[0], state[1] + np.arange(blocks, dtype=np.uint64)), (-1,))
    if wanted.itemsize == 8:
        words = words[::2] | (words[1::2] << 32)
    after = np.stack([state[0], state[1] + np.uint64(blocks)])
    if key.dtype == np.uint32:
        after = np.reshape(np.stack([after & 0xFFFFFFFF, after >> 32], axis=-1), (4,)).astype(np.uint32)
    return after, np.reshape(words[:count].astype(wanted), tuple(shape))


def rng_uniform(a: Any, b: Any, shape: Sequence[int]) -> Any:
    """Refused: it draws from a state of the device's that nobody sees. `untraced.random.uniform` takes a key."""
    raise NotImplementedError("rng_uniform has no key; use untraced.random.uniform(key, shape, minval=a, maxval=b)")


def _state(key: Any) -> Any:
    if key.dtype == np.uint32 and key.shape == (4,):
        wide = key.astype(np.uint64)
        return np.stack([wide[0] | (wide[1] << 32), wide[2] | (wide[3] << 32)])
    if key.dtype == np.uint64 and key.shape == (2,):
        return key
    raise TypeError(
        f"rng_bit_generator: a key is uint32 of shape (4,) or uint64 of shape (2,), not {key.dtype} of {key.shape}"
    )


def _philox(key: Any, counters: Any) -> Any:
    """The words (n, 4), as uint64, of the blocks at these places."""
    low = np.uint64(0xFFFFFFFF)
    c0, c1 = counters & low, counters >> 32
    c2, c3 = np.zeros_like(c0), np.zeros_like(c1)
    k0, k1 = key & low, key >> 32
    for _ in range(10):
        p, q = c0 * np.uint64(_FACTORS[0]), c2 * np.uint64(_FACTORS[1])
        c0, c1, c2, c3 = (q >> 32) ^ c1 ^ k0, q & low, (p >> 32) ^ c3 ^ k1, p & low
        k0, k1 = (k0 + np.uint64(_STEPS[0])) & low, (k1 + np.uint64(_STEPS[1])) & low
    return np.stack([c0, c1, c2, c3], axis=-1)
