"""The division by √d."""
