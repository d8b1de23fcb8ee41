"""inspect: every text between the source and the machine; the page; the command line."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from untraced import TargetError, UnsupportedError, accelerate, grad, vmap
from untraced.runtime.inspection.commands import UsageError, main, parse_arguments
from untraced.scipy import special

X = np.random.default_rng(3).standard_normal((8, 16))

FILE = """
import numpy as np

def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)

def loss(w, x):
    h = np.tanh(x @ w)
    return np.mean(h * h)

def refused(x):
    return len(dir())

NUMBER = 3
"""


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def energy(x: Any) -> Any:
    h = np.tanh(x)
    return np.sum(h * h)


def test_source_runs_where_only_numpy_is_imported() -> None:
    def cost(x, k):
        return np.sum(special.gammaln(x)) * math.erf(k)

    text = grad(cost, argnums=(0, 1)).source(np.array([0.7, 2.5]), 0.3)
    scope: dict[str, object] = {"np": np}
    exec(text, scope)
    got = scope["cost_grad"](np.array([0.7, 2.5]), 0.3)  # type: ignore[operator]
    want = grad(cost, argnums=(0, 1))(np.array([0.7, 2.5]), 0.3)
    np.testing.assert_array_equal(got[0], want[0])
    assert got[1] == want[1]


def test_stages_are_runnable_source() -> None:
    r = accelerate(grad(energy), target="cpu").inspect(X)
    assert list(r.stages) == ["read", "derive", "simplify", "fuse"]
    assert r.source == r.stages["simplify"] == str(r)
    for name, text in r.stages.items():
        space: dict[str, Any] = {"np": np}
        exec(text, space)
        result = space["energy" if name == "read" else "energy_grad"](X)
        expected = energy(X) if name == "read" else 2 * np.tanh(X) * (1 - np.tanh(X) ** 2)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_cpu_texts() -> None:
    r = accelerate(softmax, target="cpu").inspect(X)
    assert "stablehlo." in r.stablehlo and "HloModule" in r.hlo and r.ptx is None
    (kernel,) = r.kernels
    assert (kernel.kind, kernel.language) == ("row", "numpy")
    assert kernel.bytes_moved == kernel.bytes_minimum == 2 * X.nbytes
    assert len(kernel.lines) == 2 and kernel.why_cut == ""
    exec(kernel.source, {"np": np})
    assert "softmax" in repr(r)
    assert r.memory is not None and r.memory["argument"] == X.nbytes
    assert r.cost is not None and r.cost["bytes accessed"] > 0


def test_without_compiling() -> None:
    r = accelerate(softmax, target="cpu").inspect(X, compile=False)
    assert r.hlo is None and "stablehlo." in r.stablehlo


def test_numpy_has_source_only() -> None:
    r = accelerate(softmax, target="numpy").inspect(X)
    assert (r.stablehlo, r.hlo, r.ptx) == (None, None, None) and "def softmax" in r.source


@pytest.mark.parametrize(("target", "mark"), [("triton", "tl.load"), ("cuda", "__global__")])
def test_gpu_kernels_without_a_gpu(target: str, mark: str) -> None:
    r = accelerate(softmax, target=target).inspect(X, compile=False)
    assert r.stablehlo is None
    assert any(mark in k.source for k in r.kernels)
    assert all(k.language == target and k.lines for k in r.kernels)


@pytest.mark.parametrize(("target", "compiler"), [("triton", "triton"), ("cuda", "cupy")])
def test_what_a_kernel_takes_of_the_device(target: str, compiler: str, tmp_path: Path) -> None:
    pytest.importorskip(compiler)
    r = accelerate(softmax, target=target).inspect(X)
    (kernel,) = r.kernels
    assert kernel.resources is not None and 8 <= kernel.resources.registers <= 255
    assert kernel.resources.stack == 0 and kernel.resources.shared < 48 << 10
    assert str(kernel.resources) in r.html(tmp_path / "page.html").read_text()


def test_running_on_a_gpu_that_is_not_there_says_so() -> None:
    from untraced.runtime.targets.devices import cuda_present

    if cuda_present():
        pytest.skip("this machine has a GPU")
    with pytest.raises(TargetError, match="NVIDIA driver"):
        accelerate(softmax, target="cuda")(X)


def test_page(tmp_path: Path) -> None:
    out = accelerate(vmap(grad(energy)), target="cpu").inspect(X).html(tmp_path / "page.html")
    text = out.read_text()
    titles = re.findall('data-title="([^"]*)"', text)
    assert titles == ["source", "read", "derive", "batch", "simplify", "fuse", "kernels", "StableHLO", "HLO"]
    assert not re.search("(src|href)=|https?:|@import|{{", text)  # nothing is loaded from elsewhere or left to fill in
    first = energy.__code__.co_firstlineno
    (row,) = re.findall(f'<div data-from="0:{first + 1}"><i>{first + 1}</i>.*?</div>', text)
    assert "tanh" in row
    assert len(re.findall(f'<div data-from="[^"]*0:{first + 1}\\b', text)) > 5  # what was made of that line


def escaped(x: Any) -> Any:
    return x * (2.0 if "<b>&" < "<i>" else 3.0)


def test_page_of_strange_text(tmp_path: Path) -> None:
    text = accelerate(escaped, target="numpy").inspect(X).html(tmp_path / "page.html").read_text()
    assert "&lt;b&gt;&amp;" in text and "<b>&" not in text


def test_page_of_kernels(tmp_path: Path) -> None:
    text = accelerate(softmax, target="triton").inspect(X, compile=False).html(tmp_path / "page.html").read_text()
    assert "<table>" in text and "tl.load" in text
    assert 'class="keyword">def' in text and 'class="library">tl.load' in text


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "functions_to_inspect.py"
    path.write_text(FILE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["inspect", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_command_line(file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, f"{file}:softmax", "--args", "f32[128,64]")
    assert code == 0 and "def softmax" in out
    code, out, _ = run(
        capsys, f"{file}:loss", "--args", "f32[64,8] f32[128, 64]", "--transform", "grad", "--show", "stages"
    )
    assert code == 0 and "# ---- derive ----" in out and "def loss_grad" in out
    code, out, _ = run(capsys, f"{file}:softmax", "--args", "f32[128,64]", "--target", "triton", "--show", "kernels")
    assert code == 0 and "tl.load" in out and "bytes moved" in out
    code, out, _ = run(capsys, f"{file}:softmax", "--args", "f32[128,64]", "--show", "stablehlo")
    assert code == 0 and "tensor<128x64xf32>" in out
    page = tmp_path / "p.html"
    code, out, _ = run(capsys, f"{file}:softmax", "--args", "f32[128,64]", "--show", "hlo", "--html", str(page))
    assert code == 0 and "HloModule" in out and page.exists()


def test_command_line_errors(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for argv, message in [
        (["nowhere.py:f"], "there is no file nowhere.py"),
        (["softmax"], "FILE.py:FUNC"),
        ([f"{file}:sigmoid"], "it has loss, refused, softmax"),
        ([f"{file}:NUMBER"], "is a int, not a function"),
        ([f"{file}:softmax", "--args", "f31[2]"], "no dtype"),
        ([f"{file}:softmax", "--args", "float[2]"], "has no shape"),
        ([f"{file}:softmax", "--args", "?"], "neither dtype"),
        ([f"{file}:softmax"], "missing 1 required positional argument"),
        ([f"{file}:refused", "--args", "f64[2]"], "functions_to_inspect.py:13"),
        ([f"{file}:softmax", "--args", "f32[4,4]", "--show", "ptx"], "has no ptx"),
    ]:
        code, _, err = run(capsys, *argv)
        assert code == 2 and message in err, (argv, err)


def test_arguments() -> None:
    avals = parse_arguments("f32[2,3] i64 bf16[4] 3 0.5 True int (1,2) 'a b'")
    assert [str(a) for a in avals] == [
        "float32[2, 3]",
        "int64",
        "bfloat16[4]",
        "3",
        "0.5",
        "True",
        "int64~",
        "(1, 2)",
        "a b",
    ]
    with pytest.raises(UsageError):
        parse_arguments("f32[")


def test_module_entry_point(file: str) -> None:
    argv = [sys.executable, "-m", "untraced", "inspect", f"{file}:softmax", "--args", "f64[2,3]"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "def softmax" in done.stdout, done.stderr


def test_refusals_are_told_when_inspecting() -> None:
    def f(x: Any) -> Any:
        return len(dir())

    with pytest.raises(UnsupportedError):
        accelerate(f, target="cpu").inspect(X)
