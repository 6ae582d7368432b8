"""The service with a recorder in its processes.

BENCH_RECORD=FILE python -m bench.recorded_service MODULE [ARGUMENT…]
"""

import runpy
import sys

from bench.recorder import start_recording

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    start_recording()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
