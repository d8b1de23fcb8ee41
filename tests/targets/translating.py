"""A function as the program that kernels are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from untraced.translator.ir import Function
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves


def translated(function: Callable[..., Any], args: Sequence[Any], language: str) -> Function:
    return translate(function, abstract_with_leaves(function, tuple(args), {})[0], target=language).function
