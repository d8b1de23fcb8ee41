"""Values, and the state of a reading."""
