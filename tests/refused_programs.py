"""Programs that are outside the language, one construct each: what is said of them, and that they run all the same."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

X = np.array([3.0, -1.0, 2.0])


CALLS: list[int] = []


@dataclass(frozen=True)
class Refused:
    """`finish` turns the result into arrays where it is none; `seen` shows what else the call changed."""

    fun: Callable[..., Any]
    args: Callable[[], tuple[Any, ...]] = field(default=lambda: (X.copy(),))
    finish: Callable[[Any], Any] = field(default=lambda result: result)
    seen: Callable[[], Any] = field(default=lambda: None)


async def yields_while_others_run(x):
    for v in x:
        yield v * 2


async def _gathered(values):
    return [v async for v in values]


async def coroutine(x):
    return x * 2


def inner_coroutine(x):
    async def later():
        return x

    return asyncio.run(later()) * 2


def executes_text(x):
    names = {"x": x, "calls": CALLS}
    exec("calls.append(x.size); y = x * 2", names)
    return names["y"]


def evaluates_text(x):
    return eval("x * 2")


def asks_for_locals(x):
    y = x * 2
    return locals()["y"]


def asks_for_globals(x):
    return globals()["X"] + x


def asks_for_variables(x):
    return vars()["x"] * 2


def asks_for_directory(x):
    return x * len(dir())


def compiles_text(x):
    return x * (compile("2", "<text>", "eval") is not None)


async def awaits(x):
    return await coroutine(x)


def takes_strings(several):
    return several[0] == "a"


def takes_dates(several):
    return several[0] + 1


def takes_records(several):
    return several["table"]["a"] * 2


def takes_recarray(x):
    return x.a * 2


def takes_masked(x):
    return x * 2


def takes_matrix(x):
    return x * x


def _without_source() -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile("def without_source(x):\n    return x * 2\n", "<nowhere>", "exec"), names)
    made: Callable[..., Any] = names["without_source"]
    return made


def _records() -> tuple[Any, ...]:
    return (np.array([(1.0, 2), (3.0, 4)], dtype=[("a", float), ("b", int)]),)


REFUSED = {
    r.fun.__name__ if hasattr(r.fun, "__name__") else "compiled_in_c": r
    for r in [
        Refused(yields_while_others_run, finish=lambda values: asyncio.run(_gathered(values))),
        Refused(coroutine, finish=asyncio.run),
        Refused(inner_coroutine),
        Refused(executes_text, seen=lambda: len(CALLS)),
        Refused(evaluates_text),
        Refused(asks_for_locals),
        Refused(asks_for_globals),
        Refused(asks_for_variables),
        Refused(asks_for_directory),
        Refused(compiles_text),
        Refused(awaits, finish=asyncio.run),
        Refused(takes_strings, lambda: ([np.array(["a", "b"])],)),
        Refused(takes_dates, lambda: ((np.array(["2020-01-01"], dtype="datetime64[D]"), 1.0),)),
        Refused(takes_records, lambda: ({"table": _records()[0]},)),
        Refused(takes_recarray, lambda: (_records()[0].view(np.recarray),)),
        Refused(takes_masked, lambda: (np.ma.masked_less(X, 0.0),)),
        Refused(takes_matrix, lambda: (np.matrix([[1.0, 2.0], [3.0, 4.0]]),)),
        Refused(_without_source()),
        Refused(operator.itemgetter(0)),
    ]
}
