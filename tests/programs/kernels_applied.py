"""Complete programs as scientists write them: classes and dictionaries that hold arrays, helpers, recursion, cuts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from kernels import program


def lu_factor(a):
    n = a.shape[0]
    perm = np.arange(n)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            perm[[k, p]] = perm[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return perm


def lu_solve(lu, perm, b):
    n = lu.shape[0]
    y = b[perm].copy()
    for i in range(1, n):
        y[i] -= lu[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        y[i] = (y[i] - lu[i, i + 1 :] @ y[i + 1 :]) / lu[i, i]
    return y


@program(lambda r, n=7: (r.random((n, n)) + n * np.eye(n)[r.permutation(n)], r.random(n)))
def solve_system(a, b):
    work = a.copy()
    perm = lu_factor(work)
    x = lu_solve(work, perm, b)
    residual = np.linalg.norm(a @ x - b)
    return {"x": x, "perm": perm, "ok": bool(residual < 1e-2), "lu": work}


def tridiagonal_solve(lower, main, upper, rhs):
    n = len(rhs)
    c = np.empty(n)
    d = np.empty_like(rhs)
    c[0] = upper[0] / main[0]
    d[0] = rhs[0] / main[0]
    for i in range(1, n):
        m = main[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / m if i < n - 1 else 0.0
        d[i] = (rhs[i] - lower[i] * d[i - 1]) / m
    x = d
    for i in reversed(range(n - 1)):
        x[i] -= c[i] * x[i + 1]
    return x


@program(lambda r, n=7: (r.random(n), 25, 0.1, 0.001))
def crank_nicolson(u0, steps, dx, dt):
    n = u0.size
    k = dt / (2 * dx * dx)
    lower = np.full(n, -k)
    main = np.full(n, 1 + 2 * k)
    upper = np.full(n, -k)
    main[0] = main[-1] = 1.0
    upper[0] = lower[-1] = 0.0
    u = u0.copy()
    history = []
    for step in range(steps):
        rhs = u.copy()
        rhs[1:-1] = k * u[:-2] + (1 - 2 * k) * u[1:-1] + k * u[2:]
        u = tridiagonal_solve(lower, main, upper, rhs)
        if step % 5 == 0:
            history.append(u.mean())
    return u, np.array(history)


@program(lambda r, n=7: (r.uniform(0, 10, (n, 2)), r.uniform(-1, 1, (n, 2)), 5))
def boids(position, velocity, steps):
    n = len(position)
    max_velocity, max_acceleration = 2.0, 0.03
    for _ in range(steps):
        dx = np.subtract.outer(position[:, 0], position[:, 0])
        dy = np.subtract.outer(position[:, 1], position[:, 1])
        distance = np.hypot(dx, dy)
        mask_0 = distance > 0
        mask_1 = (distance < 2.5) * mask_0
        mask_2 = (distance < 5.0) * mask_0
        mask_1_count = np.maximum(mask_1.sum(axis=1), 1)
        mask_2_count = np.maximum(mask_2.sum(axis=1), 1)
        mask_1_count = mask_1_count.reshape(n, 1)
        mask_2_count = mask_2_count.reshape(n, 1)
        # alignment
        target = np.dot(mask_2.astype(velocity.dtype), velocity) / mask_2_count
        norm = np.sqrt((target * target).sum(axis=1)).reshape(n, 1)
        target = max_velocity * np.divide(target, norm, out=np.zeros_like(target), where=norm != 0)
        alignment = target - velocity
        # cohesion
        center = np.dot(mask_2.astype(position.dtype), position) / mask_2_count
        target = center - position
        cohesion = target - velocity
        # separation
        repulsion = np.dstack((dx, dy))
        repulsion = np.divide(
            repulsion, distance.reshape(n, n, 1) ** 2, out=repulsion, where=distance.reshape(n, n, 1) != 0
        )
        target = (repulsion * mask_1.reshape(n, n, 1)).sum(axis=1) / mask_1_count
        separation = target - velocity
        acceleration = 1.5 * separation + alignment + cohesion
        norm = np.sqrt((acceleration**2).sum(axis=1)).reshape(n, 1)
        np.multiply(acceleration, max_acceleration / norm, out=acceleration, where=norm > max_acceleration)
        velocity += acceleration
        position += velocity
    position %= 10.0
    return position


@program(lambda r, n=4: (r.random((n + 2, n + 2)), r.random((n + 2, n + 2)) - 0.5, r.random((n + 2, n + 2)) - 0.5, 2))
def stable_fluid(density, u, v, steps):
    def set_bnd(N, b, x):
        if b == 1:
            x[0, :] = -x[1, :]
            x[-1, :] = -x[-2, :]
        else:
            x[0, :] = x[1, :]
            x[-1, :] = x[-2, :]
        if b == 2:
            x[:, 0] = -x[:, 1]
            x[:, -1] = -x[:, -2]
        else:
            x[:, 0] = x[:, 1]
            x[:, -1] = x[:, -2]
        x[0, 0] = 0.5 * (x[1, 0] + x[0, 1])
        x[0, -1] = 0.5 * (x[1, -1] + x[0, -2])
        x[-1, 0] = 0.5 * (x[-2, 0] + x[-1, 1])
        x[-1, -1] = 0.5 * (x[-2, -1] + x[-1, -2])

    def lin_solve(N, b, x, x0, a, c):
        for k in range(8):
            x[1:-1, 1:-1] = (x0[1:-1, 1:-1] + a * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])) / c
            set_bnd(N, b, x)

    def advect(N, b, d, d0, u, v, dt):
        dt0 = dt * N
        I, J = np.indices((N, N)) + 1
        X = np.minimum(np.maximum(I - dt0 * u[1:-1, 1:-1], 0.5), N + 0.5)
        Y = np.minimum(np.maximum(J - dt0 * v[1:-1, 1:-1], 0.5), N + 0.5)
        I0 = X.astype(int)
        J0 = Y.astype(int)
        I1 = I0 + 1
        J1 = J0 + 1
        S1 = X - I0
        T1 = Y - J0
        S0 = 1 - S1
        T0 = 1 - T1
        d[1:-1, 1:-1] = S0 * (T0 * d0[I0, J0] + T1 * d0[I0, J1]) + S1 * (T0 * d0[I1, J0] + T1 * d0[I1, J1])
        set_bnd(N, b, d)

    def project(N, u, v, p, div):
        h = 1.0 / N
        div[1:-1, 1:-1] = -0.5 * h * (u[2:, 1:-1] - u[:-2, 1:-1] + v[1:-1, 2:] - v[1:-1, :-2])
        p[1:-1, 1:-1] = 0
        set_bnd(N, 0, div)
        set_bnd(N, 0, p)
        lin_solve(N, 0, p, div, 1, 4)
        u[1:-1, 1:-1] -= 0.5 * (p[2:, 1:-1] - p[:-2, 1:-1]) / h
        v[1:-1, 1:-1] -= 0.5 * (p[1:-1, 2:] - p[1:-1, :-2]) / h
        set_bnd(N, 1, u)
        set_bnd(N, 2, v)

    N = density.shape[0] - 2
    u0, v0, d0 = np.zeros_like(u), np.zeros_like(v), np.zeros_like(density)
    for _ in range(steps):
        u0, u = u, u0
        lin_solve(N, 1, u, u0, 0.1, 1.4)
        v0, v = v, v0
        lin_solve(N, 2, v, v0, 0.1, 1.4)
        project(N, u, v, u0, v0)
        u0, u = u, u0
        v0, v = v, v0
        advect(N, 1, u, u0, u0, v0, 0.1)
        advect(N, 2, v, v0, u0, v0, 0.1)
        d0[:] = density
        advect(N, 0, density, d0, u, v, 0.1)
    return density, u, v


@program(lambda r, n=7: (r.random((n, n)) < 0.6,))
def percolation(open_sites):
    rows, cols = open_sites.shape
    full = np.zeros_like(open_sites)
    full[0] = open_sites[0]
    changed = True
    sweeps = 0
    while changed:
        before = full.sum()
        grown = full.copy()
        grown[1:] |= full[:-1]
        grown[:-1] |= full[1:]
        grown[:, 1:] |= full[:, :-1]
        grown[:, :-1] |= full[:, 1:]
        full = grown & open_sites
        changed = full.sum() != before
        sweeps += 1
    return bool(full[-1].any()), sweeps, full


@dataclass
class Mixture:
    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def log_density(self, x):
        return -0.5 * ((x[:, None] - self.means) ** 2 / self.variances + np.log(2 * np.pi * self.variances)) + np.log(
            self.weights
        )

    def responsibilities(self, x):
        log_p = self.log_density(x)
        top = log_p.max(axis=1, keepdims=True)
        norm = top + np.log(np.exp(log_p - top).sum(axis=1, keepdims=True))
        return np.exp(log_p - norm), norm.sum()


@program(lambda r, n=7: (np.concatenate([r.normal(-2, 1, 4 * n), r.normal(3, 0.5, 4 * n)]), 2, 20))
def em_mixture(x, k, iterations):
    model = Mixture(np.full(k, 1 / k), np.linspace(x.min(), x.max(), k), np.full(k, x.var()))
    trace = []
    for _ in range(iterations):
        resp, ll = model.responsibilities(x)
        n_k = resp.sum(axis=0)
        model.weights = n_k / len(x)
        model.means = (resp * x[:, None]).sum(axis=0) / n_k
        model.variances = (resp * (x[:, None] - model.means) ** 2).sum(axis=0) / n_k
        if trace and abs(ll - trace[-1]) < 1e-8 * abs(ll):
            break
        trace.append(ll)
    return model, trace


def laplacian(Z):
    return Z[:-2, 1:-1] + Z[1:-1, :-2] - 4 * Z[1:-1, 1:-1] + Z[1:-1, 2:] + Z[2:, 1:-1]


@program(lambda r, n=7: (np.pad(r.random((n, n)), 1), np.pad(r.random((n, n)), 1), 10))
def gray_scott_views(U, V, steps):
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    for _ in range(steps):
        Lu, Lv = laplacian(U), laplacian(V)
        uvv = u * v * v
        u += 0.16 * Lu - uvv + 0.035 * (1 - u)
        v += 0.08 * Lv + uvv - (0.06 + 0.035) * v
        for Z in (U, V):
            Z[0, :] = Z[-2, :]
            Z[-1, :] = Z[1, :]
            Z[:, 0] = Z[:, -2]
            Z[:, -1] = Z[:, 1]
    return U.mean(), V.max()


class Multigrid:
    def __init__(self, levels, sweeps=2):
        self.levels = levels
        self.sweeps = sweeps
        self.work = 0

    def smooth(self, u, f, h):
        for _ in range(self.sweeps):
            u[1:-1] = 0.5 * (u[:-2] + u[2:] + h * h * f[1:-1]) * 2 / 3 + u[1:-1] / 3
            self.work += u.size
        return u

    def residual(self, u, f, h):
        r = np.zeros_like(u)
        r[1:-1] = f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / h**2
        return r

    def cycle(self, u, f, h, level):
        u = self.smooth(u, f, h)
        if level == 0:
            return u
        r = self.residual(u, f, h)
        rc = r[::2].copy()
        rc[1:-1] = 0.25 * r[1:-3:2] + 0.5 * r[2:-2:2] + 0.25 * r[3:-1:2]
        e = self.cycle(np.zeros_like(rc), rc, 2 * h, level - 1)
        fine = np.zeros_like(u)
        fine[::2] = e
        fine[1::2] = 0.5 * (e[:-1] + e[1:])
        return self.smooth(u + fine, f, h)


@program(lambda r, n=4: (r.random(16 * n + 1),))
def poisson_multigrid(f):
    h = 1.0 / (len(f) - 1)
    solver = Multigrid(3)
    u = np.zeros_like(f)
    norms = []
    for _ in range(4):
        u = solver.cycle(u, f, h, solver.levels)
        norms.append(np.linalg.norm(solver.residual(u, f, h)) * h**0.5)
    return u, norms, solver.work


@program(lambda r, n=5: (r.random((n + 1, 2)),))
def fem_poisson(nodes1d):
    # structured triangulation of the unit square
    k = len(nodes1d) - 1
    xs = np.linspace(0, 1, k + 1)
    X, Y = np.meshgrid(xs, xs, indexing="ij")
    coords = np.column_stack([X.ravel(), Y.ravel()])
    idx = np.arange((k + 1) ** 2).reshape(k + 1, k + 1)
    lower = np.stack([idx[:-1, :-1].ravel(), idx[1:, :-1].ravel(), idx[:-1, 1:].ravel()], axis=1)
    upper = np.stack([idx[1:, 1:].ravel(), idx[:-1, 1:].ravel(), idx[1:, :-1].ravel()], axis=1)
    tri = np.vstack([lower, upper])
    p = coords[tri]
    d1, d2 = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    area = 0.5 * np.abs(d1[:, 0] * d2[:, 1] - d1[:, 1] * d2[:, 0])
    b = np.stack([p[:, 1, 1] - p[:, 2, 1], p[:, 2, 1] - p[:, 0, 1], p[:, 0, 1] - p[:, 1, 1]], axis=1)
    c = np.stack([p[:, 2, 0] - p[:, 1, 0], p[:, 0, 0] - p[:, 2, 0], p[:, 1, 0] - p[:, 0, 0]], axis=1)
    local = (b[:, :, None] * b[:, None, :] + c[:, :, None] * c[:, None, :]) / (4 * area)[:, None, None]
    n = len(coords)
    K = np.zeros((n, n))
    f = np.zeros(n)
    np.add.at(K, (tri[:, :, None], tri[:, None, :]), local)
    np.add.at(f, tri, (area / 3)[:, None])
    boundary = (coords[:, 0] == 0) | (coords[:, 0] == 1) | (coords[:, 1] == 0) | (coords[:, 1] == 1)
    K[boundary] = 0
    K[boundary, boundary] = 1
    f[boundary] = nodes1d[0, 0]
    u = np.linalg.solve(K, f)
    return u.reshape(k + 1, k + 1), u.max()


@program(lambda r, n=7: (r.integers(1, 20, n), r.integers(1, 50, n), 30 + n))
def knapsack(weights, values, capacity):
    n = len(weights)
    best = np.zeros((n + 1, capacity + 1), dtype=np.int64)
    for i in range(1, n + 1):
        w, v = weights[i - 1], values[i - 1]
        best[i] = best[i - 1]
        if w <= capacity:
            best[i, w:] = np.maximum(best[i - 1, w:], best[i - 1, : capacity + 1 - w] + v)
    chosen = []
    c = capacity
    for i in range(n, 0, -1):
        if best[i, c] != best[i - 1, c]:
            chosen.append(i - 1)
            c -= weights[i - 1]
    return int(best[n, capacity]), chosen[::-1]


class KalmanFilter:
    def __init__(self, F, H, Q, R, x, P):
        self.F, self.H, self.Q, self.R = F, H, Q, R
        self.x, self.P = x, P
        self.log_likelihood = 0.0

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        y = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = np.linalg.solve(S, self.H @ self.P).T
        self.x = self.x + K @ y
        self.P = (np.eye(len(self.x)) - K @ self.H) @ self.P
        sign, logdet = np.linalg.slogdet(S)
        self.log_likelihood += -0.5 * (y @ np.linalg.inv(S) @ y + logdet + len(z) * np.log(2 * np.pi))


@program(lambda r, n=7: (r.standard_normal((3 * n, 2)).cumsum(0), 0.1))
def track(measurements, dt):
    F = np.eye(4)
    F[0, 2] = F[1, 3] = dt
    H = np.eye(2, 4)
    kf = KalmanFilter(F, H, 0.01 * np.eye(4), 0.5 * np.eye(2), np.zeros(4), 10 * np.eye(4))
    out = np.empty((len(measurements), 4))
    for i, z in enumerate(measurements):
        kf.predict()
        if not np.isnan(z).any():
            kf.update(z)
        out[i] = kf.x
    return out, kf.log_likelihood


@program(lambda r, n=7: (r.standard_normal(9 * n), 3, 2))
def resample_poly(x, up, down):
    n_taps = 10 * max(up, down) + 1
    t = np.arange(n_taps) - n_taps // 2
    h = np.sinc(t / max(up, down)) * np.hamming(n_taps)
    h *= up / h.sum()
    z = np.zeros(len(x) * up)
    z[::up] = x
    y = np.convolve(z, h, mode="same")
    return y[::down]


@program(lambda r, n=7: (r.normal(0.001, 0.02, (30 * n, 4)),))
def portfolio(returns):
    mu = returns.mean(axis=0) * 252
    cov = np.cov(returns, rowvar=False) * 252
    ones = np.ones(len(mu))
    inv = np.linalg.inv(cov)
    w_min = inv @ ones / (ones @ inv @ ones)
    w_tan = inv @ mu / (ones @ inv @ mu)
    wealth = np.cumprod(1 + returns @ w_min)
    peak = np.maximum.accumulate(wealth)
    drawdown = (wealth / peak - 1).min()
    sharpe = (w_min @ mu) / np.sqrt(w_min @ cov @ w_min)
    losses = np.sort(-(returns @ w_min))
    k = int(0.95 * len(losses))
    return w_min, w_tan, {"drawdown": drawdown, "sharpe": sharpe, "var": losses[k], "cvar": losses[k:].mean()}


@program(lambda r, n=7: (r.exponential(1.0, 20 * n), r.exponential(0.8, 20 * n)))
def queue_simulation(gaps, service):
    arrive = np.cumsum(gaps)
    n = len(arrive)
    start = np.zeros(n)
    finish = np.zeros(n)
    for i in range(n):
        start[i] = arrive[i] if i == 0 else max(arrive[i], finish[i - 1])
        finish[i] = start[i] + service[i]
    wait = start - arrive
    events = np.concatenate([arrive, finish])
    deltas = np.concatenate([np.ones(n, dtype=int), -np.ones(n, dtype=int)])
    order = np.argsort(events, kind="stable")
    in_system = np.cumsum(deltas[order])
    return wait.mean(), in_system.max(), np.percentile(wait, [50, 90])


@program(
    lambda r, n=7: (
        r.standard_normal((2 * n, 6)),
        r.standard_normal((6, 8)),
        r.standard_normal(8),
        r.standard_normal((8, 3)),
        r.integers(0, 3, 2 * n),
        0.1,
        5,
    )
)
def train_mlp(X, W1, b1, W2, labels, lr, epochs):
    params = {"W1": W1.copy(), "b1": b1.copy(), "W2": W2.copy()}
    velocity = {k: np.zeros_like(v) for k, v in params.items()}
    n = len(X)
    losses = []
    for epoch in range(epochs):
        h = np.tanh(X @ params["W1"] + params["b1"])
        logits = h @ params["W2"]
        logits = logits - logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(axis=1, keepdims=True)
        losses.append(-np.mean(np.log(p[np.arange(n), labels])))
        d = p.copy()
        d[np.arange(n), labels] -= 1
        d /= n
        grads = {"W2": h.T @ d}
        dh = (d @ params["W2"].T) * (1 - h**2)
        grads["W1"] = X.T @ dh
        grads["b1"] = dh.sum(axis=0)
        for k in params:
            velocity[k] = 0.9 * velocity[k] - lr * grads[k]
            params[k] += velocity[k]
    accuracy = np.mean(np.argmax(np.tanh(X @ params["W1"] + params["b1"]) @ params["W2"], axis=1) == labels)
    return params, losses, accuracy


@dataclass
class Body:
    mass: float
    position: np.ndarray
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def kinetic(self):
        return 0.5 * self.mass * np.dot(self.velocity, self.velocity)


class SolarSystem:
    G = 1.0

    def __init__(self):
        self.bodies = []
        self.time = 0.0

    def add(self, body):
        self.bodies.append(body)
        return self

    def forces(self):
        f = [np.zeros(3) for _ in self.bodies]
        for (i, a), (j, b) in itertools.combinations(enumerate(self.bodies), 2):
            d = b.position - a.position
            r2 = d @ d + 1e-3
            pull = self.G * a.mass * b.mass * d / r2**1.5
            f[i] += pull
            f[j] -= pull
        return f

    def step(self, dt):
        for body, f in zip(self.bodies, self.forces()):
            body.velocity = body.velocity + dt * f / body.mass
            body.position = body.position + dt * body.velocity
        self.time += dt


@program(lambda r, n=7: (r.random((4, 3)), r.random(4) + 0.5, 10))
def solar_system(positions, masses, steps):
    system = SolarSystem()
    for m, p in zip(masses, positions):
        system.add(Body(m, p.copy()))
    for _ in range(steps):
        system.step(0.01)
    centre = sum(b.mass * b.position for b in system.bodies) / sum(b.mass for b in system.bodies)
    return centre, [b.kinetic() for b in system.bodies], system.time


@program(lambda r, n=5: (r.random(2**n) + 1j * r.random(2**n),))
def fft_recursive(x):
    n = x.shape[0]
    if n == 1:
        return x
    even = fft_recursive(x[::2])
    odd = fft_recursive(x[1::2])
    tw = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + tw, even - tw])


@program(lambda r, n=7: (r.random((n, n)), r.random((n, n)) < 0.4))
def inpaint(img, hole):
    out = np.where(hole, 0.0, img)
    known = ~hole
    for it in range(2 * len(img)):
        if known.all():
            break
        p = np.pad(out * known, 1)
        k = np.pad(known.astype(float), 1)
        s = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        c = k[:-2, 1:-1] + k[2:, 1:-1] + k[1:-1, :-2] + k[1:-1, 2:]
        fill = (~known) & (c > 0)
        out[fill] = s[fill] / c[fill]
        known |= fill
    return out, it


@program(lambda r, n=7: (r.random(12 * n), 5))
def time_series(x, period):
    n = len(x)
    trend = np.convolve(x, np.ones(period) / period, mode="valid")
    seasonal = np.array([x[k::period].mean() for k in range(period)])
    centred = x - x.mean()
    acf = np.correlate(centred, centred, mode="full")[n - 1 :]
    acf = acf / acf[0]
    R = np.array([[acf[abs(i - j)] for j in range(3)] for i in range(3)])
    phi = np.linalg.solve(R, acf[1:4])
    ewma = np.empty(n)
    s = x[0]
    for i, v in enumerate(x):
        s = 0.3 * v + 0.7 * s
        ewma[i] = s
    return trend, seasonal, acf[:5], phi, ewma


@program(lambda r, n=7: (r.random((n + 8, 8)), np.array([3, 5, 6])))
def dct_compress(blocks, keep):
    N = 8
    k = np.arange(N)
    C = np.sqrt(2 / N) * np.cos(np.pi * (2 * k[None, :] + 1) * k[:, None] / (2 * N))
    C[0] /= np.sqrt(2)
    coef = blocks @ C.T
    mask = np.ones(N, dtype=bool)
    mask[keep] = False
    coef[:, ~mask] = 0
    q = np.round(coef * 16).astype(np.int16)
    rec = (q / 16) @ C
    values, counts = np.unique(q, return_counts=True)
    p = counts / q.size
    entropy = -(p * np.log2(p)).sum()
    return rec, entropy, values.dtype
