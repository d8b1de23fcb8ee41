"""The page of what is supported can be made, and speaks of what the language has."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import numpy as np

import untraced
from untraced.scipy import special
from untraced.translator import ops
from untraced.translator.ops.core import Elementwise

DOCS = Path(__file__).resolve().parents[2] / "docs"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_support_table", DOCS / "make_support_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_lists_what_is_known_and_not_what_is_refused() -> None:
    text = maker().page()
    committed = (DOCS / "support.md").read_text()
    for name in ("`einsum`", "`logsumexp`", "| tanh | `np.tanh` | yes |", "| floor | `np.floor` | zero |"):
        assert name in text and name in committed
    assert "`nonzero`" not in text


def test_the_page_is_up_to_date() -> None:
    """Every name, as far as the installed NumPy and SciPy have it: their versions know different ones."""
    module, committed = maker(), (DOCS / "support.md").read_text()
    for label, owner in module.namespaces():
        section = committed.partition(f"### `{label}` (")[2].partition("\n\n")[2].partition("\n")[0]
        listed = set(re.findall(r"`(\w+)`", section))
        now = {n for n in dir(owner) if not n.startswith("_") and module.known(getattr(owner, n))}
        assert {n for n in listed if hasattr(owner, n)} == now, f"run docs/make_support_table.py: {label}"
    assert module.rows() in committed, "run docs/make_support_table.py"
    assert module.composed() in committed, "run docs/make_support_table.py"


def test_what_is_measured_exists_and_rows_are_measured() -> None:
    table = json.loads((DOCS / "accuracy.json").read_text())
    for name, errors in table.items():
        assert hasattr(np, name) or name in special.__all__
        assert errors.keys() <= {"float64", "float32", "complex128", "complex64"}
    names = {op.numpy.rpartition(".")[2] for op in ops.ALL if isinstance(op, Elementwise) and not op.operator}
    assert {"sin", "exp", "erf", "gammaln", "erfinv", "tanh"} <= names & table.keys()


def test_functions_whose_errors_were_worst_keep_to_four_units() -> None:
    """Where XLA's own functions are off by 20 units and more: against NumPy, which is good to one or two."""
    far, unit = np.linspace(-80.0, 80.0, 501), np.linspace(-0.999, 0.999, 501)
    for function, x in ((np.sinh, far), (np.cosh, far), (np.arctanh, unit), (np.log1p, unit)):
        for dtype in (np.float64, np.float32):
            args = x.astype(dtype)
            exact = function(args.astype(np.longdouble))
            found = untraced.accelerate(lambda v, f=function: f(v), target="cpu")(args)
            unit_in_last_place = np.spacing(np.abs(exact).astype(dtype)).astype(np.longdouble)
            error = np.abs(found.astype(np.longdouble) - exact) / unit_in_last_place
            assert error[exact != 0].max() < 4, (function, dtype)
