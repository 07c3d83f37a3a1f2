"""The still pictures of the chapters."""
