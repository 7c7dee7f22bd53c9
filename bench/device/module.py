"""Computes a network of networks.py in PyTorch, by the functions that its layers call."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from text import Text, frequencies


def attribute(name):
    return name.replace(".", "_")


def drawn(init, extents):
    """The first values of a parameter, in PyTorch's form."""
    kind, *numbers = init
    if kind == "normal":
        return torch.randn(extents) * numbers[1] + numbers[0]
    if kind == "kaiming_uniform":
        return (2 * torch.rand(extents) - 1) / math.sqrt(numbers[0])
    return torch.full(extents, {"zeros": 0.0, "ones": 1.0}[kind])


class Module(nn.Module):
    """x, as it is in the files -> scores. Its parameters are those of `text`."""

    def __init__(self, network):
        super().__init__()
        text = self.text = Text(network)
        self.network = network
        for p in text.parameters:
            first = drawn(p.init, p.extents[::-1] if p.turned else p.extents)
            self.register_parameter(attribute(p.name), nn.Parameter(first))
        for name, count, init in text.buffers:
            self.register_buffer(attribute(name), drawn((init,), (count,)))
        if text.has_angles:
            size = network.size["width"] // network.size["heads"]
            self.register_buffer("frequency", torch.tensor(frequencies(size)))

    def forward(self, x):
        if not self.network.is_text():
            x = x.to(next(self.parameters()).dtype) / 255
        return self.network.build(Computing(self), x)


class Computing:
    """A builder whose values are tensors."""

    def __init__(self, module):
        self.module, self.classes, self.angles = module, module.network.classes, None

    def of(self, *names):
        return [getattr(self.module, attribute(name)) for name in names]

    @staticmethod
    def extents(x):
        return tuple(x.shape[1:])

    def linear(self, name, x, after, bias=True):
        return F.linear(x, *self.of(name + ".weight", *([name + ".bias"] if bias else [])))

    def conv(self, name, x, after, size, stride=1, bias=False):
        parameters = self.of(name + ".weight", *([name + ".bias"] if bias else []))
        return F.conv2d(x, *parameters, stride=stride, padding=size // 2)

    def batchnorm(self, name, x):
        weight, bias, mean, var = self.of(*(name + end for end in (".weight", ".bias", ".mean", ".var")))
        return F.batch_norm(x, mean, var, weight, bias, training=True)

    def maxpool(self, x, size, stride, pad):
        return F.max_pool2d(x, size, stride, pad)

    def mean(self, x):
        return F.adaptive_avg_pool2d(x, 1).flatten(1)

    def flatten(self, x):
        return x.flatten(1)

    def embedding(self, name, x, width):
        return F.embedding(x, *self.of(name))

    def places(self, name, x):
        return x + self.of(name)[0]

    def layernorm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], *self.of(name + ".weight", name + ".bias"), 1e-5)

    def rmsnorm(self, name, x):
        return F.rms_norm(x, x.shape[-1:], *self.of(name + ".weight"), 1e-5)

    def split(self, x, count):
        return x.chunk(count, -1)

    def attention(self, q, k, v, heads, groups):
        q, k, v = (x.unflatten(-1, (n, -1)).transpose(1, 2) for x, n in ((q, heads), (k, groups), (v, groups)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != groups)
        return y.transpose(1, 2).flatten(2)

    def rotate(self, x, heads):
        if self.angles is None:
            frequency = self.module.frequency
            angles = torch.arange(x.shape[1], device=x.device, dtype=frequency.dtype)[:, None, None] * frequency
            self.angles = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        cos, sin = self.angles
        a, b = x.unflatten(-1, (heads, -1)).chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).flatten(2)

    def tied(self, name, x):
        return F.linear(x, *self.of(name))

    relu, gelu, silu = staticmethod(F.relu), staticmethod(F.gelu), staticmethod(F.silu)
    add, mul = staticmethod(torch.add), staticmethod(torch.mul)
