"""Rows of tokens, and a line from a token to each one that it attends to."""
