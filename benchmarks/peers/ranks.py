"""Processes of a program of this folder on this machine, one for each rank."""

import os
import subprocess
import sys
import time


def start_ranks(ranks, environment=None):
    """Runs this program once for every rank, whose number is in RANK. The first that fails ends the others. Returns the
    exit code. `environment`: in place of the own one."""
    processes = []
    try:
        for rank in range(ranks):
            own = {**(os.environ if environment is None else environment), "RANK": str(rank)}
            processes.append(subprocess.Popen([sys.executable, *sys.argv], env=own))
        while any(process.poll() is None for process in processes):
            if any(process.poll() for process in processes):
                return 1
            time.sleep(0.05)
        return max(abs(process.returncode) for process in processes)
    finally:
        for process in processes:
            process.kill()
