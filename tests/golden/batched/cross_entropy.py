def cross_entropy_batched(logits, label):
    return np.log(np.sum(np.exp(logits), axis=1)) - logits[np.arange(5), label]
