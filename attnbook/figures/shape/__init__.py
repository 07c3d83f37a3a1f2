"""The shape figure: a trace of a layer, drawn."""
