"""Products with a softmax between them, and their gradients."""
