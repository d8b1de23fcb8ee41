"""What a kernel computes, as lines of either language."""
