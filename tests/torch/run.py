#!/usr/bin/env python3
"""Random networks, trained by PyTorch in float64 and, from its ONNX export, by dpc and dprun: the same to 1e-8.

    run.py --tools=bazel-bin/tools [--count=200] [--first=1] [--backend=cuda]

Replays former failures (cases/), trains networks as PyTorch's exporters write them (exporters.py), and runs bench/gpu
(gpu_bench.py). Then trains random networks, with seeds from --first on, until --count were compared. A network is
skipped and named if PyTorch cannot export it, if it has an operator that dpc refuses by name (exit 69), or if its
package is not installed. A random network that fails is shrunk and written to cases/. With --backend=cuda, plans are
for GPUs and run on one, and the networks of exporters.py, which are about reading files, and bench/gpu are left out.
The last line is "count PASSED FAILED SKIPPED".
"""

import argparse
import collections
import json
import os
import sys

import torch

import compare as compare_module
import exporters
import gpu_bench
import networks
import surgery
from compare import Failure, compare
from shrink import shrink

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")


class Run:
    def __init__(self, tools):
        self.tools = tools
        self.worst = {"loss": 0.0, "weight": 0.0, "buffer": 0.0}
        self.counts = collections.Counter()

    def judge(self, name, function):
        """Runs one comparison and counts it. Returns the failure's kind, or None."""
        try:
            worst = function()
        except Failure as failure:
            print(f"{name}: {failure}", flush=True)
            self.counts["skipped" if failure.kind in ("export", "unsupported", "absent") else "failed"] += 1
            return failure.kind
        for key, value in worst.items():
            self.worst[key] = max(self.worst[key], value)
        self.counts["passed"] += 1
        return None

    def replay(self):
        for name in sorted(os.listdir(CASES)):
            with open(os.path.join(CASES, name)) as file:
                description = json.load(file)
            # A case that was compared before must not be skipped.
            if self.judge(f"cases/{name}", lambda: compare(self.tools, description)) in ("export", "unsupported"):
                self.counts["failed"] += 1

    def seed(self, seed):
        description = networks.describe(seed)
        kind = self.judge(f"seed {seed}", lambda: compare(self.tools, description))
        if kind in (None, "export", "unsupported"):
            return
        description, why = shrink(self.tools, description, kind)
        path = os.path.join(CASES, f"seed-{seed}.json")
        with open(path, "w") as file:
            json.dump(dict(description, why=why), file, indent=1)
        print(f"seed {seed}: made smaller: {path}: {why}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", required=True, help="the folder of dpc and dprun")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    options = parser.parse_args()
    compare_module.BACKEND = options.backend
    torch.set_num_threads(1)
    run = Run(os.path.abspath(options.tools))
    run.replay()
    imports = {**surgery.TESTS, **exporters.TESTS, **gpu_bench.TESTS} if options.backend == "cpu" else {}
    for name, function in imports.items():
        # A case that was accepted before must not be skipped.
        if run.judge(name, lambda: function(run.tools)) in ("export", "unsupported"):
            run.counts["failed"] += 1
    if imports:
        print(exporters.summary(), flush=True)
    already, seed = run.counts["passed"] + run.counts["failed"], options.first
    while run.counts["passed"] + run.counts["failed"] - already < options.count and seed < options.first + 2 * options.count:
        run.seed(seed)
        seed += 1
    compared = run.counts["passed"] + run.counts["failed"] - already
    print(f"{compared} random networks compared, seeds {options.first} to {seed - 1}; largest deviations: "
          + ", ".join(f"{key} {value:.1e}" for key, value in run.worst.items()))  # fmt: skip
    print(f"count {run.counts['passed']} {run.counts['failed']} {run.counts['skipped']}")
    return 1 if run.counts["failed"] or compared < options.count else 0


if __name__ == "__main__":
    sys.exit(main())
