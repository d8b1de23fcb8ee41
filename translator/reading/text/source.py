"""The source of a function: its text, its syntax tree with the file's line numbers, and the names that it can see."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Any

from ...errors import NOWHERE, CutError, Diagnostic, SourcelessError, Span, UnsupportedError
from ...records import dataclass
from .chains import shortened_chains
from .libraries import is_library
from .nodes import nodes_of

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One function or lambda as it stands in its file. Line numbers in `node` are those of the file."""

    name: str
    file: str
    lines: tuple[str, ...]  # of the whole file
    node: FunctionNode
    _spans: dict[int, Span] = field(default_factory=dict)

    def span(self, node: ast.AST) -> Span:
        """The range of a node, with its text on one line."""
        cached = self._spans.get(id(node))
        if cached is None:
            cached = self._spans[id(node)] = self._make_span(node)
        return cached

    def header(self, node: ast.For | ast.While) -> Span:
        """The first line of a loop: `for i in range(n)`."""
        last = node.iter if isinstance(node, ast.For) else node.test
        end = {"end_lineno": last.end_lineno, "end_col_offset": last.end_col_offset}
        return self._make_span(ast.Pass(lineno=node.lineno, col_offset=node.col_offset, **end))

    def first_line(self) -> Span:
        """The first line of the definition, from where that begins; a lambda may end before the line does."""
        span = self.span(self.node)
        line = self.line(span.line).rstrip()
        end = span.end_column if span.end_line == span.line else len(line)
        return Span(span.file, span.line, span.column, span.line, end, line[span.column : end])

    def _make_span(self, node: ast.AST) -> Span:
        line, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not line or end > len(self.lines):
            return Span(self.file, line, 0, end, 0)
        start, stop = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        first = self.lines[line - 1]
        if not first.isascii() or (end != line and not self.lines[end - 1].isascii()):
            start, stop = _characters(first, start), _characters(self.lines[end - 1], stop)
        if end == line:
            text = first[start:stop]
        else:
            text = " ".join(" ".join((first[start:], *self.lines[line : end - 1], self.lines[end - 1][:stop])).split())
        return Span(self.file, line, start, end, stop, text)

    def line(self, number: int) -> str:
        return self.lines[number - 1].rstrip("\n") if 0 < number <= len(self.lines) else ""

    def diagnostic(self, node: ast.AST, what: str, why: str = "", instead: str = "") -> Diagnostic:
        span = self.span(node)
        return Diagnostic(what, span, why, instead, self.lines_of(node))

    def lines_of(self, node: ast.AST) -> str:
        """The whole lines of a node; of a compound statement the first."""
        span = self.span(node)
        last = span.line if isinstance(getattr(node, "body", None), list) else span.end_line
        return "".join(self.lines[span.line - 1 : last]) if span.line else ""


def definition(fun: Callable[..., Any]) -> Span:
    """The first line of the definition of a function, for messages; NOWHERE where there is none."""
    try:
        return source_of(fun).first_line()
    except UnsupportedError:
        return NOWHERE


def _characters(line: str, byte_offset: int) -> int:
    """The syntax tree counts columns in bytes of UTF-8; people count characters."""
    return len(line.encode()[:byte_offset].decode(errors="ignore"))


_sources: dict[types.CodeType, Source] = {}
_from_trees: set[types.CodeType] = set()
_trees: dict[str, _Tree] = {}


def without_source(fun: Callable[..., Any]) -> UnsupportedError:
    """The error for a class, a builtin or a C function."""
    if isinstance(fun, type) and not is_library(fun):
        return UnsupportedError(
            Diagnostic(
                f"{fun.__qualname__} is a class",
                why="what is read is the source of a function, and calling a class makes an object",
                instead="write a function that makes the object and returns arrays or numbers",
            )
        )
    return UnsupportedError(
        Diagnostic(
            f"{getattr(fun, '__qualname__', None) or repr(fun)} has no Python source",
            why="untraced reads source text; what is compiled in C cannot be read",
            instead="call a NumPy function that does the same, or write it as a Python function",
        )
    )


def source_of(fun: Callable[..., Any]) -> Source:
    """The source of a Python function or lambda.

    Raises UnsupportedError for builtins, C functions, generators and functions whose text is not available.
    What was read for a code object stays its source, whatever becomes of the file.
    """
    if not isinstance(fun, types.FunctionType):
        raise without_source(fun)
    code = fun.__code__
    known = _sources.get(code)  # codes that differ in the name of their file alone are equal
    if known is not None and known.file == code.co_filename:
        return known
    lines = _lines_of(fun)
    node = _find(fun, lines)
    if _is_new(code.co_filename) and code not in _from_trees and not is_of(node, lines, code):
        raise _stale(fun)
    shortened_chains(_plain_loops(node))
    source = _sources[code] = Source(fun.__name__, code.co_filename, lines, _private_names(node, code))
    return source


def adopt(fun: types.FunctionType, source: Source) -> None:
    """Register `source` for a function that was compiled from a syntax tree."""
    _sources[fun.__code__] = source


def adopt_inner(code: types.CodeType) -> None:
    """Trust the text of functions inside one that was compiled from the syntax tree of a function that was read.

    Their codes may differ from those that the file compiles to: in such a function other names are free.
    """
    inside = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    _from_trees.update(inside)
    for c in inside:
        adopt_inner(c)


def _plain_loops(node: FunctionNode) -> FunctionNode:
    """Rewrite each `while` whose test binds a name (`:=`) or draws: the test becomes the first statement of the body.

        while (s := f(x)) > 1:          while True:
            x = x / s                       if not (s := f(x)) > 1:
        else:                                   done()
            done()                              break
                                            x = x / s
    """
    for loop in nodes_of(node):
        if isinstance(loop, ast.While) and any(map(_has_effect, nodes_of(loop.test))):
            stop = ast.copy_location(ast.Break(), loop.test)
            negated = ast.copy_location(ast.UnaryOp(ast.Not(), loop.test), loop.test)
            leave = ast.copy_location(ast.If(negated, [*loop.orelse, stop], []), loop.test)
            loop.body, loop.orelse = [leave, *loop.body], []
            loop.test = ast.copy_location(ast.Constant(True), loop.test)
    return node


def _has_effect(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(node, ast.NamedExpr) or (isinstance(called, ast.Attribute) and called.attr in _DRAWING)


_DRAWING = frozenset(
    {"random", "rand", "random_sample", "uniform", "standard_normal", "normal", "randn", "integers", "randint",
     "exponential", "standard_exponential", "gauss", "randrange"}
)  # fmt: skip


def _private_names(node: FunctionNode, code: types.CodeType) -> FunctionNode:
    """Mangle private names in a class: __x becomes _Class__x."""
    around = _class_around(code.co_qualname)
    if not around:
        return node
    for n in nodes_of(node):
        for part in _NAMING.get(type(n), ()):
            value = getattr(n, part)
            if isinstance(value, list):
                setattr(n, part, [as_private(name, around) for name in value])
            elif value is not None and n is not node:
                setattr(n, part, as_private(value, around))
    return node


_NAMING: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Attribute: ("attr",),
    ast.Name: ("id",),
    ast.arg: ("arg",),
    ast.keyword: ("arg",),
    ast.FunctionDef: ("name",),
    ast.ExceptHandler: ("name",),
    ast.alias: ("name", "asname"),
    ast.Global: ("names",),
    ast.Nonlocal: ("names",),
    ast.MatchAs: ("name",),
    ast.MatchStar: ("name",),
    ast.MatchMapping: ("rest",),
    ast.MatchClass: ("kwd_attrs",),
}


def as_private(name: str, around: str) -> str:
    """A name, mangled as Python does inside the class `around`."""
    private = name.startswith("__") and not name.endswith("__") and around.strip("_")
    return f"_{around.lstrip('_')}{name}" if private else name


def _class_around(qualified: str) -> str:
    """The name of the class in which a function stands, also within other functions there; empty where in none."""
    parts = qualified.split(".")[:-1]
    while parts[-1:] == ["<locals>"]:
        parts = parts[:-2]
    return parts[-1] if parts else ""


def _lines_of(fun: types.FunctionType) -> tuple[str, ...]:
    """The lines of the file; the same tuple for as long as linecache holds the same text."""
    file = fun.__code__.co_filename
    if os.path.exists(file):
        linecache.checkcache(file)  # the module may have been reloaded
    found = None
    if file not in linecache.cache or len(linecache.cache[file]) == 1:
        found = linecache.getlines(file, fun.__globals__)
    entry = linecache.cache.get(file)
    text = entry[2] if entry is not None and len(entry) == 4 else found  # doctest has lines that are in no cache
    if file == "<string>" and not _is_text_of("".join(text or ()), fun.__code__):
        text = _command_line(fun.__code__)
    if file == "<stdin>" and not text:
        text = _standard_input(fun.__code__)
    if not text:
        if is_library_file(file) or is_library(fun):
            raise CutError(
                Diagnostic(
                    f"{fun.__qualname__} cannot be read",
                    why="it comes with a library, without its source",
                    instead="call it outside the function and pass what it gives",
                )
            )
        raise SourcelessError(
            Diagnostic(
                f"the source of {fun.__qualname__} is not available ({file}, line {fun.__code__.co_firstlineno})",
                why="the function was made by exec, in an interactive session without history, or its file is gone",
                instead="put the function into a file or a notebook cell",
            )
        )
    held = _texts.get(file)
    if held is None or (held[0] is not text and held[0] != text):
        held = _texts[file] = (text, tuple(text))
    return held[1]


def _command_line(code: types.CodeType) -> list[str]:
    """The lines of `python -c TEXT`, where they have this very code: what exec makes has the same file name.

    From Python 3.13 on they are in linecache, for both alike.
    """
    if sys.argv[:1] != ["-c"] or "-c" not in sys.orig_argv[1:-1]:
        return []
    text = sys.orig_argv[sys.orig_argv.index("-c", 1) + 1]
    return text.splitlines(keepends=True) if _is_text_of(text, code) else []


def _standard_input(code: types.CodeType) -> list[str]:
    """The lines of `python < FILE`, where they have this very code. What came through a pipe is gone."""
    try:
        size = os.fstat(0).st_size  # 0 of pipes and terminals
        text = os.pread(0, size, 0).decode() if size else ""
    except (OSError, UnicodeDecodeError):
        return []
    return text.splitlines(keepends=True) if _is_text_of(text, code) else []


def _is_text_of(text: str, code: types.CodeType) -> bool:
    try:
        return _holds(compile(text, code.co_filename, "exec", dont_inherit=True), code)
    except SyntaxError:
        return False


def _holds(whole: types.CodeType, code: types.CodeType) -> bool:
    return whole == code or any(_holds(c, code) for c in whole.co_consts if isinstance(c, types.CodeType))


_STANDARD = os.path.dirname(os.__file__) + os.sep


def is_library_file(file: str) -> bool:
    """Whether a file belongs to Python's library or to an installed package, not to the user."""
    return file.startswith((_STANDARD, "<frozen ")) or "site-packages" in file or "dist-packages" in file


_texts: dict[str, tuple[list[str], tuple[str, ...]]] = {}


class _Tree:
    """The syntax tree of a file's text, and its lambdas by the line on which they begin."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines
        self.module = ast.parse("".join(lines))

    @cached_property
    def lambdas(self) -> dict[int, list[ast.Lambda]]:
        found: dict[int, list[ast.Lambda]] = {}
        for n in ast.walk(self.module):
            if isinstance(n, ast.Lambda):
                found.setdefault(n.lineno, []).append(n)
        return found


def _tree(file: str, lines: tuple[str, ...]) -> _Tree:
    known = _trees.get(file)
    if known is None or known.lines is not lines:
        known = _trees[file] = _Tree(lines)
    return known


def _find(fun: types.FunctionType, lines: tuple[str, ...]) -> FunctionNode:
    code = fun.__code__
    if code.co_name == "<lambda>":
        return _find_lambda(fun, _tree(code.co_filename, lines).lambdas.get(code.co_firstlineno, []))
    node = _parse_definition(fun, lines)
    if node is not None:
        return node
    for candidate in ast.walk(_tree(code.co_filename, lines).module):
        if isinstance(candidate, ast.FunctionDef) and candidate.name == code.co_name:
            starts = (candidate.lineno, *(d.lineno for d in candidate.decorator_list))
            if code.co_firstlineno in starts:
                return candidate
    raise _stale(fun)


def _parse_definition(fun: types.FunctionType, lines: tuple[str, ...]) -> ast.FunctionDef | None:
    """Parse the lines of this definition alone: a file may be long. None where that cannot work."""
    first = fun.__code__.co_firstlineno
    if first > len(lines):
        raise _stale(fun)
    text = inspect.getblock(list(lines[first - 1 :]))
    indent = len(text[0]) - len(text[0].lstrip())
    body = "".join(text)
    if indent:
        body = "if 1:\n" + body
    try:
        tree = ast.parse(body)
    except SyntaxError:
        return None
    ast.increment_lineno(tree, first - 1 - (1 if indent else 0))
    top = tree.body[0]
    node = top.body[0] if isinstance(top, ast.If) and indent else top
    if isinstance(node, ast.AsyncFunctionDef):
        source = Source(fun.__name__, fun.__code__.co_filename, lines, node)  # type: ignore[arg-type]
        raise UnsupportedError(
            source.diagnostic(node, "async functions are not in the language", instead="write a plain `def`")
        )
    if not isinstance(node, ast.FunctionDef) or node.name != fun.__code__.co_name:
        return None
    return node


def _stale(fun: types.FunctionType) -> UnsupportedError:
    return UnsupportedError(
        Diagnostic(
            f"the definition of {fun.__qualname__} was not found in {fun.__code__.co_filename}",
            why=f"line {fun.__code__.co_firstlineno} of the file is something else now: the file changed after import",
            instead="import the module again",
        )
    )


_STARTED = time.time()


def _is_new(file: str) -> bool:
    """Whether a file was written since the program started, perhaps after the import of what it defined."""
    entry = linecache.cache.get(file, ())
    return len(entry) == 4 and entry[1] is not None and entry[1] >= _STARTED


def is_of(node: FunctionNode, lines: tuple[str, ...], code: types.CodeType) -> bool:
    """Whether the text compiles to the code. Taken for granted of assertions, which pytest rewrites."""
    if any(isinstance(n, ast.Assert) for n in nodes_of(node)):
        return True
    try:
        waiting = [_compiled("".join(lines), code.co_filename)]
    except SyntaxError:
        return False
    while waiting:
        inside = [c for c in waiting.pop().co_consts if isinstance(c, types.CodeType)]
        if any(c.co_name == code.co_name and _same_code(c, code) for c in inside):
            return True
        waiting += inside
    return False


@lru_cache(maxsize=4)
def _compiled(text: str, file: str) -> types.CodeType:
    return compile(text, file, "exec", dont_inherit=True)


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    if a.co_code != b.co_code or a.co_names != b.co_names or len(a.co_consts) != len(b.co_consts):
        return False
    return all(
        _same_code(x, y) if isinstance(x, types.CodeType) and isinstance(y, types.CodeType) else repr(x) == repr(y)
        for x, y in zip(a.co_consts, b.co_consts, strict=True)
    )


def _find_lambda(fun: types.FunctionType, candidates: list[ast.Lambda]) -> ast.Lambda:
    """The lambda in whose body the code object's instructions stand; the innermost one, if several are around them.
    `candidates` begin on its line."""
    code = fun.__code__
    if len(candidates) > 1:
        places = set(_positions(code))
        around = [n for n in candidates if (_covers(n, places) if places else _gives(n, code.co_consts))]
        candidates = [n for n in around if not any(m is not n and _is_within(m, n) for m in around)] or candidates
    if len(candidates) > 1:
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        by_name = [n for n in candidates if _names(n.args) == names]
        candidates = by_name or candidates
    if not candidates:
        raise _stale(fun)
    return candidates[0]


def _names(spec: ast.arguments) -> tuple[str, ...]:
    return tuple(a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))


def _positions(code: types.CodeType) -> Iterator[tuple[int, int, int, int]]:
    for line, end_line, column, end_column in code.co_positions():
        if None not in (line, end_line, column, end_column) and end_column:
            yield line, column, end_line, end_column  # type: ignore[misc]


def _covers(node: ast.Lambda, places: set[tuple[int, int, int, int]]) -> bool:
    start, end = _extent(node.body)
    return all(start <= place[:2] and place[2:] <= end for place in places)


def _gives(node: ast.Lambda, constants: tuple[object, ...]) -> bool:
    """Whether it is a lambda of a constant among these, of which Python 3.12 notes no place."""
    made = compile(ast.Expression(node.body), "<lambda>", "eval")
    return not made.co_names and {repr(c) for c in made.co_consts} <= {repr(c) for c in constants}


def _is_within(node: ast.Lambda, other: ast.Lambda) -> bool:
    start, end = _extent(other.body)
    first, last = _extent(node)
    return start <= first and last <= end


def _extent(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a function sees beyond its own: closure cells, then globals, then builtins."""

    function: types.FunctionType
    cells: dict[str, Any]
    globals: dict[str, Any]

    def space(self, name: str) -> Any:
        """The namespace that binds a name, unless it is a builtin: a closure cell, or the module's globals."""
        return self.cells.get(name, self.globals)


def scope_of(fun: types.FunctionType) -> Scope:
    free = fun.__code__.co_freevars
    return Scope(fun, dict(zip(free, fun.__closure__ or (), strict=True)), fun.__globals__)
