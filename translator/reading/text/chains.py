"""Long chains of `if` and `elif`: a syntax tree nests as deep as a chain is long, and so would the program.

    if a:                           if a:                       up to LINKS tests at once
        A                               branch = 0
    elif b:                         elif b:
        B               ->              branch = 1
    ...                             ...
    else:                           else:
        Z                               branch = 32
                                    if branch == 32:
                                        ...                     the next tests
                                    if branch < 150:
                                        ...                     a tree over A, B, ..., Z

Tests are asked in their order, each one once, until one holds. So are those of `match` over values, and those of
statements that leave one after another (`if a: return A`), which are a chain as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeVar

from ...records import dataclass
from .nodes import children, nodes_of

Node = TypeVar("Node", bound=ast.AST)
LONGEST = 64  # chains up to this length stay nested
LINKS = 32  # tests that nest in each other


@dataclass(frozen=True, slots=True)
class Link:
    """A test and what runs where it is the first that holds."""

    test: ast.expr
    body: list[ast.stmt]


def shortened_chains(node: ast.FunctionDef | ast.Lambda) -> None:
    """Rewrite the long chains of a function, in place."""
    waiting: list[ast.AST] = [node]
    taken: set[str] = set()
    while waiting:
        n = waiting.pop()
        for field in _BODIES:
            body = getattr(n, field, None)
            if isinstance(body, list) and any(isinstance(s, ast.If | ast.Match) for s in body):
                _shorten(body, node, taken)
        waiting += children(n)


_BODIES = ("body", "orelse", "finalbody")


def _shorten(body: list[ast.stmt], function: ast.AST, taken: set[str]) -> None:
    """Rewrite the long chains among these statements."""
    made: list[ast.stmt] = []
    for k, s in enumerate(body):
        leaving = list(_leaving(body[k:]))
        if _is_long(leaving):
            name = _fresh("branch", function, taken)
            made += [*_found(leaving, name), *_tree(leaving, body[k + len(leaving) :], name)]
            break
        links, rest = _of_match(s) if isinstance(s, ast.Match) else _elifs(s)
        if not _is_long(links):
            made.append(s)
            continue
        if isinstance(s, ast.Match):
            subject = _fresh("subject", function, taken)
            made.append(_assign(subject, s.subject, s))
            links = [_about(link, subject) for link in links]
        name = _fresh("branch", function, taken)
        made += [*_found(links, name), *_tree(links, rest, name)]
    body[:] = made


def _is_long(links: Sequence[Link]) -> bool:
    """Whether a chain is to be rewritten: branches must know no more than that their tests hold, as of a name that is
    bound there, or of what is not None.
    """
    return len(links) > LONGEST and not any(
        isinstance(n, ast.NamedExpr) or (isinstance(n, ast.Constant) and n.value is None)
        for link in links
        for n in nodes_of(link.test)
    )


def _elifs(s: ast.stmt) -> tuple[list[Link], list[ast.stmt]]:
    """The links of a chain that begins here, and its `else`."""
    links: list[Link] = []
    rest: list[ast.stmt] = [s]
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        head = rest[0]
        links.append(Link(head.test, head.body))
        rest = head.orelse
    return links, rest


def _leaving(body: Sequence[ast.stmt]) -> Iterator[Link]:
    """The first of these statements, as long as each leaves where its test holds."""
    for s in body:
        if not isinstance(s, ast.If) or s.orelse or not isinstance(s.body[-1], _LEAVES):
            return
        yield Link(s.test, s.body)


_LEAVES = ast.Return | ast.Break | ast.Continue


def _of_match(s: ast.Match) -> tuple[list[Link], list[ast.stmt]]:
    """The cases of a `match` over values, whose tests lack the subject yet; none where a pattern is more than that."""
    links: list[Link] = []
    for case in s.cases:
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case is s.cases[-1]:
            plain = case.pattern.name is None and case.guard is None
            return (links, case.body) if plain else ([], [])
        if not isinstance(case.pattern, ast.MatchValue) or case.guard is not None:
            return [], []
        links.append(Link(case.pattern.value, case.body))
    return links, []


def _about(link: Link, subject: str) -> Link:
    """The link of a `match` with the whole test."""
    test = ast.Compare(ast.Name(subject, ast.Load()), [ast.Eq()], [link.test])
    return Link(_placed(test, link.test), link.body)


def _found(links: Sequence[Link], name: str) -> Iterator[ast.stmt]:
    """Statements after which `name` is the number of the first test that holds, or the number of tests."""
    for first in range(0, len(links), LINKS):
        some = links[first : first + LINKS]
        last = first + len(some)
        chain: list[ast.stmt] = [_assign(name, ast.Constant(last), some[-1].test)]
        for k in range(last - 1, first - 1, -1):
            link = links[k]
            chain = [_placed(ast.If(link.test, [_assign(name, ast.Constant(k), link.test)], chain), link.test)]
        undecided = _compared(name, ast.Eq(), first, some[0].test)
        yield from [_placed(ast.If(undecided, chain, []), some[0].test)] if first else chain


def _tree(links: Sequence[Link], rest: list[ast.stmt], name: str) -> list[ast.stmt]:
    """Branches to the body with the number `name`, or to `rest` behind them."""
    bodies = [*(link.body for link in links), rest]

    def among(first: int, end: int) -> list[ast.stmt]:
        if end - first == 1:
            return bodies[first]
        middle = (first + end) // 2
        place = links[first].test
        test = _compared(name, ast.Lt(), middle, place)
        return [_placed(ast.If(test, among(first, middle), among(middle, end)), place)]

    return among(0, len(bodies))


def _compared(name: str, op: ast.cmpop, number: int, place: ast.expr) -> ast.expr:
    return _placed(ast.Compare(ast.Name(name, ast.Load()), [op], [ast.Constant(number)]), place)


def _assign(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    return _placed(ast.Assign([ast.Name(name, ast.Store())], value), place)


def _placed(node: Node, place: ast.AST) -> Node:
    """The new node, and those in it that have no place yet, with the place of another."""
    waiting: list[ast.AST] = [node]
    while waiting:
        n = waiting.pop()
        if not hasattr(n, "lineno"):
            ast.copy_location(n, place)
            waiting += children(n)
    return node


def _fresh(wanted: str, function: ast.AST, taken: set[str]) -> str:
    """A name that the function does not have."""
    if not taken:
        for n in nodes_of(function):
            taken.update(x for x in (getattr(n, a, None) for a in _NAMES) if isinstance(x, str))
    chosen, count = wanted, 0
    while chosen in taken:
        count += 1
        chosen = f"{wanted}_{count}"
    taken.add(chosen)
    return chosen


_NAMES = ("id", "arg", "name", "asname", "rest")
