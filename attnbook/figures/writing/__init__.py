"""A small Transformer that reads what is typed, and where its heads attend."""
