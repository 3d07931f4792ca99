"""The paper's own regime, sampled."""
