"""Runtime support of the host source: groups whose launch only the run can plan, library calls, stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...translator.errors import UnsupportedError, tell_place
from ...translator.ir import Apply, Atom, Fused, Var
from ...translator.ops.core import ContractAttrs, Elementwise, Index, IndexAttrs, Reshape
from ...translator.passes.groups import kernel_name, kind_of
from ..loops.checks import Failure
from ..plan import plan, single
from ..program import Argument, GroupPlan, Launch
from ..settling.decompose import decompose
from ..source.maps import Strides
from .arrays import apply_on, in_python, is_host, product_order, store
from .backend import Backend

LOOPS = ("lanes", "loops")  # kinds of groups around a loop, whose kernels take arrays in C order


class Group:
    """A group as it runs: its kernels for each set of strides seen, or `fused` None where no kernel can express it.

    Called with values of any kind: numbers, and arrays of any strides.
    """

    def __init__(self, fused: Fused, function: str, backend: Backend) -> None:
        self.whole = fused
        self.function = function
        self.name = kernel_name(function, fused)
        self.backend = backend
        self.plans: dict[tuple[Any, ...], GroupPlan] = {}
        self.prepared: dict[Launch, Callable[..., None]] = {}
        self.constants: dict[int, Any] = {}
        self.fused: Fused | None
        self.refusal = ""
        try:
            self.fused = fused if fused.kind in LOOPS else decompose(fused, backend.language)
            self.plan_for({}, frozenset(i for i, p in enumerate(fused.body.params) if not p.aval.shape))
        except UnsupportedError as error:
            self.fused, self.refusal = None, str(error)

    def plan_for(self, strides: dict[int, Strides], scalars: frozenset[int]) -> GroupPlan:
        """Kernels for arguments some of which are numbers, `scalars`, or not in C order: `strides`, in elements, of
        results by `~k`."""
        assert self.fused is not None
        key = (scalars, *strides.items())
        found = self.plans.get(key)
        if found is None:
            backend = self.backend
            found = plan(self.fused, backend.language, self.function, strides, scalars, backend.shared)
            self.plans[key] = found
        return found

    def __call__(self, *values: Any) -> Any:
        """The group's results: a tuple, or the one."""
        found = self._results(list(values))
        return found[0] if len(found) == 1 else found

    def _results(self, values: list[Any]) -> tuple[Any, ...]:
        targets = self.whole.targets
        numbers = all(map(is_host, values)) and not any(t.aval.shape for t in targets)
        if self.fused is None or (numbers and self.fused.kind not in LOOPS):
            return self._one_by_one(values)
        scalars = frozenset(i for i, v in enumerate(values) if is_host(v))
        params = self.fused.body.params
        values = [v if is_host(v) else _typed(v, p) for v, p in zip(values, params, strict=True)]
        if self.fused.kind in LOOPS:
            values = [v if is_host(v) else self.backend.xp.ascontiguousarray(v) for v in values]
        strides = {i: strides_of(v) for i, v in enumerate(values) if i not in scalars and not v.flags.c_contiguous}
        chosen = self.plan_for(strides, scalars)
        xp = self.backend.xp
        outputs = [xp.empty(t.aval.shape, t.aval.dtype) for t in targets]
        partials = [
            (xp.zeros if k < chosen.zeros else xp.empty)(shape, dtype)
            for k, (shape, dtype) in enumerate(chosen.partials)
        ]
        arrays = {"in": values, "scalar": values, "out": outputs, "partial": partials}
        for result, begin in chosen.starts:
            outputs[result][...] = values[begin]
        for launch in chosen.launches:
            if launch.grid[0] * launch.grid[1]:
                run = self.prepared.get(launch)
                if run is None:
                    run = self.prepared[launch] = self.backend.prepare(launch)
                run(*(arrays[a.role][a.index] for a in given_of(launch)))
            if chosen.sorts and launch is chosen.launches[0]:
                places, order = chosen.sorts
                partials[order] = ordering(self.backend)(partials[places])
        if chosen.failures:
            raising(chosen.failures)(partials[0])
        if chosen.looks:
            self.raise_outside(partials[0], *values)
        return tuple(outputs)

    def raise_outside(self, flag: Any, *values: Any) -> None:
        """Raises IndexError where a kernel has met an index out of range: the library's check finds the first."""
        if int(flag[0]):
            self._one_by_one(values)

    def _one_by_one(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The operations of a group that no kernel can express, through the array module."""
        body = self.whole.body
        inner: dict[Var, Any] = dict(zip(body.params, values, strict=True))

        def value(a: Atom) -> Any:
            if isinstance(a, Var):
                return inner[a]
            if not a.aval.shape:
                return a.value
            if id(a) not in self.constants:
                self.constants[id(a)] = self.backend.asarray(a.value)
            return self.constants[id(a)]

        for b in body.statements:
            assert isinstance(b, Apply)
            operands = [value(a) for a in b.args]
            dtype = b.targets[0].aval.dtype
            made = in_python(b.op, operands, b.attrs, dtype) if all(map(is_host, operands)) else None
            if made is None or b.targets[0].aval.shape:
                try:
                    made = apply_on(self.backend.xp, b.op, operands, b.attrs, dtype)
                except IndexError as error:
                    tell_place(error, b.span)
                    raise
            inner[b.targets[0]] = made
        return tuple(value(r) for r in body.results)


def raising(failures: Sequence[Failure]) -> Callable[[Any], None]:
    """Raises what the first lane reports that failed, as a loop over the lanes would. Waits for the kernel."""

    def raise_failed(codes: Any) -> None:
        if codes.size and bool(codes.any()):
            code = int(codes[int((codes != 0).argmax())])
            raise failures[(code & 0xFFFF) - 1].exception(code)

    return raise_failed


def given_of(launch: Launch) -> list[Argument]:
    """The arguments of a launch that are known only at the run."""
    return [a for a in launch.arguments if a.role != "number"]


def strides_of(x: Any) -> Strides:
    """The strides of an array, in elements."""
    return tuple(n // x.itemsize for n in x.strides)


def _typed(value: Any, param: Var) -> Any:
    return value if value.dtype == param.aval.dtype else value.astype(param.aval.dtype)


# ---- what is no kernel ---------------------------------------------------------------------------


def comes_in_order(s: Apply) -> bool:
    """Whether the result of an operation of the library's is made an array in C order, of its type: not views, nor
    products that come transposed, which kernels read as they are."""
    if isinstance(s.attrs, ContractAttrs):
        return product_order(s.attrs) == s.attrs.out
    return bool(s.targets[0].aval.shape) and not isinstance(s.op, Reshape | Index)


def operation(s: Apply, backend: Backend) -> Callable[..., Any]:
    """One of the library's operations, by the array module."""
    dtype, ordered = s.targets[0].aval.dtype, comes_in_order(s)

    def apply(*values: Any) -> Any:
        made = apply_on(backend.xp, s.op, values, s.attrs, dtype)
        if ordered and not (made.flags.c_contiguous and made.dtype == dtype):
            return backend.xp.ascontiguousarray(made, dtype)
        return made

    apply.__name__ = s.op.name
    return apply


def lone_group(s: Apply, function: str, backend: Backend) -> Group | None:
    """The kernel of an operation that joined no group; None where the library has it."""
    kind = kind_of(s) or ("pointwise" if isinstance(s.op, Elementwise) else "")
    return None if kind in ("", "contract") else Group(single(s, kind), function, backend)


def either(s: Apply, group: Group, backend: Backend) -> Callable[..., Any]:
    """An operation whose operands are numbers in some runs, arrays in others."""
    operate = operation(s, backend)
    places = [s.args.index(a) for a in group.whole.args]

    def apply(*values: Any) -> Any:
        if all(map(is_host, values)):
            return operate(*values)
        return group(*(values[k] for k in places))

    apply.__name__ = s.op.name
    return apply


def ordering(backend: Backend) -> Callable[[Any], Any]:
    def argsort(x: Any) -> Any:
        return backend.xp.argsort(x, kind="stable")

    return argsort


def copying(backend: Backend) -> Callable[[Any], Any]:
    def copy(x: Any) -> Any:
        return backend.xp.array(x, order="C")

    return copy


def storing(s: Apply, backend: Backend) -> Callable[..., None]:
    """A store into an array that is the program's own: `put`, or `put_add` where repeated indices accumulate."""
    attrs = s.attrs
    assert isinstance(attrs, IndexAttrs)

    def apply(x: Any, *values: Any) -> None:
        store(backend.xp, s.op.name, x, (None, *values), attrs)

    apply.__name__ = s.op.name
    return apply
