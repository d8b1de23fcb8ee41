"""Random programs (branches, loops, stores, views) on XLA against the reference interpreter."""

from __future__ import annotations

import warnings
from random import Random

import numpy as np
import pytest
from random_programs import random_function
from xla_programs import assert_same, run_xla

from untraced.translator.evaluate import evaluate
from untraced.translator.passes.fuse import fuse


def compare(seed: int) -> None:
    function, args = random_function(Random(seed), 8)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = evaluate(function, args)
    for program in (function, fuse(function)):
        for ours, theirs in zip(run_xla(program, args), expected, strict=True):
            assert_same(ours, theirs, 1e-9)  # up to a hundred operations on values of size one


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_many_random_programs(seed: int) -> None:
    compare(seed)
