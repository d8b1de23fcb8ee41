"""User loops whose iterations are independent, as whole-array statements: the body of the loop, batched."""
