"""The fast paths: the same stages with less memory traffic.

A layer that stores its weights runs the formulas of `scoring`, `weighting` and `pooling`, line by
line as they are there, until a call is so large that another way is faster. Without stored weights,
small calls may take another way, too. Only `choose` decides when.
"""
