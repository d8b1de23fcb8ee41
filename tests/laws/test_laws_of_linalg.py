"""The laws for programs of linear algebra."""

from __future__ import annotations

import pytest
from laws_helpers import check_against_numpy, check_laws
from linalg_programs import CASES, program_of


@pytest.mark.parametrize("name", CASES)
def test_laws(name: str) -> None:
    fun, args = CASES[name]
    function, leaves = program_of(fun, args)
    check_against_numpy(fun, function, args)
    check_laws(function, args, leaves)
