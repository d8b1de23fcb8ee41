"""Arrays, parts of them, and what loops carry."""
