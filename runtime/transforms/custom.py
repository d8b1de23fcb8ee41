"""`custom_jvp` and `custom_vjp`: functions with derivatives given by the user.

    @custom_vjp                                   def clipped(x): return x
    def clipped(x): return x
                                                  the derivative of  np.sum(clipped(x * x))  is then
    def forward(x): return x, None                    d_y = np.ones_like(x)
    def backward(_, ct):                              d_t = np.clip(d_y, -0.5, 0.5)    # from `backward`
        return (np.clip(ct, -0.5, 0.5),)              return 2.0 * x * d_t
    clipped.defvjp(forward, backward)

The rules are NumPy source like the function: they are read together with it, spliced in where a derivative is taken,
and differentiated and batched in turn. Called without a derivative the function is itself.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...translator.errors import tell_place
from ...translator.float0 import is_float0
from ...translator.ir import Capture, Root
from ...translator.purpose import purpose
from ...translator.reading.core.guards import Guard
from ...translator.reading.functions.results import Reading
from ...translator.reading.reader import read
from ...translator.reading.text.signature import Signature
from ...translator.reading.text.source import definition
from ..calls.callables import readable
from ..calls.options import check_numbers, numbers_in
from ..trees.tree import map as tree_map
from .splicing import JvpSite, VjpSite

Fun = Callable[..., Any]


class Wrapper:
    """A function with a derivative of its own. Called, it is the function."""

    verb = ""
    __name__: str
    __wrapped__: Fun

    def __init__(self, fun: Fun) -> None:
        if not callable(fun):
            raise TypeError(f"{self.verb} wants a function, not {fun!r}")
        self.fun = readable(fun)
        functools.update_wrapper(self, self.fun, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    @property
    def __untraced_original__(self) -> Fun:
        """What is read where the function calls itself: the rule of the call around speaks for all that is within."""
        return self.fun

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        """The rules of another kind that the function has are given through this one (`def_vmap` of a custom_vjp)."""
        if name.startswith("def") and isinstance(vars(self).get("fun"), Wrapper):
            return getattr(self.fun, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<{self.verb} {getattr(self.fun, '__qualname__', self.fun)}>"


class Custom(Wrapper):
    """The base of custom_jvp and custom_vjp. Read for a derivative, it carries the rule."""

    rules: tuple[str, ...] = ()  # the attributes that hold it
    order = 1  # how many derivatives it is
    solves = False  # see `derive.ruled.Rule`

    def __init__(
        self, fun: Fun, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        super().__init__(fun)
        self.nondiff_argnums = numbers_in(nondiff_argnums)
        if self.nondiff_argnums:
            check_numbers("nondiff_argnums", self.nondiff_argnums, self.fun)
        self.nondiff_argnames = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.require()
        return super().__call__(*args, **kwargs)

    def __untraced_read__(self, signature: Signature) -> Reading:
        self.require()
        reading = read(self.fun, signature)
        if not self.is_ruled() or not reading.function.body.results:
            return reading
        ruled, root = self.ruled(signature, reading), Root(self)
        # Another rule may be given later.
        watched = tuple(Guard(Capture(root, name), "same", getattr(self, name), root) for name in self.rules)
        return dataclasses.replace(ruled, guards=(*ruled.guards, *watched))

    def is_ruled(self) -> bool:
        """Whether the rule is asked for where the function is being read."""
        return purpose().derives

    def require(self) -> None:
        """Raises AttributeError where no rule has been given."""
        if any(getattr(self, name) is None for name in self.rules):
            kind = self.verb.removeprefix("custom_")
            what = f"No {kind.upper()} defined for {self.verb} function {self.__name__} using def{kind}."
            error = AttributeError(what)
            tell_place(error, definition(self.fun))
            raise error

    def ruled(self, signature: Signature, reading: Reading) -> Reading:
        """The reading of the function with its results marked by the rule."""
        raise NotImplementedError


class CustomJvp(Custom):
    """See `custom_jvp`."""

    verb = "custom_jvp"
    rules = ("jvp",)
    jvp: Fun | None = None

    def defjvp(self, jvp: Fun, symbolic_zeros: bool = False) -> Fun:
        """Give the rule: `jvp(*nondiff_args, primals, tangents) -> (result, tangent of the result)`. A decorator.

        `primals` and `tangents` are tuples with one entry for each differentiable argument; the tangents have the
        shapes and dtypes of the primals, zeros where nothing moves, those of integers of dtype float0. The rule is
        linear in them, and is transposed for reverse mode. With `symbolic_zeros` those of integers are `SymbolicZero`s;
        all others are arrays all the same.
        """
        self.jvp = _with_symbolic_zeros(readable(jvp)) if symbolic_zeros else readable(jvp)
        return jvp

    def defjvps(self, *jvps: Fun | None) -> None:
        """Give one rule for each argument, `jvp(tangent, result, *primals) -> its part of the tangent of the result`;
        None where that is zero. Raises TypeError for a function with nondiff_argnums.
        """
        if self.nondiff_argnums or self.nondiff_argnames:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")
        self.jvp = _sum_of_parts(self, tuple(None if j is None else readable(j) for j in jvps))

    def ruled(self, signature: Signature, reading: Reading) -> Reading:
        assert self.jvp is not None
        return JvpSite(self, signature, reading).reading((self.jvp,))


class CustomVjp(Custom):
    """See `custom_vjp`."""

    verb = "custom_vjp"
    rules = ("fwd", "bwd")
    fwd: Fun | None = None
    bwd: Fun | None = None

    def defvjp(self, fwd: Fun, bwd: Fun, symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Give the rule, two functions.

        fwd(*args) -> (result, residuals): takes the place of the function under a derivative; the residuals, any tree
        of arrays, numbers and strings, are what `bwd` is told of it.
        bwd(*nondiff_args, residuals, ct) -> a tuple with a cotangent for each differentiable argument, like the
        argument, or None for zero. `ct` is a tree like the result, with zeros of dtype float0 in place of integers.
        With `symbolic_zeros` the differentiable arguments of `fwd` have a `CustomVJPPrimal` for each leaf, which says
        that it is perturbed whether it is or not.
        """
        fwd = readable(fwd)
        self.fwd = _with_perturbed(fwd, self.nondiff_argnums) if symbolic_zeros else fwd
        self.bwd = readable(bwd)

    def ruled(self, signature: Signature, reading: Reading) -> Reading:
        assert self.fwd is not None and self.bwd is not None
        return VjpSite(self, signature, reading).reading((self.fwd, self.bwd))


class LinearVjp(CustomVjp):
    """custom_vjp of a function that is linear in its first differentiable argument: rules of others, which are
    transposed where they are applied to tangents, find its transpose."""

    order = 0

    def is_ruled(self) -> bool:
        return purpose().transposes


def custom_jvp(fun: Fun, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: Sequence[str] = ()) -> CustomJvp:
    """`fun` with a forward derivative of its own, given with `.defjvp` or `.defjvps`; a decorator. As jax.custom_jvp.

    nondiff_argnums   arguments that are held fixed (functions, sizes, options); they come first in the rule, and a
                      derivative with respect to them is an error.

    The rule serves forward and reverse mode, to any order, under vmap, in loops and branches. Raises AttributeError
    when it is called without a rule.

    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t / (1 + np.exp(-x))
    >>> untraced.grad(log1pexp)(0.0)
    np.float64(0.5)
    """
    return CustomJvp(fun, nondiff_argnums, nondiff_argnames)


def custom_vjp(fun: Fun, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: Sequence[str] = ()) -> CustomVjp:
    """`fun` with a reverse derivative of its own, given with `.defvjp(fwd, bwd)`; a decorator. As jax.custom_vjp.

    nondiff_argnums   as for `custom_jvp`; they come first in `bwd`, and in their places in `fwd`.

    Forward mode through it is a TypeError, but forward mode over reverse (a Hessian) works. Raises AttributeError when
    it is called without a rule.

    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
    >>> untraced.grad(lambda x: np.sum(5.0 * clipped(x)))(np.zeros(2))
    array([1., 1.])
    """
    return CustomVjp(fun, nondiff_argnums, nondiff_argnames)



class SymbolicZero(NamedTuple):
    """A tangent that is zero for certain, of an argument of this shape and dtype: see `defjvp`."""

    shape: tuple[int, ...]
    dtype: Any


class CustomVJPPrimal(NamedTuple):
    """A leaf of an argument, and whether a derivative with respect to it may be wanted: see `defvjp`."""

    value: Any
    perturbed: bool


def _with_symbolic_zeros(jvp: Fun) -> Fun:
    """A rule whose tangents of integers are SymbolicZeros, as a rule like any other."""

    def symbolic(x: Any, t: Any) -> Any:
        return SymbolicZero(np.shape(x), np.result_type(x)) if is_float0(t) else t

    def rule(*args: Any) -> Any:
        *fixed, primals, tangents = args
        return jvp(*fixed, primals, tree_map(symbolic, primals, tangents))

    return rule


def _with_perturbed(fwd: Fun, fixed: Sequence[int]) -> Fun:
    """A function of CustomVJPPrimals as one of arguments."""

    def forward(*args: Any) -> Any:
        return fwd(*[x if i in fixed else tree_map(_perturbed, x) for i, x in enumerate(args)])

    return forward


def _perturbed(x: Any) -> CustomVJPPrimal:
    return CustomVJPPrimal(x, True)


def _sum_of_parts(fun: Fun, parts: tuple[Fun | None, ...]) -> Fun:
    """The rule that `defjvps` means."""

    def jvp(primals: Any, tangents: Any) -> Any:
        result = fun(*primals)
        moving = [(part, t) for part, t in zip(parts, tangents) if part is not None and not is_float0(t)]
        terms = [part(t, result, *primals) for part, t in moving]
        if not terms:
            return result, None
        total = terms[0]
        for term in terms[1:]:
            total = tree_map(lambda x, y: x + y, total, term)
        return result, total

    return jvp


for _made_at_translation in (custom_jvp, custom_vjp, CustomJvp.defjvp, CustomJvp.defjvps, CustomVjp.defvjp):
    _made_at_translation.__dict__["__untraced_static__"] = True
