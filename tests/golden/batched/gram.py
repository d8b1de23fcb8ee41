def gram_batched(x):
    return x.mT @ x
