"""Attention along a line."""
