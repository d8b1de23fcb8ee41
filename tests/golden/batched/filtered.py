def filtered_batched(image, kernel):
    out = np.zeros((5, 6, 6))
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * image[:, i:i + 6, j:j + 6]
    return out
