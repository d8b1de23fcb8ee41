"""The way of a call: from its arguments to the program that was compiled for them."""
