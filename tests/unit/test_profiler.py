"""`untraced.profiler`: times by program, line, operation and annotation; JAX's names."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, block_until_ready, device_put, profiler
from untraced.tpu.client import executable as client
from untraced.tpu.client import names
from untraced.tpu.client.profile import operations
from untraced.tpu.emit.program import Emitted
from untraced.translator.errors import Span
from untraced.translator.ir import Aval

X = np.linspace(0.0, 1.0, 90_000).reshape(300, 300)
ON_DEVICE = device_put(X)  # what works on Arrays is compiled, also where NumPy would be as fast


def heavy(x: Any) -> Any:
    y = np.linalg.inv(x + np.eye(300))
    return y[:3] + 1.0


def light(x: Any) -> Any:
    return np.sqrt(x[:3])


@pytest.fixture(scope="module")
def profiled() -> Iterator[profiler.Profile]:
    compiled, other = accelerate(heavy), accelerate(light)
    early = profiler.TraceAnnotation("made before")
    block_until_ready(compiled(ON_DEVICE))
    with profiler.profile() as made:
        for i in range(3):
            with profiler.StepTraceAnnotation("step", step_num=i):
                block_until_ready(compiled(ON_DEVICE))
        with early:
            block_until_ready(profiler.annotate_function(other, "second")(ON_DEVICE))
    yield made


def _line(function: Any, offset: int) -> tuple[str, int]:
    return function.__code__.co_filename, function.__code__.co_firstlineno + offset


def test_time_is_told_by_lines_of_source(profiled: profiler.Profile) -> None:
    seconds = {(x.file, x.line): x.seconds for x in profiled.lines}
    inverse = seconds[_line(heavy, 1)]
    assert max(seconds.values()) == inverse
    assert inverse > seconds[_line(light, 1)] > 0
    texts = {(x.file, x.line): x.text for x in profiled.lines}
    assert texts[_line(heavy, 1)] == "y = np.linalg.inv(x + np.eye(300))"


def test_programs_and_operations_count_their_runs(profiled: profiler.Profile) -> None:
    heaviest = profiled.programs[0]
    assert heaviest.name.startswith("heavy")
    assert heaviest.calls == 3
    operation = profiled.operations[0]
    assert (operation.program, operation.calls) == (heaviest.name, 3)
    assert 0 < operation.seconds <= heaviest.seconds <= profiled.seconds
    assert operation.lines == (f"test_profiler.py:{_line(heavy, 1)[1]}",)


def test_annotations_translation_and_compilation_are_spans(profiled: profiler.Profile) -> None:
    calls = {x.name: x.calls for x in profiled.spans}
    assert calls["step"] == 3
    assert calls["second"] == calls["made before"] == 1
    assert calls["untraced: translate light"] == calls["untraced: compile light"] == 1
    assert "untraced: translate heavy" not in calls


def test_a_profile_prints_and_is_saved_for_perfetto(profiled: profiler.Profile, tmp_path: Path) -> None:
    text = str(profiled)
    for title in ("programs:", "lines of source:", "operations:", "spans:"):
        assert title in text
    assert "y = np.linalg.inv(x + np.eye(300))" in text
    events = json.loads(profiled.save(tmp_path / "trace.json").read_text())["traceEvents"]
    steps = [e for e in events if e["name"] == "step"]
    assert [e["ph"] for e in steps] == ["X"] * 3
    assert all(e["dur"] > 0 for e in steps)
    assert any("test_profiler.py" in e["args"].get("lines", "") for e in events if e["ph"] == "X")


def test_programs_of_one_name_and_programs_that_are_gone_keep_their_lines() -> None:
    def sizes(x: Any) -> Any:
        return np.tanh(x) * 2.0

    compiled = accelerate(sizes)
    with profiler.profile() as made:
        block_until_ready(compiled(ON_DEVICE))
        block_until_ready(compiled(ON_DEVICE[:7]))
        block_until_ready(accelerate(lambda x: np.exp(x) - 1.0)(ON_DEVICE))
    here = [x for x in made.programs if x.name.startswith("sizes")]
    assert [x.calls for x in here] == [1, 1]
    assert len({x.name for x in here}) == 2
    assert any("np.exp(x)" in x.text for x in made.lines)


def test_what_numpy_runs_is_a_span() -> None:
    def summed(x: Any) -> Any:
        return x @ x

    x = np.ones((600, 600))
    compiled = accelerate(summed)
    compiled(x)
    with profiler.profile() as made:
        compiled(x)
    programs, spans = [x.name for x in made.programs], [x.name for x in made.spans]
    assert programs == ["summed"] or spans == ["untraced: summed by NumPy"]


def test_an_error_inside_ends_the_profile_and_an_empty_one_is_empty() -> None:
    with pytest.raises(ZeroDivisionError), profiler.profile():
        raise ZeroDivisionError
    with profiler.profile() as made:
        pass
    assert made.programs == made.lines == ()
    assert "in all" in str(made)


def test_one_at_a_time() -> None:
    with profiler.profile(), pytest.raises(RuntimeError, match="only one"), profiler.profile():
        raise AssertionError
    with pytest.raises(RuntimeError, match="start_trace first"):
        profiler.stop_trace()


def test_traces_are_files_for_tensorboard(tmp_path: Path) -> None:
    with profiler.trace(tmp_path, create_perfetto_trace=True), profiler.TraceAnnotation("mine", batch=4):
        block_until_ready(accelerate(light)(ON_DEVICE))
    (folder,) = (tmp_path / "plugins" / "profile").iterdir()
    names = sorted(path.suffix for path in folder.iterdir())
    assert names == [".json", ".pb"]
    assert any(e["name"] == "mine" for e in json.loads((folder / "perfetto_trace.json").read_text())["traceEvents"])
    with pytest.raises(ValueError, match="create_perfetto_trace"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)


def test_memory_profiles_are_compressed_protocol_buffers(tmp_path: Path) -> None:
    accelerate(light)(X)
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert gzip.decompress((tmp_path / "memory.prof").read_bytes())
    with pytest.raises(ValueError, match="'cpu'"):
        profiler.device_memory_profile("gpu")


def test_a_fusion_is_shared_out_by_its_steps() -> None:
    first, second = Span("a.py", 3, 0, 3, 9), Span("a.py", 4, 0, 4, 9)
    hlo = """HloModule m

%fused (p: f64[4]) -> f64[4] {
  %p = f64[4]{0} parameter(0), metadata={source_line=3}
  %sine = f64[4]{0} sine(%p), metadata={source_line=3}
  %twice = f64[4]{0} add(%sine, %sine), metadata={source_line=4}
  ROOT %more = f64[4]{0} add(%twice, %p), metadata={source_line=4}
}

ENTRY %main (x: f64[4]) -> f64[4] {
  %x = f64[4]{0} parameter(0)
  %copy.1 = f64[4]{0} copy(%x)
  ROOT %fusion = f64[4]{0} fusion(%copy.1), kind=kLoop, calls=%fused, metadata={source_line=4}
}
"""
    found = operations(hlo, (first, second))
    assert found["fusion"].shares == {first: 1 / 3, second: 2 / 3}
    assert found["copy.1"].shares == {}


def test_modules_have_names_of_their_own() -> None:
    aval = Aval((3,), np.dtype(np.float64))
    text = "module @same {\n  func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {\n"
    text += "    return %x : tensor<3xf64>\n  }\n}\n"
    first, second = Span("a.py", 1, 0, 1, 5), Span("b.py", 1, 0, 1, 5)
    made = [client.compile(Emitted("same", text, (aval,), (aval,), spans=(s,))) for s in (first, second, first)]
    names = [m.hlo.split()[1].rstrip(",") for m in made]
    assert all(n.startswith("same.") for n in names)
    assert names[0] != names[1]  # other lines of source
    assert names[2] == names[0]  # the same program has the same name, in another process too


def _emitted(line: int) -> Emitted:
    return Emitted("f", "module @f {\n}\n", (), (), spans=(Span("f.py", line, 0, line, 1),))


def test_a_name_stays_while_one_of_its_programs_lives() -> None:
    def module(line: int) -> tuple[names.Name, str]:
        name, program = names.named(_emitted(line))
        return name, program.text.split()[1]

    first, text = module(1)
    twin, same = module(1)
    assert twin is first and same == text
    del first
    other, text_of_other = module(2)
    assert text_of_other == f"{text}.1" and other is not twin
    del twin
    assert module(3)[1] == text  # nobody has it any more


def test_names_are_given_once_whoever_asks_at_the_same_time() -> None:
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda k: (k % 4, names.named(_emitted(10 + k % 4))[0]), range(200)))
    assert len({name.module for _, name in given}) == len({id(name) for _, name in given}) == 4
    assert all((name.module == other.module) == (k == j) for k, name in given[:8] for j, other in given[:8])
