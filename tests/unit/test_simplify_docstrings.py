"""The before and after that the docstrings of passes show is what the passes do."""

import linecache
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.translator.batch import rules
from untraced.translator.batch import vmap as batch
from untraced.translator.derive import (
    adjoints,
    cotangents,
    factors,
    forward,
    linear,
    loops,
    partials,
    reductions,
    reverse,
)
from untraced.translator.ir import Function
from untraced.translator.passes import (
    certain,
    components,
    dead,
    finer,
    interleaved,
    joins,
    ones,
    partitions,
    picks,
    simplify,
    unread,
    weighted,
)
from untraced.translator.printing.printer import print_function
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract


def before_and_after(doc: str) -> tuple[str, str]:
    """The two columns of the first example: functions side by side."""
    lines = doc.splitlines()
    first = next(i for i, line in enumerate(lines) if line.count("def ") == 2)
    column = lines[first].rindex("def ")
    block = []
    for line in lines[first:]:
        if not line.strip():
            break
        block.append(line.split("      #")[0])
    left, right = ([line[part].rstrip() for line in block] for part in (slice(column), slice(column, None)))
    return tuple(textwrap.dedent("\n".join(filter(None, side))) + "\n" for side in (left, right))  # type: ignore[return-value]


def function_of(source: str, name: str) -> Callable[..., Any]:
    file = f"<docstring of {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), scope)  # noqa: S102
    return next(v for k, v in scope.items() if callable(v) and k != "__builtins__")  # type: ignore[no-any-return]


def with_tangent(f: Function) -> Function:
    return simplify.simplify(forward.jvp(f, [True, False]))


def batched(f: Function) -> Function:
    return simplify.simplify(batch.vmap(f, [None, None, 0], [0], 5))


def apart(f: Function) -> Function:
    return simplify.simplify(components.components(simplify.simplify(f)))


def picked(f: Function) -> Function:
    return simplify.simplify(picks.picks(simplify.simplify(f)))


@pytest.mark.parametrize(
    ("module", "run", "args"),
    [
        (simplify, simplify.simplify, (np.ones(3), 4)),
        (dead, dead.dead_code, (np.ones(3), 4)),
        (certain, certain.certain, (np.arange(9), np.ones(9))),
        (ones, ones.ones, (np.ones((3, 4)),)),
        (components, apart, (np.ones((64, 2)),)),
        (finer, lambda f: finer.finer(simplify.simplify(f)), (np.ones((2, 12)), np.ones(12))),
        (interleaved, interleaved.interleaved, (np.ones(4), np.ones(4))),
        (joins, lambda f: joins.joins(simplify.simplify(f)), (np.ones(5), np.ones(5))),
        (weighted, lambda f: simplify.simplify(weighted.weighted(f)), (np.ones(5), np.ones(4), np.ones(4))),
        (picks, picked, (np.ones((5, 9)), np.ones(5), np.arange(5))),
        (unread, unread.unread_stores, (np.ones(5), 5)),
        (partitions, partitions.partitions, (np.ones(9000),)),
        (forward, with_tangent, (np.ones(3), 4)),
        (batch, batched, (np.ones((2, 4)), np.ones(2), np.ones(4))),
    ],
)
def test_docstring(module: Any, run: Callable[[Function], Function], args: tuple[Any, ...]) -> None:
    before, after = before_and_after(module.__doc__)
    f = function_of(before, module.__name__)
    g = run(read(f, abstract(f, args, {})).function)
    assert print_function(g).strip().replace("\n\n", "\n") == after.strip()


@pytest.mark.parametrize(
    ("module", "transform", "args"),
    [
        (adjoints, grad, (np.ones(3),)),
        (cotangents, grad, (np.ones(3),)),
        (factors, grad, (np.eye(4) + 1.0, np.ones(4))),
        (linear, grad, (np.ones((3, 4, 5)), np.ones(5))),
        (loops, grad, (np.ones(3), 7)),
        (partials, grad, (np.ones(5), np.ones((4, 5)))),
        (reductions, grad, (np.ones(5),)),
        (reverse, grad, (np.ones((20, 10)), np.ones((128, 20)), np.ones((128, 10)))),
        (rules, lambda f: vmap(f, in_axes=(0, None)), (np.ones((6, 4)), np.ones((4, 3)))),
    ],
)
def test_docstring_of_rules(module: Any, transform: Callable[..., Any], args: tuple[Any, ...]) -> None:
    before, after = before_and_after(module.__doc__)
    made = accelerate(transform(function_of(before, module.__name__)), target="numpy").inspect(*args).source
    uncommented = [line.split("  # from line")[0].rstrip() for line in made.splitlines()]
    assert "\n".join(uncommented).strip() == after.strip()
