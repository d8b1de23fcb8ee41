"""Random numbers for tests: what a test draws must not depend on the tests that ran before it in the process."""

from __future__ import annotations

import os
from typing import Any
from zlib import crc32

import numpy as np


class Drawn:
    """A module's generator, of which each test has its own: it begins anew, from the test's name, in every test.

    While the module is imported it is `default_rng(seed)`."""

    def __init__(self, seed: int) -> None:
        self._seed, self._test = seed, ""
        self._generator = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]  # "<test> (<setup, call or teardown>)"
        if test != self._test:
            self._test = test
            self._generator = np.random.default_rng([self._seed, crc32(test.encode())])
        return getattr(self._generator, name)
