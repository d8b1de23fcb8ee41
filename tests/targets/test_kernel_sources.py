"""Generated kernels as they read: golden files, one for each function and language."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kernel_sources import BOTH, CUDA, TRITON

from untraced.kernels import plan as planning
from untraced.kernels.launching.executor import kernels_of
from untraced.kernels.source.names import RESERVED
from untraced.kernels.tiles import WORDS
from untraced.translator.errors import DTypeError
from untraced.translator.ir import Aval
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

CASES = [(name, language) for language in ("triton", "cuda") for name in BOTH] + [(name, "triton") for name in TRITON]
CASES += [(name, "cuda") for name in CUDA]


@pytest.mark.parametrize(("name", "language"), CASES)
def test_source(name: str, language: str, golden: Callable[[str, str], None]) -> None:
    function, args = (BOTH | TRITON | CUDA)[name]
    translated = translate(function, abstract_with_leaves(function, args, {})[0], target=language).function
    text = "\n\n".join(k.source.rstrip() for k in kernels_of(translated, language)) + "\n"
    text = re.sub(r"(?m)^( *#| *//) line \d+:", r"\1", text)
    signatures = [line for line in text.splitlines() if line.startswith(('extern "C"', "def "))]
    assert max(map(len, signatures)) <= 110, "parameters are on lines of their own"
    golden(f"kernels/{name}.{'py' if language == 'triton' else 'cu'}", text)


ENTRY = {
    "cuda": re.compile(r'(?ms)^extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?\w+\((.*?)\) \{\n(.*?)^\}$'),
    "triton": re.compile(r"(?ms)^def \w+\(([^)]*)\):\n(.*)"),
}


@pytest.mark.parametrize(("name", "language"), CASES)
def test_no_argument_is_passed_for_nothing(name: str, language: str) -> None:
    function, args = (BOTH | TRITON | CUDA)[name]
    translated = translate(function, abstract_with_leaves(function, args, {})[0], target=language).function
    for k in kernels_of(translated, language):
        text = k.source if k.language == "cuda" else k.source[k.source.rindex("@triton.jit") :]
        for parameters, body in ENTRY[k.language].findall(text):
            names = [p.partition(":")[0].split()[-1].lstrip("*") for p in parameters.split(",")]
            assert [n for n in names if not re.search(rf"\b{n}\b", body)] == [], k.name


def test_no_variable_of_the_user_takes_a_name_of_the_template() -> None:
    """What the kernels themselves declare, in either language, is reserved."""
    declared = re.compile(
        r"(?m)^ +(?:const )?(?:index_t|int|bool|long long|T) (\w+) = |for \((?:index_t|int) (\w+) = "
        r"|, (\w+) = blockDim|^ +(\w+) = (?:tl\.|\{\{|\w)"
    )
    folder = Path(planning.__file__).parent / "templates"
    for path in folder.glob("*.j2"):
        text = path.read_text()
        products = "dot(" in text or "tiles" in text or path.name.startswith(("attention", "tiles"))
        names = {name for found in declared.findall(_kernel_of(text)) for name in found if name}
        known = RESERVED | (WORDS if products else frozenset())
        assert names <= known, (path.name, sorted(names - known))


def _kernel_of(template: str) -> str:
    """Without the functions in front of it, whose names are their own."""
    if template.startswith("{# Threads fill"):  # parts of kernels
        return template
    starts = [template.find(mark) for mark in ('extern "C"', "def {{ name }}")]
    return template[min(s for s in starts if s >= 0) :] if max(starts) >= 0 else ""


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_arrays_of_more_than_2_to_the_31_elements_are_indexed_by_64_bits(language: str) -> None:
    """Planned, not allocated: 17 GB of float32 and more."""
    long, wide = Aval((1 << 32,), np.dtype(np.float32)), Aval((1 << 20, 1 << 13), np.dtype(np.float32))
    places = Aval((1 << 10,), np.dtype(np.int64))
    for function, avals in (
        (lambda x: np.exp(x) * 2, (long,)),
        (lambda x: np.sum(x * x), (long,)),
        (lambda x: x / np.sum(x, axis=1, keepdims=True), (wide,)),
        (lambda x: np.max(x, axis=0), (wide,)),
        (lambda x: np.cumsum(x, axis=0) * 2, (wide,)),
        (lambda x, i: x[i] * 2, (wide, places)),
    ):
        signature, _ = abstract_with_leaves(function, avals, {})
        made = kernels_of(translate(function, signature, target=language).function, language)
        assert made
        if language == "cuda":
            assert "typedef long long index_t" in made[0].source
        else:
            assert "tl.program_id(0).to(tl.int64)" in made[0].source


@pytest.mark.parametrize("language", ["triton", "cuda"])
@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_types_that_no_device_has_are_refused(dtype: type[np.generic], language: str) -> None:
    """At the line that makes such a value, or at the function whose argument it is."""
    for function, aval, line in (
        (lambda x: x * 2, Aval((3,), np.dtype(dtype)), "lambda x: x * 2"),
        (lambda x: np.exp(x.astype(dtype)), Aval((3,), np.dtype("f8")), "x.astype(dtype)"),
    ):
        signature, _ = abstract_with_leaves(function, [aval], {})
        with pytest.raises(DTypeError, match="GPUs have no type") as raised:
            kernels_of(translate(function, signature, target=language).function, language)
        assert line in str(raised.value)
