"""The attention figure: scoring, weighting and pooling."""
