"""The fast paths: the same stages with less memory traffic, chosen by size.

Each has a plain twin in `scoring`, `weighting` or `pooling`, which serves where the fast
one does not pay or does not apply.
"""
