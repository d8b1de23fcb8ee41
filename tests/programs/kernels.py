"""Complete NumPy programs of the kinds people bring: plain loops, stores, helpers and in-place arguments.

Each entry of PROGRAMS is (function, make arguments). The arguments are made anew for every run, as many
programs write them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator], tuple[Any, ...]]
PROGRAMS: list[tuple[Callable[..., Any], Maker]] = []


def program(maker: Maker) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((f, maker))
        return f

    return register


@program(lambda r: (1.5, 1.2, r.random((6, 7)), r.random((6, 5)), r.random((5, 7))))
def general_product(alpha, beta, c, a, b):
    c[:] = alpha * a @ b + beta * c
    return c


@program(lambda r: (r.random((6, 5)), r.random(5), r.random(6)))
def bicg(a, p, r):
    return r @ a, a @ p


@program(lambda r: (r.random((4, 5)), r.random((5, 6)), r.random((6, 4)), r.random((4, 3))))
def three_products(a, b, c, d):
    e = a @ b
    f = c @ d
    return e @ f


@program(lambda r: (r.random((4, 5, 6)), r.random((6, 6))))
def last_axis_product(a, c4):
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            a[r, q, :] = a[r, q, :] @ c4
    return a


@program(lambda r: (r.random((20, 6)),))
def covariance(data):
    mean = np.mean(data, axis=0)
    centred = data - mean
    return centred.T @ centred / (data.shape[0] - 1.0)


@program(lambda r: (r.random((20, 6)),))
def correlation(data):
    n = float(data.shape[0])
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data = data - mean
    data /= np.sqrt(n) * stddev
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


@program(lambda r: (7, r.random(20), r.random(20)))
def jacobi_1d(steps, a, b):
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


@program(lambda r: (5, r.random((9, 9)), r.random((9, 9))))
def jacobi_2d(steps, a, b):
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


@program(lambda r: (3, r.random((6, 6, 6)), r.random((6, 6, 6))))
def heat_3d(steps, a, b):
    for _ in range(1, steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = b[1:-1, 1:-1, 1:-1] * 0.99


@program(lambda r: (4, r.random((8, 9)), r.random((8, 9)), r.random((8, 9)), r.random(4)))
def fdtd_2d(steps, ex, ey, hz, fict):
    for t in range(steps):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@program(lambda r: (r.random((7, 7)) * 10,))
def shortest_paths(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return path


@program(lambda r: ((lambda m: m @ m.T + 6 * np.eye(6))(r.random((6, 6))),))
def cholesky_loops(a):
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])


@program(lambda r: ((lambda m: m @ m.T + 6 * np.eye(6))(r.random((6, 6))),))
def lu_loops(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]


@program(lambda r: (np.tril(r.random((7, 7))) + np.eye(7), np.zeros(7), r.random(7)))
def triangular_solve(l, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - l[i, :i] @ x[:i]) / l[i, i]


@program(lambda r: (r.random((6, 4)),))
def gram_schmidt(a):
    q = np.zeros_like(a)
    r = np.zeros((a.shape[1], a.shape[1]), dtype=a.dtype)
    for k in range(a.shape[1]):
        nrm = np.dot(a[:, k], a[:, k])
        r[k, k] = np.sqrt(nrm)
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


@program(lambda r: (1.5, 0.7, r.random((6, 6)), r.random((6, 4))))
def rank_k_update(alpha, beta, c, a):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]


@program(lambda r: (r.random(8) * 0.1,))
def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@program(lambda r: (3, r.random((7, 7))))
def seidel(steps, a):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0


@program(lambda r: (r.random((6, 8)), r.random((6, 8))))
def stable_softmax_rows(x, y):
    m = np.max(x, axis=-1, keepdims=True)
    e = np.exp(x - m)
    return e / np.sum(e, axis=-1, keepdims=True) + y


@program(lambda r: (r.random((3, 10)), r.random((10, 8)), r.random(8), r.random((8, 4)), r.random(4)))
def mlp(x, w1, b1, w2, b2):
    def relu(v):
        return np.maximum(v, 0)

    def softmax(v):
        e = np.exp(v - np.max(v, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    return softmax(relu(x @ w1 + b1) @ w2 + b2)


@program(lambda r: (r.random((2, 7, 7, 3)), r.random((3, 3, 3, 4)), r.random(4)))
def conv2d_bias(image, weights, bias):
    k = weights.shape[0]
    n, h_in, w_in, _ = image.shape
    h_out, w_out, c_out = h_in - k + 1, w_in - k + 1, weights.shape[3]
    output = np.empty((n, h_out, w_out, c_out), dtype=np.float64)
    for i in range(h_out):
        for j in range(w_out):
            output[:, i, j, :] = np.sum(
                image[:, i : i + k, j : j + k, :, np.newaxis] * weights[np.newaxis, :, :, :], axis=(1, 2, 3)
            )
    return output + bias


@program(lambda r: (r.random((2, 6, 6, 3)),))
def max_pool(x):
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


@program(lambda r: (r.random((5, 8)),))
def batch_norm(x):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + 1e-5)


@program(lambda r: (r.random((6, 6)),))
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@program(lambda r: (r.random(5), r.random(5), r.random(5), r.random(5)))
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * (np.arctan2(np.sqrt(temp), np.sqrt(1 - temp)))


@program(lambda r: (r.integers(0, 1000, (6, 7)), r.integers(0, 1000, (6, 7)), np.int64(4), np.int64(3), np.int64(9)))
def clip_and_scale(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


@program(lambda r: (r.random((9, 9, 3)), r.random((5, 5, 3))))
def horizontal_diffusion(in_field, coeff):
    i, j, k = coeff.shape[0], coeff.shape[1], coeff.shape[2]
    lap_field = 4.0 * in_field[1 : i + 3, 1 : j + 3, :] - (
        in_field[2 : i + 4, 1 : j + 3, :]
        + in_field[0 : i + 2, 1 : j + 3, :]
        + in_field[1 : i + 3, 2 : j + 4, :]
        + in_field[1 : i + 3, 0 : j + 2, :]
    )
    res = lap_field[1:, 1 : j + 1, :] - lap_field[:-1, 1 : j + 1, :]
    flx_field = np.where((res * (in_field[2 : i + 3, 2 : j + 2, :] - in_field[1 : i + 2, 2 : j + 2, :])) > 0, 0, res)
    res = lap_field[1 : i + 1, 1:, :] - lap_field[1 : i + 1, :-1, :]
    fly_field = np.where((res * (in_field[2 : i + 2, 2 : j + 3, :] - in_field[2 : i + 2, 1 : j + 2, :])) > 0, 0, res)
    return in_field[2 : i + 2, 2 : j + 2, :] - coeff[:, :, :] * (
        flx_field[1:, :, :] - flx_field[:-1, :, :] + fly_field[:, 1:, :] - fly_field[:, :-1, :]
    )


@program(lambda r: (r.random((5, 3)), r.random((5, 3)), r.random((5, 1)), 6, 0.01, 0.1, 1.0))
def n_body(pos, vel, mass, steps, dt, softening, g):
    def acceleration(pos):
        x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
        inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
        ax = g * (dx * inv_r3) @ mass
        ay = g * (dy * inv_r3) @ mass
        az = g * (dz * inv_r3) @ mass
        return np.hstack((ax, ay, az))

    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration(pos)
    kinetic = np.zeros(steps + 1)
    kinetic[0] = 0.5 * np.sum(mass * vel**2)
    for i in range(steps):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos)
        vel += acc * dt / 2.0
        kinetic[i + 1] = 0.5 * np.sum(mass * vel**2)
    return kinetic


@program(lambda r: (-2.0, 0.5, -1.2, 1.2, 12, 10, 8, 2.0))
def mandelbrot_masked(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon):
    x = np.linspace(xmin, xmax, xn, dtype=np.float64)
    y = np.linspace(ymin, ymax, yn, dtype=np.float64)
    c = x + y[:, None] * 1j
    n = np.zeros(c.shape, dtype=np.int64)
    z = np.zeros(c.shape, dtype=np.complex128)
    for i in range(maxiter):
        inside = np.abs(z) < horizon
        n[inside] = i
        z[inside] = z[inside] ** 2 + c[inside]
    n[n == maxiter - 1] = 0
    return z, n


@program(
    lambda r: (8, 8, 5, 6, 0.001, 2.0 / 7, 2.0 / 7, 1.0, 0.1, r.random((8, 8)), r.random((8, 8)), r.random((8, 8)))
)
def cavity_flow(nx, ny, nt, nit, dt, dx, dy, rho, nu, u, v, p):
    b = np.zeros((ny, nx))
    for _ in range(nt):
        un = u.copy()
        vn = v.copy()
        b[1:-1, 1:-1] = rho * (
            1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
            - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        )
        for _ in range(nit):
            pn = p.copy()
            p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
                2 * (dx**2 + dy**2)
            ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
        )
        v[1:-1, 1:-1] = vn[1:-1, 1:-1] + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
        u[0, :] = 0
        u[:, 0] = 0
        u[-1, :] = 1
        v[0, :] = 0


@program(lambda r: (r.random((8, 8)), 1e-3))
def relax_until_still(u, tolerance):
    change = 1.0
    steps = 0
    while change > tolerance:
        new = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        change = np.max(np.abs(new - u[1:-1, 1:-1]))
        u[1:-1, 1:-1] = new
        steps += 1
    return steps


@program(lambda r: (r.random((4, 6)), r.random((4, 4)), r.random((6, 4)), r.random(4)))
def recurrent_network(x, w_h, w_x, b):
    h = np.zeros(w_h.shape[0])
    states = np.zeros((x.shape[0], w_h.shape[0]))
    for t in range(x.shape[0]):
        h = np.tanh(h @ w_h + x[t] @ w_x + b)
        states[t] = h
    return states


@program(lambda r: (r.random(12), 0.25))
def recursive_filter(x, alpha):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return y


@program(lambda r: (r.random((5, 5)), r.random(5)))
def power_iteration(a, v):
    for _ in range(10):
        v = a @ v
        v = v / np.sqrt(np.sum(v * v))
    return v @ a @ v, v


@program(lambda r: (r.random(6),))
def swap_and_rotate(x):
    a, b = x[:3].copy(), x[3:].copy()
    for _ in range(5):
        a, b = b, a + b
    return np.concatenate([a, b])


@program(lambda r: (r.random(10), r.integers(0, 4, 10)))
def histogram_by_label(values, labels):
    totals = np.zeros(4)
    for i in range(values.shape[0]):
        totals[labels[i]] += values[i]
    return totals


@program(lambda r: (2.0, 1e-12))
def newton_square_root(a, tolerance):
    x = a
    while abs(x * x - a) > tolerance:
        x = 0.5 * (x + a / x)
    return x


@program(lambda r: (r.random((6, 6)) - 0.5,))
def branch_by_sign(x):
    total = np.sum(x)
    if total > 0:
        y = np.log1p(total) * x
    elif total < -1:
        y = x * x
    else:
        y = -x
    return y


@program(lambda r: ({"w": r.random((3, 4)), "b": [r.random(3), r.random(3)]}, r.random(4)))
def nested_parameters(params, x):
    h = params["w"] @ x
    for b in params["b"]:
        h = np.tanh(h + b)
    return {"h": h, "norm": np.linalg.norm(h)}


@program(lambda r: (r.random(7),))
def view_kept_across_a_write(x):
    y = x * 1.0
    left = y[:4]
    y[1] = 10.0
    left[2] = -1.0
    return left.sum(), y


@program(lambda r: (r.random(9),))
def overlapping_shift(x):
    x[1:] = x[:-1]
    x[0] = 0.0
    return x


@program(lambda r: (r.random((3, 4)).astype(np.float32), 3))
def float32_stays(x, n):
    for _ in range(n):
        x = x * 0.5 + 1
    return x


@program(lambda r: (r.integers(-20, 20, 9), r.integers(1, 6, 9)))
def integer_arithmetic(a, b):
    return a // b, a % b, a << 2, a ^ b, np.abs(a), -a, a**2, a / b


@program(lambda r: (r.random(16),))
def haar_wavelet(x):
    result = x.copy()
    n = x.shape[0]
    while n > 1:
        even, odd = result[:n:2].copy(), result[1:n:2].copy()
        result[: n // 2] = (even + odd) / 2
        result[n // 2 : n] = (even - odd) / 2
        n = n // 2
    return result
