"""Law L2 of programs whose loops were replaced by whole-array statements."""

from __future__ import annotations

import copy
from random import Random

import pytest
from laws_helpers import check_l2
from random_loops import random_loops

from untraced import accelerate


@pytest.mark.parametrize("seed", [1003, 1022, 1032, 1036, 1041, 1192, 1369, 20079, 20292, 92000527, 92000661, 91000959])
def test_vectorised_loops_are_read_back(seed: int) -> None:
    """Indices that two axes share, bools and places known beforehand, Python's bool of a bool, elements of rows."""
    program = random_loops(Random(seed))
    stages = accelerate(program.fun, target="numpy").inspect(*program.args, compile=False).stages
    check_l2(stages.functions["simplify"], copy.deepcopy(program.args))
