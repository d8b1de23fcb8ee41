"""Forms of loops, and those that become native code."""
