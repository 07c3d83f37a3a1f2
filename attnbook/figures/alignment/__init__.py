"""Where a translator looked."""
