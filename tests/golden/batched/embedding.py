def embedding_batched(i, table):
    return table[i]
