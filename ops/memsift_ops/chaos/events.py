"""Records every Celery event, which is all that Flower or another monitor can show.

    python -m memsift_ops.chaos.events REDIS_URL FILE

FILE gets one JSON line per event.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from celery import Celery

RETRY_S = 0.3


def main(url: str, kept: Path) -> None:
    """Record for ever, also across a Redis that is killed."""
    app = Celery("chaos-events", broker=url, set_as_current=False)
    app.conf.broker_connection_retry_on_startup = False
    with kept.open("a", buffering=1) as file:

        def keep(event: dict[str, Any]) -> None:
            file.write(json.dumps(event, default=str, ensure_ascii=False) + "\n")

        while True:
            try:
                with app.connection() as connection:
                    receiver = app.events.Receiver(connection, handlers={"*": keep})
                    receiver.capture(limit=None, timeout=None, wakeup=False)
            except Exception:  # noqa: BLE001  # whatever a killed server raises, the recorder comes back
                time.sleep(RETRY_S)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
