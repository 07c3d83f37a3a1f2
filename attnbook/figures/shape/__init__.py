"""The shape X-ray, drawn."""
