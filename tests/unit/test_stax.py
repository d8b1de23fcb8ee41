"""`untraced.stax`, `optimizers` and `nn.initializers` against `jax.example_libraries` and `jax.nn`."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from drawn import Drawn
from jax.example_libraries import optimizers as jax_optimizers
from jax.example_libraries import stax as jax_stax
from jax.nn import initializers as jax_initializers

from untraced import accelerate, grad, jacrev, nn, optimizers, random, stax, tree, vmap

R = Drawn(3)
LAYERS: dict[str, Any] = {
    "dense": (lambda s: s.Dense(7), (5, 4)),
    "conv": (lambda s: s.Conv(2, (3, 2), (2, 1), "SAME"), (2, 7, 6, 3)),
    "conv_valid": (lambda s: s.Conv(2, (3, 2), (2, 1)), (2, 7, 6, 3)),
    "conv_axes": (lambda s: s.GeneralConv(("NCHW", "OIHW", "NHWC"), 2, (3, 2)), (2, 3, 7, 6)),
    "conv_transpose": (lambda s: s.ConvTranspose(2, (3, 2), (2, 3)), (2, 4, 5, 3)),
    "conv_transpose_1d": (lambda s: s.Conv1DTranspose(2, (3,), (2,), "SAME"), (2, 4, 3)),
    "batch_norm": (lambda s: s.BatchNorm(), (2, 4, 5, 3)),
    "batch_norm_plain": (lambda s: s.BatchNorm((0,), center=False, scale=False), (6, 3)),
    "max_pool": (lambda s: s.MaxPool((2, 3), (2, 1), "SAME"), (2, 5, 6, 3)),
    "sum_pool": (lambda s: s.SumPool((2, 2), spec="NCHW"), (2, 3, 5, 6)),
    "avg_pool": (lambda s: s.AvgPool((2, 2), (2, 2), "SAME"), (2, 5, 6, 3)),
    "dropout": (lambda s: s.Dropout(0.7), (5, 4)),
    "no_dropout": (lambda s: s.Dropout(0.7, mode="test"), (5, 4)),
    "two_ways": (
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(3), s.Dense(4)), s.FanInConcat(), s.Tanh, s.Softmax),
        (5, 4),
    ),
    "sum": (lambda s: s.serial(s.FanOut(2), s.parallel(s.Identity, s.Dense(4)), s.FanInSum, s.LogSoftmax), (5, 4)),
    "activations": (
        lambda s: s.serial(s.Relu, s.Exp, s.Softplus, s.Sigmoid, s.Elu, s.LeakyRelu, s.Selu, s.Gelu, s.Flatten),
        (5, 4, 2),
    ),
    "shape_dependent": (lambda s: s.shape_dependent(lambda shape: s.Dense(shape[-1] + 1)), (5, 4)),
}


def _same(ours: Any, theirs: Any, tolerance: float = 1e-5) -> None:
    left, right = tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(left) == len(right)
    for x, y in zip(left, right, strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_those_of_jax(name: str) -> None:
    make, shape = LAYERS[name]
    x = R.normal(size=shape).astype(np.float32)
    (init, apply), (_, jax_apply) = make(stax), make(jax_stax)
    made, params = init(random.PRNGKey(1), shape)
    params = tree.map(lambda p: p.astype(np.float32), params)  # of 64 bits where another test told JAX so
    expected = jax.jit(jax_apply)(params, x, rng=jax.random.PRNGKey(2))
    assert np.shape(expected) == made
    _same(apply(params, x, rng=random.PRNGKey(2)), expected)


def test_parameters_begin_as_those_of_jax() -> None:
    def network(s: Any) -> Any:
        inner = s.parallel(s.Dense(4), s.serial(s.Flatten, s.Dense(3)))
        return s.serial(s.Conv(3, (2, 2)), s.BatchNorm(), s.Flatten, s.FanOut(2), inner, s.FanInConcat())

    shape, params = network(stax)[0](random.PRNGKey(1), (-1, 4, 4, 2))
    jax_shape, theirs = network(jax_stax)[0](jax.random.PRNGKey(1), (2, 4, 4, 2))
    assert shape == (-1, 7)
    assert jax_shape == (2, 7)
    _same(params, theirs)


def test_a_network_compiles() -> None:
    init, apply = stax.serial(
        stax.Conv(2, (2, 2), padding="SAME"), stax.BatchNorm(), stax.Relu, stax.MaxPool((2, 2), (2, 2)),
        stax.FanOut(2), stax.parallel(stax.Identity, stax.Tanh), stax.FanInSum,
        stax.Dropout(0.7), stax.Flatten, stax.Dense(5), stax.LogSoftmax,
    )  # fmt: skip
    x = R.normal(size=(2, 4, 4, 1)).astype(np.float32)
    _, params = init(random.PRNGKey(1), (-1, 4, 4, 1))
    compiled = accelerate(lambda p, x, key: apply(p, x, rng=key))
    _same(compiled(params, x, random.PRNGKey(2)), apply(params, x, rng=random.PRNGKey(2)))


def test_no_layers_are_the_identity() -> None:
    assert stax.logsoftmax is nn.log_softmax
    init, apply = stax.serial()
    assert init(random.key(0), (2, 3)) == ((2, 3), [])
    np.testing.assert_array_equal(apply([], np.ones((2, 3))), np.ones((2, 3)))


def test_a_batch_of_any_size_keeps_its_place_in_the_shapes() -> None:
    init, _ = stax.serial(stax.Conv(4, (3, 3)), stax.MaxPool((2, 2), (2, 2)), stax.Flatten, stax.Dense(10))
    assert init(random.key(0), (-1, 8, 8, 1))[0] == (-1, 10)


def test_dropout_asks_for_a_key() -> None:
    _, apply = stax.serial(stax.Dense(3), stax.Dropout(0.5))
    params = [(np.ones((2, 3)), np.ones(3)), ()]
    for run in (apply, accelerate(apply)):
        with pytest.raises(ValueError, match="rng=key"):
            run(params, np.ones((4, 2)))


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [
        ("zeros", None, (3, 2)),
        ("ones", None, (3, 2)),
        ("constant", (2.5,), (3, 2)),
        ("uniform", (), (3, 2)),
        ("normal", (0.1,), (3, 2)),
        ("truncated_normal", (0.1,), (3, 2)),
        ("glorot_uniform", (), (3, 2, 4, 5)),
        ("glorot_normal", (0, 1), (3, 2, 4)),
        ("lecun_uniform", (), (3, 2)),
        ("lecun_normal", (), (3, 2)),
        ("he_uniform", (), (3, 2)),
        ("he_normal", (), (3, 2)),
        ("variance_scaling", (2.0, "fan_geo_avg", "normal"), (3, 2)),
        ("variance_scaling", (2.0, "fan_out", "uniform"), (3, 2)),
        ("variance_scaling", (2.0, "fan_in", "normal", (0, 1), 2, (3,)), (3, 2, 4, 2)),
        ("orthogonal", (), (3, 2, 4)),
        ("orthogonal", (2.0, 0), (2, 5)),
        ("delta_orthogonal", (), (3, 4, 2, 5)),
    ],
)
def test_initializers_are_those_of_jax(name: str, args: Any, shape: Any) -> None:
    ours, theirs = getattr(nn.initializers, name), getattr(jax_initializers, name)
    if args is not None:
        ours, theirs = ours(*args), theirs(*args)
    _same(ours(random.key(7), shape), theirs(jax.random.key(7), shape), 1e-6)
    assert ours(random.key(7), shape, np.float64).dtype == np.float64


def test_initializers_refuse_what_has_no_fans() -> None:
    with pytest.raises(ValueError, match="at least two"):
        nn.initializers.he_normal()(random.key(0), (3,))
    with pytest.raises(ValueError, match="mode is one of"):
        nn.initializers.variance_scaling(1.0, "fan", "normal")
    with pytest.raises(ValueError, match="distribution is"):
        nn.initializers.variance_scaling(1.0, "fan_in", "gauss")
    with pytest.raises(ValueError, match="fewer outputs"):
        nn.initializers.delta_orthogonal()(random.key(0), (3, 5, 4))


X, Y = R.normal(size=(20, 3)).astype(np.float32), R.normal(size=20).astype(np.float32)
START = {
    "w": R.normal(size=3).astype(np.float32),
    "m": [R.normal(size=(2, 3)).astype(np.float32), np.ones(1, np.float32)],
}


def _loss(params: Any) -> Any:
    first, scale = params["m"]
    return ((X @ (params["w"] + first.sum(0)) * scale - Y) ** 2).mean()


_slope, _jax_slope = grad(_loss), jax.jit(jax.grad(_loss))  # of which every optimizer takes the same programs


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("sgd", (0.05,)),
        ("momentum", (0.05, 0.9)),
        ("nesterov", (0.05, 0.9)),
        ("adagrad", (0.1,)),
        ("rmsprop", (0.01,)),
        ("rmsprop_momentum", (0.01,)),
        ("adam", (0.01,)),
        ("adamax", (0.01,)),
        ("sm3", (0.1,)),
    ],
)
def test_optimizers_are_those_of_jax(name: str, args: Any) -> None:
    init, update, get_params = getattr(optimizers, name)(*args)
    jax_init, jax_update, jax_params = getattr(jax_optimizers, name)(*args)
    plain = compiled = init(START)
    theirs, jax_step = jax_init(START), jax.jit(jax_update)
    step = accelerate(lambda i, state: update(i, _slope(get_params(state)), state))
    for i in range(3):
        theirs = jax_step(i, _jax_slope(jax_params(theirs)), theirs)
        plain = update(i, _slope(get_params(plain)), plain)
        compiled = step(i, compiled)
    _same(get_params(plain), jax_params(theirs), 1e-4)
    _same(get_params(compiled), jax_params(theirs), 1e-4)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("constant", (0.1,)),
        ("exponential_decay", (0.1, 10, 0.5)),
        ("inverse_time_decay", (0.1, 4, 0.5)),
        ("inverse_time_decay", (0.1, 4, 0.5, True)),
        ("polynomial_decay", (0.1, 8, 0.01, 2)),
        ("piecewise_constant", ([3, 7], [0.1, 0.01, 0.001])),
    ],
)
def test_schedules_are_those_of_jax(name: str, args: Any) -> None:
    ours, theirs = getattr(optimizers, name)(*args), getattr(jax_optimizers, name)(*args)
    compiled = accelerate(lambda i: ours(i) * 1.0)
    for i in (0, 3, 4, 7, 20):
        np.testing.assert_allclose(ours(i), theirs(i), rtol=1e-6)
        np.testing.assert_allclose(compiled(i), theirs(i), rtol=1e-6)


def test_a_schedule_of_wide_steps_keeps_the_dtype_of_the_parameters() -> None:
    init, update, get_params = optimizers.adam(optimizers.exponential_decay(0.1, 10, 0.5))
    state = update(np.int64(3), {"w": np.ones(3, np.float32)}, init({"w": np.ones(3, np.float32)}))
    assert get_params(state)["w"].dtype == np.float32


def test_optimizers_say_what_does_not_fit() -> None:
    init, update, _ = optimizers.momentum(0.1, 0.9)
    state = init({"w": np.ones(3)})
    with pytest.raises(TypeError, match="another structure"):
        update(0, [np.ones(3)], state)
    with pytest.raises(TypeError, match="step size"):
        optimizers.sgd("fast")
    with pytest.raises(ValueError, match="need 3 values"):
        optimizers.piecewise_constant([1, 2], [0.1, 0.2])


def test_states_are_trees_and_can_be_unpacked() -> None:
    init, update, get_params = optimizers.adam(0.1)
    state = update(0, START, init(START))
    assert len(tree.leaves(state)) == 9
    again = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
    assert tree.structure(again) == tree.structure(state)
    many = vmap(lambda w: get_params(update(0, {"w": w}, init({"w": w})))["w"])(np.ones((4, 3)))
    assert many.shape == (4, 3)


def test_gradients_are_clipped_by_their_norm() -> None:
    gradients = {"a": np.array([3.0, 0.0]), "b": np.array(4.0)}
    assert optimizers.l2_norm(gradients) == 5.0
    np.testing.assert_allclose(accelerate(optimizers.clip_grads)(gradients, 1.0)["a"], [0.6, 0.0])
    np.testing.assert_allclose(optimizers.clip_grads(gradients, 10.0)["b"], 4.0)


def test_softmax_of_what_a_mask_leaves() -> None:
    x, mask = np.array([5.5, 1.3, -4.2, 0.9]), np.array([True, False, True, True])
    for ours, theirs in ((nn.softmax, jax.nn.softmax), (nn.log_softmax, jax.nn.log_softmax)):
        for m in (mask, np.zeros(4, bool)):
            f, g = lambda x: ours(x, where=m), lambda x: theirs(x, where=m)  # noqa: B023  # called at once
            np.testing.assert_allclose(f(x), g(x), rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(jacrev(f)(x), jax.jacrev(g)(x), rtol=1e-5, atol=1e-6)
        assert ours(np.zeros((0, 3))).shape == (0, 3) and ours(np.array([], np.float32)).dtype == np.float32
