"""A run as one HTML page that works without a network: what happened, and a decoder that answers while you drag."""
