"""Other methods of lifelong representation learning beside VASE, on the same networks, streams, steps and probes."""
