"""The appendix's ablation: MNIST → Fashion → MNIST."""
