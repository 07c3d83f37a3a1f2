"""A task that the reader solves in Python, on the page itself."""
