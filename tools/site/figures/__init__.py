"""Figures on a page without a kernel, and what they load when a reader needs it."""
