"""The tests for a GPU, and its benchmark, through CuPy itself, on a device that is the host (`cupy_on_host`).

A few of them: all take minutes.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="CuPy's functions are overwritten in x86-64's code"
)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHOSEN = "views_of or graph or asked_after or other_libraries"


def run(*command: str, timeout: float = 300.0) -> str:
    """What a process says that has CuPy there."""
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def test_tests_for_a_gpu() -> None:
    """Views and other libraries' arrays, kernels by CuPy's pool and streams, graphs, conditions that the device has."""
    pytest.importorskip("cupy")
    tests = "tests/targets/test_cuda_device.py"
    told = run("-m", "pytest", "-q", "-p", "cupy_on_host", "-p", "no:xdist", "-m", "gpu", "-k", CHOSEN, tests)
    assert "8 passed" in told or "6 passed, 2 skipped" in told, (
        told
    )  # without PyTorch one is skipped behind its first half


BENCHMARK = """
import sys
sys.path.append({folder!r})
import cupy_on_host, gpu
gpu.LARGE = 1 << 13
gpu.product = lambda: lambda: None
gpu.main()
"""


def test_the_benchmark(tmp_path: Path) -> None:
    out, script = tmp_path / "gpu.json", tmp_path / "bench.py"
    script.write_text(BENCHMARK.format(folder=str(ROOT / "tests" / "benchmarks")))
    pytest.importorskip("cupy")
    told = run(str(script), "sum", "--rounds", "1", "--languages", "cuda", "--json", str(out))
    (result,) = json.loads(out.read_text())["results"]
    assert result["seconds"]["cuda"] > 0 and "cuda" not in result["errors"]
    assert "| sum |" in told
