"""What is read: the source of functions, the libraries that functions are from, the edge of the language."""
