"""The chapters as notebooks for Colab, and a reader who lives through them."""
