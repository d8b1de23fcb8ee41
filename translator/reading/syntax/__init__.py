"""The kinds of expression and of statement."""
