def gather_grad(table, idx):
    d_table = np.zeros_like(table)      # from line ..: table[idx]
    np.add.at(d_table, idx, 2 * table[idx])
    return d_table
