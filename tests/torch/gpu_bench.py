"""bench/gpu with PyTorch, on the CPU, with its small networks: both sides train the same network on the same data from
the same weights, flops are PyTorch's own count, and there are all figures."""

import contextlib
import functools
import json
import math
import os
import subprocess
import sys
import tempfile
from unittest import mock

import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from compare import LOSS, Failure

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FIGURES = ("ms", "kernel_ms", "mib", "rate", "share", "over_kernels")
# Peer, precision, and how far losses may be apart. In bfloat16 the two round at other places.
PARTS = [("eager", "fp64", LOSS), ("compile", "fp32", 1e-4), ("graphs", "fp32", 1e-4), ("autotune", "fp32", 1e-4),
         ("eager", "bf16", 0.05)]  # fmt: skip
NAMES = ("mlp", "mnist-cnn", "resnet-18", "resnet-50", "gpt-124m", "gpt-350m", "llama-1b")
# torch.compile takes a while for each network; these have all kinds of nodes. In float64, on a CPU, it fails in
# attention.
COMPILED = {"compile": ("resnet-18", "llama-1b"), "graphs": ("gpt-124m",), "autotune": ("mlp",), "bf16": ("gpt-124m",)}


def run_part(tools, name, peer, precision, most):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, ROOT + "/bench/gpu", "--tools=" + tools, "--device=cpu", "--small", "--rounds=1",
                   "--seconds=0.05", "--curve=20", "--precision=" + precision, "--python=" + sys.executable,
                   "--out=%s/gpu.json" % folder, "%s/%s" % (name, peer)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=500)
        if done.returncode:
            raise Failure("crash", "bench/gpu exit %d: %s" % (done.returncode, done.stderr.strip()[-1500:]))
        with open(folder + "/gpu.json") as file:
            (result,) = json.load(file)["results"]
    for side in ("ours", "theirs"):
        wrong = {key: result[side][key] for key in FIGURES if not 0 < result[side][key] < math.inf}
        if wrong:
            raise Failure("figures", "%s: %s" % (side, wrong))
    if len(result["theirs"]["losses"]) != 20 or not result["apart"]["most"] <= most:
        raise Failure("loss", "ours %s, theirs %s" % (result["ours"]["losses"], result["theirs"]["losses"]))
    return {"loss": result["apart"]["most"] if precision == "fp64" else 0.0}


def load(name):
    """A module of bench/device, whose networks.py is not that of this folder."""
    ours = sys.modules.pop("networks", None)
    sys.path.insert(0, ROOT + "/bench/device")
    try:
        return __import__(name)
    finally:
        sys.path.pop(0)
        sys.modules["networks"] = ours


def count_flops(_tools):
    """But for attention, which PyTorch does not count on a CPU: there, 6 for each pair of places and number of q."""
    networks, module = load("networks"), load("module")
    for name, network in networks.SMALL.items():
        made = module.Module(network)
        x = torch.randint(network.classes, (network.batch, *network.sample))
        x = x if network.is_text() else x.to(torch.uint8)
        y = torch.randint(network.classes, x.shape if network.is_text() else (network.batch,))
        with FlopCounterMode(display=False) as counter:
            F.cross_entropy(made(x).flatten(0, -2), y.flatten()).backward()
        expected = counter.get_total_flops()
        if network.is_text():
            size = network.size
            expected += 6 * network.sample[0] ** 2 * size["width"] * size["layers"] * network.batch
        if made.text.flops != expected:
            raise Failure("flops", "%s: %d, PyTorch counts %d" % (name, made.text.flops, expected))
    return {}


class Graph:
    """Stands for a CUDA graph of a step of `trained`: it computes the step again, where the first one was."""

    def __init__(self, trained):
        self.trained = trained

    def replay(self):
        self.trained.loss.copy_(self.trained.train(self.trained.x, self.trained.y))


def capture(_tools):
    """A step that is captured and replayed gives the losses of one that is not, from the first weights on."""
    networks, _, theirs = load("networks"), load("module"), load("theirs")  # which loads module when it needs it
    same = contextlib.nullcontext
    for name in ("mlp", "resnet-18", "gpt-124m"):  # both optimizers, and BatchNormalization
        network, curves = networks.find(name, True), []
        keep = mock.patch.object(theirs, "say", lambda **said: curves.append(said))
        with tempfile.TemporaryDirectory() as folder, keep:
            theirs.files.write_data(network, folder)
            for how in ("eager", "graphs"):
                with mock.patch.dict(theirs.MODES, clear=True):
                    trained = theirs.Trained(network, how, "cpu", "fp32", folder)
                if how == "graphs":
                    with mock.patch.multiple(torch.cuda, Stream=mock.Mock, current_stream=mock.Mock(), stream=same,
                                             graph=same, CUDAGraph=lambda: Graph(trained)):  # fmt: skip
                        trained.capture()
                trained.curve(20)
        if curves[0] != curves[1]:
            raise Failure("loss", "%s: %s, captured %s" % (name, *(curve["losses"] for curve in curves)))
    return {}


def tests():
    found = {"bench/gpu flops": count_flops, "bench/gpu capture": capture}
    for peer, precision, most in PARTS:
        for name in COMPILED.get(precision if precision == "bf16" else peer, NAMES):
            test = functools.partial(run_part, name=name, peer=peer, precision=precision, most=most)
            found["bench/gpu %s/%s %s" % (name, peer, precision)] = test
    return found


TESTS = tests()
