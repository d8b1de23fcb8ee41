"""Functions that are read: arguments bound, bodies inlined, results laid out."""
