"""Scripts, styles, icons and pictures in few bytes, and the Node that makes them so."""
