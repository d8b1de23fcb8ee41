"""The namespaces that users import: untraced.numpy, lax, nn, random and others, as NumPy source."""
