"""What attention costs: `counting` follows from shapes, `predicting` from measured points."""
