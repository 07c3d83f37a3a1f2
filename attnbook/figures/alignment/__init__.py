"""Where a translator attended."""
