"""What Google Colab ships, as far as the book cares; only the standard library is needed here."""

PYTHON = "3.13"
COLAB = {
    "pip": "24.1.2",
    "numpy": "2.1.3",
    "matplotlib": "3.10.0",
    "ipywidgets": "7.7.1",
    "anywidget": "0.9.21",
    "ipython": "7.34.0",
    "ipykernel": "6.17.1",
    "torch": "2.11.0",
}
TRANSFORMERS = "5.15.0"  # no copy imports it; tests/masking/test_interop_transformers.py does
