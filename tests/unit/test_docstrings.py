"""Every function and class on the face is documented, and the examples are run. Doctests are source like any other."""

from __future__ import annotations

import doctest
import functools
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
SPACES += [untraced.nn.initializers, untraced.numpy.fft, untraced.numpy.linalg, untraced.lax.linalg]
SPACES += [getattr(untraced.scipy, name) for name in untraced.scipy.__all__]
IN_SPACES = pytest.mark.parametrize("space", SPACES, ids=lambda m: m.__name__.removeprefix("untraced."))


def offered(space: ModuleType) -> dict[str, Any]:
    """The functions and classes of this package in a namespace."""
    names = getattr(space, "__all__", None) or [name for name in dir(space) if not name.startswith("_")]
    found = {name: getattr(space, name) for name in names}
    ours = {name: x for name, x in found.items() if (getattr(x, "__module__", None) or "").startswith("untraced")}
    return {name: x for name, x in ours.items() if callable(x)}


@IN_SPACES
def test_all_in_a_namespace_have_one(space: ModuleType) -> None:
    assert inspect.getdoc(space)
    assert not [name for name, x in offered(space).items() if not inspect.getdoc(x)]


@IN_SPACES
def test_members_of_classes_have_one(space: ModuleType) -> None:
    classes = [x for x in [*offered(space).values(), untraced.Array] if inspect.isclass(x)]
    members = [(c, name, x) for c in classes for name, x in vars(c).items() if not name.startswith("_")]
    assert not [
        f"{c.__name__}.{name}"
        for c, name, x in members
        if (isinstance(x, property) or inspect.isroutine(x)) and not inspect.getdoc(x)
    ]


@IN_SPACES
def test_parameters_have_names(space: ModuleType) -> None:
    for name, x in offered(space).items():
        if not isinstance(x, type) or not issubclass(x, tuple | functools.partial | BaseException):
            kinds = [p.kind for p in inspect.signature(x).parameters.values()]
            assert kinds != [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD], name


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
