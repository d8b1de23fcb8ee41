"""Calls where the C++ compiler is missing, fails, or fails at some sources only: XLA has loops of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
import warnings

import numpy as np

from untraced import accelerate

def running(x):
    s = 0.0
    for i in range(len(x)):
        s = x[i] - s if x[i] > 0.5 else s + x[i] * 0.5
    return s

def drawn(n):
    r = np.random.default_rng(3)
    s = 0.0
    for _ in range(n):
        s += r.random()
    return s

x = np.random.default_rng(0).random(20_000)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for _ in range(2):
        np.testing.assert_allclose(accelerate(running, target="cpu")(x), running(x), rtol=1e-13)
        assert accelerate(drawn, target="cpu")(500) == drawn(500)
print(len(told), *[str(w.message) for w in told])
"""
FAILING = "#!/bin/sh\necho 'error: no room' >&2\nexit 1\n"
AFTER_THE_PROBE = """#!/bin/sh
for a in "$@"; do case "$a" in *.cc) grep -q untraced_probe "$a" && exec {real} "$@";; esac; done
echo 'error: no room' >&2
exit 1
"""
AFTER_THE_FIRST_CALL = """
import os
import pathlib
import sys
import warnings

import numpy as np

from untraced import accelerate, device_put

def summed(x, n):
    s = 0.0
    for i in range(n):
        s = x[i] - s * 0.5
        x[i] = s
    return s

def through(x):
    s = 0.0
    for i in range(len(x)):
        s = x[i] - s * 0.5
    return s

def checked(f, *args):
    theirs = [np.copy(a) if np.ndim(a) else a for a in args]
    ours = [np.copy(a) if np.ndim(a) else a for a in args]
    np.testing.assert_allclose(f(*ours), f.__wrapped__(*theirs), rtol=1e-13)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-13)

x = np.random.default_rng(0).random(20_000)
fast, whole = accelerate(summed, target="cpu"), accelerate(through, target="cpu")
checked(fast, x, 20_000)
checked(whole, x)
for name in ("g++", "clang++", "c++"):
    path = pathlib.Path(sys.argv[1]) / name
    path.write_text(sys.argv[2])
    path.chmod(0o755)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    checked(fast, x, -3)  # for which the loops have checks
    np.testing.assert_allclose(whole(device_put(x)), through(x), rtol=1e-13)  # which XLA is to call
    try:
        fast(x, 20_001)
    except IndexError:
        print(len(told), *[str(w.message) for w in told])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere no loops are compiled")
@pytest.mark.parametrize("compiler", ["missing", "failing", "failing later"])
def test_calls_go_on_without_a_compiler(compiler: str, tmp_path: Path) -> None:
    real = shutil.which("g++")
    if compiler == "failing later" and real is None:
        pytest.skip("no C++ compiler")
    path = [str(tmp_path)]
    if compiler != "missing":
        for name in ("g++", "clang++", "c++"):
            (tmp_path / name).write_text(FAILING if compiler == "failing" else AFTER_THE_PROBE.format(real=real))
            (tmp_path / name).chmod(0o755)
        path.append(os.environ["PATH"])
    settings = {k: v for k, v in os.environ.items() if k != "CXX"}
    settings |= {"PATH": os.pathsep.join(path), "UNTRACED_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if compiler == "failing later":
        assert done.stdout.startswith("1 loops are left to XLA") and "no room" in done.stdout
    else:
        assert done.stdout == "0\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere no loops are compiled")
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_compiler_that_fails_when_other_arguments_come(tmp_path: Path) -> None:
    real = shutil.which("g++")
    (tmp_path / "g++").write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    (tmp_path / "g++").chmod(0o755)
    settings = {k: v for k, v in os.environ.items() if k != "CXX"}
    settings["PATH"] = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    settings["UNTRACED_CACHE"] = str(tmp_path / "cache")
    command = [sys.executable, "-c", AFTER_THE_FIRST_CALL, str(tmp_path), FAILING]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 loops are left to XLA") and "no room" in done.stdout
