"""Rendering kernel templates."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...translator.patterns import pattern
from .helpers import HELPERS

if TYPE_CHECKING:
    import jinja2

_COMMENT = pattern(r"(?m)^ *(?://|# ).*$")  # the user's lines, which may name np.floor_divide
_WIDTH = 110
_SIGNATURE = pattern(r'(?m)^((?:extern "C"|def) .*\()(.+)(\)(?: \{|:))$')  # no parameter's type has parentheses
_ACCESS = pattern(r"(?m)^( *)((?:\w+ = )?tl\.(?:load|store)\()(.+), (mask=.+)\)$")
FOLDS = {
    "Sum": "a + b",
    "Product": "a * b",
    "WrappingSum": "wrapping_add(a, b)",
    "WrappingProduct": "wrapping_multiply(a, b)",
    "Largest": "a > b || a != a ? a : b",
    "Smallest": "a < b || a != a ? a : b",
}


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    import jinja2  # loaded with the first kernel

    folder = Path(__file__).parents[1] / "templates"
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )


def render(template: str, *, dialect: str, **context: object) -> str:
    """The template filled in; helper functions that the lines call are put in front of the kernel."""
    environment = _environment()
    bare = environment.get_template(template).render(**context, helpers=())
    for part in ("outer_indices", "inner_indices"):
        context[part] = _read_indices(context.get(part, ()), bare)
    named = set(re.findall(r"\w+", bare))
    folds = [(name, value) for name, value in FOLDS.items() if name in named]
    helpers = _needed("\n".join((_COMMENT.sub("", bare), *(value for _, value in folds))), HELPERS[dialect])
    everything = "\n".join((bare, *helpers))
    words = set(re.findall(r"\w+", _COMMENT.sub("", everything)))
    flags = {
        "uses_libdevice": "libdevice." in everything,
        "half_types": [name for name in ("half_t", "bfloat_t") if name in words],
        "uses_batch": "batch" in words,
        "shuffles_pairs": "complex_t<" in everything and "__shfl_" in everything,
        "folds": [(name, value) for name, value in FOLDS.items() if name in words],
    }
    text = environment.get_template(template).render(**context, helpers=helpers, **flags)
    text = _ACCESS.sub(_on_lines, _SIGNATURE.sub(_broken, text))
    return re.sub(r"\n{4,}", "\n\n\n", text).lstrip("\n")


def _read_indices(indices: object, text: str) -> list[tuple[str, str]]:
    """Of the indices that are taken out of a running one, those that something reads; the last ones may be the only
    readers of those before them."""
    assert isinstance(indices, list | tuple)
    words, made = Counter(re.findall(r"\w+", text)), Counter(re.findall(r"(\w+) = ", text))
    read: list[tuple[str, str]] = []
    for name, expression in reversed(indices):
        if words[name] > made[name]:
            read.insert(0, (name, expression))
        else:
            words.subtract(re.findall(r"\w+", expression) * made[name])
    return read


def _on_lines(access: re.Match[str]) -> str:
    """A load or a store too long for a line has its address and its mask on lines of their own."""
    indent, head, address, mask = access.groups()
    if len(access[0]) <= _WIDTH:
        return access[0]
    return f"{indent}{head}\n{indent}    {address},\n{indent}    {mask}\n{indent})"


def _broken(signature: re.Match[str]) -> str:
    """A signature too long for a line has its parameters on lines of their own, filled as far as they go."""
    if len(signature[0]) <= _WIDTH:
        return signature[0]
    head, parameters, end = signature.groups()
    lines = textwrap.wrap(parameters.replace(" ", "\0").replace(",\0", ", "), _WIDTH - 4, break_long_words=False)
    return "\n    ".join((head, *lines)).replace("\0", " ") + "\n" + end


def _needed(text: str, known: dict[str, str]) -> list[str]:
    """Helpers named in the text, and those that they name, in the order in which they are defined."""
    found: set[str] = set()
    todo = [text]
    while todo:
        words = set(re.findall(r"\w+", todo.pop()))
        for name in known.keys() & words - found:
            found.add(name)
            todo.append(known[name])
    return [source for name, source in known.items() if name in found]
