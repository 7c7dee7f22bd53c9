#!/usr/bin/env python3
"""Stands for a Python with PyTorch: answers bench/gpu as theirs.py and peaks.py of bench/device do, with figures of its
own. FAIL, in the environment, is at what it ends: theirs, curve, steps, kernels, peaks; or stands still, with `hang-`
before it."""
import json
import os
import sys
import time

LOSS, MS, KERNEL_MS = 2.5, 40.0, 32.0


def at(place):
    if os.environ.get("FAIL") == "hang-" + place:
        with open(os.environ["HUNG"], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
    if os.environ.get("FAIL") == place:
        sys.exit(3)


def say(**what):
    print(json.dumps(what), flush=True)


def main():
    what = os.path.basename(sys.argv[4])[: -len(".py")]
    at(what)
    if what == "peaks":
        return say(tflops=2.0, gbytes=50.0)
    say(torch="of the test", imported_mib=100.0, prepared_s=1.0)
    for line in sys.stdin:
        what, count = line.split()
        at(what)
        if what == "curve":
            say(losses=[LOSS] * int(count))
        elif what == "steps":
            say(ms=MS, host_ms=3.0, mib=612.0)
        else:
            say(kernel_ms=KERNEL_MS)


if __name__ == "__main__":
    main()
