"""Every example runs, at a reduced size."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_no_example_is_forgotten() -> None:
    tested = {"digits_data_parallel", "digits_mlp", "find_the_leak", "heat", "magnetic_pendulum", "read_the_derivative"}
    assert {p.stem for p in EXAMPLES.glob("*.py")} == tested


@pytest.mark.parametrize(
    "call",
    [
        "heat --size 0",
        "heat --steps -1",
        "heat --target gpu",
        "heat --plot missing/plate.png",
        "digits_mlp --epochs 0",
        "digits_mlp --batch 0",
        "digits_mlp --batch 5000",
        "digits_mlp --hidden 0",
        "digits_mlp --seed -1",
        "find_the_leak --columns 50",
        "find_the_leak --iterations 0",
        "magnetic_pendulum --size 3 --samples 10",
        "digits_data_parallel --devices 8 --batch 7",
        "digits_data_parallel --processes 0",
        "read_the_derivative --target cpu",
    ],
)
def test_a_wrong_option_is_told(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = call.split()
    with pytest.raises(SystemExit) as left:
        load(name).main(options)
    assert left.value.code == 2 and " error: " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_digits_mlp_learns(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "curves.png"
    arguments = ["--target", target, "--epochs", "4", "--hidden", "32", "--quiet", "--plot", str(picture)]
    accuracy = load("digits_mlp").main(arguments)
    assert accuracy > 0.85
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "with @accelerate" in capsys.readouterr().out


def test_digits_data_parallel_is_the_same_on_devices_and_processes() -> None:
    script, size = EXAMPLES / "digits_data_parallel.py", ["--epochs", "2", "--hidden", "16"]
    said = []
    for spread in (["--devices", "4"], ["--devices", "2", "--processes", "2"]):
        command = [sys.executable, str(script), *size, *spread]
        said.append(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)
    one, two = (out[out.index("loss of") :] for out in said)
    assert one == two
    assert "4 devices in 2 processes" in said[1]
    assert float(one.split()[-1]) > 0.8


BLOCKS = re.findall(r"```python\n(.*?)```", (EXAMPLES.parent / "README.md").read_text(), re.S)


def printed_by(script: Path, *parts: str) -> str:
    """What a program of these parts prints."""
    script.write_text("\n".join(parts))
    command = [sys.executable, str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=script.parent).stdout


def test_the_readme_shows_what_its_first_program_prints(tmp_path: Path) -> None:
    assert printed_by(tmp_path / "readme.py", BLOCKS[0]).split() == ["(20,", "10)", *BLOCKS[1].split()]


def test_what_else_the_readme_shows_runs(tmp_path: Path) -> None:
    first, derivative, *rest = BLOCKS
    (on_devices,) = [block for block in rest if "pmap" in block]
    rest.remove(on_devices)
    edited = ["compiled = loss_grad", derivative, "loss_grad, my_loss_grad = compiled, loss_grad"]
    out = printed_by(tmp_path / "all.py", first, *edited, *rest)
    assert "return x / np.sum(x, axis=0)" in out and "NumPy takes" in out and "lines of source" in out
    assert (tmp_path / "trace.json").exists()
    data = first[: first.index("loss_grad")]
    shown = "print(type(w).__name__, np.asarray(w).shape)"
    out = printed_by(tmp_path / "devices.py", data + "from untraced import lax", on_devices, shown)
    assert out == "Array (4, 20, 10)\n"


def test_heat_equals_numpy(tmp_path: Path) -> None:
    picture = tmp_path / "plate.png"
    assert load("heat").main(["--size", "30", "--steps", "20", "--plot", str(picture)]) < 1e-10
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_read_the_derivative_prints_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    load("read_the_derivative").main([])
    out = capsys.readouterr().out
    for piece in ("def loss_grad", "def decay_grad", "stablehlo.", "tl.load", "__global__"):
        assert piece in out


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_the_leak_is_found(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "leak.png"
    arguments = ["--target", target, "--steps", "100", "--iterations", "200", "--source", "--plot", str(picture)]
    assert load("find_the_leak").main(arguments) < 0.3
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "def misfit_grad(" in capsys.readouterr().out


def test_each_pendulum_comes_to_rest(tmp_path: Path) -> None:
    picture = tmp_path / "magnets.png"
    size = ["--size", "20", "--samples", "5", "--target", "cpu"]
    assert load("magnetic_pendulum").main([*size, "--plot", str(picture)]) == 1.0
    assert picture.read_bytes().startswith(b"\x89PNG")
