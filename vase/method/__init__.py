"""The paper's equations: pure functions on tensors and small state records, one module per set of equations."""
