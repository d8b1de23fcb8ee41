"""What the documents show is what happens, and what they name is there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "ARCHITECTURE.md", ROOT / "README.md", ROOT / "docs/guide.md", *ROOT.glob("docs/internals/*.md")]
ROOMS = [p.parent for room in ("translator", "kernels", "tpu", "runtime") for p in (ROOT / room).rglob("__init__.py")]


def blocks(document: str) -> list[tuple[str, str]]:
    """(language, text) of the fenced blocks of a document."""
    found: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / document).read_text(), re.M | re.S)
    return found


def run(source: str, file: str, names: dict[str, Any]) -> str:
    """What a cell of a notebook prints, less the spaces at the ends of lines."""
    Path(file).write_text(source)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, file, "exec"), names)
    return "\n".join(line.rstrip() for line in out.getvalue().strip("\n").splitlines())


def test_the_guide_shows_what_its_programs_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "guide"}
    shown = [*blocks("docs/guide.md"), ("", "")]
    cells = [(text, after) for (language, text), after in zip(shown, shown[1:]) if language == "python"]
    for n, (source, (language, expected)) in enumerate(cells, 1):
        printed = run(source, f"step_{n}.py", names)
        assert printed == (expected.strip("\n") if language == "text" else ""), source


def test_the_architecture_shows_what_becomes_of_its_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    monkeypatch.chdir(tmp_path)
    (_, program), *others = blocks("ARCHITECTURE.md")
    names: dict[str, Any] = {"__name__": "example"}
    run(program, "energy.py", names)
    made = names["inspection"]
    stages = [made.stages[name] for name in ("read", "derive", "fuse")]
    assert [text.strip() for _, text in others] == [
        text.strip() for text in (*stages, made.kernels[0].source, made.driver)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_files_that_a_document_names_are_there(document: Path) -> None:
    """Links, and modules in backticks: `derive/tape.py`, `kernels/settling/settle`."""
    text = document.read_text()
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    assert not [link for link in links if not (document.parent / link).exists()]
    modules = re.findall(r"`((?:\w+/)+\w+)(?:\.py)?`", text)
    places = [ROOT, *(room.parent for room in ROOMS)]
    assert not [m for m in modules if not any((p / m).is_dir() or (p / f"{m}.py").exists() for p in places)]


def test_the_readme_lists_the_settings() -> None:
    package = (p.read_text() for room in ROOMS for p in room.glob("*.py"))
    read = {name for text in package for name in re.findall(r'"(UNTRACED_[A-Z_]+)"', text)}
    table = (ROOT / "README.md").read_text().partition("## Settings")[2]
    assert set(re.findall(r"`(UNTRACED_[A-Z_]+)`", table)) == read
