"""`accelerate(f).lower(...).compile()`: translation, compilation and call one by one, by the names that JAX has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...translator.reading.text.signature import aval_of
from ...translator.tree import tree_map
from ..calls.shapes import ShapeDtypeStruct, eval_shape
from ..trees.tree_util import PyTreeDef, tree_structure

if TYPE_CHECKING:
    from ..calls.accelerated import Accelerated
    from .inspection import Inspection

Call = tuple[tuple[Any, ...], dict[str, Any]]


class Traced:
    """What `accelerate(f).trace(...)` gives: the types of the arguments and of the result. Nothing is traced."""

    def __init__(self, fun: Accelerated, given: Call) -> None:
        self._fun, self._given = fun, given

    @property
    def jaxpr(self) -> str:
        """The program, as NumPy source."""
        return self._fun.inspect(*self._given[0], compile=False, **self._given[1]).source

    @property
    def out_info(self) -> Any:
        """The result, with a ShapeDtypeStruct for each array or number."""
        return eval_shape(self._fun, *self._given[0], **self._given[1])

    def lower(self) -> Lowered:
        """The translated function."""
        return Lowered(self._fun, self._given)


class _Specialised:
    """A function for arguments of certain types: what goes in and what comes out."""

    _fun: Accelerated
    _given: Call

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of (positional arguments, arguments by keyword), static ones left out."""
        return tree_structure(_without(self._fun, self._given))

    @property
    def args_info(self) -> Any:
        """The same with a ShapeDtypeStruct for each array or number."""
        return tree_map(_described, _without(self._fun, self._given))

    @property
    def out_info(self) -> Any:
        """The result, with a ShapeDtypeStruct for each array or number."""
        return eval_shape(self._fun, *self._given[0], **self._given[1])

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return tree_structure(self.out_info)


class Lowered(_Specialised):
    """A function translated for arguments like these, which may be ShapeDtypeStructs."""

    def __init__(self, fun: Accelerated, given: Call) -> None:
        self._fun, self._given = fun, given
        self._inspection = fun.inspect(*given[0], compile=False, **given[1])

    def as_text(self, dialect: str | None = None) -> str:
        """What the backend is given: StableHLO; NumPy source where there is none. "hlo": what XLA has made of it.
        ValueError for another dialect.
        """
        if dialect == "hlo":
            return self.compile().as_text()
        if dialect not in (None, "stablehlo"):
            raise ValueError(f'dialect must be "stablehlo" or "hlo", not {dialect!r}')
        return self._inspection.stablehlo or self._inspection.source

    def compiler_ir(self, dialect: str | None = None) -> str:
        """The same as `as_text`: text, where JAX has a module of MLIR."""
        return self.as_text(dialect)

    def cost_analysis(self) -> dict[str, float] | None:
        """XLA's of the compiled program; None for targets without XLA."""
        return self.compile().cost_analysis()

    def compile(self) -> Compiled:
        """Compile it. Raises what the backend refuses."""
        args, kwargs = self._given
        return Compiled(self._fun, self._given, self._fun.inspect(*args, **kwargs))


class Compiled(_Specialised):
    """A compiled function of arguments of the types that it was lowered for, static ones left out."""

    def __init__(self, fun: Accelerated, given: Call, inspection: Inspection) -> None:
        self._fun, self._given, self._inspection = fun, given, inspection

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises TypeError for other numbers, shapes and dtypes of arguments."""
        given = _with_statics(self._fun, self._given, args, kwargs)
        wanted, found = (str(tree_map(_described, _without(self._fun, call))) for call in (self._given, given))
        if wanted != found:
            raise TypeError(
                "Argument types differ from the types for which this computation was compiled: it takes "
                f"{wanted}, and was called with {found}"
            )
        return self._fun(*given[0], **given[1])

    def as_text(self) -> str:
        """XLA's optimised program; NumPy source where there is none."""
        return self._inspection.hlo or self._inspection.source

    def cost_analysis(self) -> dict[str, float] | None:
        """XLA's: flops, bytes accessed, ...; None for targets without XLA."""
        return self._inspection.cost

    def memory_analysis(self) -> dict[str, int] | None:
        """Bytes of arguments, results, temporaries and code; None for targets without XLA."""
        return self._inspection.memory


def _static(fun: Accelerated, count: int) -> tuple[set[int], set[str]]:
    return fun.options.static_places(fun.fun, count) if fun.options.static else (set(), set())


def _without(fun: Accelerated, given: Call) -> Call:
    numbers, names = _static(fun, len(given[0]))
    args = tuple(a for i, a in enumerate(given[0]) if i not in numbers)
    return args, {k: v for k, v in given[1].items() if k not in names}


def _with_statics(fun: Accelerated, lowered: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    numbers, names = _static(fun, len(lowered[0]))
    rest = list(args)
    for i in sorted(i for i in numbers if i < len(lowered[0])):
        rest.insert(i, lowered[0][i])
    return tuple(rest), {**{k: v for k, v in lowered[1].items() if k in names}, **kwargs}


def _described(x: Any) -> Any:
    known = isinstance(x, ShapeDtypeStruct) or aval_of(x) is None
    return x if known else ShapeDtypeStruct.like(x)
