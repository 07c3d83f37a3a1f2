"""What figures share: their base class, the arithmetic of attention, controls, keys and axes."""
