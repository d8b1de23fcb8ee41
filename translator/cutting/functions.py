"""Functions compiled from syntax trees, with the scope and the source positions of the user's function."""

from __future__ import annotations
import __future__ as future

import ast
import copy
import types
from collections.abc import Mapping
from typing import Any

from ..reading.text.source import Source, adopt, adopt_inner
from .names import binds

_INNER = "_cut"
_FUTURE = sum({getattr(future, name).compiler_flag for name in future.all_feature_names})


def make_function(
    node: ast.FunctionDef, like: types.FunctionType, source: Source, helpers: Mapping[str, Any]
) -> types.FunctionType:
    """The function that `node` defines, with the globals, closure and defaults of `like`, and `helpers` by name."""
    free = like.__code__.co_freevars
    definition = copy.copy(node)
    definition.name = _INNER  # not its own name, which would hide a global from a function that calls itself
    definition.args = _without_defaults(node.args)
    definition.returns = None
    definition.body = [*node.body, *_declared(node, like.__code__)]
    around = copy.copy(definition)
    around.name = "around"
    around.args = ast.arguments(
        posonlyargs=[], args=[_argument(n, node) for n in (*free, *helpers)], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    around.body = [definition]
    module = compile(ast.Module([around], []), source.file, "exec", like.__code__.co_flags & _FUTURE, dont_inherit=True)
    name = like.__qualname__ if node.name == like.__name__ else node.name
    code = _code_named(_code_named(module, "around"), _INNER).replace(co_name=node.name, co_qualname=name)
    cells = dict(zip(free, like.__closure__ or (), strict=True))
    cells.update((name, types.CellType(value)) for name, value in helpers.items())
    closure = tuple(cells[n] for n in code.co_freevars)
    made = types.FunctionType(code, like.__globals__, node.name, None, closure)
    made.__module__ = like.__module__
    adopt(made, Source(node.name, source.file, source.lines, node))
    adopt_inner(code)
    return made


def _declared(node: ast.FunctionDef, like: types.CodeType) -> list[ast.stmt]:
    """`name: None` for what is a local name of `like` alone: it must not be looked for among the globals."""
    parameters = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    bound = parameters.union(*map(binds, node.body))
    missing = [n for n in (*like.co_varnames, *like.co_cellvars) if n not in bound]
    declared = [ast.AnnAssign(ast.Name(n, ast.Store()), ast.Constant(None), None, 1) for n in missing]
    return [ast.fix_missing_locations(ast.copy_location(s, node.body[-1])) for s in declared]


def _argument(name: str, place: ast.AST) -> ast.arg:
    return ast.copy_location(ast.arg(name), place)


def _without_defaults(spec: ast.arguments) -> ast.arguments:
    """The parameters alone: defaults are values that the function carries, annotations were evaluated long ago."""

    def bare(a: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(a.arg), a)

    return ast.arguments(
        posonlyargs=[bare(a) for a in spec.posonlyargs],
        args=[bare(a) for a in spec.args],
        vararg=bare(spec.vararg) if spec.vararg else None,
        kwonlyargs=[bare(a) for a in spec.kwonlyargs],
        kw_defaults=[None for _ in spec.kwonlyargs],
        kwarg=bare(spec.kwarg) if spec.kwarg else None,
        defaults=[],
    )


def _code_named(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
