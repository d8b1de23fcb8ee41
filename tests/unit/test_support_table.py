"""The page of what is supported can be made, and speaks of what the language has."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_lists_what_is_known_and_not_what_is_refused() -> None:
    spec = importlib.util.spec_from_file_location("make_support_table", DOCS / "make_support_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.page()
    committed = (DOCS / "support.md").read_text()
    for name in ("`einsum`", "`logsumexp`", "| tanh | `np.tanh` | yes |", "| floor | `np.floor` | zero |"):
        assert name in text and name in committed
    assert "`nonzero`" not in text
