"""Pytrees under JAX's names, and their agreement with JAX's."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest

from untraced import tree
from untraced.runtime.assembly import assembler

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


TREES = [
    1,
    None,
    (),
    [],
    {},
    (1, [2, {"b": 3, "a": 4}], None),
    {"z": (1, 2), "a": [3]},
    Point(1, (2, 3)),
    OrderedDict([("q", 1), ("p", 2)]),
    {2: "x", 1: "y"},
]


@pytest.mark.parametrize("x", TREES, ids=repr)
def test_leaves_and_roundtrip_agree_with_jax(x: Any) -> None:
    jax = pytest.importorskip("jax")
    leaves, treedef = tree.flatten(x)
    assert leaves == jax.tree.leaves(x)
    assert tree.unflatten(treedef, leaves) == x
    assert tree.structure(x) == treedef
    assert hash(treedef) == hash(tree.structure(x))


@pytest.mark.parametrize("x", TREES, ids=repr)
def test_generated_assembly_is_unflatten(x: Any) -> None:
    leaves, treedef = tree.flatten(x)
    assert assembler(treedef)(leaves) == tree.unflatten(treedef, leaves)


def test_dataclasses_are_nodes() -> None:
    layer = Layer(1, [2, 3])
    doubled = tree.map(lambda v: 2 * v, layer)
    assert doubled == Layer(2, [4, 6])
    assert assembler(tree.structure(layer))([5, 6, 7]) == Layer(5, [6, 7])


def test_map_over_several_trees_wants_one_structure() -> None:
    assert tree.map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)}) == {"x": 11, "y": (22,)}
    with pytest.raises(ValueError, match="structures differ"):
        tree.map(lambda a, b: a, (1, 2), (1, 2, 3))


def test_reduce_all_any() -> None:
    assert tree.reduce(lambda a, b: a + b, {"a": 1, "b": [2, 3]}) == 6
    assert tree.reduce(lambda a, b: a + b, [], 7) == 7
    assert tree.all([True, (1, 2)]) and not tree.all([True, 0])
    assert tree.any([0, (1,)]) and not tree.any([])


def test_transpose() -> None:
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0, "b": 0})
    assert tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}]) == {"a": [1, 3], "b": [2, 4]}
    assert tree.transpose(outer, None, [(1, 2), (3, 4)]) == ([1, 3], [2, 4])
    with pytest.raises(ValueError, match="no 2 trees"):
        tree.transpose(outer, inner, [1, 2])


def test_paths() -> None:
    x = {"b": [1, (2,)], "a": Point(3, 4)}
    assert tree.leaves_with_path(x) == [(("a", "x"), 3), (("a", "y"), 4), (("b", 0), 1), (("b", 1, 0), 2)]
    assert tree.map_with_path(lambda p, v: (p[0], v), [5, 6]) == [(0, 5), (1, 6)]


def test_broadcast_of_a_prefix() -> None:
    assert tree.broadcast((1, 2), ([0, 0], {"a": 0})) == ([1, 1], {"a": 2})
    with pytest.raises(ValueError, match="does not match the structure"):
        tree.broadcast((1, 2), (0, 0, 0))


def test_registered_classes() -> None:
    @tree.register_pytree_node_class
    class Pair:
        def __init__(self, a: Any, b: Any, label: str) -> None:
            self.a, self.b, self.label = a, b, label

        def tree_flatten(self) -> Any:
            return (self.a, self.b), self.label

        @classmethod
        def tree_unflatten(cls, label: Any, children: Any) -> Any:
            return cls(*children, label)

    p = tree.map(lambda v: v + 1, Pair(1, (2, 3), "tag"))
    assert (p.a, p.b, p.label) == (2, (3, 4), "tag")
    assert tree.structure(Pair(0, 0, "x")) != tree.structure(Pair(0, 0, "y"))
    with pytest.raises(ValueError, match="registered already"):
        tree.register(Pair, lambda x: ((), None), lambda aux, children: None)


def test_meta_fields_belong_to_the_structure() -> None:
    @dataclasses.dataclass
    class Model:
        w: Any
        name: str

    tree.register_dataclass(Model, data_fields=["w"], meta_fields=["name"])
    assert tree.leaves(Model([1, 2], "m")) == [1, 2]
    assert tree.map(lambda v: -v, Model(1, "m")) == Model(-1, "m")


def test_defaultdict_stays_one() -> None:
    d = defaultdict(list, {"a": 1})
    assert isinstance(tree.map(lambda v: v, d), defaultdict)
