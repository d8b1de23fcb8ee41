"""Reading Python source: abstract interpretation of the syntax tree, which builds the program."""
