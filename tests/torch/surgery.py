"""Networks that PyTorch trains first and that are changed before they are exported. They continue to train as in
PyTorch."""

import struct
import tempfile

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from compare import compare_network

DIGITS = "examples/data/digits/train-"


def read_idx(name):
    with open(DIGITS + name, "rb") as file:
        data = file.read()
    shape = struct.unpack(">%dI" % data[3], data[4 : 4 + 4 * data[3]])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


class Vgg(nn.Module):
    """Pairs of convolutions with a pooling after each pair, then dense layers, as in VGG."""

    def __init__(self, norm):
        super().__init__()
        layers, before = [], 1
        for width in 6, 6, "pool", 12, 12, "pool", 16, 16:
            if width == "pool":
                layers.append(nn.MaxPool2d(2))
                continue
            layers += [nn.Conv2d(before, width, 3, padding=1)] + ([nn.BatchNorm2d(width)] if norm else []) + [nn.ReLU()]
            before = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


class Around(nn.Module):
    """Adds a block's input to its output. If the block starts with an in-place operation, the sum uses its result."""

    def __init__(self, *block):
        super().__init__()
        self.block = nn.Sequential(*block)

    def forward(self, x):
        return x + self.block(x)


def in_place(module):
    for child in module.modules():
        if isinstance(child, nn.ReLU):
            child.inplace = True


def operate(network, begins_in_place):
    """Adds a skip connection around the second convolution of the last pair, or from the ReLU before it."""
    features = list(network.features)
    last = max(i for i, layer in enumerate(features) if isinstance(layer, nn.Conv2d))
    first = last - 1 if begins_in_place else last  # layer last - 1 is the ReLU
    network.features = nn.Sequential(*features[:first], Around(*features[first:]))
    in_place(network)


def vgg(tools, norm, begins_in_place):
    torch.manual_seed(7)
    x = torch.tensor(read_idx("images-idx3-ubyte")[:400, None].astype(np.float32) / 256)
    y = torch.tensor(read_idx("labels-idx1-ubyte")[:400].astype(np.int64))
    network = Vgg(norm)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    losses = []
    for step in range(60):
        at = step % 8 * 40
        loss = F.cross_entropy(network(x[at : at + 40]), y[at : at + 40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], "it did not learn"
    operate(network, begins_in_place)
    description = {
        "exporter": "script", "opset": 17, "batch": 16, "loss": "classes", "devices": 3,
        "optimizer": {"kind": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 1e-3},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        return compare_network(tools, description, network, x[320:390], y[320:390], folder)


TESTS = {
    f"VGG{', normalized' * norm}, with a skip connection{' that begins in place' * begins}": (
        lambda tools, norm=norm, begins=begins: vgg(tools, norm, begins)
    )
    for norm in (False, True)
    for begins in (False, True)
}
