"""Making a release: one version everywhere, two files, and empty environments to try them in."""
