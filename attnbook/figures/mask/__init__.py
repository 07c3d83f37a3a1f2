"""Which positions may attend to which; `shared/heatmap.css` hatches hidden cells."""
