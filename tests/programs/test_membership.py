"""np.isin of many whole numbers, which are looked up in a table where the members lie close together."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate
from untraced.translator.library import comparing

RANDOM = Drawn(0)
MEMBERS = 40


def found(x, members):
    return np.isin(x, members), np.isin(x, members, invert=True)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint16, np.int32, np.int64, np.uint64])
def test_as_numpy(dtype: type) -> None:
    limits = np.iinfo(dtype)
    f = accelerate(found, target="cpu")
    for low, high in ((0, 100), (-5, 60), (7, 2 * comparing.TABLE), (limits.min, limits.max)):
        low, high = max(low, limits.min), min(high, limits.max)
        x = RANDOM.integers(low, high, comparing.LOOKED_UP, dtype=dtype, endpoint=True)
        members = RANDOM.integers(low, high, MEMBERS, dtype=dtype, endpoint=True)
        x[:MEMBERS] = members
        x[MEMBERS : MEMBERS + 2] = limits.min, limits.max
        for mine, numpys in zip(f(x, members), found(x, members), strict=True):
            assert numpys.any() and mine.dtype == np.bool_
            np.testing.assert_array_equal(mine, numpys)


def test_kinds_that_differ() -> None:
    x = RANDOM.integers(-100, 100, (2, comparing.LOOKED_UP // 2))
    f = accelerate(found, target="cpu")
    numbers = np.arange(30)
    for members in (numbers.astype(np.uint8), numbers.astype(np.uint64), numbers / 2, numbers > 3):
        for mine, numpys in zip(f(x, members), found(x, members), strict=True):
            np.testing.assert_array_equal(mine, numpys)
