"""The programs of tests/benchmarks/gpu.py without a GPU: each is as few kernels as can be, and moves what it must."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # last: other tests have a `programs`, too
import gpu
from gpu import programs, table

from untraced import accelerate
from untraced.translator.ir import Aval

PROGRAMS = programs()


def dtype_of(name: str) -> np.dtype[np.generic]:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_plans_move_what_they_must(name: str) -> None:
    program = PROGRAMS[name]
    avals = [Aval(s, dtype_of(program.dtype)) for s in program.shapes]
    kernels = accelerate(program.build(np), target="triton").inspect(*avals, compile=False).kernels
    assert len(kernels) <= 2
    if not program.operations:
        # What a reduction in two stages stores in between is little.
        assert max(k.bytes_moved for k in kernels) <= 1.01 * program.reads * max(k.bytes_minimum for k in kernels)
        assert abs(program.moved / max(k.bytes_minimum for k in kernels) - 1) < 0.01


def test_table() -> None:
    result = {"name": "p", "seconds": {"triton": 1e-3, "jax.jit": 2e-3}, "shares": {"triton": 0.91}, "wanted": 0.9}
    text = table([result], ["triton"], "a card", {"copy": 4e12})
    assert "| p | 1,000 us | 2,000 us | 91 % | 90 % |" in text and "4.00 TB/s" in text


def test_what_fails_is_told_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> object:
        raise RuntimeError("no such function\nand more")

    made = {"triton": lambda: lambda: 1.0, "jax.jit": broken}
    monkeypatch.setattr(gpu, "data", lambda program: [])
    monkeypatch.setattr(gpu, "makers", lambda *given: made)
    monkeypatch.setattr(gpu, "wait", lambda name, result: None)
    found = gpu.measured("p", PROGRAMS["sum"], ["triton"], 1, {"copy": 4e12})
    assert list(found["seconds"]) == ["triton"] and found["shares"]["triton"] > 0
    assert found["errors"] == {"jax.jit": "RuntimeError: no such function"}
    assert "| - |" not in gpu.table([found], ["triton"], "a card", {"copy": 4e12})
    monkeypatch.setattr(gpu, "data", lambda program: broken())
    found = gpu.measured("p", PROGRAMS["sum"], ["triton"], 1, {"copy": 4e12})
    assert found["errors"] == {"triton": "the data cannot be made: RuntimeError: no such function"}
    assert "| p | - | - | 90 % |" in gpu.table([found], ["triton"], "a card", {"copy": 4e12})
