"""Python's operators, by the text under which operations have them."""

from __future__ import annotations

import ast

from .. import ops
from ..ops.core import Op

OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "**": ast.Pow,
    "&": ast.BitAnd,
    "|": ast.BitOr,
    "^": ast.BitXor,
    "<<": ast.LShift,
    ">>": ast.RShift,
}
COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}
LOGIC: dict[Op, type[ast.boolop]] = {ops.LOGICAL_AND: ast.And, ops.LOGICAL_OR: ast.Or}
OF_TRUTHS = {  # how logical operations on arrays of bool are written
    ops.LOGICAL_AND: ops.BITWISE_AND,
    ops.LOGICAL_OR: ops.BITWISE_OR,
    ops.LOGICAL_XOR: ops.BITWISE_XOR,
    ops.LOGICAL_NOT: ops.INVERT,
}
UNARY: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert}
