"""CPU time of other processes, to the nanosecond."""

from __future__ import annotations

import sys
import time

import psutil


def cpu_s(pid: int) -> float:
    """Seconds of CPU that a process and its children that live have used, user and system.

    On Linux by their CPU clocks (`clock_getcpuclockid(3)`): `/proc/PID/stat` counts in 10 ms.

    Args:
        pid: the process; 0 once it is gone.
    """
    try:
        process = psutil.Process(pid)
        return sum(_own(one) for one in (process, *process.children(recursive=True)))
    except psutil.NoSuchProcess:
        return 0.0


def _own(process: psutil.Process) -> float:
    if sys.platform == "linux":
        try:
            # The kernel's CPUCLOCK_SCHED of a process: ~pid << 3 | 2.
            return time.clock_gettime((~process.pid << 3) | 2)
        except OSError:
            return 0.0  # it has just ended
    try:
        used = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(used.user + used.system)
