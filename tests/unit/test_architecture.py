"""What ARCHITECTURE.md says of the house as a whole, asked of its source: rooms, directions, lengths, leftovers."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("translator", "kernels", "tpu", "runtime")  # each may import those before it
BACKENDS = {"jax", "jaxlib", "libtpu", "cupy", "triton"}
WORD = re.compile(r"[A-Za-z_]\w*")
CALLED_BY_OTHERS = {
    *("clear_cache", "on_device_size_in_bytes", "copy_to_host_async", "is_fully_addressable", "shard_shape"),  # users
    *("_device_assignment", "_internal_device_list", "device_set"),  # jaxlib, of a sharding
    *("node_data", "in_tree", "args_info", "memory_analysis", "compiler_ir"),  # scripts written for JAX
    *("branch_", "loop_"),  # by name, `runtime/transforms/strategies`
    "visit_Call",  # ast.NodeTransformer
    "create_module",  # Python's import
    *("rotate", "popleft", "extendleft", "integ"),  # users, of the objects that stand for Python's and NumPy's
}

Definition = ast.FunctionDef | ast.ClassDef
When = Literal["at once", "later", "for types"]
Import = tuple[int, When, str]  # the line, when it runs, what: a module or a name in one


@cache
def texts() -> dict[str, str]:
    found = [p for room in ROOMS for p in sorted((ROOT / room).rglob("*.py"))] + sorted(ROOT.glob("*.py"))
    return {p.relative_to(ROOT).as_posix(): p.read_text() for p in found}


@cache
def trees() -> dict[str, ast.Module]:
    return {file: ast.parse(text) for file, text in texts().items()}


@cache
def words() -> dict[str, Counter[str]]:
    """How often each stands in a file."""
    return {file: Counter(WORD.findall(text)) for file, text in texts().items()}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """At any depth; those that lie in no expression, which is where most of a tree is."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


@cache
def parts() -> dict[str, tuple[list[Import], list[Definition]]]:
    """The imports and the definitions of each file, at any depth."""
    result: dict[str, tuple[list[Import], list[Definition]]] = {}
    for file, tree in trees().items():
        imports, definitions = result.setdefault(file, ([], []))
        when: dict[ast.AST, When] = dict.fromkeys(tree.body, "at once")
        for node in tree.body:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                when |= dict.fromkeys(node.body, "for types")
        for node in statements(tree):
            if isinstance(node, Definition):
                definitions.append(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imports += [(node.lineno, when.get(node, "later"), name) for name in _absolute(file, node)]
    return result


def _absolute(file: str, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    start: list[str] = []
    if isinstance(node, ast.ImportFrom):
        start = ["untraced", *file.split("/")][: -node.level] if node.level else []
        start += [node.module] if node.module else []
    return (".".join([*start, a.name]) for a in node.names)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room: str) -> None:
    above = {f"untraced.{r}" for r in ROOMS[ROOMS.index(room) + 1 :]}
    for file, (imports, _) in parts().items():
        if file.startswith(f"{room}/"):
            wrong = [(line, name) for line, _, name in imports if ".".join(name.split(".")[:2]) in above]
            assert not wrong, file


@cache
def imported(*times: When) -> dict[str, set[str]]:
    """For each module those that it imports at these times."""
    files = {".".join(["untraced", *f.removesuffix(".py").split("/")]).removesuffix(".__init__"): f for f in texts()}

    def wanted(file: str) -> set[str]:
        names = [name for _, when, name in parts()[file][0] if when in times]
        return {name if name in files else name.rpartition(".")[0] for name in names} & files.keys()

    return {module: wanted(file) for module, file in files.items()}


def reached(module: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        new = edges[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def test_imports_make_no_circles() -> None:
    """Imports inside functions counted."""
    edges = imported("at once", "later")
    assert not [module for module in edges if module in reached(module, edges)]


def test_the_reader_is_built_in_layers() -> None:
    """The folders in docs/internals/reading.md: a module imports from its own layer and from those before it."""
    table = (ROOT / "docs/internals/reading.md").read_text().split("## Layers")[1].split("\n## ")[0]
    folders = re.findall(r"`(\w+)/` \|$", table, re.M)
    room = "untraced.translator.reading."
    edges = {m: wanted for m, wanted in imported("at once", "later").items() if m.startswith(room)}
    places = {m: m.removeprefix(room).split(".") for m in edges}
    layer = {m: folders.index(place[0]) if len(place) > 1 else len(folders) for m, place in places.items()}
    assert {place[0] for place in places.values() if len(place) > 1} <= set(folders)
    assert not [(m, name) for m in edges for name in edges[m] & layer.keys() if layer[name] > layer[m]]


def test_imports_stand_at_the_top() -> None:
    """In the translator, an import inside a function is one of what only programs with loops, or with SciPy, need."""
    seldom = ("untraced.translator.vectorise.", "untraced.translator.surface.scipy")
    for module, names in imported("later").items():
        if module.startswith("untraced.translator"):
            assert not [name for name in names if not name.startswith(seldom)], module


def test_names_with_an_underscore_are_their_modules_own() -> None:
    for file, (imports, _) in parts().items():
        names = [name.split(".") for _, _, name in imports if name.startswith("untraced.")]
        assert not [n for n in names if n[-1].startswith("_") and not n[-1].startswith("__")], file


def test_backends_are_imported_where_they_are_used() -> None:
    """The translator imports none, the other rooms none when they are imported: `import untraced` is light."""
    for file, (imports, _) in parts().items():
        loaded = [
            (line, name)
            for line, when, name in imports
            if name.split(".")[0] in BACKENDS and (when == "at once" or file.startswith("translator/"))
        ]
        assert not loaded, file


def test_data_classes_are_made_fast() -> None:
    """Python's own decorator takes five times as long, at every import."""
    for file, (imports, _) in parts().items():
        slow = [line for line, when, name in imports if name == "dataclasses.dataclass" and when == "at once"]
        assert not slow, (file, "import it from translator/records")


def test_what_is_defined_is_used() -> None:
    """A name stands somewhere else than in its own definition: in the package, a template, an example, a document."""
    beside = [*(ROOT / "kernels").rglob("*.j2"), *ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    beside += ROOT.glob("examples/*.py")
    uses = Counter(w for p in beside for w in WORD.findall(p.read_text()))
    for counted in words().values():
        uses.update(counted)
    left = []
    for file, (_, definitions) in parts().items():
        lines = texts()[file].splitlines()
        is_namespace = texts()[file].startswith('"""The namespace `untraced.')
        for node in definitions:
            if is_namespace and not node.col_offset and not node.name.startswith("_"):
                continue  # what users call
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            own = "\n".join(lines[first - 1 : node.end_lineno])
            if own.count(node.name) < uses[node.name] or node.name.startswith("__"):
                continue
            if uses[node.name] == WORD.findall(own).count(node.name):
                left.append(f"{file}:{node.lineno} {node.name}")
    assert {name.split()[1] for name in left} <= CALLED_BY_OTHERS, left


def test_files_and_functions_are_short() -> None:
    """About 600 lines and about 50, without the docstring: what is longer by a tenth and a quarter is two subjects."""
    assert not [file for file, text in texts().items() if text.count("\n") > 670]
    long = []
    for file, (_, definitions) in parts().items():
        for node in definitions:
            documented = node.body[0].end_lineno - node.lineno if ast.get_docstring(node) else 0
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno - documented >= 64:
                long.append(f"{file}:{node.lineno} {node.name}")
    assert not long


def test_every_room_is_named_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = {Path(file).parent.as_posix() for file in texts()} - {"."}
    assert not [r for r in sorted(rooms) if f"{r.split('/')[-1]}/" not in text]
    packages = re.findall(r"^    untraced\.(\S+)$", (ROOT / "setup.cfg").read_text(), re.M)
    assert {p.replace(".", "/") for p in packages} == rooms


def test_the_index_has_every_module(request: pytest.FixtureRequest) -> None:
    """Each with what its docstring says first. `--update-golden` writes the index anew."""
    rooms: dict[str, list[str]] = {}
    for file, tree in trees().items():
        room, name = Path(file).parent.as_posix(), Path(file).stem
        if room != "." and not name.startswith("__"):
            says = " ".join((ast.get_docstring(tree) or "").partition("\n\n")[0].split())
            rooms.setdefault(room, []).append(f"- `{name}`: {says}")
    listed = [f"## {room}\n\n" + "\n".join(sorted(lines)) + "\n" for room, lines in rooms.items()]
    index = ROOT / "docs/internals/modules.md"
    made = "\n".join((index.read_text().partition("\n## ")[0], *listed))
    if request.config.getoption("--update-golden"):
        index.write_text(made)
    assert index.read_text() == made, "run pytest --update-golden tests/unit/test_architecture.py"


def test_what_the_documents_name_is_there() -> None:
    """`module.name` of a module of the package, and `room/module` or `room/package` of a room of it."""
    known: dict[str, set[str]] = {}
    for file, counted in words().items():
        known.setdefault(Path(file).stem, {"py"}).update(counted)
    paths = {"/".join(p.parts[-2:]) for file in texts() for p in (Path(file).with_suffix(""), Path(file).parent)}
    rooms = {Path(file).parent.name for file in texts()}
    for document in (ROOT / "ARCHITECTURE.md", *(ROOT / "docs/internals").glob("*.md")):
        text = document.read_text()
        names = re.findall(r"`(\w+)\.(\w+)`", text)
        assert not [(m, name) for m, name in names if m in known and name not in known[m]], document
        places = re.findall(r"`(?:\w+/)*(\w+)/(\w+)`", text)
        assert not [(r, m) for r, m in places if r in rooms and f"{r}/{m}" not in paths], document
