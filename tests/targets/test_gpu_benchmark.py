"""The programs of tests/benchmarks/gpu.py without a GPU: each is as few kernels as can be, and moves what it must."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # last: other tests have a `programs`, too
import gpu
import gpu_session
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
    assert found["errors"]["jax.jit"].startswith("RuntimeError: no such function (test_gpu_benchmark.py:")
    assert "| - |" not in gpu.table([found], ["triton"], "a card", {"copy": 4e12})
    monkeypatch.setattr(gpu, "data", lambda program: broken())
    found = gpu.measured("p", PROGRAMS["sum"], ["triton"], 1, {"copy": 4e12})
    assert found["errors"]["triton"].startswith("the data cannot be made: RuntimeError: no such function")
    assert "| p | - | - | 90 % |" in gpu.table([found], ["triton"], "a card", {"copy": 4e12})


FAKE_TESTS = """
import os, time, pytest
pytestmark = pytest.mark.gpu

def test_right(): pass
def test_wrong(): assert False, "off by 1"
def test_that_ends_the_process(): os._exit(9)
def test_behind_it(): pass
def test_that_hangs(): time.sleep(100)
def test_last(): pass
"""


def test_tests_go_on_behind_what_ends_or_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_fake.py").write_text(FAKE_TESTS)
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nmarkers =\n    gpu: needs one\n")
    monkeypatch.setattr(gpu_session, "ROOT", tmp_path)
    monkeypatch.setattr(gpu_session, "SILENT", 4.0)
    names = [line.split("(")[0][4:] for line in FAKE_TESTS.splitlines() if line.startswith("def ")]
    found = gpu_session.collected("test_fake.py")
    assert found == [f"test_fake.py::{n}" for n in names]
    lines = gpu_session.run_tests(found, tmp_path, 1, time.time() + 60)
    assert [line["outcome"] for line in lines] == ["passed", "failed", "lost", "passed", "lost", "passed"]
    assert "off by 1" in lines[1]["said"]
    text = gpu_session.summarised(lines, tmp_path)
    assert text.startswith("tests: 3 passed, 2 lost, 1 failed") and "test_that_hangs" in text
    lines = gpu_session.run_tests(found[4:], tmp_path, 1, time.time() + 3)
    assert lines[0]["outcome"] == "not finished" and lines[1]["outcome"] == "not run"


@pytest.mark.parametrize(
    ("body", "outcome"),
    [("pass", "passed"), ("assert False", "failed"), ("pytest.skip()", "skipped"), ("time.sleep(60)", "not finished")],
)
def test_the_sanitizer_has_its_own_time(
    body: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"import time, pytest\n@pytest.mark.gpu\ndef test_the_sanitizer(): {body}\n"
    (tmp_path / "test_fake.py").write_text(text)
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nmarkers =\n    gpu: needs one\n")
    monkeypatch.setattr(gpu_session, "ROOT", tmp_path)
    seconds = 4.0 if "sleep" in body else 60.0
    assert gpu_session.run_sanitizer(tmp_path, seconds, "test_fake.py") == outcome
    assert json.loads((tmp_path / "sanitizer.json").read_text())["outcome"] == outcome


FAKE_BENCHMARK = """
import os, sys, time
sys.path.insert(0, {folder!r})
import gpu

def measured(name, program, *rest):
    if "float32" in name and not rest[3]:
        os._exit(gpu.LOST)
    return {{"name": name, "seconds": {{"triton": 1e-3}}, "shares": {{"triton": 0.5}}, "wanted": 0.9, "errors": {{}}}}

gpu.measured, gpu.clear = measured, lambda: None
gpu.limits = lambda rounds: {{"copy": 4e12}}
gpu.device_name = lambda: "a card"
gpu.main()
"""


def test_a_benchmark_goes_on_behind_what_ends_its_process(tmp_path: Path) -> None:
    script = tmp_path / "fake.py"
    script.write_text(FAKE_BENCHMARK.format(folder=str(Path(gpu.__file__).parent)))
    gpu_session.run_benchmark(tmp_path, time.time() + 60, ["chain of 3"], script)
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert [r["name"] for r in found["results"]] == ["chain of 3, float32", "chain of 3, bfloat16"]
    assert "ended" in found["results"][0]["errors"]["triton"] and found["results"][1]["shares"] == {"triton": 0.5}
    assert "the process ended" in gpu_session.summarised([], tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["measured"] == 1


def test_what_does_not_fit_the_time_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "clear", lambda: None)
    report = gpu.Report(str(tmp_path / "gpu.json"), limits={"copy": 4e12})
    measured = []
    monkeypatch.setattr(gpu, "measured", lambda name, *rest: measured.append(name))
    options = argparse.Namespace(languages=["triton"], rounds=1)
    gpu.measure_all(report, PROGRAMS, options, time.perf_counter() - 1)
    assert measured == []
