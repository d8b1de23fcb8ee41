"""The forms of loops before they are written as StableHLO. Programs without loops do not import this."""

from __future__ import annotations

from ...translator.ir import Function
from .branch_stores import branch_stores
from .element_stores import element_stores
from .lanes import blocked
from .native import native_loops
from .ping_pong import ping_pong


def in_form(function: Function, checks: bool, target: str) -> Function:
    """The program with its loops as the target runs them best: on the cpu in blocks of lanes and as native code."""
    if target == "cpu":
        function, blocks = blocked(function)
        return element_stores(ping_pong(branch_stores(native_loops(function, checks, blocks))))
    return ping_pong(function)
