"""Which positions may attend to which, and the mask that each library takes."""
