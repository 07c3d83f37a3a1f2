"""The package against plain formulas in float64, on the machine that it runs on.

`python -m attnbook selftest` prints the receipt of `run`. Nothing of it is imported by the layers.
"""
