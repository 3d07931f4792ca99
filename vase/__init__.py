"""VASE: life-long disentangled representation learning (Achille et al., NeurIPS 2018)."""

from typing import TYPE_CHECKING

from vase.lazy import attach

if TYPE_CHECKING:
    from vase.config import VASEConfig as VASEConfig
    from vase.learners.change import Change as Change
    from vase.learners.monitor import ShiftMonitor as ShiftMonitor
    from vase.learners.records import Encoding as Encoding
    from vase.learners.records import EnvironmentView as EnvironmentView
    from vase.learners.records import Inference as Inference
    from vase.learners.records import Step as Step
    from vase.learners.vase import VASE as VASE
    from vase.watching.session import watch as watch

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "VASE": "learners.vase",
        "VASEConfig": "config",
        "Change": "learners.change",
        "Encoding": "learners.records",
        "EnvironmentView": "learners.records",
        "Inference": "learners.records",
        "ShiftMonitor": "learners.monitor",
        "Step": "learners.records",
        "watch": "watching.session",
    },
)
__all__ += ["__version__"]
