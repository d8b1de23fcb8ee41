"""Pytrees under JAX's names, and their agreement with JAX's."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, tree, tree_util
from untraced.runtime.trees.assembly import assembler
from untraced.translator.tree import static

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
    assert assembler(treedef.node)(leaves) == tree.unflatten(treedef, leaves)


def test_dataclasses_are_nodes() -> None:
    layer = Layer(1, [2, 3])
    doubled = tree.map(lambda v: 2 * v, layer)
    assert doubled == Layer(2, [4, 6])
    assert assembler(tree.structure(layer).node)([5, 6, 7]) == Layer(5, [6, 7])


def test_map_over_several_trees_wants_one_structure() -> None:
    assert tree.map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)}) == {"x": 11, "y": (22,)}
    assert tree.map(lambda a, b: (a, b), (1, {"k": 2}), ((1, 2), {"k": [3]})) == ((1, (1, 2)), {"k": (2, [3])})
    with pytest.raises(ValueError, match="tree 2 is a tuple of length 3, where the structure has a tuple of length 2"):
        tree.map(lambda a, b: a, (1, 2), (1, 2, 3))
    with pytest.raises(ValueError, match=r"tree 3\['k'\]\[0\] is a leaf of type int, where the structure has None"):
        tree.map(lambda a, b, c: a, {"k": [None]}, {"k": [None]}, {"k": [5]})


def test_reduce_all_any() -> None:
    assert tree.reduce(lambda a, b: a + b, {"a": 1, "b": [2, 3]}) == 6
    assert tree.reduce(lambda a, b: a + b, [], 7) == 7
    assert tree.all([True, (1, 2)]) and not tree.all([True, 0])
    assert tree.any([0, (1,)]) and not tree.any([])


def test_transpose() -> None:
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0, "b": 0})
    assert tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}]) == {"a": [1, 3], "b": [2, 4]}
    assert tree.transpose(outer, None, [(1, 2), (3, 4)]) == ([1, 3], [2, 4])
    with pytest.raises(TypeError, match=r"the tree is PyTreeDef\(\[\*, \*\]\), not"):
        tree.transpose(outer, inner, [1, 2])


def test_paths() -> None:
    x = {"b": [1, (2,)], "a": Point(3, 4)}
    paths = [(tree_util.keystr(path), leaf) for path, leaf in tree.leaves_with_path(x)]
    assert paths == [("['a'].x", 3), ("['a'].y", 4), ("['b'][0]", 1), ("['b'][1][0]", 2)]
    assert tree.map_with_path(lambda p, v, w: (p[0].idx, v, w), [5, 6], [7, (8,)]) == [(0, 5, 7), (1, 6, (8,))]
    assert tree.leaves_with_path(x, lambda path, _: len(path) == 1, is_leaf_takes_path=True)[0][1] == Point(3, 4)


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
    for builtin in (list, tuple, dict, type(None), OrderedDict):
        with pytest.raises(ValueError, match="registered already"):
            tree.register(builtin, lambda x: (x, None), lambda _, x: x)


def test_meta_fields_belong_to_the_structure() -> None:
    @dataclasses.dataclass
    class Model:
        w: Any
        name: str

    with pytest.raises(ValueError, match=r"Model has the fields \['name', 'w'\]; .* name \['w'\]"):
        tree.register_dataclass(Model, data_fields=["w"], meta_fields=[])
    tree.register_dataclass(Model, data_fields=["w"], meta_fields=["name"])
    assert tree.leaves(Model([1, 2], "m")) == [1, 2]
    assert tree.map(lambda v: -v, Model(1, "m")) == Model(-1, "m")
    assert tree_util.keystr(tree.leaves_with_path(Model([1, 2], "m"))[1][0]) == ".w[1]"


@dataclasses.dataclass
class Scaled:
    w: Any
    power: int = tree.static(default=2)


def test_static_fields_belong_to_the_structure() -> None:
    assert tree.leaves(Scaled([1, 2], 3)) == [1, 2]
    assert tree.structure(Scaled(0, 3)) != tree.structure(Scaled(0, 4))
    assert tree.map(lambda v: -v, Scaled(1, 7)) == Scaled(-1, 7)

    @accelerate
    def power(s: Scaled) -> Any:
        return Scaled(s.w**s.power, s.power + 1)

    assert power(Scaled(3.0, 2)) == Scaled(9.0, 3) and power(Scaled(3.0, 3)) == Scaled(27.0, 4)


def test_defaultdict_stays_one() -> None:
    d = defaultdict(list, {"a": 1})
    assert isinstance(tree.map(lambda v: v, d), defaultdict)
    made = accelerate(lambda x: defaultdict(list, {"b": x, "a": x + 1}))(1.0)
    assert type(made) is defaultdict and made.default_factory is list and list(made) == ["b", "a"]


def test_classes_with_keys() -> None:
    @tree.register_pytree_with_keys_class
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

        def tree_flatten_with_keys(self) -> Any:
            return ((tree_util.GetAttrKey("a"), self.a), (tree_util.GetAttrKey("b"), self.b)), None

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> Any:
            return cls(*children)

    paths = [path for path, _ in tree.leaves_with_path([Pair(1, {"k": 2})])]
    assert [*map(tree_util.keystr, paths)] == ["[0].a", "[0].b['k']"]
    assert tree_util.keystr(paths[1], simple=True, separator="/") == "0/b/k"
    assert tree.map(lambda v: v + 1, Pair(1, 2)).b == 3


def test_static_classes_have_no_leaves() -> None:
    @tree.register_static
    class Config(str):
        pass

    assert tree.leaves([Config("a"), 1]) == [1]
    assert tree.map(lambda v: v + 1, [Config("a"), 1]) == [Config("a"), 2]
    assert tree.structure(Config("a")) != tree.structure(Config("b"))


def test_equal_values_of_other_types_are_other_structures() -> None:
    values = [True, 1, 1.0, np.True_]
    nodes = [static(v) for v in values]
    assert len({*nodes}) == len(values)
    assert [type(assembler(n)([])) for n in nodes] == [type(v) for v in values]


def test_structures_have_the_methods_of_jax() -> None:
    jax = pytest.importorskip("jax")
    for x in [*TREES, {"b": 1, "a": (2, None)}, [Point(1, [2, {}])], defaultdict(list, b=1, a=(2,))]:
        ours, theirs = tree.structure(x), jax.tree.structure(x)
        assert (ours.num_leaves, ours.num_nodes) == (theirs.num_leaves, theirs.num_nodes)
        assert repr(ours) == repr(theirs)
        assert repr(ours.compose(tree.structure((0, 0)))) == repr(theirs.compose(jax.tree.structure((0, 0))))
        assert repr(ours.children()) == repr(theirs.children())
    assert repr(tree.structure(Scaled(1, 2))) == "PyTreeDef(CustomNode(Scaled[(2,)], [*]))"
    t = tree.structure({"b": 1, "a": (2, None)})
    assert t == tree.structure({"a": (2, None), "b": 1}) and t.unflatten([1, 2]) == {"a": (1, None), "b": 2}
    assert t.flatten_up_to({"b": (5, 6), "a": ([1], None)}) == [[1], (5, 6)]
    assert tree_util.treedef_tuple([t, t]) == tree.structure(({"a": (0, None), "b": 0},) * 2)
    assert tree_util.treedef_is_leaf(tree.structure(0)) and not tree_util.treedef_is_leaf(t)
    assert tree_util.all_leaves([1, "x"]) and not tree_util.all_leaves([1, None])


def test_names_of_jax_are_here() -> None:
    jax = pytest.importorskip("jax")
    missing = {n for n in dir(jax.tree) if n[0] != "_"} - {*dir(tree)}
    of_util = {n for n in dir(jax.tree_util) if n[0] != "_"} - {*dir(tree_util)}
    assert not missing
    assert of_util <= {"default_registry", "flatten_one_level_with_keys", "is_tree_node"}


def test_structures_and_paths_inside_an_accelerated_function() -> None:
    @accelerate
    def scaled(p: Any) -> Any:
        leaves, treedef = tree.flatten(p)
        doubled = treedef.unflatten([2 * v for v in leaves])
        named = tree.map_with_path(lambda path, v: v * (1 if path[0].key == "a" else 10), doubled)
        return named, tree.reduce(lambda a, b: a + b, named), tree_util.tree_reduce_associative(max, p)

    assert scaled({"b": 1.0, "a": (2.0, None)}) == ({"b": 20.0, "a": (4.0, None)}, 24.0, 2.0)


def test_partial_is_a_function_with_leaves() -> None:
    def line(a: Any, x: Any, *, b: Any) -> Any:
        return a * x + b

    p = tree_util.Partial(line, 3.0, b=1.0)
    assert tree.leaves(p) == [3.0, 1.0] and p(2.0) == 7.0
    call = accelerate(lambda f, x: f(x))
    assert call(p, 2.0) == 7.0 and call(tree_util.Partial(line, 5.0, b=0.0), 2.0) == 10.0
    assert "was translated 1 time" in call.explain_recompiles()


@tree_util.register_pytree_node_class
class Line:
    """A container that can be called."""

    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b = w, b

    def __call__(self, x: Any) -> Any:
        return x * self.w + self.b

    def tree_flatten(self) -> Any:
        return (self.w, self.b), None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> Any:
        return cls(*children)


def test_containers_that_can_be_called_are_containers() -> None:
    def step(line: Line, x: Any) -> Line:
        g = grad(lambda m: np.sum(m(x) ** 2))(line)
        return tree.map(lambda p, d: p - 0.1 * d, line, g)

    x = np.arange(3.0)
    for got in (step(Line(2.0, 1.0), x), accelerate(step)(Line(2.0, 1.0), x)):
        np.testing.assert_allclose([got.w, got.b], [2 - 0.2 * np.sum((2 * x + 1) * x), 1 - 0.2 * np.sum(2 * x + 1)])


def test_a_structure_from_outside_puts_trees_together() -> None:
    leaves, structure = tree.flatten({"w": np.ones(3), "b": 2.0})

    def f(b, w):
        p = tree.unflatten(structure, [b, w])
        q = structure.unflatten([b, w])
        return np.sum(p["w"] ** 2) * q["b"]

    compiled = accelerate(f)
    assert compiled(*leaves) == f(*leaves) == 6.0
    np.testing.assert_array_equal(grad(f, 1)(*leaves), np.full(3, 4.0))
    structure = tree.structure({"w": 1, "b": 1})  # an equal one
    assert compiled(*leaves) == 6.0 and compiled.explain_recompiles() is not None
    structure = tree.structure({"b": 1, "c": 1, "w": 1})
    with pytest.raises(ValueError):
        compiled(*leaves)


class Pair:
    """What it is made of is bound by __init__: before that it cannot be flattened."""

    def __init__(self, x: Any, y: Any, name: str) -> None:
        self.x = x
        self.y = y
        self.name = name

    def __add__(self, other: "Pair") -> "Pair":
        return Pair(self.x + other.x, self.y + other.y, self.name)


tree_util.register_pytree_node(Pair, lambda p: ((p.x, p.y), p.name), lambda name, parts: Pair(*parts, name))


def test_objects_of_registered_classes_are_made_inside() -> None:
    def total(p: Pair, n: int) -> Any:
        q = p
        for _ in range(n):
            q = q + p
        return q.x * q.y

    p = Pair(3.0, 4.0, "a")
    for f in (grad(total), accelerate(grad(total))):
        slope = f(p, 2)
        assert (slope.x, slope.y, slope.name) == (36.0, 27.0, "a")


def test_leaves_may_be_the_rows_of_an_array() -> None:
    structure = tree.structure({"a": 0, "b": (0, 0)})
    for unflatten in (tree.unflatten, lambda s, x: s.unflatten(leaves=x)):
        got = accelerate(lambda x: unflatten(structure, x), target="numpy")(np.arange(6.0).reshape(3, 2))
        assert got["a"].tolist() == [0.0, 1.0] and got["b"][1].tolist() == [4.0, 5.0]
    assert tree_util.DictKey(key="a") == tree_util.DictKey("a") and tree_util.SequenceKey(idx=1).idx == 1


def test_one_level_as_in_jax() -> None:
    jax = pytest.importorskip("jax")
    inner = {"b": [1, 2], "a": (3, None)}
    ordered, counted = OrderedDict(inner), defaultdict(int, inner)
    for t in (inner, (inner, 1), [1, inner], None, (), {}, ordered, counted, Point(1, inner)):
        children, metadata = tree_util.flatten_one_level(t)
        wanted, data = jax.tree_util.flatten_one_level(t)
        assert (list(children), metadata) == (list(wanted), data)
    for leaf in (1.0, np.ones(2), "text"):
        with pytest.raises(ValueError, match="can't tree-flatten type"):
            tree_util.flatten_one_level(leaf)


def test_auxiliary_data_without_a_hash() -> None:
    class Tagged:
        def __init__(self, x: Any, tags: list[Any]) -> None:
            self.x, self.tags = x, tags

    tree_util.register_pytree_node(Tagged, lambda t: ((t.x,), t.tags), lambda tags, x: Tagged(x[0], tags))
    tagged, f = Tagged(3.0, ["a"]), accelerate(lambda t: Tagged(t.x * len(t.tags), t.tags))
    assert (f(tagged).x, f(tagged).tags) == (3.0, ["a"])
    tagged.tags.append("b")  # what has been compiled is for the list as it was
    assert (f(tagged).x, f(Tagged(3.0, ["a"])).x) == (6.0, 3.0)
    assert grad(lambda t: t.x * len(t.tags))(tagged).x == 2.0
    assert hash(tree.structure(tagged)) == hash(tree.structure(Tagged(1.0, ["c"])))
