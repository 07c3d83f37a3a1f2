"""Two positions as clock hands, and what their dot product depends on."""
