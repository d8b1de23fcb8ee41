"""Complete programs over grids and in time: stencils, implicit steps, flows, particles, spectra."""

from __future__ import annotations

import numpy as np

from kernels import program


@program(lambda r, n=10: (5, n, r.random((n, n))))
def adi(TSTEPS, N, u):
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    DX = 1.0 / N
    DY = 1.0 / N
    DT = 1.0 / TSTEPS
    B1 = 2.0
    B2 = 1.0
    mul1 = B1 * DT / (DX * DX)
    mul2 = B2 * DT / (DY * DY)
    a = -mul1 / 2.0
    b = 1.0 + mul2
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for t in range(1, TSTEPS + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -d * u[j, 0 : N - 2] + (1.0 + 2.0 * d) * u[j, 1 : N - 1] - f * u[j, 2:N] - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]
        u[1 : N - 1, 0] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = u[1 : N - 1, 0]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -f / (d * p[1 : N - 1, j - 1] + e)
            q[1 : N - 1, j] = (
                -a * v[0 : N - 2, j] + (1.0 + 2.0 * a) * v[1 : N - 1, j] - c * v[2:N, j] - d * q[1 : N - 1, j - 1]
            ) / (d * p[1 : N - 1, j - 1] + e)
        u[1 : N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1 : N - 1, j] = p[1 : N - 1, j] * u[1 : N - 1, j + 1] + q[1 : N - 1, j]


@program(lambda r, n=6: (r.random((n, n, 6)), 10))
def tridiag3d(f, K):
    n, m, k = f.shape
    a = np.full(k, -1.0)
    b = np.full(k, 4.0)
    c = np.empty_like(f)
    d = np.empty_like(f)
    c[..., 0] = a[0] / b[0]
    d[..., 0] = f[..., 0] / b[0]
    for i in range(1, k):
        w = 1.0 / (b[i] - a[i] * c[..., i - 1])
        c[..., i] = a[i] * w
        d[..., i] = (f[..., i] - a[i] * d[..., i - 1]) * w
    x = np.zeros_like(f)
    x[..., k - 1] = d[..., k - 1]
    for i in reversed(range(k - 1)):
        x[..., i] = d[..., i] - c[..., i] * x[..., i + 1]
    return x


@program(lambda r, n=12: (r.random((n, n)), r.random((n, n)), 20))
def gray_scott(U, V, steps):
    Du, Dv, F, k = 0.16, 0.08, 0.035, 0.065

    def lap(Z):
        return Z[0:-2, 1:-1] + Z[1:-1, 0:-2] - 4 * Z[1:-1, 1:-1] + Z[1:-1, 2:] + Z[2:, 1:-1]

    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    for i in range(steps):
        Lu = lap(U)
        Lv = lap(V)
        uvv = u * v * v
        u += Du * Lu - uvv + F * (1 - u)
        v += Dv * Lv + uvv - (F + k) * v
        for Z in (U, V):
            Z[0, :] = Z[-2, :]
            Z[-1, :] = Z[1, :]
            Z[:, 0] = Z[:, -2]
            Z[:, -1] = Z[:, 1]
    return V


@program(lambda r, n=12: (r.integers(0, 2, (n, n)), 10))
def life_slices(Z, steps):
    for _ in range(steps):
        N = (
            Z[0:-2, 0:-2]
            + Z[0:-2, 1:-1]
            + Z[0:-2, 2:]
            + Z[1:-1, 0:-2]
            + Z[1:-1, 2:]
            + Z[2:, 0:-2]
            + Z[2:, 1:-1]
            + Z[2:, 2:]
        )
        birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
        survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
        Z[...] = 0
        Z[1:-1, 1:-1][birth | survive] = 1
    return Z


@program(lambda r, n=16: (n, 30))
def lattice_boltzmann(n, steps):
    cxs = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
    cys = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
    weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
    F = np.ones((n, n, 9)) + 0.01 * np.cos(np.arange(n * n * 9)).reshape(n, n, 9)
    X, Y = np.meshgrid(range(n), range(n))
    F[:, :, 3] += 2 * (1 + 0.2 * np.cos(2 * np.pi * X / n * 4))
    rho = np.sum(F, 2)
    for i in range(9):
        F[:, :, i] *= 100 / rho
    cyl = (X - n / 4) ** 2 + (Y - n / 2) ** 2 < (n / 8) ** 2
    for it in range(steps):
        for i, cx, cy in zip(range(9), cxs, cys):
            F[:, :, i] = np.roll(F[:, :, i], cx, axis=1)
            F[:, :, i] = np.roll(F[:, :, i], cy, axis=0)
        bndryF = np.where(cyl[:, :, None], F[:, :, [0, 5, 6, 7, 8, 1, 2, 3, 4]], 0)
        rho = np.sum(F, 2)
        ux = np.sum(F * cxs, 2) / rho
        uy = np.sum(F * cys, 2) / rho
        Feq = np.zeros(F.shape)
        for i, cx, cy, w in zip(range(9), cxs, cys, weights):
            Feq[:, :, i] = (
                rho * w * (1 + 3 * (cx * ux + cy * uy) + 9 * (cx * ux + cy * uy) ** 2 / 2 - 3 * (ux**2 + uy**2) / 2)
            )
        F += -(1.0 / 0.6) * (F - Feq)
        F = np.where(cyl[:, :, None], bndryF, F)
    return F


@program(lambda r, n=50: (r.random(4), 0.01, n))
def rk4(y, h, n):
    def f(t, y):
        return np.array([y[1], -np.sin(y[0]) - 0.1 * y[1], y[3], -y[2] + 0.3 * np.cos(t)])

    out = np.zeros((n + 1, y.size))
    out[0] = y
    t = 0.0
    for i in range(n):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
        out[i + 1] = y
    return out


@program(lambda r, n=16: (r.random(n), 20))
def kdv_spectral(u, steps):
    n = len(u)
    k = np.fft.fftfreq(n, 1.0 / n)
    ik3 = 1j * k**3
    dt = 1e-6
    U = np.fft.fft(u)
    E = np.exp(dt * ik3 / 2)
    E2 = E**2
    g = -0.5j * dt * k
    for i in range(steps):
        a = g * np.fft.fft(np.real(np.fft.ifft(U)) ** 2)
        b = g * np.fft.fft(np.real(np.fft.ifft(E * (U + a / 2))) ** 2)
        c = g * np.fft.fft(np.real(np.fft.ifft(E * U + b / 2)) ** 2)
        d = g * np.fft.fft(np.real(np.fft.ifft(E2 * U + E * c)) ** 2)
        U = E2 * U + (E2 * a + 2 * E * (b + c) + d) / 6
    return np.real(np.fft.ifft(U))


@program(lambda r, n=12: (r.random((n, n)), r.random((n, n)), r.random((n, n)), 5))
def shallow_water(h, u, v, T):
    g = 9.8
    dt = 1e-4
    dx = 1.0
    h = h + 10.0
    for _ in range(T):
        hu = h * u
        hv = h * v
        dhdt = -((hu[1:-1, 2:] - hu[1:-1, :-2]) + (hv[2:, 1:-1] - hv[:-2, 1:-1])) / (2 * dx)
        dudt = -g * (h[1:-1, 2:] - h[1:-1, :-2]) / (2 * dx)
        dvdt = -g * (h[2:, 1:-1] - h[:-2, 1:-1]) / (2 * dx)
        h[1:-1, 1:-1] += dt * dhdt
        u[1:-1, 1:-1] += dt * dudt
        v[1:-1, 1:-1] += dt * dvdt
        for q in [h, u, v]:
            q[0] = q[1]
            q[-1] = q[-2]
            q[:, 0] = q[:, 1]
            q[:, -1] = q[:, -2]
    return h


@program(lambda r, n=12: (r.random((n, n)), 100))
def sor_redblack(u, iters):
    for it in range(iters):
        for color in range(2):
            u[1 + color : -1 : 2, 1:-1:2] += (
                0.45
                * (
                    u[color:-2:2, 1:-1:2]
                    + u[2 + color :: 2, 1:-1:2]
                    + u[1 + color : -1 : 2, :-2:2]
                    + u[1 + color : -1 : 2, 2::2]
                    - 4 * u[1 + color : -1 : 2, 1:-1:2]
                )
                * 0.5
            )
    return u


@program(lambda r, n=40: (r.random(n) * 10, r.random(n), 10))
def azimint_mask(radius, data, npt):
    rmax = radius.max()
    res = np.zeros(npt, dtype=np.float64)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask_r12 = np.logical_and((r1 <= radius), (radius < r2))
        values_r12 = data[mask_r12]
        on_values = values_r12.mean()
        res[i] = on_values
    return res


@program(lambda r, n=40: (r.random(n) * 10, r.random(n), 10))
def azimint_hist(radius, data, npt):
    histu = np.histogram(radius, npt)[0]
    histw = np.histogram(radius, npt, weights=data)[0]
    return histw / histu


@program(lambda r, n=6: (r.random((n, 3)) * 5, np.zeros((n, 3))))
def md_lj(pos, vel, steps=5, dt=1e-3):
    n = pos.shape[0]
    pos = pos.copy()
    vel = vel.copy()
    E = np.zeros(steps)
    for s in range(steps):
        f = np.zeros_like(pos)
        e = 0.0
        for i in range(n - 1):
            d = pos[i] - pos[i + 1 :]
            r2 = (d**2).sum(axis=1)
            mask = r2 < 6.25
            inv = 1.0 / np.where(mask, r2, 1.0)
            s6 = inv**3
            ff = np.where(mask, 24 * inv * s6 * (2 * s6 - 1), 0.0)[:, None] * d
            ff = np.clip(ff, -100, 100)
            f[i] += ff.sum(axis=0)
            f[i + 1 :] -= ff
            e += np.sum(np.where(mask, 4 * s6 * (s6 - 1), 0))
        vel += dt * f
        pos += dt * vel
        E[s] = e
    return E, pos


@program(
    lambda r, n=8: (
        np.sign(r.random((n, n)) - 0.5).astype(int),
        r.random((20, n * n // 8)),
        r.integers(0, n, (20, n * n // 8, 2)),
        0.4,
    )
)
def ising(s, u, ij, beta):
    n = s.shape[0]
    mags = np.zeros(u.shape[0])
    for t in range(u.shape[0]):
        for k in range(u.shape[1]):
            i, j = ij[t, k]
            nb = s[(i + 1) % n, j] + s[(i - 1) % n, j] + s[i, (j + 1) % n] + s[i, (j - 1) % n]
            dE = 2 * s[i, j] * nb
            if dE <= 0 or u[t, k] < np.exp(-beta * dE):
                s[i, j] *= -1
        mags[t] = np.abs(s.mean())
    return mags


@program(lambda r, n=8: (n, n, 30))
def mandel_break(h, w, maxit):
    img = np.zeros((h, w), dtype=np.int32)
    for i in range(h):
        for j in range(w):
            c = complex(-2 + 3 * j / w, -1.2 + 2.4 * i / h)
            z = 0j
            for k in range(maxit):
                if abs(z) > 2.0:
                    break
                z = z * z + c
            img[i, j] = k
    return img


@program(lambda r, n=10: (n, 15))
def newton_fractal(n, maxit):
    x = np.linspace(-2, 2, n)
    z = x[None, :] + 1j * x[:, None] + 1e-3
    for k in range(maxit):
        z = z - (z**3 - 1) / (3 * z**2)
    roots = np.array([1, -0.5 + np.sqrt(3) / 2 * 1j, -0.5 - np.sqrt(3) / 2 * 1j])
    d = np.abs(z[..., None] - roots)
    return d.argmin(axis=-1)


@program(lambda r, n=4: (2, n, np.zeros(2**n, complex) + 0j, r.random(2**n) + 1j * r.random(2**n)))
def stockham(R, K, y_out, x):
    N = R**K
    i_coord, j_coord = np.mgrid[0:R, 0:R]
    dft = np.exp(-2.0j * np.pi * i_coord * j_coord / R)
    y_out[:] = x[:]
    ii_coord, jj_coord = np.mgrid[0:R, 0 : R**K]
    for i in range(K):
        yv = np.reshape(y_out, (R**i, R, R ** (K - i - 1)))
        tmp_perm = np.transpose(yv, axes=(1, 0, 2))
        D = np.empty((R, R**i, R ** (K - i - 1)), dtype=np.complex128)
        tmp = np.exp(-2.0j * np.pi * ii_coord[:, : R**i] * jj_coord[:, : R**i] / R ** (i + 1))
        D[:] = np.repeat(np.reshape(tmp, (R, R**i, 1)), R ** (K - i - 1), axis=2)
        tmp_twid = np.reshape(tmp_perm, (N,)) * np.reshape(D, (N,))
        y_out[:] = np.reshape(dft @ np.reshape(tmp_twid, (R, R ** (K - 1))), (N,))


@program(lambda r, n=4: (r.random(2**n) + 0j,))
def fft_bitrev(x):
    n = x.size
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            t = x[i]
            x[i] = x[j]
            x[j] = t
    length = 2
    while length <= n:
        ang = -2 * np.pi / length
        wl = complex(np.cos(ang), np.sin(ang))
        for i in range(0, n, length):
            w = 1 + 0j
            for k in range(length // 2):
                u = x[i + k]
                v = x[i + k + length // 2] * w
                x[i + k] = u + v
                x[i + k + length // 2] = u - v
                w = w * wl
        length *= 2
