"""What attention costs: `counting`, `generation` by shapes, `predicting` by measured points."""
