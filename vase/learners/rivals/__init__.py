"""Other methods of lifelong representation learning, on VASE's networks, objective and optimiser: one file each."""
