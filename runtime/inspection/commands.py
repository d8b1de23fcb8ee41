"""`python -m untraced`: look at what becomes of a function, without running it.

python -m untraced inspect FILE.py:FUNC --args "f32[128,64] f32[64]" --transform grad --target triton --show kernels
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...translator.errors import UntracedError
from ...translator.ir import Aval
from ..calls.accelerated import Accelerated
from ..targets.devices import TARGETS

TRANSFORMS = ("grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "vmap")
SHOWN = ("source", "stages", "kernels", "driver", "stablehlo", "hlo", "ptx")

_DTYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "c64": "complex64", "c128": "complex128",
    "bool": "bool",
    "int": "int", "float": "float", "complex": "complex",
}  # fmt: skip
_ARRAY = re.compile(r"([a-z]+\d*)(?:\[([\d,\s]*)\])?$")
_EXAMPLE = 'write for example "f32[128,64] f64[] 3 0.5"'


_OF_USER_CODE = (TypeError, ValueError, NameError, AttributeError, LookupError, ArithmeticError)


class UsageError(Exception):
    """A command line that cannot be understood; the message says what is wrong with it."""


def main(argv: list[str] | None = None) -> int:
    """The exit code: 0, or 2 where the command line or the function is refused."""
    options = parser().parse_args(argv)
    try:
        text = inspect_command(options)
    except (UsageError, UntracedError, *_OF_USER_CODE, OSError) as error:
        print("\n".join([f"untraced: {error}", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return 2
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m untraced",
        description="Look at what becomes of a NumPy function.",
        epilog='for example: python -m untraced inspect model.py:loss --args "f64[20,10] f64[128,20]" --transform grad',
    )
    commands = top.add_subparsers(dest="command", required=True)
    p = commands.add_parser("inspect", help="print the source, the kernels or the backend's text of a function")
    p.add_argument("function", metavar="FILE.py:FUNC", help="a function in a file; the file is executed as a module")
    p.add_argument(
        "--args",
        default="",
        metavar='"f32[128,64] i64 3"',
        help="the kinds of its arguments: dtype[shape], or a literal",
    )
    p.add_argument(
        "--transform",
        action="append",
        default=[],
        choices=TRANSFORMS,
        help="may be given several times, innermost first",
    )
    p.add_argument("--target", default="cpu", choices=TARGETS)
    p.add_argument("--show", default="source", choices=SHOWN)
    p.add_argument("--html", metavar="PAGE.html", help="write a page with all of it as well")
    return top


def inspect_command(options: argparse.Namespace) -> str:
    """The text that was asked for."""
    import untraced

    function: Any = load_function(options.function)
    for name in options.transform:
        function = getattr(untraced, name)(function)
    if isinstance(function, Accelerated):
        function = function.fun
    arguments = parse_arguments(options.args)
    result = untraced.accelerate(function, target=options.target).inspect(
        *arguments, compile=options.show in ("hlo", "ptx")
    )
    if options.html:
        result.html(options.html)
    return shown(result, options.show)


def shown(result: Any, what: str) -> str:
    match what:
        case "source":
            return str(result.source).rstrip()
        case "stages":
            return "\n\n".join(f"# ---- {name} ----\n{text.rstrip()}" for name, text in result.stages.items())
        case "kernels":
            return "\n\n".join(map(_kernel, result.kernels)) or "# no kernels: nothing was fused"
        case _:
            text = getattr(result, what)
            if text is None:
                cut = "cut" in result.stages
                owner = f"{result.name}, which is cut into regions," if cut else f"the target {result.target}"
                raise UsageError(f"{owner} has no {what}")
            return str(text).rstrip()


def _kernel(k: Any) -> str:
    lines = ", ".join(map(str, k.lines)) or "none"
    head = f"# {k.name} ({k.language}): lines {lines}; {k.bytes_moved:,} bytes moved, at least {k.bytes_minimum:,}"
    if k.why_cut:
        head += f"; {k.why_cut}"
    if k.resources:
        head += f"\n# {k.resources}"
    return f"{head}\n{k.source.rstrip()}"


def load_function(place: str) -> Callable[..., Any]:
    """FILE.py:FUNC; FUNC may be dotted. Raises UsageError."""
    file, colon, name = place.rpartition(":")
    if not colon or not name:
        raise UsageError(f"{place!r} does not name a function: write FILE.py:FUNC")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            functions = sorted(
                k for k, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__
            )
            raise UsageError(f"{file} has no {name}; it has {', '.join(functions) or 'no functions'}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{name} in {file} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def parse_arguments(text: str) -> list[Any]:
    """Avals and Python values from "f32[128,64] i64 3 True". Raises UsageError."""
    return [_argument(token) for token in _tokens(text)]


def _tokens(text: str) -> list[str]:
    """Split at blanks outside brackets and quotes."""
    return re.findall(r"""(?:\[[^\]]*\]|\([^)]*\)|"[^"]*"|'[^']*'|[^\s])+""", text)


def _argument(token: str) -> Any:
    matched = _ARRAY.match(token)
    if matched and matched.group(1) in _DTYPES:
        return _aval(_DTYPES[matched.group(1)], matched.group(2))
    if matched and matched.group(2) is not None:
        raise UsageError(f"{matched.group(1)!r} is no dtype; known are {', '.join(_DTYPES)}")
    try:
        return ast.literal_eval(token)
    except (ValueError, SyntaxError):
        raise UsageError(f"{token!r} is neither dtype[shape] nor a literal; {_EXAMPLE}") from None


def _aval(name: str, shape: str | None) -> Aval:
    if name in ("int", "float", "complex"):
        if shape is not None:
            raise UsageError(f"{name} is a Python number and has no shape; a NumPy array has a dtype such as f64")
        return Aval((), np.dtype({"int": np.int64, "float": np.float64, "complex": np.complex128}[name]), weak=True)
    sizes = tuple(int(s) for s in shape.split(",") if s.strip()) if shape else ()
    if name == "bfloat16":
        from ml_dtypes import bfloat16

        return Aval(sizes, np.dtype(bfloat16))
    return Aval(sizes, np.dtype(name))
