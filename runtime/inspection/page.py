"""`Inspection.html`: one self-contained page, two panes side by side; a line lights up with all that was made from it.

Each pane shows one view: the user's source, the program after a pass, the fused groups, a kernel, a backend's text.
A row of a view carries the places of the user's lines that it comes from, `data-from="0:12"` (file and line), which
the statements of the program know.
"""

from __future__ import annotations

import ast
import html
import linecache
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from ...translator.ir import Apply, Function, Fused, Statement, walk
from ...translator.records import dataclass
from ..calls.recompiles import describe_signature
from .highlight import highlighted

if TYPE_CHECKING:
    from .inspection import Inspection
    from .kernels import Kernel



@dataclass(frozen=True, slots=True)
class View:
    """One view for a pane: a name for its tab, a remark, and HTML."""

    title: str
    about: str
    body: str


def page(inspection: Inspection) -> str:
    """The HTML text."""
    places = _Places(inspection)
    views = [*_source_views(inspection, places), *_stage_views(inspection, places), *_kernel_views(inspection, places)]
    texts = {
        "Host source": inspection.driver,
        "StableHLO": inspection.stablehlo,
        "HLO": inspection.hlo,
        "PTX": inspection.ptx,
    }
    for title, text in texts.items():
        if text:
            views.append(View(title, f"{len(text.splitlines()):,} lines", _code(text.splitlines(), title.lower(), [])))
    title = f"{inspection.name} for {inspection.target}"
    titles = [v.title for v in views]
    start = {"left": 0, "right": titles.index("simplify") if "simplify" in titles else len(titles) - 1}
    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    parts = {
        "title": html.escape(title),
        "facts": "".join(f"<li>{html.escape(f)}</li>" for f in _facts(inspection)),
        "views": "".join(
            f'<section class="view" data-title="{html.escape(v.title)}"><p class="about">{html.escape(v.about)}</p>'
            f"{v.body}</section>"
            for v in views
        ),
        **{side: str(n) for side, n in start.items()},
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m.group(1)], template)


def _facts(inspection: Inspection) -> Iterator[str]:
    """Facts worth knowing at a glance."""
    yield f"{inspection.name}{describe_signature(inspection.signature)}"
    if inspection.run_by:
        yield inspection.run_by
    final = inspection.stages.functions[list(inspection.stages)[-1]]
    if isinstance(final, Function):
        count = sum(isinstance(s, Apply) for s in walk(final.body))
        yield f"{count} operation{'s' * (count != 1)}"
    kernels = inspection.kernels
    if kernels:
        moved, least = sum(k.bytes_moved for k in kernels), sum(k.bytes_minimum for k in kernels)
        groups = f"{len(kernels)} group{'s' * (len(kernels) != 1)}"
        yield f"{groups}, {_bytes(moved)} moved, at least {_bytes(least)}"
    yield from map(str, inspection.loops)
    if inspection.memory:
        yield f"temporaries {_bytes(inspection.memory.get('temporary', 0))}"
    if inspection.cost and inspection.cost.get("flops", 0) > 0:
        yield f"{inspection.cost['flops']:,.0f} flops"


def _bytes(n: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if n < 10_000:
            return f"{n:,.0f} {unit}" if unit == "bytes" else f"{n:,.1f} {unit}"
        n /= 1024
    return f"{n:,.1f} GiB"


# ---- places --------------------------------------------------------------------------------------


class _Places:
    """The user's lines that statements come from: files by number, and the functions that stand around the lines."""

    def __init__(self, inspection: Inspection) -> None:
        self.main = inspection.span
        self.files = [self.main.file] if self.main.line else []
        lines: dict[str, set[int]] = {self.main.file: {self.main.line}} if self.main.line else {}
        programs = [f for f in inspection.stages.functions.values() if isinstance(f, Function)]
        for s in (s for f in programs for s in walk(f.body)):
            if s.span.line and not s.span.file.startswith("<untraced"):
                lines.setdefault(s.span.file, set()).add(s.span.line)
        self.functions = [f for file, seen in lines.items() for f in _functions(file, seen)]
        self.functions.sort(key=lambda f: (f[0] != self.main.file or self.main.line not in f[2], f[0], f[2].start))
        self.files += [f for f in lines if f not in self.files]

    def of(self, statements: Iterable[Statement]) -> str:
        """The attribute of a row that is made of these statements."""
        found: dict[str, None] = {}
        for s in statements:
            for t in (s, *walk(s.body)) if isinstance(s, Fused) else (s,):
                if t.span.line and t.span.file in self.files:
                    found[f"{self.files.index(t.span.file)}:{t.span.line}"] = None
        return " ".join(found)

    def of_lines(self, lines: Sequence[int]) -> str:
        """Lines of the user's own file."""
        return " ".join(f"0:{n}" for n in lines)


def _functions(file: str, lines: set[int]) -> list[tuple[str, str, range]]:
    """(file, name, lines) of the outermost definitions that hold these lines."""
    text = "".join(linecache.getlines(file))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    found = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                extent = range(first, (node.end_lineno or node.lineno) + 1)
                if lines & set(extent):
                    found.append((file, getattr(node, "name", "lambda"), extent))
                    continue
            waiting.append(node)
    return found


# ---- views ---------------------------------------------------------------------------------------


def _source_views(inspection: Inspection, places: _Places) -> list[View]:
    """The user's function, and below it those that it calls."""
    parts = []
    for file, name, extent in places.functions:
        number = places.files.index(file)
        rows = [linecache.getline(file, n).rstrip("\n") for n in extent]
        parts.append(f"<h3>{html.escape(name)} <small>{html.escape(file)}:{extent.start}</small></h3>")
        parts.append(_code(rows, "python", [f"{number}:{n}" for n in extent], extent.start))
    if not parts:
        return []
    return [View("source", "as you wrote it; point at a line, click to hold it, Escape to let go", "".join(parts))]


_ABOUT = {
    "read": "the source as a program",
    "derive": "the derivative; comments say which line a statement comes from",
    "batch": "with a batch axis",
    "simplify": "constants folded, common work shared, dead code gone: what the target numpy runs",
    "fuse": "each nested function is one kernel",
    "cut": "the compiled regions, and the function that CPython runs around them",
}


def _stage_views(inspection: Inspection, places: _Places) -> list[View]:
    views = []
    for name in inspection.stages:
        printed = inspection.stages.printed(name)
        origins = [places.of(statements) for statements in printed.origins]
        about = _ABOUT.get(name.split()[0], "")
        views.append(View(name, about, _code(printed.text.splitlines(), "python", origins)))
    return views


def _kernel_views(inspection: Inspection, places: _Places) -> list[View]:
    """A table of the groups, and each with its code."""
    kernels = inspection.kernels
    if not kernels:
        return []
    rows = "".join(map(_kernel_row, kernels, [places.of_lines(k.lines) for k in kernels]))
    table = (
        "<table><tr><th>group<th>kind<th>lines<th>moved<th>at least<th>share, and why it ends here</tr>"
        f"{rows}</table>"
    )
    codes = "".join(
        f'<h3 id="{html.escape(k.name)}">{html.escape(k.name)} <small>{_made_of(k)}</small></h3>'
        + _code(k.source.splitlines(), k.language, [places.of_lines(k.lines)] * len(k.source.splitlines()))
        for k in kernels
    )
    return [View("kernels", "the fused groups: one pass over device memory each", table + codes)]


def _made_of(k: Kernel) -> str:
    return f"{k.language}: {k.resources}" if k.resources else k.language


def _kernel_row(k: Kernel, origin: str) -> str:
    part = min(1.0, k.bytes_minimum / k.bytes_moved) if k.bytes_moved else 1.0
    title = f"{part:.0%} of what is moved had to be"
    bar = f'<span class="bar" style="--part:{part:.0%}" title="{title}"></span>'
    texts = [k.name, k.kind, ", ".join(map(str, k.lines)), _bytes(k.bytes_moved), _bytes(k.bytes_minimum)]
    cells = "".join(f"<td>{html.escape(text)}" for text in texts)
    return f'<tr data-from="{origin}">{cells}<td>{bar}{html.escape(k.why_cut)}</tr>'


def _code(rows: Sequence[str], language: str, origins: Sequence[str], first: int = 0) -> str:
    """Rows of code, each with the places that it comes from; numbered from `first`."""
    marks = [f' data-from="{o}"' if o else "" for o in (*origins, *[""] * (len(rows) - len(origins)))]
    numbers = [f"<i>{first + n}</i>" if first else f"<i>{n + 1}</i>" for n in range(len(rows))]
    body = "".join(
        f"<div{mark}>{number}{highlighted(row, language) or ' '}</div>"
        for mark, number, row in zip(marks, numbers, rows, strict=True)
    )
    return f"<pre>{body}</pre>"
