"""What the options of functions of `untraced.lax` name."""

from __future__ import annotations

import enum


class Precision(enum.Enum):
    """How exact products are to be. All are HIGHEST here: products are made in the dtype of their operands."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


class DotAlgorithmPreset(enum.Enum):
    """In which dtypes products are to be made, of the left, of the right and of the sums. Products are made in the
    dtype of their operands, or in `preferred_element_type`, whatever is asked for.
    """

    DEFAULT = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()


class RoundingMethod(enum.IntEnum):
    """Where `round` takes halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class FftType(enum.IntEnum):
    """Which transform `fft` is: complex, its inverse, and those of real signals."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


class RandomAlgorithm(enum.IntEnum):
    """The generator of `rng_bit_generator`: Philox, whatever is asked for."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2
