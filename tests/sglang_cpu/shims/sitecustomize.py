# mypy: disable-error-code="import-not-found"
"""Put the stand-ins in place, in the SGLang server and in every process that it spawns.

Python imports a module of this name by itself when it starts; this folder is on the PYTHONPATH of those
processes alone.
"""

import sys

from stand_in import StandInFinder

sys.meta_path.append(StandInFinder())
