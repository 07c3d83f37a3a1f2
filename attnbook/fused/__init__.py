"""The fast paths: the same stages with less memory traffic.

A layer runs the formulas of `scoring`, `weighting` and `pooling`, line by line as they are
there, until a call is so large that another way is faster. Only `choose` decides when.
"""
