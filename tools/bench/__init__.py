"""Ratios of time and memory, measured with their machine."""
