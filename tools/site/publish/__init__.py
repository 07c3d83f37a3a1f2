"""What the published site has: addresses, redirects, descriptions and cards."""
