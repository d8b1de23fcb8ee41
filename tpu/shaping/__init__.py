"""What is changed in the text of a program, or in XLA's options, where XLA would be slow."""
