"""The translator figure: type a date, and the model writes it in the page."""
