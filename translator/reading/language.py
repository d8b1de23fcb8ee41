"""The language on one page: what reads each kind of expression and of statement, what a call is, what an operator is.

Python's syntax nests: a loop holds expressions, an expression calls functions, and their bodies hold loops. The modules
of the reader import one another one way all the same. What stands below asks for what stands above by

    ctx.eval(node)                      the value of an expression          EXPRESSIONS
    sequence(ctx, body, kont)           a block of statements is read       STATEMENTS
    ctx.call(f, args, kwargs, node)     the value of a call                 calls.call_value
    ctx.binary(kind, x, y, node)        the value of `x op y`               operators.binary
    ctx.compare(kind, x, y, node)       the value of `x < y`                operators.compare_pair
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..builder import Builder
from .core.context import Context, Expressions, Statements
from .core.guards import Captures
from .facts import maybes
from .functions.recursion import Recursions
from .syntax import assignment, calls, comprehensions, control, definitions, expressions, loops, matching, trying
from .uses import operators

EXPRESSIONS: Expressions = {
    ast.Constant: expressions.constant,
    ast.Name: expressions.name,
    ast.JoinedStr: expressions.joined,
    ast.FormattedValue: expressions.formatted,
    ast.Tuple: expressions.tuple_,
    ast.List: expressions.list_,
    ast.Set: expressions.set_,
    ast.Dict: expressions.dict_,
    ast.Attribute: expressions.attribute,
    ast.Subscript: expressions.subscript,
    ast.Slice: expressions.slice_,
    ast.UnaryOp: expressions.unary_op,
    ast.BinOp: expressions.bin_op,
    ast.Compare: expressions.compare,
    ast.BoolOp: expressions.bool_op,
    ast.IfExp: expressions.if_exp,
    ast.NamedExpr: expressions.named,
    ast.Call: calls.call_node,
    ast.Lambda: definitions.lambda_,
    ast.Yield: definitions.yield_,
    ast.YieldFrom: definitions.yield_from,
    ast.ListComp: comprehensions.comprehension,
    ast.SetComp: comprehensions.comprehension,
    ast.DictComp: comprehensions.comprehension,
    ast.GeneratorExp: comprehensions.comprehension,
}

STATEMENTS: Statements = {
    ast.Expr: control.expression,
    ast.Assign: assignment.assign_,
    ast.AnnAssign: assignment.ann_assign,
    ast.AugAssign: assignment.aug_assign,
    ast.Delete: control.delete,
    ast.If: control.if_,
    ast.For: loops.for_,
    ast.While: loops.while_,
    ast.Break: control.break_,
    ast.Continue: control.continue_,
    ast.Return: control.return_,
    ast.Match: matching.match_,
    ast.With: control.with_,
    ast.Try: trying.try_,
    ast.Raise: control.raise_statement,
    ast.Assert: control.assert_,
    ast.Pass: control.pass_,
    ast.Global: control.pass_,
    ast.Nonlocal: control.pass_,
    ast.FunctionDef: definitions.function_def,
    ast.Import: control.import_,
    ast.ImportFrom: control.import_,
}

Context.expressions, Context.statements = EXPRESSIONS, STATEMENTS
Context.calling = calls.call_value
Context.operating, Context.comparing = operators.binary, operators.compare_pair
Context.present = maybes.some


def new_context(builder: Builder, captures: Callable[[], Captures] = Captures) -> Context:
    """A reading that begins: its statements are appended to `builder`."""
    ctx = Context(builder, None)
    ctx.recursions = Recursions()
    ctx.captures = captures()
    return ctx
