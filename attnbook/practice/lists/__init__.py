"""Tasks on plain lists and numbers: what they ask for runs in any Python, that of a page too."""
