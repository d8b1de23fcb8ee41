"""Derivatives of whole programs as people write them: stores, loops that end early, recursion, factorisations."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Drawn
from gradient_helpers import check_source

import untraced

RNG = Drawn(23)
V = RNG.uniform(0.2, 0.9, 5)
M = RNG.standard_normal((4, 3))
SPD = np.cov(RNG.standard_normal((4, 9))) + 3.0 * np.eye(4)


def lu_with_pivots(a, b):
    a = a.copy()
    b = b.copy()
    n = len(b)
    for k in range(n - 1):
        p = np.argmax(np.abs(a[k:, k])) + k
        a[[k, p]] = a[[p, k]]
        b[[k, p]] = b[[p, k]]
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
            b[i] -= m * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def cholesky_in_place(a):
    a = a.copy()
    n = len(a)
    for k in range(n):
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1 :, k] /= a[k, k]
        for j in range(k + 1, n):
            a[j:, j] -= a[j:, k] * a[j, k]
    return np.tril(a)


def gram_schmidt(a):
    q = np.zeros(a.shape)
    r = np.zeros((a.shape[1], a.shape[1]))
    for j in range(a.shape[1]):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = q[:, i] @ a[:, j]
            v -= r[i, j] * q[:, i]
        r[j, j] = np.linalg.norm(v)
        q[:, j] = v / r[j, j]
    return q, r


def conjugate_gradients(a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    for _ in range(len(b) - 1):
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        if np.sqrt(new) < 1e-6:
            break
        p = r + (new / rs) * p
        rs = new
    return x


def gauss_seidel(u, s):
    n = u.shape[0]
    for _ in range(2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) + s * np.sin(u[i, j])
    return u


def settling(u, k):
    u = u.copy()
    change, steps = 1.0, 0
    while change > 0.05 and steps < 50:
        old = u.copy()
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        u[0, :] = u[1, :]
        u[:, -1] = 1.5 * u[:, -2]
        change = np.max(np.abs(u - old))
        steps += 1
    return u


def step_control(y, a):
    t, h = 0.0, 0.1
    while t < 1.0:
        h = min(h, 1.0 - t)
        k1 = -a * y
        k2 = -a * (y + h * k1)
        if np.abs(h * (k2 - k1) / 2) < 1e-2:
            t = t + h
            y = y + h * (k1 + k2) / 2
            h = h * 1.5
        else:
            h = h * 0.5
    return y


def newton_system(p):
    x = np.array([1.0, 1.0])
    while True:
        f = np.array([x[0] ** 2 + x[1] - p[0], x[0] - x[1] ** 2 + p[1]])
        j = np.array([[2 * x[0], 1.0], [1.0, -2 * x[1]]])
        dx = np.linalg.solve(j, -f)
        x = x + dx
        if np.sqrt(np.sum(dx**2)) < 1e-10:
            break
    return x


def insertion_sort(x):
    x = x.copy()
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x**2 * np.arange(len(x))


def warping_distance(a, b):
    n, m = len(a), len(b)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d[i, j] = (a[i - 1] - b[j - 1]) ** 2 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, m]


def determinant(a):
    if len(a) == 1:
        return a[0, 0]
    s = 0.0
    for j in range(len(a)):
        minor = np.concatenate([a[1:, :j], a[1:, j + 1 :]], axis=1)
        s = s + (-1) ** j * a[0, j] * determinant(minor)
    return s


def fourier(x):
    n = x.shape[0]
    if n == 1:
        return x
    even, odd = fourier(x[::2]), fourier(x[1::2])
    w = np.exp(-2j * np.pi * np.arange(n // 2) / n)
    return np.concatenate([even + w * odd, even - w * odd])


def power_spectrum(x):
    return np.abs(fourier(x + 0j)) ** 2


def convolution(image, kernel):
    h, w = kernel.shape
    out = np.zeros((image.shape[0] - h + 1, image.shape[1] - w + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i : i + h, j : j + w] * kernel)
    return np.tanh(out)


def views_of_one_array(x):
    y = x.reshape(2, 3).copy()
    row = y[0]
    row *= 2.0
    y[:, 1] **= 2
    y.T[2] += row[:2].sum()
    z = y.ravel()
    z[::2] = np.sin(z[::2])
    return y * row


def bodies(q, v, mass):
    q, v = q.copy(), v.copy()
    for _ in range(2):
        force = np.zeros_like(q)
        for i in range(len(mass)):
            for j in range(len(mass)):
                if i != j:
                    d = q[j] - q[i]
                    r2 = d @ d + 0.01
                    force[i] += mass[j] * d / (r2 * np.sqrt(r2))
        v += 0.01 * force
        q += 0.01 * v
    return np.sum(v * v) + np.sum(q * q)


def leaves_early(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0.3:
            continue
        s = s + x[i] ** 2
        if s > 0.9:
            return s * x[i]
    return s


def trades_places(x, y):
    for _ in range(5):
        x, y = y, x * y + 0.1 * x
    return x, y


def writes_its_arguments(x, w):
    x *= 2.0
    x[0] = w[1]
    w[1:] += x[1:]
    return np.sum(x * w)


def layers_in_place(w, state, x):
    state = state.copy()
    flow = x
    for i in range(0, len(state), 2):  # `flow` is a view of another row after each step: the loop is unrolled
        state[i] = np.tanh(w[i] * flow + state[i + 1])
        state[i + 1] = state[i + 1] * flow
        flow = state[i]
    return flow, state


CASES = [
    (lu_with_pivots, (RNG.standard_normal((4, 4)), RNG.standard_normal(4))),
    (cholesky_in_place, (SPD,)),
    (gram_schmidt, (M,)),
    (conjugate_gradients, (SPD, V[:4])),
    (gauss_seidel, (RNG.uniform(size=(4, 4)), 0.1)),
    (settling, (RNG.uniform(size=(5, 5)), 0.1)),
    (step_control, (1.0, 2.0)),
    (newton_system, (np.array([3.0, 2.0]),)),
    (insertion_sort, (np.array([0.7, 0.2, 0.9, 0.4]),)),
    (warping_distance, (V, RNG.uniform(size=4))),
    (determinant, (RNG.standard_normal((3, 3)),)),
    (power_spectrum, (RNG.standard_normal(8),)),
    (convolution, (RNG.standard_normal((4, 4)), RNG.standard_normal((2, 2)))),
    (views_of_one_array, (RNG.uniform(0.2, 0.9, 6),)),
    (bodies, (M[:3], 0.1 * M[:3], V[:3])),
    (leaves_early, (V,)),
    (trades_places, (V, V[::-1].copy())),
    (layers_in_place, (M, 0.5 * M, V[:3])),
    (writes_its_arguments, (V, V[::-1].copy())),
]


@pytest.mark.parametrize(("fun", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_derivatives(fun, args):
    check_source(fun, *args, order=2)


def test_a_second_derivative_adds_to_the_real_part_of_a_complex_cotangent():
    def spectrum(x):
        def transform(v):
            if len(v) == 1:
                return v
            even, odd = transform(v[::2]), transform(v[1::2])
            turned = np.exp(-2j * np.pi * np.arange(len(v) // 2) / len(v)) * odd
            return np.concatenate([even + turned, even - turned])

        return np.sum(np.abs(transform(x + 0j)) ** 2 * np.arange(len(x)))

    x = RNG.standard_normal(4)
    along = untraced.grad(lambda x: np.sum(untraced.grad(spectrum)(x) * x))(x)
    np.testing.assert_allclose(along, 2.0 * untraced.grad(spectrum)(x), rtol=1e-12)  # quadratic: H x = g, twice


def test_an_integer_ends_a_recursion_whose_other_arguments_have_derivatives():
    def expanded(x, y, n):
        def f(k, a):
            return a if k == 0 else f(k - 1, a * y) + f(k - 1, a) * x

        return f(n, 1.0)

    np.testing.assert_allclose(untraced.grad(expanded, argnums=(0, 1))(3.0, 2.0, 4), (500.0, 500.0))  # (x + y)**4
