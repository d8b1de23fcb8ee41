"""Generated kernels as they read: golden files, one for each function and language."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from kernel_sources import BOTH, CUDA, TRITON

from untraced.kernels.executor import kernels_of
from untraced.translator.pipeline import translate
from untraced.translator.reading.signature import abstract_with_leaves

CASES = [(name, language) for language in ("triton", "cuda") for name in BOTH] + [(name, "triton") for name in TRITON]
CASES += [(name, "cuda") for name in CUDA]


@pytest.mark.parametrize(("name", "language"), CASES)
def test_source(name: str, language: str, golden: Callable[[str, str], None]) -> None:
    function, args = (BOTH | TRITON | CUDA)[name]
    translated = translate(function, abstract_with_leaves(function, args, {})[0], target=language).function
    text = "\n\n".join(k.source.rstrip() for k in kernels_of(translated, language)) + "\n"
    text = re.sub(r"(?m)^( *#| *//) line \d+:", r"\1", text)
    golden(f"kernels/{name}.{'py' if language == 'triton' else 'cu'}", text)
