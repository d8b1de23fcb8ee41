"""Colours for code in HTML: comments, strings, numbers and the words of a language, by one regular expression."""

from __future__ import annotations

import html
import keyword
import re

_TOKENS = r"""(?P<string>"[^"]*"|'[^']*')|(?P<name>%[\w.#:-]+)|(?P<number>\b\d[\w.]*)|(?P<word>[A-Za-z_][\w.]*)"""
_HASH, _SLASHES = (re.compile(rf"(?P<comment>{start}.*)|{_TOKENS}") for start in (r"\#", "//"))
_NONE = re.compile(_TOKENS)
_COMMENTS = {"python": _HASH, "numpy": _HASH, "triton": _HASH, "cuda": _SLASHES}
_PYTHON = " ".join(keyword.kwlist)
_CUDA = """__global__ __device__ __restrict__ __shared__ const float double int long short char bool unsigned void for
while if else return extern static inline template typename struct"""
_HLO = "func.func return module ENTRY ROOT calls to_apply kind dimensions HloModule"
_WORDS = {
    **dict.fromkeys(("python", "numpy", "triton"), frozenset(_PYTHON.split())),
    "cuda": frozenset(_CUDA.split()),
    **dict.fromkeys(("stablehlo", "hlo"), frozenset(_HLO.split())),
}
_LIBRARY = ("np.", "tl.", "stablehlo.", "libdevice.")


def highlighted(row: str, language: str) -> str:
    """One row of code as HTML."""
    words, tokens = _WORDS.get(language, frozenset()), _COMMENTS.get(language, _NONE)
    parts, done = [], 0
    for m in tokens.finditer(row):
        kind, text = m.lastgroup, m.group()
        if kind == "word":
            kind = "keyword" if text in words else "library" if text.startswith(_LIBRARY) else None
        if kind is None or (kind == "name" and language in _COMMENTS):
            continue
        parts += [html.escape(row[done : m.start()]), f'<b class="{kind}">{html.escape(text)}</b>']
        done = m.end()
    return "".join(parts) + html.escape(row[done:])
