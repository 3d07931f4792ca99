"""Learners: VASE, and the protocol that any other one follows."""
