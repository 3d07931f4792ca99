"""VASE: life-long disentangled representation learning (Achille et al., NeurIPS 2018)."""

from vase.config import VASEConfig
from vase.learner import VASE
from vase.records import Encoding, EnvironmentView, Inference, Step

__version__ = "0.1.0"
__all__ = ["VASE", "Encoding", "EnvironmentView", "Inference", "Step", "VASEConfig", "__version__"]
