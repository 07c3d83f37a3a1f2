"""What attention costs: `counting`, and `generation` by the sizes of a model."""
