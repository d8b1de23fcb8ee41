"""What is kept on disk between processes: entries, what damages them, and XLA's programs found again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import untraced
from untraced import accelerate
from untraced.kernels import kept
from untraced.tpu import compiler
from untraced.tpu.client import executable as client
from untraced.tpu.emit.program import Emitted
from untraced.translator.ir import Aval

RUN = """
import numpy as np
from untraced import accelerate
from untraced.tpu.client import executable as client, stored

class Loading:
    def __init__(self, client):
        self.client = client
    def __getattr__(self, name):
        return getattr(self.client, name)
    def compile_and_load(self, *_):
        raise SystemExit("compiled")

client.compile_or_load = lambda real, *rest: stored.compile_or_load(Loading(real), *rest)

@accelerate
def f(x):
    return np.sum(np.tanh(x) * {factor})

print(f(np.arange(5.0)))
"""
TWICE = """module @twice {
  func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
    %y = stablehlo.add %x, %x : tensor<3xf64>
    return %y : tensor<3xf64>
  }
}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNTRACED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def made(cache: Path) -> list[Path]:
    return sorted((cache / "programs").iterdir())


def test_entries_are_whole_or_nothing(cache: Path) -> None:
    store = kept.store("things", 1 << 20)
    assert store is not None
    entry = store.entry("text", b"options")
    assert store.read(entry) is None
    store.keep(entry, b"made\nof lines")
    assert store.read(entry) == b"made\nof lines"
    assert [p.name for p in store.folder.iterdir()] == [entry.name]
    whole = entry.read_bytes()
    for damaged in (b"", whole[:-1], whole + b"x", whole[1:], whole.replace(b"lines", b"limes"), b"\xff" * 80):
        entry.write_bytes(damaged)
        assert store.read(entry) is None
    assert (cache.stat().st_mode & 0o777) == 0o700 or os.name == "nt"


def test_what_was_told_is_told_apart(cache: Path) -> None:
    store = kept.store("things", 1 << 20)
    assert store is not None
    entries = [store.entry(*told) for told in (("ab", "c"), ("a", "bc"), ("abc",), ("ab", "c", ""), ("c", "ab"))]
    assert len(set(entries)) == len(entries)


def test_what_was_used_longest_ago_goes_first(cache: Path) -> None:
    store = kept.store("things", 1_200)  # four, with their heads
    assert store is not None
    entries = [store.entry(str(k)) for k in range(5)]
    for k, entry in enumerate(entries[:4]):
        store.keep(entry, bytes(200))
        os.utime(entry, (1_000 + k, 1_000 + k))
    assert store.read(entries[0]) is not None  # used now
    store.keep(entries[4], bytes(200))
    left = [k for k, entry in enumerate(entries) if entry.exists()]
    assert left == [0, 2, 3, 4]


@pytest.mark.parametrize("value", ["0", "file/below"])
def test_nothing_is_kept_where_nobody_wants_or_can(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNTRACED_CACHE", value if value == "0" else str(tmp_path / value))
    assert kept.store("things", 1 << 20) is None
    ours = accelerate(lambda x: np.cos(x) * 3.0, target="cpu")
    np.testing.assert_allclose(ours(np.arange(3.0)), np.cos(np.arange(3.0)) * 3)
    monkeypatch.delenv("UNTRACED_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept.root() == tmp_path / "untraced"


def test_what_cannot_be_written_is_told_and_does_not_matter(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept.Store, "making", full)
    with pytest.warns(RuntimeWarning, match="nothing can be kept in .*No space left"):
        assert accelerate(lambda x: x * 7.0 + 0.125, target="cpu")(np.ones(3)).tolist() == [7.125] * 3


def test_another_process_loads_what_this_one_has_compiled(cache: Path) -> None:
    def run(factor: float) -> str:
        source = cache.parent / f"script{factor}.py"
        source.write_text(RUN.format(factor=factor))
        done = subprocess.run([sys.executable, str(source)], capture_output=True, text=True, check=False)
        return done.stdout or done.stderr

    def f(x: Any) -> Any:
        return np.sum(np.tanh(x) * 2.5)

    expected = accelerate(f, target="cpu")(np.arange(5.0))
    (entry,) = made(cache)
    assert float(run(2.5)) == expected
    assert run(3.5).strip() == "compiled"  # another program
    entry.write_bytes(entry.read_bytes()[:-1])
    assert run(2.5).strip() == "compiled"


def twice(extra: dict[str, str] | None = None) -> list[float]:
    vector = Aval((3,), np.dtype(np.float64))
    (y,) = client.compile(Emitted("twice", TWICE, (vector,), (vector,)), extra).run_numpy([np.arange(3.0)])
    found: list[float] = y.tolist()
    return found


def test_an_entry_that_xla_refuses_is_compiled_anew(cache: Path) -> None:
    assert twice() == twice() == [0, 2, 4]
    (entry,) = made(cache)
    whole = entry.read_bytes()
    store = kept.store("programs", 1 << 20)
    assert store is not None
    store.keep(entry, b"of another version")
    assert twice() == [0, 2, 4]
    assert store.read(entry) not in (None, b"of another version") and len(entry.read_bytes()) == len(whole)


def test_other_options_make_another_entry(cache: Path) -> None:
    assert twice() == twice({"xla_cpu_small_while_loop_byte_threshold": "77"}) == [0, 2, 4]
    assert len(made(cache)) == 2


def test_what_was_there_before_stays(tmp_path: Path) -> None:
    for k in range(4):
        (tmp_path / f"thesis{k}.dat").write_bytes(bytes(1000))
    store = kept.at(tmp_path, 500)
    assert store is not None
    for k in range(3):
        store.keep(store.entry(str(k)), bytes(300))
    assert sorted(p.name for p in tmp_path.glob("*.dat")) == [f"thesis{k}.dat" for k in range(4)]
    assert sum(not p.suffix for p in tmp_path.iterdir()) == 1


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("UNTRACED_CACHE", str(tmp_path / "open"))
    assert kept.root() is None


def test_a_damaged_library_is_made_anew(cache: Path) -> None:
    if not compiler.available():
        pytest.skip("no compiler")
    source = 'extern "C" int answer() { return 42; }'
    compiler._library(source).write_bytes(b"")
    assert compiler._loaded(source).answer() == 42


def test_the_program_may_say_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept.TOLD, "folder", "")
    monkeypatch.setenv("UNTRACED_CACHE", str(tmp_path / "environment"))
    assert untraced.config.compilation_cache_dir == str(tmp_path / "environment")
    untraced.config.update("jax_compilation_cache_dir", tmp_path / "said")
    assert untraced.config.compilation_cache_dir == str(tmp_path / "said")
    accelerate(lambda x: x - 8.5, target="cpu")(np.ones(2))
    assert made(tmp_path / "said") and not (tmp_path / "environment" / "programs").exists()
    untraced.config.compilation_cache_dir = None
    assert untraced.config.compilation_cache_dir is None and kept.root() is None
