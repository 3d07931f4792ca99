"""VASE: life-long disentangled representation learning (Achille et al., NeurIPS 2018)."""

from vase.config import VASEConfig
from vase.learners.records import Encoding, EnvironmentView, Inference, Step
from vase.learners.vase import VASE

__version__ = "0.1.0"
__all__ = ["VASE", "Encoding", "EnvironmentView", "Inference", "Step", "VASEConfig", "__version__"]
