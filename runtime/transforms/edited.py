"""`use_gradient`: replacing a generated derivative by one that the user has edited.

    print(grad(loss).source(w, x))           # copy it, edit it, keep it
    use_gradient(loss, loss_grad)            # from now on the derivative of `loss`, once it has been checked

The gradient becomes a rule of the function, as `custom_jvp` gives one: it serves forward and reverse mode, and further
derivatives are those of the edited source.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.errors import DerivativeError, Diagnostic
from ...translator.ir import Aval
from ...translator.reading.functions.results import Reading
from ...translator.reading.text.signature import Signature, signature_of
from ...translator.tree import flatten, tree_map
from ..calls.accelerated import Accelerated
from ..calls.callables import readable
from ..trees.tree import leaves as tree_leaves
from ..trees.tree import map as tree_products
from .choices import Argnums, checked_argnums, positional
from .custom import CustomJvp
from .products import rebuild
from .testing import RELATIVE, copied, inexact
from .transforms import grad

Fun = Callable[..., Any]


def use_gradient(fun: Fun, gradient: Fun, argnums: Argnums = 0, *, examples: Sequence[Any] = ()) -> Any:
    """Make `gradient` the derivative of `fun`, wherever `fun` is differentiated from now on; returns `fun`.

    gradient   a function of the arguments of `fun` that returns what `grad(fun, argnums)` returns, for instance the
               generated source after editing.
    argnums    the arguments that it differentiates. A derivative with respect to others is refused.
    examples   tuples of arguments at which to check it now. Without them it is checked when a derivative of `fun` is
               first taken, for each kind of arguments, at random arguments of that kind.

    The check compares `gradient` with the generated derivative of `fun`, which returns one real number. Where they
    differ it raises DerivativeError, an AssertionError that names the argument and the relative error. If `fun` is not
    a plain function, a wrapper is returned, and only the wrapper has the derivative.
    """
    inner = fun.fun if isinstance(fun, Accelerated) else readable(fun)
    plain = inner if isinstance(inner, types.FunctionType) else None
    edited = Edited(_without_rule(plain) if plain else inner, readable(gradient), checked_argnums(argnums))
    for example in examples:
        edited.check(example)
        edited.settled = True
    if plain is None or inner is not (fun.fun if isinstance(fun, Accelerated) else fun):
        return edited
    plain.__untraced_read__ = edited.__untraced_read__  # type: ignore[attr-defined]
    plain.__untraced_original__ = edited.fun  # type: ignore[attr-defined]
    # For whoever has read the function it is another one now: its code object is what they watch.
    plain.__code__ = plain.__code__.replace()
    return fun


def _without_rule(f: types.FunctionType) -> types.FunctionType:
    """A function with the same code, defaults and surroundings."""
    known = getattr(f, "__untraced_original__", None)
    if known is not None:
        return known  # type: ignore[no-any-return]
    made = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__, made.__qualname__, made.__module__ = f.__kwdefaults__, f.__qualname__, f.__module__
    return made


class Edited(CustomJvp):
    """A function with a gradient from elsewhere, which is checked once for each kind of arguments."""

    verb = "use_gradient"

    def __init__(self, fun: Fun, gradient: Fun, argnums: int | tuple[int, ...]) -> None:
        count = len(signature_of(fun).parameters)
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        chosen = tuple(i % count for i in numbers)
        super().__init__(fun, tuple(i for i in range(count) if i not in chosen))
        self.gradient, self.argnums = gradient, argnums
        self.jvp = _rule(fun, gradient, chosen, isinstance(argnums, int))
        self.settled = False  # checked at examples, or being checked
        self._checked: list[Signature] = []

    def ruled(self, signature: Signature, reading: Reading) -> Reading:
        if not self.settled and signature not in self._checked:
            self.settled = True
            try:
                self._check_kind(signature)
            finally:
                self.settled = False
            self._checked.append(signature)
        return super().ruled(signature, reading)

    def _check_kind(self, signature: Signature) -> None:
        """At random arguments of this kind: positive ones, then any, until the function's own gradient is finite."""
        rng = np.random.default_rng(0)
        for low, high in ((0.3, 0.9), (1.1, 1.9), (-0.9, 0.9)):
            leaves = [_drawn(rng, a, v, low, high) for a, v in zip(signature.avals, signature.values, strict=True)]
            args = [rebuild(t, iter(leaves[i : i + t.leaf_count])) for i, t in positional(self.fun, signature)]
            try:
                if self.check(args):
                    return
            except (ValueError, ArithmeticError, IndexError):
                continue  # the function does not take such numbers
        raise self._wrong("cannot be checked at random arguments, where its own is not finite: give examples")

    def check(self, args: Sequence[Any]) -> bool:
        """Compare with the function's own gradient; whether that was finite. Raises DerivativeError."""
        with np.errstate(all="ignore"):
            own = grad(self.fun, self.argnums)
            want, got = (flatten(g(*(tree_map(copied, a) for a in args)))[0] for g in (own, self.gradient))
        names = list(signature_of(self.fun).parameters)
        chosen = (self.argnums,) if isinstance(self.argnums, int) else self.argnums
        owners = [names[i] for i in chosen for x in flatten(args[i])[0] if inexact(x)]
        if len(got) != len(want):
            raise self._wrong(f"gives {len(got)} arrays where there are {len(want)} to give")
        for g, w, name in zip(got, want, owners, strict=False):
            if np.shape(g) != np.shape(w):
                raise self._wrong(f"is wrong: with respect to `{name}` it has shape {np.shape(g)}, not {np.shape(w)}")
            finite = np.isfinite(w)
            scale = float(np.max(np.abs(np.where(finite, w, 0)), initial=0.0)) or 1.0
            error = float(np.max(np.abs(np.where(finite, np.subtract(g, w), 0)), initial=0.0))
            if not error <= RELATIVE[_dtype_name(w)] * scale:
                raise self._wrong(f"is wrong: with respect to `{name}` it has a relative error of {error / scale:.3g}")
        return all(bool(np.all(np.isfinite(w))) for w in want)

    def _wrong(self, what: str) -> DerivativeError:
        name = getattr(self.gradient, "__name__", "the gradient")
        return DerivativeError(Diagnostic(f"{name} as the gradient of {self.__name__} {what}"))


def _rule(fun: Fun, gradient: Fun, chosen: tuple[int, ...], single: bool) -> Fun:
    """The rule that a gradient means: the tangent of the result is its product with those of the arguments."""
    fixed = tuple(sorted(set(range(len(signature_of(fun).parameters))) - set(chosen)))
    order = tuple(sorted(chosen))

    def jvp(*given: Any) -> Any:
        primals, tangents = given[-2], given[-1]
        args = [None] * (len(fixed) + len(order))
        for i, k in enumerate(fixed):
            args[k] = given[i]
        for i, k in enumerate(order):
            args[k] = primals[i]
        found = gradient(*args)
        parts = (found,) if single else found
        total = 0.0
        for part, k in zip(parts, chosen):
            for term in tree_leaves(tree_products(_product, tangents[order.index(k)], part)):
                total = total + term
        return fun(*args), total

    return jvp


def _product(t: Any, g: Any) -> Any:
    return np.sum(t * g)


def _drawn(rng: np.random.Generator, aval: Aval, known: Any, low: float, high: float) -> Any:
    """A value of this type; of an integer the one that is known, or a small one."""
    if known is not None and aval.dtype.kind not in "fcV":
        return known
    if aval.dtype.kind in "fcV":
        value = rng.uniform(low, high, aval.shape).astype(aval.dtype)
    else:
        value = rng.integers(0, 2, aval.shape).astype(aval.dtype)
    return value.item() if aval.weak else value[()] if not aval.shape else value


def _dtype_name(x: Any) -> str:
    return np.empty(0, np.asarray(x).dtype).real.dtype.name
