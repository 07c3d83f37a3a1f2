"""Two positions as rotating pairs, and what their dot product depends on."""
