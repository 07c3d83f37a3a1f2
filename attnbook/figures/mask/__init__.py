"""Who may see whom, and how each library is told."""
