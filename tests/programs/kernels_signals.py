"""Complete programs of signals, images, statistics and learning."""

from __future__ import annotations

import math

import numpy as np

from kernels import program


@program(lambda r, n=8: (0.25, r.random((n, n + 2))))
def deriche(alpha, imgIn):
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    c1 = c2 = 1
    y1 = np.empty_like(imgIn)
    y1[:, 0] = a1 * imgIn[:, 0]
    y1[:, 1] = a1 * imgIn[:, 1] + a2 * imgIn[:, 0] + b1 * y1[:, 0]
    for j in range(2, imgIn.shape[1]):
        y1[:, j] = a1 * imgIn[:, j] + a2 * imgIn[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(imgIn)
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * imgIn[:, -1]
    for j in range(imgIn.shape[1] - 3, -1, -1):
        y2[:, j] = a3 * imgIn[:, j + 1] + a4 * imgIn[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    imgOut = c1 * (y1 + y2)
    y1[0, :] = a5 * imgOut[0, :]
    y1[1, :] = a5 * imgOut[1, :] + a6 * imgOut[0, :] + b1 * y1[0, :]
    for i in range(2, imgIn.shape[0]):
        y1[i, :] = a5 * imgOut[i, :] + a6 * imgOut[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * imgOut[-1, :]
    for i in range(imgIn.shape[0] - 3, -1, -1):
        y2[i, :] = a7 * imgOut[i + 1, :] + a8 * imgOut[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    imgOut[:] = c2 * (y1 + y2)
    return imgOut


@program(lambda r, n=20: (r.random(n), np.array([0.1, 0.2, 0.1]), np.array([1.0, -0.5, 0.25])))
def iir(x, b, a):
    y = np.zeros(len(x))
    for n in range(len(x)):
        acc = 0.0
        for k in range(len(b)):
            if n - k >= 0:
                acc += b[k] * x[n - k]
        for k in range(1, len(a)):
            if n - k >= 0:
                acc -= a[k] * y[n - k]
        y[n] = acc / a[0]
    return y


@program(lambda r, n=10: ((r.random((n, n)) * 200).astype(np.uint8),))
def hist_eq(img):
    hist, bins = np.histogram(img.flatten(), 256, range=(0, 256), density=True)
    cdf = hist.cumsum()
    cdf = 255 * cdf / cdf[-1]
    out = np.interp(img.flatten(), bins[:-1], cdf)
    return out.reshape(img.shape), cdf


@program(lambda r, n=10: (r.random((n, n)), 2, 1.5, 0.3))
def bilateral(img, rad, ss, sr):
    h, w = img.shape
    p = np.pad(img, rad, mode="reflect")
    out = np.zeros_like(img)
    wsum = np.zeros_like(img)
    for dy in range(-rad, rad + 1):
        for dx in range(-rad, rad + 1):
            s = p[rad + dy : rad + dy + h, rad + dx : rad + dx + w]
            wt = np.exp(-(dx * dx + dy * dy) / (2 * ss * ss) - ((s - img) ** 2) / (2 * sr * sr))
            out += wt * s
            wsum += wt
    return out / wsum


@program(lambda r, n=10: (r.random((n, n)),))
def median3(img):
    out = img.copy()
    for i in range(1, img.shape[0] - 1):
        for j in range(1, img.shape[1] - 1):
            out[i, j] = np.median(img[i - 1 : i + 2, j - 1 : j + 2])
    return out


@program(lambda r, n=8: (r.random((n, n)), 0.3))
def rotate_nn(img, th):
    h, w = img.shape
    yy, xx = np.indices((h, w))
    cy, cx = (h - 1) / 2, (w - 1) / 2
    c, s = math.cos(th), math.sin(th)
    ys = c * (yy - cy) + s * (xx - cx) + cy
    xs = -s * (yy - cy) + c * (xx - cx) + cx
    yi = np.rint(ys).astype(int)
    xi = np.rint(xs).astype(int)
    ok = (yi >= 0) & (yi < h) & (xi >= 0) & (xi < w)
    out = np.zeros_like(img)
    out[ok] = img[yi[ok], xi[ok]]
    return out


@program(lambda r, n=8: (r.random((n, n)), n // 2 + 1, n // 2))
def bilinear_resize(img, H, W):
    y = np.linspace(0, img.shape[0] - 1, H)
    x = np.linspace(0, img.shape[1] - 1, W)
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, img.shape[0] - 1)
    x1 = np.minimum(x0 + 1, img.shape[1] - 1)
    wy = (y - y0)[:, None]
    wx = (x - x0)[None, :]
    return (
        img[np.ix_(y0, x0)] * (1 - wy) * (1 - wx)
        + img[np.ix_(y1, x0)] * wy * (1 - wx)
        + img[np.ix_(y0, x1)] * (1 - wy) * wx
        + img[np.ix_(y1, x1)] * wy * wx
    )


@program(lambda r, n=20: (r.random((n, 2)), r.random((4, 2))))
def kmeans(X, C):
    for it in range(10):
        d = ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=2)
        lab = d.argmin(axis=1)
        new = C.copy()
        for k in range(C.shape[0]):
            m = lab == k
            if m.any():
                new[k] = X[m].mean(axis=0)
        if np.allclose(new, C):
            break
        C = new
    return C, lab


@program(lambda r, n=20: (100.0, r.standard_normal((n, 50)), 0.05, 0.2, 1.0, 105.0))
def mc_asian(s0, z, r, sigma, T, K):
    n, m = z.shape
    dt = T / m
    S = np.full(n, s0)
    acc = np.zeros(n)
    for t in range(m):
        S *= np.exp((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z[:, t])
        acc += S
    pay = np.maximum(acc / m - K, 0)
    return np.exp(-r * T) * pay.mean(), pay.std() / np.sqrt(n)


@program(lambda r, n=20: (r.random((n, 2)),))
def kalman(zs):
    dt = 1.0
    F = np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
    H = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    Q = np.eye(4) * 0.01
    R = np.eye(2) * 0.5
    x = np.zeros(4)
    P = np.eye(4)
    xs = np.zeros((len(zs), 4))
    for k, z in enumerate(zs):
        x = F @ x
        P = F @ P @ F.T + Q
        y = z - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(4) - K @ H) @ P
        xs[k] = x
    return xs, P


@program(
    lambda r, n=20: (
        r.dirichlet(np.ones(4)),
        r.dirichlet(np.ones(4), 4),
        r.dirichlet(np.ones(5), 4),
        r.integers(0, 5, n),
    )
)
def hmm_forward(pi, A, B, obs):
    T = len(obs)
    N = A.shape[0]
    alpha = np.zeros((T, N))
    c = np.zeros(T)
    alpha[0] = pi * B[:, obs[0]]
    c[0] = 1 / alpha[0].sum()
    alpha[0] *= c[0]
    for t in range(1, T):
        for j in range(N):
            alpha[t, j] = alpha[t - 1].dot(A[:, j]) * B[j, obs[t]]
        c[t] = 1.0 / np.sum(alpha[t])
        alpha[t] *= c[t]
    return alpha, -np.sum(np.log(c))


@program(
    lambda r, n=20: (
        r.dirichlet(np.ones(4)),
        r.dirichlet(np.ones(4), 4),
        r.dirichlet(np.ones(5), 4),
        r.integers(0, 5, n),
    )
)
def viterbi(pi, A, B, obs):
    T = obs.shape[0]
    S = A.shape[0]
    lp = np.zeros((T, S))
    back = np.zeros((T, S), dtype=int)
    lp[0] = np.log(pi) + np.log(B[:, obs[0]])
    for t in range(1, T):
        s = lp[t - 1][:, None] + np.log(A)
        back[t] = np.argmax(s, axis=0)
        lp[t] = np.max(s, axis=0) + np.log(B[:, obs[t]])
    path = np.zeros(T, dtype=int)
    path[-1] = np.argmax(lp[-1])
    for t in range(T - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, lp[-1].max()


@program(lambda r, n=8: (r.random((6, n)), r.random((n, n)), r.random((n, n)), r.random((n, n)), r.random((n, n))))
def attention(x, Wq, Wk, Wv, Wo):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    h = 4
    d = x.shape[1] // h
    q = q.reshape(-1, h, d).transpose(1, 0, 2)
    k = k.reshape(-1, h, d).transpose(1, 0, 2)
    v = v.reshape(-1, h, d).transpose(1, 0, 2)
    s = q @ k.transpose(0, 2, 1) / np.sqrt(d)
    mask = np.triu(np.ones((x.shape[0], x.shape[0])), 1).astype(bool)
    s = np.where(mask, -np.inf, s)
    s = np.exp(s - s.max(-1, keepdims=True))
    s /= s.sum(-1, keepdims=True)
    return (s @ v).transpose(1, 0, 2).reshape(x.shape) @ Wo


@program(lambda r, n=10: (r.random((n, 3)), r.random((n, 3))))
def ray_sphere(o, d):
    d = d / np.linalg.norm(d, axis=1)[:, None]
    c = np.array([0.5, 0.5, 2.0])
    R = 1.0
    oc = o - c
    b = 2 * np.sum(oc * d, axis=1)
    cc = np.sum(oc * oc, axis=1) - R * R
    disc = b * b - 4 * cc
    hit = disc >= 0
    t = np.full(len(o), 1e9)
    t[hit] = (-b[hit] - np.sqrt(disc[hit])) / 2
    n = np.zeros_like(o)
    n[hit] = (o[hit] + t[hit][:, None] * d[hit] - c) / R
    shade = np.clip((n * np.array([0, 0, -1.0])).sum(1), 0, 1)
    return t, shade


@program(lambda r, n=10: (np.sort(r.random(n)), r.random(n)))
def cubic_spline(x, y):
    n = len(x) - 1
    h = np.diff(x)
    al = np.zeros(n)
    for i in range(1, n):
        al[i] = 3 / h[i] * (y[i + 1] - y[i]) - 3 / h[i - 1] * (y[i] - y[i - 1])
    l = np.ones(n + 1)
    mu = np.zeros(n + 1)
    z = np.zeros(n + 1)
    for i in range(1, n):
        l[i] = 2 * (x[i + 1] - x[i - 1]) - h[i - 1] * mu[i - 1]
        mu[i] = h[i] / l[i]
        z[i] = (al[i] - h[i - 1] * z[i - 1]) / l[i]
    c = np.zeros(n + 1)
    b = np.zeros(n)
    d = np.zeros(n)
    for j in range(n - 1, -1, -1):
        c[j] = z[j] - mu[j] * c[j + 1]
        b[j] = (y[j + 1] - y[j]) / h[j] - h[j] * (c[j + 1] + 2 * c[j]) / 3
        d[j] = (c[j + 1] - c[j]) / (3 * h[j])
    return b, c, d


@program(lambda r, n=12: (r.random(n), r.random(n)))
def newton_divdiff(x, y):
    n = len(x)
    c = y.copy()
    for j in range(1, n):
        c[j:] = (
            (c[j:] - c[j - 1 : -1]) / (x[j:] - x[:-j])
            if False
            else (c[j:n] - c[j - 1 : n - 1]) / (x[j:n] - x[0 : n - j])
        )
    p = np.full(5, c[-1])
    t = np.linspace(0, 1, 5)
    for k in range(n - 2, -1, -1):
        p = p * (t - x[k]) + c[k]
    return c, p


@program(lambda r, n=6: (n, 0.0, 1.0))
def romberg(n, a, b):
    table = np.zeros((n, n))
    table[0, 0] = 0.5 * (b - a) * (np.exp(a) + np.exp(b))
    for i in range(1, n):
        h = (b - a) / 2**i
        s = 0.0
        for k in range(1, 2**i, 2):
            s += np.exp(a + k * h)
        table[i, 0] = 0.5 * table[i - 1, 0] + h * s
        for j in range(1, i + 1):
            table[i, j] = table[i, j - 1] + (table[i, j - 1] - table[i - 1, j - 1]) / (4**j - 1)
    return table
