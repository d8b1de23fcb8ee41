"""grad, vmap and the other transformations: callables that stand for the transformed program of another callable.

Calling one with NumPy arrays generates its source for the signature of the call and lets CPython run it: no compiler.
Calling it with an `Array`, or wrapping it in `accelerate`, compiles it. Each can be read like a function
(`__untraced_read__`), so they nest, and work inside functions that are accelerated. A transformation of an
accelerated function is accelerated. The translator is imported when a transformation is first used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from ...translator.axes import named_axis
from ...translator.batch.form import Form
from ...translator.reading.text.signature import Signature
from ..trees.tree_util import Partial
from . import choices
from .choices import Argnums
from .transformation import Fun, Transformation, transformed

if TYPE_CHECKING:
    from ...translator.ir import Function
    from ...translator.pipeline import Positions
    from ...translator.reading.functions.results import Reading

Axes = Any  # an int, None, or a tree of them that is a prefix of the arguments' or the result's


# ---- derivatives ---------------------------------------------------------------------------------


class Gradient(Transformation):
    """grad and value_and_grad."""

    stage = "derive"

    def __init__(
        self, fun: Fun, argnums: Argnums, has_aux: bool, holomorphic: bool, allow_int: bool, value: bool
    ) -> None:
        self.argnums, self.has_aux, self.value = choices.checked_argnums(argnums), has_aux, value
        self.holomorphic, self.allow_int = holomorphic, allow_int
        self.verb = "value_and_grad" if value else "grad"
        super().__init__(fun)

    def rule(self, function: Function, positions: Positions, signature: Signature) -> Function:
        from .rules import gradient

        chosen = choices.select(self.fun, signature, self.argnums, self.verb)
        return gradient(
            function,
            positions,
            chosen,
            has_aux=self.has_aux,
            value=self.value,
            holomorphic=self.holomorphic,
            allow_int=self.allow_int,
        )


def grad(
    fun: Fun, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Any:
    """A function that computes the gradient of `fun`, which returns one real number.

    argnums     which positional argument to differentiate, or a tuple of them; each may be any tree of float arrays.
    has_aux     `fun` returns (number, anything); the result is (gradient, anything).
    holomorphic `fun` is complex-differentiable and its inputs and output are complex.
    allow_int   integers and bools are allowed among the chosen arguments; their gradients are zeros of dtype float0.

    The gradient has the structure of the argument (for a tuple `argnums`, a tuple of such structures); each leaf has
    the shape and dtype of the argument's leaf. Raises TypeError for integer inputs and for results that are not one
    real number.

    >>> def loss(w, x):
    ...     return np.sum(np.tanh(x @ w))
    >>> grad(loss)(np.zeros(2), np.ones((3, 2)))
    array([3., 3.])
    >>> source = grad(loss).source(np.zeros(2), np.ones((3, 2)))   # what ran, to read, to edit, to keep
    >>> "def loss_grad(w, x):" in source
    True
    """
    return transformed(fun, Gradient, argnums, has_aux, holomorphic, allow_int, False)


def value_and_grad(
    fun: Fun, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Any:
    """As `grad`, but the result is (value, gradient), or ((value, anything), gradient) with `has_aux`.

    >>> value_and_grad(lambda x: np.sum(x * x))(np.arange(3.0))
    (np.float64(5.0), array([0., 2., 4.]))
    """
    return transformed(fun, Gradient, argnums, has_aux, holomorphic, allow_int, True)


class Jacobian(Transformation):
    """jacfwd, jacrev, and jacobian, which takes the mode that the sizes ask for (`forward` None)."""

    stage = "derive"

    def __init__(
        self, fun: Fun, argnums: Argnums, has_aux: bool, holomorphic: bool, forward: bool | None, allow_int: bool
    ) -> None:
        self.argnums, self.has_aux, self.holomorphic = choices.checked_argnums(argnums), has_aux, holomorphic
        self.forward, self.allow_int = forward, allow_int
        self.verb = "jacobian" if forward is None else "jacfwd" if forward else "jacrev"
        super().__init__(fun)

    def rule(self, function: Function, positions: Positions, signature: Signature) -> Function:
        from .jacobians import forward_is_better, jacobian

        chosen = choices.select(self.fun, signature, self.argnums, self.verb)
        forward = self.forward
        if forward is None:
            forward = forward_is_better(function, positions, chosen, self.has_aux, self.holomorphic)
        return jacobian(
            function,
            positions,
            chosen,
            has_aux=self.has_aux,
            forward=forward,
            holomorphic=self.holomorphic,
            allow_int=self.allow_int,
        )


def jacfwd(fun: Fun, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """A function that computes the Jacobian of `fun`, column by column in forward mode: best where there are more
    outputs than inputs.

    The result has the structure of `fun`'s result, with the structure of the argument(s) in place of each leaf; a
    leaf has shape out.shape + in.shape. Arguments are as for `grad`. Raises TypeError for integer inputs.

    >>> jacfwd(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    return transformed(fun, Jacobian, argnums, has_aux, holomorphic, True, False)


def jacrev(
    fun: Fun, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Any:
    """Like `jacfwd`, but row by row in reverse mode: best where there are more inputs than outputs. `allow_int` is as
    for `grad`.

    >>> jacrev(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    return transformed(fun, Jacobian, argnums, has_aux, holomorphic, False, allow_int)


def jacobian(fun: Fun, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """Like `jacfwd` or `jacrev`, whichever suits the sizes.

    Forward mode is used where the chosen arguments have at most as many elements as the results, else reverse mode.
    Reverse mode also serves where only it is defined (complex arguments, `custom_vjp`).

    >>> jacobian(lambda x: np.array([x[0] * x[1], x[2]]))(np.array([2.0, 3.0, 4.0]))
    array([[3., 2., 0.],
           [0., 0., 1.]])
    """
    return transformed(fun, Jacobian, argnums, has_aux, holomorphic, None, False)


def hessian(fun: Fun, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Any:
    """A function that computes the matrix of second derivatives of `fun`, which returns one real number.

    It is `jacfwd(jacrev(fun))`, of shape x.shape + x.shape for an array x. `hvp` computes the product of the Hessian
    with a direction without the matrix.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


# ---- batching ------------------------------------------------------------------------------------


class Batched(Transformation):
    """vmap."""

    verb = "vmap"
    stage = "batch"

    def __init__(
        self, fun: Fun, in_axes: Axes, out_axes: Axes, axis_name: Any, axis_size: int | None, lanes: Form
    ) -> None:
        self.in_axes, self.out_axes, self.axis_name, self.axis_size = in_axes, out_axes, axis_name, axis_size
        self.lanes = lanes
        choices.check_axes(in_axes, out_axes, self.verb)
        if lanes not in get_args(Form):
            raise ValueError(f"vmap: lanes must be one of {', '.join(map(repr, get_args(Form)))}, not {lanes!r}")
        super().__init__(fun)

    def __untraced_read__(self, signature: Signature) -> Reading:
        from ...translator.pipeline import transform
        from ...translator.reading.reader import read
        from .custom_batching import rules_read
        from .rules import batched

        axes = choices.input_axes(self.fun, signature, self.in_axes, self.verb)
        size = choices.batch_size(self.fun, signature, axes, self.axis_size, self.verb)

        def read_with(inner: Signature) -> Reading:
            with named_axis(self.axis_name, size):
                return read(self.fun, inner, changes="dropped")

        def rule(function: Function, positions: Positions) -> Function:
            return batched(self.fun, function, positions, axes, self.out_axes, size, self.lanes, self.axis_name)

        with rules_read() as guards:
            reading = transform(self.stage, read_with, choices.without_batch(signature, axes), rule)
        return replace(reading, guards=(*reading.guards, *guards)) if guards else reading


def vmap(
    fun: Fun,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    lanes: Form = "auto",
    spmd_axis_name: Any = None,
) -> Any:
    """A function that maps `fun` over an axis of its arguments, as one vectorised program.

    in_axes    which axis of each argument to map: an int for all arguments, or a tuple with one entry for each argument
               passed by position: an int, None for an argument that all elements share, or a tree of these that is a
               prefix of the argument. Arguments passed by keyword are mapped over axis 0; defaults are shared.
    out_axes   where the mapped axis goes in the results, likewise.
    axis_name  a name for the axis, over which `lax.psum`, `lax.all_gather` and the other collectives in `fun` work.
    axis_size  the size of the axis, needed only where no argument is mapped.
    lanes      how to run branches and loops that differ between elements: "loop" is a loop over the elements, each with
               its own branches and number of turns; "lockstep" runs all together, until the slowest is done; "auto"
               chooses by cost. `inspect(...).loops` says what was chosen, and why.
    spmd_axis_name   accepted for JAX's sake: no result depends on it.

    Raises ValueError when the sizes differ, when an axis is out of range, or when `in_axes` does not fit the arguments.

    >>> def predict(w, x):
    ...     return np.tanh(w @ x)
    >>> w, xs = np.zeros((3, 2)), np.ones((5, 2))
    >>> vmap(predict, in_axes=(None, 0))(w, xs).shape
    (5, 3)
    >>> print(vmap(predict, in_axes=(None, 0)).source(w, xs).splitlines()[-1])
        return np.tanh(x @ w.T)
    """
    return transformed(fun, Batched, in_axes, out_axes, axis_name, axis_size, lanes)


# ---- products with the Jacobian ------------------------------------------------------------------


class Pushforward(Transformation):
    """jvp, as a function of (primals, tangents)."""

    verb = "jvp"
    stage = "derive"

    def __init__(self, fun: Fun, has_aux: bool) -> None:
        self.has_aux = has_aux
        from .products import product_signature

        super().__init__(fun)
        self.__signature__ = product_signature("primals", "tangents")
        del self.__wrapped__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __untraced_read__(self, signature: Signature) -> Reading:
        from .products import pushforward

        return pushforward(self.fun, signature, self.has_aux)


def jvp(fun: Fun, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """Forward-mode derivative: (fun(*primals), the derivative in the direction `tangents`).

    `tangents` is a tuple like `primals`, with leaves of the same shapes and dtypes. With `has_aux`, `fun` returns
    (value, anything), and that is a third result. Tangents of integers and bools are zeros of dtype float0 (see
    `untraced.dtypes.float0`), among the arguments and among the results. Raises TypeError where primals and tangents
    differ.

    >>> jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    _check_sequence("primal", primals)
    _check_sequence("tangent", tangents)
    return transformed(fun, Pushforward, has_aux)(tuple(primals), tuple(tangents))


def vjp(fun: Fun, *primals: Any, has_aux: bool = False) -> Any:
    """Reverse-mode derivative: (fun(*primals), vjp_fun), where vjp_fun(cotangent) is a tuple with a cotangent for each
    primal.

    The forward pass runs once, in this call; `vjp_fun` holds what the backward pass needs of it, and may be called any
    number of times. It is a pytree (`tree_util.Partial`), so it may be the residual of a custom rule, an argument or a
    result. A cotangent must have the structure, shapes and dtypes of the result; else TypeError or ValueError.
    Cotangents of integers are zeros of dtype float0, among the results and, or anything else, among those given. With
    `has_aux`, `fun` returns (value, anything), and that is a third result.

    >>> y, pull = vjp(lambda x: x * x, np.arange(3.0))
    >>> pull(np.array([1.0, 0.0, 10.0]))
    (array([ 0.,  0., 40.]),)
    """
    out, aux, residuals, backward = _forward_half(fun, len(primals), has_aux)(*primals)
    vjp_fun = Partial(backward, residuals)
    return (out, vjp_fun, aux) if has_aux else (out, vjp_fun)


def _forward_half(fun: Fun, count: int, has_aux: bool) -> Any:
    from .pullback import forward_half

    return forward_half(fun, count, has_aux)


def linearize(fun: Fun, *primals: Any, has_aux: bool = False) -> Any:
    """The value and the linear part of `fun` at a point: (fun(*primals), f_jvp), where f_jvp(*tangents) is the
    derivative at the primals in that direction.

    With `has_aux`, `fun` returns (value, anything), and that is a third result. Raises as `jvp` does.

    >>> y, tangent = linearize(lambda x: x**3, 2.0)
    >>> y, tangent(1.0), tangent(-0.5)
    (8.0, np.float64(12.0), np.float64(-6.0))
    """

    def f_jvp(*tangents: Any) -> Any:
        return jvp(fun, primals, tangents, has_aux)[1]

    if has_aux:
        out, aux = fun(*primals)
        return out, f_jvp, aux
    return fun(*primals), f_jvp


def hvp(fun: Fun, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Hessian-vector product: the Hessian of `fun`, which returns one real number, times the direction `tangents`.

    It is computed forward over reverse, without the matrix, at a small multiple of the cost of `fun`. `primals` and
    `tangents` are as in `jvp`. The result is like the primal if there is one, and else a tuple like `primals`.
    Raises TypeError as `grad` and `jvp` do.

    >>> hvp(lambda x: np.sum(x**3), (np.arange(3.0),), (np.ones(3),))
    array([ 0.,  6., 12.])
    """
    _check_sequence("primal", primals)
    _check_sequence("tangent", tangents)
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(fun, argnums), primals, tangents)[1]


def _check_sequence(what: str, xs: Any) -> None:
    if not isinstance(xs, tuple | list):
        raise TypeError(f"{what} arguments to jvp must be a tuple or list, got {type(xs).__name__}")


for _made_at_translation in (
    grad,
    value_and_grad,
    jacfwd,
    jacrev,
    jacobian,
    hessian,
    vmap,
    transformed,
    _forward_half,
    _check_sequence,
):
    _made_at_translation.__dict__["__untraced_static__"] = True
