"""What figures share: base class, arithmetic of attention, controls, keys, axes and heatmaps."""
