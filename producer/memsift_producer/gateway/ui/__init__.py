"""The page to look at rankings: `MEMSIFT_GATEWAY_UI=1`, or `memsift ui`."""

from memsift_producer.gateway.ui.routes import Scenes, routes
from memsift_producer.gateway.ui.scene import Question, Scene

__all__ = ["Question", "Scene", "Scenes", "routes"]
