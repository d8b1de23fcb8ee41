"""Every function and class on the face is documented, and the examples are run. Doctests are source like any other."""

from __future__ import annotations

import doctest
import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import untraced

FACE = {name: getattr(untraced, name) for name in untraced.__all__}
EXAMPLES = sorted(name for name, x in FACE.items() if ">>>" in (inspect.getdoc(x) or "") and name != "jit")


def test_all_have_one() -> None:
    assert not [name for name, x in FACE.items() if callable(x) and not inspect.getdoc(x)]


SPACES = [x for x in FACE.values() if inspect.ismodule(x)]
SPACES += [untraced.nn.initializers, untraced.scipy.linalg, untraced.scipy.special]


@pytest.mark.parametrize("space", SPACES, ids=lambda m: m.__name__.removeprefix("untraced."))
def test_all_in_a_namespace_have_one(space: ModuleType) -> None:
    found = {name: getattr(space, name) for name in dir(space) if not name.startswith("_")}
    own = {name: x for name, x in found.items() if (getattr(x, "__module__", None) or "").startswith("untraced")}
    assert not [name for name, x in own.items() if callable(x) and not inspect.getdoc(x)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    names: dict[str, Any] = {**FACE, "np": np, "untraced": untraced}
    (test,) = doctest.DocTestFinder(recurse=False).find(FACE[name], name, module=False, globs=names)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


def test_the_transformations_have_examples() -> None:
    shown = "accelerate custom_jvp custom_vjp grad hessian hvp jacfwd jvp linearize value_and_grad vjp vmap"
    assert {*shown.split()} <= set(EXAMPLES)
