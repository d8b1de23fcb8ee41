"""What Python and its libraries offer to functions that are read."""
