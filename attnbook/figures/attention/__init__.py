"""Scoring, weighting and pooling: the flagship."""
