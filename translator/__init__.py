"""Python source to typed program to NumPy source: reading, rewriting and printing, without a backend."""
