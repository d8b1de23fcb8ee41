def safe_log_batched(x):
    return np.where(x > 0, np.log(np.abs(x)), 0.0)
