"""Finding the source of functions and lambdas, and places in it."""

from __future__ import annotations

import ast
import functools
import linecache
import math
import subprocess
import sys
from pathlib import Path

import pytest

from untraced.translator.errors import UnsupportedError
from untraced.translator.reading.text import liveness as liveness_module
from untraced.translator.reading.text.liveness import Flow, Liveness
from untraced.translator.reading.text.nodes import children
from untraced.translator.reading.text.source import scope_of, source_of


def plain(x):
    return x + 1


def wrapper(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)

    return inner


@functools.lru_cache
def cached(x):
    return x


PAIR = (lambda x: x + 1, lambda x: x * 2)
CHOICES = [lambda f: [lambda x: f(x) if x else x], lambda x: x - 1 if x else x + 7, lambda x: 5.0, lambda x: 6.0]
NESTED = lambda x: (lambda y: y + x)  # noqa: E731


class Holder:
    def method(self, x):
        return x


def test_lines_are_those_of_the_file() -> None:
    s = source_of(plain)
    assert isinstance(s.node, ast.FunctionDef)
    assert s.line(s.node.lineno).startswith("def plain")
    statement = s.node.body[0]
    assert isinstance(statement, ast.Return) and statement.value is not None
    span = s.span(statement.value)
    assert span.text == "x + 1"
    assert span.file == __file__
    assert s.line(span.line).strip() == "return x + 1"
    assert source_of(plain) is s


def test_methods_and_indented_functions() -> None:
    def inner(x):
        return (x +
                2)  # fmt: skip

    assert source_of(Holder.method).node.name == "method"  # type: ignore[union-attr]
    s = source_of(inner)
    assert s.span(s.node.body[0].value).text == "x + 2"  # type: ignore[union-attr,index]


def test_lambdas_on_one_line_are_told_apart() -> None:
    texts = [ast.unparse(source_of(f).node.body) for f in PAIR]  # type: ignore[arg-type]
    assert texts == ["x + 1", "x * 2"]
    assert ast.unparse(source_of(NESTED(1)).node.body) == "y + x"  # type: ignore[arg-type]
    texts = [ast.unparse(source_of(f).node.body) for f in (CHOICES[0](abs)[0], *CHOICES[1:])]  # type: ignore[arg-type]
    assert texts == ["f(x) if x else x", "x - 1 if x else x + 7", "5.0", "6.0"]


def test_columns_count_characters() -> None:
    def f(x):
        ä, y = x, "ö"; return ä + x  # fmt: skip # noqa: E702

    s = source_of(f)
    span = s.span(s.node.body[1].value)  # type: ignore[index,union-attr]
    assert span.text == "ä + x"
    assert s.line(span.line)[span.column : span.end_column] == "ä + x"


def test_closures_have_cells() -> None:
    k = 3

    def f(x):
        return x * k

    scope = scope_of(f)
    assert scope.cells["k"].cell_contents == 3
    assert scope.globals is globals()


@pytest.mark.parametrize("fun", [len, math.sin, cached])
def test_what_has_no_source_is_refused(fun: object) -> None:
    with pytest.raises(UnsupportedError) as caught:
        source_of(fun)  # type: ignore[arg-type]
    assert caught.value.diagnostic.instead


def test_exec_without_source_is_refused() -> None:
    space: dict[str, object] = {}
    exec("def f(x):\n    return x", space)
    with pytest.raises(UnsupportedError, match="not available|not found"):  # `python -c` has a "<string>" of its own
        source_of(space["f"])  # type: ignore[arg-type]


def test_the_text_of_a_command_line() -> None:
    script = """
from untraced.translator.reading.text import liveness as liveness_module
from untraced.translator.reading.text.liveness import Flow, Liveness
from untraced.translator.reading.text.nodes import children
from untraced.translator.reading.text.source import source_of
def f(x):
    return x + 1
space = {}
exec("def f(x):\\n    return x", space)
assert "x + 1" in source_of(f).lines[f.__code__.co_firstlineno]
try:
    source_of(space["f"])
except Exception as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "SourcelessError\n", done.stderr


def test_a_script_from_standard_input(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("""
from untraced import grad
def f(x):
    return x * x
print(grad(f)(3.0))
space = {}
exec(compile("def f(x):\\n    return x", "<stdin>", "exec"), space)
try:
    grad(space["f"])(3.0)
except Exception as error:
    print(type(error).__name__)
""")
    with script.open() as text:
        done = subprocess.run([sys.executable], stdin=text, capture_output=True, text=True)
    assert done.stdout == "6.0\nSourcelessError\n", done.stderr
    done = subprocess.run([sys.executable, "-"], input=script.read_text(), capture_output=True, text=True)
    assert "SourcelessError" in done.stderr  # what came through a pipe is gone


def test_a_script_with_an_option_c_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("""
from untraced.translator.reading.text import liveness as liveness_module
from untraced.translator.reading.text.liveness import Flow, Liveness
from untraced.translator.reading.text.nodes import children
from untraced.translator.reading.text.source import source_of
space = {}
exec("def f(x):\\n    return x", space)
try:
    source_of(space["f"])
except Exception as error:
    print(type(error).__name__)
""")
    done = subprocess.run([sys.executable, script, "-c", "not Python"], capture_output=True, text=True)
    assert done.stdout == "SourcelessError\n", done.stderr


def test_redefinition_under_one_file_name_is_read_anew() -> None:
    def define(text: str) -> object:
        linecache.cache["<cell>"] = (len(text), None, text.splitlines(True), "<cell>")
        space: dict[str, object] = {}
        exec(compile(text, "<cell>", "exec"), space)
        return space["f"]

    first = define("def f(x):\n    return x + 1\n")
    assert ast.unparse(source_of(first).node.body[0]) == "return x + 1"  # type: ignore[arg-type,index]
    second = define("def f(x):\n    return x + 2\n")
    assert ast.unparse(source_of(second).node.body[0]) == "return x + 2"  # type: ignore[arg-type,index]


def test_what_statements_change() -> None:
    then, other = "    x += (y := 1)\n    a[0], b = 1, 2\n", "    del e[0]\n    def f(): inner = 1\n"
    body = ast.parse(f"if c:\n{then}elif d:\n{other}else:\n    import os.path\n").body[0]
    found = Flow(Liveness())
    found.block([body], frozenset(), frozenset(), frozenset())
    result = found.result
    assert result.stored[body] == {"y", "b", "f", "os"}
    assert (result.augmented[body], result.written[body]) == ({"x"}, {"a", "e"})


def test_chains_of_elif_are_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def visited(n: int) -> int:
        count = 0

        def counted(node: ast.AST) -> list[ast.AST]:
            nonlocal count
            count += 1
            return children(node)

        monkeypatch.setattr(liveness_module, "children", counted)
        chain = "".join(f"    {'el' if i else ''}if k == {i}: y = x * {i}\n" for i in range(n))
        function = ast.parse(f"def f(x, k):\n{chain}    return y\n").body[0]
        Flow(Liveness()).block(function.body, frozenset(), frozenset(), frozenset())
        return count

    assert visited(60) < 2.2 * visited(30)
