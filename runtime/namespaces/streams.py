"""Generators of random numbers as arrays of words, which is how accelerated programs carry them through loops.

    words = streams.words_of(np.random.default_rng(7))
    streams.normal(words, 0.0, 2.0)         draws, and keeps what was drawn in words[0]
    streams.last_float(words)               what default_rng(7).normal(0.0, 2.0) gives
    streams.put_back(words, rng)            rng goes on from there

Printed programs call these functions. There is one for each distribution, with the name that NumPy's method has; those
of `np.random.RandomState` begin with `legacy_`, those of Python's `random` with `python_`.
"""

from ...translator.library.streams import *  # noqa: F403
from ...translator.library.streams import __all__ as __all__
