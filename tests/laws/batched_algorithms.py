"""More functions of one example, as `batched_programs` has them: algorithms, branches and loops, derivatives, draws."""

from __future__ import annotations

import numpy as np
from batched_programs import LABELS, batched, normal

from untraced import hessian, jacfwd, jvp, lax, random, vjp, vmap

RNG = np.random.default_rng(2)
KEYS = random.split(random.key(0), 5)


# ---- vectors and matrices ------------------------------------------------------------------------


@batched((0, 0), normal(5, 2), normal(5))
def rotated(p, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ p


@batched(0, normal(5, 3))
def skew_symmetric(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


@batched((0, 0), normal(5, 4), normal(5, 4))
def quaternion_product(p, q):
    a, b, c, d = p
    e, f, g, h = q
    return np.array([a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g])


@batched((0, 0), normal(5, 4), normal(5, 4))
def cosine(x, y):
    return x @ y / (np.linalg.norm(x) * np.linalg.norm(y))


@batched((0, 0), normal(5, 4, 3), normal(5, 4, 3))
def frobenius(a, b):
    return np.trace(a.T @ b)


@batched(0, normal(5, 4, 4))
def log_determinant(a):
    return np.linalg.slogdet(a @ a.T + np.eye(4))[1]


@batched(0, normal(5, 4, 4))
def spectral_gap(a):
    w = np.linalg.eigvalsh(a + a.T)
    return w[-1] - w[-2]


@batched(0, normal(5, 3, 3))
def matrix_exponential(a):
    term = total = np.eye(3)
    for k in range(1, 10):
        term = term @ a / k
        total = total + term
    return total


@batched((0, None, None, None), normal(5, 4), normal(4, 4), normal(2, 4), normal(6, 2))
def kalman_filter(x, f, h, measurements):
    p = np.eye(4)
    for z in measurements:
        x, p = f @ x, f @ p @ f.T + 0.1 * np.eye(4)
        gain = np.linalg.solve(h @ p @ h.T + np.eye(2), h @ p).T
        x, p = x + gain @ (z - h @ x), (np.eye(4) - gain @ h) @ p
    return x


@batched((None, 0), normal(8, 3, 2, 4), normal(5, 6, 8))
def two_heads(w, x):
    q, k, v = np.einsum("td,dkhe->khte", x, w)
    a = q @ k.transpose(0, 2, 1)
    a = np.exp(a - a.max(-1, keepdims=True))
    return (a / a.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(6, 8)


# ---- images, signals, statistics -----------------------------------------------------------------


@batched((0, None), normal(5, 8, 8), normal(3, 3))
def filtered(image, kernel):
    out = np.zeros((6, 6))
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * image[i : i + 6, j : j + 6]
    return out


@batched(0, normal(5, 4, 6))
def pooled(x):
    return x.reshape(2, 2, 3, 2).max(axis=(1, 3))


@batched(0, normal(5, 8))
def power_spectrum(x):
    return np.abs(np.fft.rfft(x)) ** 2


@batched(0, normal(5, 6))
def moving_average(x):
    c = np.cumsum(np.concatenate([np.zeros(1), x]))
    return (c[3:] - c[:-3]) / 3


@batched(0, normal(5, 4))
def vandermonde(x):
    return np.stack([np.ones_like(x), x, x**2], axis=-1)


@batched(0, normal(5, 4))
def ranks(x):
    return np.argsort(np.argsort(x))


@batched(0, normal(5, 4))
def mean_of_positive(x):
    m = x > 0
    return np.sum(x * m) / max(m.sum(), 1)


@batched((0, 0), {"loc": normal(5), "scale": np.abs(normal(5))}, normal(5))
def log_density(p, x):
    z = (x - p["loc"]) / p["scale"]
    return -0.5 * z * z - np.log(p["scale"])


@batched((0, None), np.array([0.3, 1.2, 2.7, 0.1, 3.3]), normal(5))
def interpolated(x, y):
    i = np.floor(x).astype(int)
    t = x - i
    return (1 - t) * y[i] + t * y[i + 1]


@batched((0, 0), normal(5, 4), RNG.integers(0, 4, (5, 3)))
def scattered(x, i):
    y = np.zeros(4)
    y[i] = x[i] * 2
    np.add.at(y, i, 1.0)
    return y


@batched(1, normal(4, 5, 3), out_axes=-1)
def middle_axis(x):
    return x.sum(axis=0)


# ---- branches and loops --------------------------------------------------------------------------


@batched(0, normal(5))
def hinge(x):
    if x < -1:
        return -1.0
    elif x < 1:
        return x**3
    return 1.0


@batched((0, None), normal(5, 3), normal(3))
def onto_ball(x, c):
    r = np.sqrt(np.sum((x - c) ** 2))
    return x if r < 1 else c + (x - c) / r


@batched((0, 0), RNG.integers(1, 40, 5), RNG.integers(1, 40, 5))
def greatest_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@batched(0, np.abs(normal(5)))
def square_root(a):
    x = 1.0
    for _ in range(20):
        step = (x * x - a) / (2 * x)
        x -= step
        if abs(step) < 1e-9:
            break
    return x


@batched((0, None), normal(5, 6), 0.3)
def first_over(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return x[i] - limit
    return 0.0


@batched(0, normal(5, 6))
def bubble(x):
    x = x.copy()
    for i in range(len(x) - 1):
        if x[i] > x[i + 1]:
            x[i], x[i + 1] = x[i + 1], x[i]
    return x


@batched((0, 0), normal(5, 6), np.array([1, 3, 2, 0, 5]))
def prefix(x, n):
    y = np.zeros(6)
    for i in range(n):
        y[i] = x[i] * x[i]
    return y


@batched((0, 0), RNG.integers(0, 4, (5, 6)), RNG.integers(0, 4, (5, 5)))
def edit_distance(a, b):
    d = np.arange(len(b) + 1)
    for i in range(len(a)):
        diagonal, left = d[0], i + 1
        d[0] = left
        for j in range(len(b)):
            left = min(d[j + 1] + 1, left + 1, diagonal + (a[i] != b[j]))
            diagonal = d[j + 1]
            d[j + 1] = left
    return d[-1]


@batched((None, None, 0), normal(3, 3), normal(3, 4), RNG.integers(0, 4, (5, 7)))
def viterbi_score(moves, shows, seen):
    v = shows[:, seen[0]]
    for o in seen[1:]:
        v = np.max(v[:, None] + moves, axis=0) + shows[:, o]
    return np.max(v)


@batched((0, None), normal(5, 2), 4)
def runge_kutta(s, n):
    def slope(s):
        return np.array([s[1], -np.sin(s[0])])

    for _ in range(n):
        a = slope(s)
        b = slope(s + 0.5 * a)
        s = s + 0.5 * (a + b)
    return s


@batched(0, normal(5, 4))
def discounted(x):
    return lax.scan(lambda c, v: (c * 0.9 + v, c), 0.0, x)


@batched((0, 0), np.array([0, 1, 2, 1, 0]), normal(5, 3))
def switched(i, x):
    return lax.switch(i, [np.sin, np.cos, lambda x: x * 2], x)


# ---- derivatives, maps in maps, draws ------------------------------------------------------------


@batched((0, None), normal(5, 3), normal(3, 3))
def curvature(x, a):
    return hessian(lambda x: np.sum(np.sin(a @ x)))(x)


@batched((0, None), normal(5, 3), normal(4, 3))
def jacobian(x, w):
    return jacfwd(lambda x: np.tanh(w @ x))(x)


@batched((0, 0), normal(5, 3), normal(5, 3))
def slope_along(x, v):
    return jvp(lambda x: np.sum(x**3), (x,), (v,))


@batched((0, None), normal(5, 3), normal(4, 3))
def pulled_back(x, w):
    y, pull = vjp(lambda x: np.tanh(w @ x), x)
    return y, pull(y)[0]


@batched((None, 0, 0), normal(4, 3), normal(5, 4), LABELS)
def softmax_gradient(w, x, label):
    def loss(w):
        z = x @ w
        return np.log(np.sum(np.exp(z))) - z[label]

    return vjp(loss, w)[1](1.0)[0]


@batched((0, None), normal(5, 3), normal(6, 3))
def kernel_row(x, ys):
    return vmap(lambda y: np.exp(-np.sum((x - y) ** 2)))(ys)


@batched((0, None), normal(5, 3), normal(6, 3))
def kernel_slope(x, ys):
    return vmap(jacfwd(lambda x, y: np.exp(-np.sum((x - y) ** 2))), in_axes=(None, 0))(x, ys)


@batched((0, None), KEYS, normal(4))
def dropout(key, x):
    return np.where(random.bernoulli(key, 0.8, (4,)), x / 0.8, 0.0)
