"""The tests for a GPU, and its benchmark, through CuPy itself, on a device that is the host (`cupy_on_host`).

A few of them: all take minutes.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHOSEN = "views_of or graph or asked_after or other_libraries or make_values"


@pytest.fixture(autouse=True)
def a_place_for_it() -> None:
    """What `cupy_on_host` needs: CuPy with its functions' names, tools that read and compile, and its processor."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("CuPy's functions are overwritten in Linux's memory, in x86-64's code")
    if lacking := [tool for tool in ("g++", "nm") if shutil.which(tool) is None]:
        pytest.skip(f"no {' and no '.join(lacking)}")
    pytest.importorskip("cupy")
    spec = find_spec("cupy_backends.cuda.api.runtime")
    assert spec is not None and spec.origin is not None
    names = subprocess.run(["nm", spec.origin], capture_output=True, text=True, check=True).stdout
    if " cudaMalloc\n" not in names:
        pytest.skip("CuPy's module has no symbols, or CUDA's runtime is not inside it")


def run(folder: Path, *command: str, **variables: str) -> str:
    """What a process says that has CuPy there. Its files are made in a folder, so that none stay if it is killed."""
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder), **variables}
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=3600,  # of a machine that does much else: they are 20 seconds of a processor's
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert not list(folder.glob("untraced-cupy-*"))
    return done.stdout


def test_tests_for_a_gpu(tmp_path: Path) -> None:
    """Views and other libraries' arrays, kernels by CuPy's pool and streams, graphs, conditions that the device has."""
    tests = "tests/targets/test_cuda_device.py"
    plugins = ("-p", "cupy_on_host", "-p", "no:xdist", "-p", "no:cacheprovider")
    told = run(tmp_path, "-m", "pytest", "-q", *plugins, "-m", "gpu", "-k", CHOSEN, tests)
    passed = re.search(r"(\d+) passed", told)
    assert passed and int(passed[1]) >= 6, told  # without PyTorch two of eight are skipped behind their first half


CALLS = """
import cupy_on_host, cupy
import numpy as np
from untraced import TargetError, accelerate, device_put

def chosen(x, k): return x[k]
def grown(x): return np.exp(x) + np.zeros((1 << 34,))
def chain(x): return np.exp(x) + 1.0
def spread(x): return x[:, 0]

try:
    accelerate(chosen, target="cuda")(np.arange(5.0), np.array([1, 9]))
except IndexError as error:
    assert "index 9 is out of bounds for axis 0 with size 5" in str(error), error
else:
    raise AssertionError("no error")
try:
    accelerate(grown, target="cuda")(np.ones(1))
except TargetError as error:
    assert "allocating 137,438,953,472 bytes" in str(error) and "are free" in str(error), error
else:
    raise AssertionError("no error")
pool = cupy.get_default_memory_pool()
pool.free_all_blocks()
pool.set_limit(size=pool.total_bytes() + 90_000)  # room for the argument, and none for its column
try:
    accelerate(spread, target="cuda")(np.ones((5000, 2)))
except TargetError as error:
    assert "too little device memory" in str(error), error
else:
    raise AssertionError("no error")
pool.set_limit(size=0)
x = np.linspace(0.0, 1.0, 5000)
with cupy.cuda.Stream(non_blocking=True):
    got = accelerate(chain, target="cuda")(device_put(x, "cuda"))
np.testing.assert_allclose(np.asarray(got), chain(x), rtol=1e-15)
print(len(cupy_on_host.calls))
"""


def test_what_calls_meet_on_a_device(tmp_path: Path) -> None:
    """Errors that the device finds and those of its memory, another stream, schedules that are timed by events."""
    script = tmp_path / "calls.py"
    script.write_text(CALLS)
    kept = tmp_path / "kept"
    assert int(run(tmp_path, str(script), UNTRACED_AUTOTUNE=str(kept))) > 7
    assert len(list(kept.iterdir())) >= 1


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
    told = run(tmp_path, str(script), "sum", "--rounds", "1", "--languages", "cuda", "--json", str(out))
    (result,) = json.loads(out.read_text())["results"]
    assert result["seconds"]["cuda"] > 0 and "cuda" not in result["errors"]
    assert "| sum |" in told
