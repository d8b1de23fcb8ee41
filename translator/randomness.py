"""Which generators of random numbers programs can draw from: those whose state becomes an array of words.

Nothing is loaded for it: who has a generator has loaded its module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

SIZES = {"PCG64": 7, "MT19937": 316}
"""Words of 64 bits of the state, by the source of bits: `library/streams` says what they are."""


def _none_draw() -> bool:
    return False


loops_draw: Callable[[], bool] = _none_draw
"""Whether loops on the target "cpu" can draw. Set by `runtime/targets/programs`, which knows the compiler."""


def is_generator(cls: type) -> bool:
    """Whether it is the class of NumPy's generators, or of Python's; none that is derived from them."""
    numpys, pythons = sys.modules.get("numpy.random"), sys.modules.get("random")
    if numpys is not None and cls in (numpys.Generator, numpys.RandomState):
        return True
    return pythons is not None and cls is pythons.Random


def kind_of(generator: Any) -> str:
    """"PCG64" or "MT19937"; "" for a generator whose state does not become words."""
    cls = type(generator)
    if not is_generator(cls):
        return ""
    if cls.__name__ == "Random":
        return "MT19937" if vars(generator).keys() <= {"gauss_next"} else ""  # it may have methods of its own
    bits = type(source_of_bits(generator))
    name = bits.__name__
    if cls.__name__ == "RandomState" and name != "MT19937":
        return ""  # its methods are written out for the Mersenne Twister
    return name if name in SIZES and bits is getattr(sys.modules["numpy.random"], name) else ""


def source_of_bits(generator: Any) -> Any:
    """What a generator draws from; Python's is one itself."""
    if hasattr(generator, "_bit_generator"):
        return generator._bit_generator
    return getattr(generator, "bit_generator", generator)
