"""Random programs of many kinds on a GPU's targets: as they are, in batches, differentiated, compiled for devices.

A few of each here; campaigns of hundreds are marked slow. `wide_programs.shrunk` makes a small program of what fails.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from attention_programs import SLOW_MEMORY
from product_programs import KERNELS_WIN
from wide_jobs import Job, batched, check, compare, differentiated, plain
from wide_programs import Wide, random_wide
from wide_statements import STATEMENTS

from untraced.kernels.ahead import compile_program
from untraced.kernels.facts import H200
from untraced.kernels.launching.executor import kernels_of
from untraced.kernels.resources import resources_of
from untraced.translator.errors import UntracedError
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

DEVICES = (H200, KERNELS_WIN, SLOW_MEMORY)  # on which kernels are worth it now and then, always, and never
MODES: dict[str, Callable[[Wide, Random], Job | None]] = {
    "plain": lambda w, r: plain(w),
    "batched": batched,
    "differentiated": lambda w, r: differentiated(w),
}
SPILLED = 256  # bytes of stack: small arrays of a loop's own, and what long sums of products spill
slow = pytest.mark.slow
QUICK = {"plain": (100, 400), "batched": (400,), "differentiated": (0,)}  # a second or two each
CAMPAIGN = [(m, n) for m in QUICK for n in range(0, 4000, 100)]


def job_of(seed: int, mode: str, statements: int = 6) -> tuple[str, Job | None]:
    program = random_wide(seed, [sorted(STATEMENTS)[seed % len(STATEMENTS)]], statements)
    if program is None:
        return "", None
    return program.describe(), MODES[mode](program, Random(seed))


def check_seed(seed: int, mode: str, backend: Any) -> bool:
    """Whether the program was run: some raise in a batch, some are not in the language."""
    told, job = job_of(seed, mode)
    if job is None:
        return False
    try:
        return check(job, backend, DEVICES[seed % len(DEVICES)]) is not None
    except AssertionError as error:
        raise AssertionError(f"{error}\n{told}") from error


def check_some(first: int, mode: str, backend: Any, count: int) -> None:
    """Check the next programs from a number on that there are."""
    ran = 0
    for seed in range(first, first + 100):
        ran += check_seed(seed, mode, backend)
        if ran == count:
            return
    raise AssertionError(f"{ran} of 100 programs were run")


@pytest.mark.parametrize(
    ("mode", "first"), [pytest.param(m, n, marks=() if n in QUICK[m] else slow) for m, n in CAMPAIGN]
)
def test_programs(mode: str, first: int, backend: Any) -> None:
    check_some(first, mode, backend, 3)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=slow) for n in range(1, 40))])
@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_they_compile_for_devices(seed: int, language: str) -> None:
    pytest.importorskip("triton" if language == "triton" else "cupy")
    told, job = job_of(2000 + seed, sorted(MODES)[seed % 3])
    if job is None:
        return
    try:
        function = translate(job.fun, abstract_with_leaves(job.fun, job.values(), {})[0], target=language).function
    except UntracedError:
        return
    architecture = (80, 90, 100)[seed % 3]
    for kernel in kernels_of(function, language, DEVICES[seed % len(DEVICES)]):
        made = compile_program(kernel.program, architecture)
        assert resources_of(made.cubin, made.entry, made.shared).stack <= SPILLED, f"{kernel.source}\n{told}"


def test_what_is_wrong_is_told() -> None:
    x = np.linspace(1.0, 2.0, 9)
    compare(x + 1e-15, x, 0.0)
    for wrong in (x * 1.001, x.astype("f4"), x[:, None], np.where(x > 1.9, np.nan, x)):
        with pytest.raises(AssertionError):
            compare(wrong, x, 1e-9)
    with pytest.raises(AssertionError):
        compare(np.arange(3) + 1, np.arange(3), 1.0)
