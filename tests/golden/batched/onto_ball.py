def onto_ball_batched(x, c):
    t = x - c
    r = np.sqrt(np.sum(t ** 2, axis=1))
    return np.where((r < 1)[:, None], x, c + t / r[:, None])
