"""The fast paths: the same stages with less memory traffic.

Small calls of a layer that stores its weights run the formulas of `scoring`, `weighting` and
`pooling`, line by line as they are there. Only `choose` decides which calls do.
"""
