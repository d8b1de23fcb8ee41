"""The namespace `untraced.optimizers`: optimizers over pytrees of parameters, as in `jax.example_libraries.optimizers`.

An `Optimizer` is three functions: `init_fun(params) -> state`, `update_fun(step, gradients, state) -> state` and
`params_fun(state) -> params`. They are NumPy source: CPython runs them, and accelerated functions may call them. Step
sizes are numbers, or schedules: functions from the step (an integer from 0 on) to a number.

    init, update, get_params = optimizers.adam(1e-3)
    state = init(params)
    state = update(step, grad(loss)(get_params(state), x, y), state)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..trees import tree_util

Schedule = Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """What an optimizer knows: for each leaf of the parameters the leaves of its state, with both structures."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree_util.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structure, children: OptimizerState(children[0], *structure),
)


class Optimizer(NamedTuple):
    """Three functions, see above."""

    init_fun: Callable[[Any], OptimizerState]
    update_fun: Callable[[Any, Any, OptimizerState], OptimizerState]
    params_fun: Callable[[OptimizerState], Any]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Makes of a function that gives (init, update, get_params) for one array one that gives them for pytrees.

    For one array, `init(x)` gives its state, any pytree; `update(step, gradient, state)` the next; `get_params(state)`
    the array. TypeError where gradients, or an updated state, have another structure than before.
    """

    @functools.wraps(opt_maker)
    def over_trees(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(x0_tree: Any) -> OptimizerState:
            leaves, structure = tree_util.tree_flatten(x0_tree)
            return _packed([init(x) for x in leaves], structure)

        def tree_update(i: Any, grad_tree: Any, opt_state: OptimizerState) -> OptimizerState:
            gradients, structure = tree_util.tree_flatten(grad_tree)
            if structure != opt_state.tree_def:
                raise TypeError(
                    "the gradients have another structure than the parameters:\n"
                    f"  parameters: {opt_state.tree_def}\n  gradients:  {structure}"
                )
            states = [update(i, g, s) for g, s in zip(gradients, _states(opt_state), strict=True)]
            after = _packed(states, structure)
            for old, new in zip(opt_state.subtree_defs, after.subtree_defs, strict=True):
                if old != new:
                    raise TypeError(f"an update changed the structure of the state of an array from {old} to {new}")
            return after

        def tree_params(opt_state: OptimizerState) -> Any:
            return tree_util.tree_unflatten(opt_state.tree_def, [get_params(s) for s in _states(opt_state)])

        return Optimizer(tree_init, tree_update, tree_params)

    return over_trees


def _packed(states: Sequence[Any], structure: Any) -> OptimizerState:
    flat = [tree_util.tree_flatten(state) for state in states]
    return OptimizerState(tuple(tuple(leaves) for leaves, _ in flat), structure, tuple(sub for _, sub in flat))


def _states(state: OptimizerState) -> list[Any]:
    """The state of each array."""
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [tree_util.tree_unflatten(structure, leaves) for structure, leaves in pairs]


# ---- optimizers ----------------------------------------------------------------------------------


@optimizer
def sgd(step_size: Any) -> Any:
    """x - step_size g."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0

    def update(i: Any, g: Any, x: Any) -> Any:
        return x - _rate(step_size, i, g) * g

    def get_params(x: Any) -> Any:
        return x

    return init, update, get_params


@optimizer
def momentum(step_size: Any, mass: Any) -> Any:
    """v = mass v + g; x - step_size v (Polyak, 1964)."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, np.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - _rate(step_size, i, g) * velocity, velocity

    return init, update, _first


@optimizer
def nesterov(step_size: Any, mass: Any) -> Any:
    """v = mass v + g; x - step_size (mass v + g) (Sutskever, Martens, Dahl and Hinton, 2013)."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, np.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - _rate(step_size, i, g) * (mass * velocity + g), velocity

    return init, update, _first


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Any:
    """Gradients over the root of the sum of their squares so far, averaged by `momentum` (Duchi and others, 2011)."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, np.zeros_like(x0), np.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + np.square(g)
        scaled = np.where(squares > 0, g / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
        mean = (1.0 - momentum) * scaled + momentum * mean
        return x - _rate(step_size, i, g) * mean, squares, mean

    return init, update, _first


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Any:
    """Gradients over the root of a running mean of their squares (Tieleman and Hinton, 2012)."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, np.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean_square = state
        mean_square = mean_square * gamma + np.square(g) * (1.0 - gamma)
        return x - _rate(step_size, i, g) * g / np.sqrt(mean_square + eps), mean_square

    return init, update, _first


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Any:
    """`rmsprop` whose steps have `momentum` (Graves, "Generating sequences with recurrent neural networks", 2013)."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, np.zeros_like(x0), np.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean_square, velocity = state
        mean_square = mean_square * gamma + np.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + _rate(step_size, i, g) * g / np.sqrt(mean_square + eps)
        return x - velocity, mean_square, velocity

    return init, update, _first


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Running means of gradients and of their squares, freed from their bias (Kingma and Ba, 2015)."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, np.zeros_like(x0), np.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, mean_square = state
        mean = (1 - b1) * g + b1 * mean
        mean_square = (1 - b2) * np.square(g) + b2 * mean_square
        count = np.asarray(i + 1, np.result_type(g))
        unbiased = mean / (1 - b1**count)
        unbiased_square = mean_square / (1 - b2**count)
        return x - _rate(step_size, i, g) * unbiased / (np.sqrt(unbiased_square) + eps), mean, mean_square

    return init, update, _first


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """`adam` with the largest gradient so far, fading by `b2`, for the root of the squares (Kingma and Ba, 2015)."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, np.zeros_like(x0), np.zeros_like(x0)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = (1 - b1) * g + b1 * mean
        largest = np.maximum(b2 * largest, np.abs(g))
        unbiased = mean / (1 - b1 ** np.asarray(i + 1, np.result_type(g)))
        return x - _rate(step_size, i, g) * unbiased / (largest + eps), mean, largest

    return init, update, _first


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Any:
    """`adagrad` that keeps one sum an index of each axis, not one an element (Anil, Gupta, Koren and Singer, 2019)."""
    step_size = make_schedule(step_size)

    def init(x0: Any) -> Any:
        return x0, np.zeros_like(x0), [np.zeros(size, np.result_type(x0)) for size in np.shape(x0) or ((),)]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, sums = state
        bound = functools.reduce(np.minimum, [_along(s, axis, np.ndim(x)) for axis, s in enumerate(sums)])
        squares = bound + np.square(g)
        scaled = g * np.where(squares > 0, 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
        mean = (1.0 - momentum) * scaled + momentum * mean
        sums = [squares.max(_others(axis, np.ndim(x))) for axis in range(len(sums))]
        return x - _rate(step_size, i, g) * mean, mean, sums

    return init, update, _first


def _first(state: Any) -> Any:
    return state[0]


def _rate(schedule: Schedule, i: Any, g: Any) -> Any:
    """The step size, of the gradient's dtype: a schedule over integers of 64 bits gives a number of 64 bits."""
    return np.asarray(schedule(i), np.result_type(g))


def _along(x: Any, axis: int, ndim: int) -> Any:
    """A vector as an array of `ndim` axes that lies along one of them."""
    return np.expand_dims(x, _others(axis, ndim))


def _others(axis: int, ndim: int) -> tuple[int, ...]:
    return tuple(other for other in range(ndim) if other != axis)


# ---- schedules -----------------------------------------------------------------------------------


def constant(step_size: Any) -> Schedule:
    """The same at every step."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """step_size decay_rate^(i / decay_steps)."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """step_size / (1 + decay_rate i / decay_steps); the quotient rounded down where `staircase`."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * np.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0) -> Schedule:
    """From step_size to final_step_size within decay_steps, the distance falling as (1 - i / decay_steps)^power."""

    def schedule(i: Any) -> Any:
        left = 1 - np.minimum(i, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """values[k] from after boundaries[k - 1] to boundaries[k]. ValueError for any other number of values."""
    ends, steps = np.asarray(boundaries), np.asarray(values)
    if not ends.ndim == steps.ndim == 1:
        raise ValueError("boundaries and values are sequences")
    if ends.shape[0] != steps.shape[0] - 1:
        raise ValueError(f"{ends.shape[0]} boundaries need {ends.shape[0] + 1} values, not {steps.shape[0]}")
    return lambda i: steps[np.sum(i > ends)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule as it is, a number as a constant one. TypeError for anything else."""
    if callable(scalar_or_schedule):
        return scalar_or_schedule  # type: ignore[no-any-return]
    if np.ndim(scalar_or_schedule) == 0 and np.asarray(scalar_or_schedule).dtype.kind in "biuf":
        return constant(scalar_or_schedule)
    raise TypeError(f"a step size is a number or a function of the step, not {type(scalar_or_schedule).__name__}")


# ---- gradients and states ------------------------------------------------------------------------


def l2_norm(tree: Any) -> Any:
    """The Euclidean norm of all leaves together."""
    return np.sqrt(sum(np.vdot(x, x) for x in tree_util.tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """The gradients, scaled down to `max_norm` where their `l2_norm` is greater."""
    norm = l2_norm(grad_tree)
    return tree_util.tree_map(lambda g: np.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


class JoinPoint:
    """Marks a leaf of a tree that stands for a tree of its own: the state of one array (`unpack_optimizer_state`)."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state as a tree like the parameters whose leaves are `JoinPoint`s, fit to be written to a file."""
    return tree_util.tree_unflatten(opt_state.tree_def, [JoinPoint(state) for state in _states(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state that `unpack_optimizer_state` gave."""
    points, structure = tree_util.tree_flatten(marked_pytree)
    if not all(isinstance(point, JoinPoint) for point in points):
        raise TypeError("every leaf of an unpacked state is a JoinPoint")
    return _packed([point.subtree for point in points], structure)
