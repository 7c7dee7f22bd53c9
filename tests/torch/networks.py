"""Random networks: makes a description from a seed, and a PyTorch module from a description.

A description is plain data (JSON), so that it can be shrunk and stored.
"""

import math
import random

import torch
from torch import nn

from functions import ACTIVATIONS, IMAGE_MIXES, MIXES, SMOOTH_GELU
from layers import make_layers


class Network(nn.Module):
    def __init__(self, description):
        super().__init__()
        shape = description["shape"]
        self.embedding = None
        if description["vocabulary"]:
            self.embedding = nn.Embedding(description["vocabulary"], description["width"])
            shape = shape + [description["width"]]
        self.body, shape = make_layers(description["layers"], shape)
        self.flat = not (description["per_place"] and len(shape) == 2)
        self.head = nn.Linear(math.prod(shape) if self.flat else shape[-1], description["classes"])
        self.places = None if self.flat else shape[0]

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        x = self.body(x)
        return self.head(x.flatten(1) if self.flat else x)


def make(description):
    """The network in training mode, with random float32 parameters."""
    torch.manual_seed(description["seed"])
    network = Network(description).train()
    with torch.no_grad():
        for name, p in network.named_parameters():
            if p.dim() < 2:  # instead of the ones and zeros of norms
                p.copy_(torch.rand_like(p) * 0.5 + (0.75 if name.endswith("weight") else -0.25))
    return network


def probe(network, description):
    """The shape of the output, without N."""
    network.eval()
    shape = [2] + description["shape"]
    y = network(torch.zeros(shape, dtype=torch.int64) if description["vocabulary"] else torch.zeros(shape))
    network.train()
    return list(y.shape[1:])


# ---- descriptions ----------------------------------------------------------------------------------------------------


class Chooser:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def __call__(self, *of):
        return self.random.choice(of)

    def one_in(self, n):
        return self.random.randrange(n) == 0


def random_layer(pick, image, opset, depth=0):
    kind = pick("activation", "activation", "conv", "conv", "norm", "norm", "linear", "pool", "mix", "mix", "skip", "skip",
                "attention", "places", "weighted", "dropout", "sequence")  # fmt: skip
    if kind == "activation":
        names = sorted(ACTIVATIONS) + ["prelu"] + (list(SMOOTH_GELU) if opset >= 20 else [])
        return {"kind": kind, "name": pick(*names), "wide": pick(True, False)}
    if kind == "conv" and image:
        return {"kind": kind, "out": pick(1, 2, 3, 5), "kernel": [pick(1, 2, 3, 3), pick(1, 3, 3, 5)], "stride": pick(1, 1, 2),
                "padding": pick(0, 1, 1, 2), "dilation": pick(1, 1, 2), "groups": pick(1, 1, 2, 3, 12), "bias": pick(True, False),
                "transposed": pick.one_in(5)}  # fmt: skip
    if kind == "pool" and image:
        kernel = pick(2, 3)
        return {"kind": kind, "pool": pick("max", "max", "average", "average", "global"), "kernel": kernel,
                "stride": pick(1, 2, kernel), "padding": pick(0, 0, 1), "ceil": pick(True, False), "count": pick(True, False)}  # fmt: skip
    if kind == "norm":
        return {"kind": kind, "norm": pick("batch", "batch", "group", "instance", "layer", "rms"), "groups": pick(1, 2, 3, 4),
                "momentum": pick(0.1, 0.25), "affine": not pick.one_in(4), "whole": pick(True, False)}  # fmt: skip
    if kind == "mix":
        return {"kind": kind, "name": pick(*sorted(MIXES), *(sorted(IMAGE_MIXES) if image else []))}
    if kind == "skip" and depth < 2:
        layers = [random_layer(pick, image, opset, depth + 1) for _ in range(pick(1, 2, 3))]
        return {"kind": kind, "join": pick("add", "add", "mul", "cat", "twice"), "layers": layers}
    if kind == "attention":
        return {"kind": kind, "heads": pick(1, 2, 3, 4), "form": pick("sdpa", "hand", "multihead"), "causal": pick(True, False)}
    if kind in ("places", "weighted", "dropout", "sequence"):
        return {"kind": kind}
    return {"kind": "linear", "out": pick(3, 5, 7, 8, 12, 16), "bias": pick(True, False)}


def random_optimizer(pick):
    kind = pick("sgd", "sgd", "adam", "adamw")
    spec = {"kind": kind, "lr": pick(0.01, 0.02, 0.05) if kind == "sgd" else pick(1e-3, 3e-3)}
    if kind == "sgd" and not pick.one_in(3):
        spec["momentum"] = pick(0.5, 0.9)
        spec.update(pick({}, {"nesterov": 1}, {"dampening": 0.25}))
    if kind != "sgd" and pick.one_in(2):
        spec.update(beta1=pick(0.8, 0.5), beta2=pick(0.99, 0.9), eps=pick(1e-8, 1e-6))
    if pick.one_in(2):
        spec["weight_decay"] = pick(1e-3, 0.05)
    if pick.one_in(4):
        spec["clip_norm"] = pick(0.1, 1.0)
    spec.update(pick({}, {}, {}, {"warmup": 2}, {"schedule": "step", "step_size": 2, "gamma": 0.5, "warmup": 1},
                     {"schedule": "cosine", "total": 6, "min_lr": 1e-4}))  # fmt: skip
    return spec


def describe(seed):
    pick = Chooser(seed)
    # PyTorch's newer exporter is slow: one network in ten.
    exporter = "dynamo" if seed % 10 == 0 else "script"
    opset = 20 if exporter == "dynamo" else pick(14, 15, 17, 18, 20)
    form = pick("image", "image", "vector", "sequence", "words")
    shape = {"image": [pick(1, 2, 3, 4, 6), pick(5, 6, 7, 8, 9), pick(4, 5, 8, 11)], "vector": [pick(3, 7, 12, 16)],
             "sequence": [pick(3, 4, 5, 7), pick(4, 6, 8, 12)], "words": [pick(3, 5, 8)]}[form]  # fmt: skip
    batch = pick(4, 5, 7, 8)
    return {
        "seed": seed, "exporter": exporter, "opset": opset, "shape": shape,
        "vocabulary": pick(11, 19) if form == "words" else 0, "width": pick(4, 8, 12),
        "layers": [random_layer(pick, form == "image", opset) for _ in range(pick(2, 3, 4, 5, 6, 8))],
        "per_place": pick(True, False), "classes": pick(2, 3, 5, 10), "loss": pick("classes", "classes", "squares"),
        "optimizer": random_optimizer(pick), "batch": batch, "samples": batch * 4 + pick(0, 2, 3), "devices": pick(1, 1, 2, 3),
    }  # fmt: skip
