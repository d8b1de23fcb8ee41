"""`Inspection.html`: one self-contained page; the pointer on a line lights up what was made from it."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .inspection import Inspection

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --hit: #ffd54a66; --dim: #8889; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 1.5rem; }
h1 { font-size: 1.3rem; margin: 0 0 .2rem; } .what { color: #888; margin: 0 0 1rem; }
main { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
section { flex: 1 1 30rem; min-width: 20rem; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
h2 { font-size: .95rem; margin: 0; padding: .4rem .8rem; border-bottom: 1px solid var(--line); }
h2 small { color: #888; font-weight: normal; margin-left: .6rem; }
pre { margin: 0; padding: .5rem 0; overflow-x: auto; font: 12.5px/1.45 ui-monospace, monospace; }
pre span { display: block; padding: 0 .8rem; white-space: pre; min-height: 1.45em; }
pre span[data-lines]:hover, .hit { background: var(--hit); }
i { color: var(--dim); font-style: normal; user-select: none; }
details > summary { cursor: pointer; padding: .4rem .8rem; }
"""

_SCRIPT = """
const marked = [...document.querySelectorAll('[data-lines]')];
const of = e => e.dataset.lines.split(' ');
for (const e of marked) {
  e.addEventListener('mouseenter', () => {
    const lines = of(e);
    for (const o of marked) o.classList.toggle('hit', of(o).some(n => lines.includes(n)));
  });
  e.addEventListener('mouseleave', () => marked.forEach(o => o.classList.remove('hit')));
}
"""

_FROM = re.compile(r"# from line (\d+)")


def page(inspection: Inspection) -> str:
    """The HTML text."""
    first = inspection.stages.functions["read"].span.line
    parts = (
        [_panel("source", str(inspection.signature), _numbered(inspection.user_source, first))]
        if inspection.user_source
        else []
    )
    for name in inspection.stages:
        parts.append(_panel(name, "NumPy, as it runs under CPython", _traced(inspection, name)))
    for k in inspection.kernels:
        about = f"{k.language}, {k.bytes_moved:,} bytes moved, at least {k.bytes_minimum:,}"
        parts.append(_panel(k.name, f"{about}; {k.why_cut}" if k.why_cut else about, _lines(k.source, k.lines)))
    for name, text in (("StableHLO", inspection.stablehlo), ("HLO", inspection.hlo), ("PTX", inspection.ptx)):
        if text:
            body = _panel(name, "", _lines(text, ()))
            parts.append(f"<details><summary>{name}</summary>{body}</details>")
    title = html.escape(f"{inspection.name} for {inspection.target}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f'<h1>{title}</h1><p class="what">Point at a line to see what was made from it.</p>'
        f"<main>{''.join(parts)}</main><script>{_SCRIPT}</script></html>\n"
    )


def _panel(title: str, about: str, body: str) -> str:
    return f"<section><h2>{html.escape(title)}<small>{html.escape(about)}</small></h2><pre>{body}</pre></section>"


def _numbered(text: str, first: int) -> str:
    rows = enumerate(text.rstrip("\n").splitlines(), first)
    return "".join(f'<span data-lines="{n}"><i>{n:4d} </i>{html.escape(row)}</span>' for n, row in rows)


def _lines(text: str, covered: tuple[int, ...]) -> str:
    mark = f' data-lines="{" ".join(map(str, covered))}"' if covered else ""
    return "".join(f"<span{mark}>{html.escape(row)}</span>" for row in text.rstrip("\n").splitlines())


def _traced(inspection: Inspection, stage: str) -> str:
    """Rows of a stage, each with the user's lines that it comes from: told by its comment, or found by its text."""
    origins = _statements(inspection)
    rows = []
    for row in inspection.stages[stage].rstrip("\n").splitlines():
        found = _FROM.search(row)
        code = row.partition("  # from line")[0].strip()
        line = int(found.group(1)) if found else origins.get(code)
        mark = f' data-lines="{line}"' if line else ""
        rows.append(f"<span{mark}>{html.escape(row)}</span>")
    return "".join(rows)


def _statements(inspection: Inspection) -> dict[str, int]:
    """The user's own statements, which stages that keep them print unchanged."""
    first = inspection.stages.functions["read"].span.line
    return {row.strip(): n for n, row in enumerate(inspection.user_source.splitlines(), first) if row.strip()}
