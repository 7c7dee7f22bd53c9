"""Layers of random networks: makes a PyTorch module from a layer's description and its input shape.

A layer adapts to its input shape; one that cannot is dropped. So a description still describes a network after layers
were removed or numbers were made smaller.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from functions import ACTIVATIONS, IMAGE_MIXES, MIXES, SMOOTH_GELU


class Apply(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Skip(nn.Module):
    """Adds, multiplies or concatenates the skip connection, projected to the same shape where necessary."""

    def __init__(self, inner, join, around=None):
        super().__init__()
        self.inner, self.join, self.around = inner, join, around

    def forward(self, x):
        y = self.inner(x)
        if self.join == "twice":  # tied weights
            return self.inner(y)
        if self.around is not None:
            x = self.around(x)
        if self.join == "cat":
            return torch.cat([x, y], 1)
        return x * y if self.join == "mul" else x + y


class Attention(nn.Module):
    def __init__(self, width, heads, form, causal):
        super().__init__()
        self.heads, self.form, self.causal = heads, form, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (p.view(n, t, self.heads, d // self.heads).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        if self.form == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-1, -2) * 0.375
            if self.causal:
                scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
            y = torch.softmax(scores, -1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, d))


class Multihead(nn.Module):
    """torch's own. Its scale is a constant, so heads have four or sixteen numbers to keep it exact."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class Places(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape))

    def forward(self, x):
        return x + self.weight


class RootMeanSquare(nn.Module):
    """Written out, because the script exporter does not support torch's own."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 0.0625) * self.weight


class Weighted(nn.Module):
    """A product whose left operand is a parameter without a module."""

    def __init__(self, rows):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(rows, rows))

    def forward(self, x):
        return torch.matmul(self.weight, x)


def norm_layer(layer, shape):
    """shape: the shape of x without N."""
    kind, c = layer["norm"], shape[0]
    if kind == "batch":
        if len(shape) == 2:
            return nn.BatchNorm1d(c, momentum=layer["momentum"], affine=layer["affine"])
        of = nn.BatchNorm1d if len(shape) == 1 else nn.BatchNorm2d
        return of(c, momentum=layer["momentum"], affine=layer["affine"])
    if kind == "group" and len(shape) > 1:
        return nn.GroupNorm(math.gcd(c, layer["groups"]), c)
    if kind == "instance" and len(shape) > 1 and math.prod(shape[1:]) > 1:
        return (nn.InstanceNorm1d if len(shape) == 2 else nn.InstanceNorm2d)(c, affine=True)
    if kind == "rms":
        return RootMeanSquare(shape[-1])
    return nn.LayerNorm(shape if layer["whole"] else shape[-1])


def conv_layer(layer, shape):
    dims = len(shape) - 1
    if dims not in (1, 2):
        return None
    c, groups = shape[0], math.gcd(shape[0], layer["groups"])
    kernel, dilation, padding = layer["kernel"][:dims], layer["dilation"], layer["padding"]
    if any(s + 2 * padding < dilation * (k - 1) + 1 for s, k in zip(shape[1:], kernel)):
        return None
    of = {False: (nn.Conv1d, nn.Conv2d), True: (nn.ConvTranspose1d, nn.ConvTranspose2d)}[layer["transposed"]][dims - 1]
    more = {"output_padding": layer["stride"] - 1} if layer["transposed"] else {}
    return of(c, groups * layer["out"], tuple(kernel), stride=layer["stride"], padding=padding, dilation=dilation,
              groups=groups, bias=layer["bias"], **more)  # fmt: skip


def pool_layer(layer, shape):
    dims = len(shape) - 1
    kernel, stride, padding = layer["kernel"], layer["stride"], layer["padding"]
    if dims not in (1, 2) or min(shape[1:]) + 2 * padding < kernel:
        return None
    if layer["pool"] == "max":
        of = (nn.MaxPool1d, nn.MaxPool2d)[dims - 1]
        return of(kernel, stride, padding, ceil_mode=layer["ceil"])
    if layer["pool"] == "average":
        of = (nn.AvgPool1d, nn.AvgPool2d)[dims - 1]
        return of(kernel, stride, padding, ceil_mode=layer["ceil"], count_include_pad=layer["count"])
    return (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d)[dims - 1](1)


def make_layer(layer, shape):
    """The module for an input of (N, *shape); None if it would do nothing."""
    kind = layer["kind"]
    if kind == "activation":
        name = layer["name"]
        if name == "prelu":
            return nn.PReLU(shape[0] if layer["wide"] else 1)
        if name in SMOOTH_GELU:
            return nn.GELU("tanh" if name == "gelu_tanh" else "none")
        return Apply(ACTIVATIONS[name])
    if kind == "mix":
        if layer["name"] in MIXES:
            return Apply(MIXES[layer["name"]])
        return Apply(IMAGE_MIXES[layer["name"]]) if len(shape) == 3 else None
    if kind == "linear":
        return nn.Linear(shape[-1], layer["out"], bias=layer["bias"])
    if kind == "conv":
        return conv_layer(layer, shape)
    if kind == "pool":
        return pool_layer(layer, shape)
    if kind == "norm":
        return norm_layer(layer, shape)
    if kind == "dropout":  # probability 0, since PyTorch's random numbers are its own
        return nn.Dropout(0.0)
    if kind == "attention" and len(shape) == 2:
        heads = math.gcd(layer["heads"], shape[1])
        if layer["form"] == "multihead":
            return Multihead(shape[1], heads) if shape[1] // heads in (4, 16) else None
        return Attention(shape[1], heads, layer["form"], layer["causal"])
    if kind == "places":
        return Places(shape)
    if kind == "weighted" and len(shape) > 1 and shape[-2] < 20:
        return Weighted(shape[-2])
    if kind == "sequence":  # an image's positions in a row
        return Apply(lambda x: x.flatten(2).transpose(1, 2)) if len(shape) == 3 else None
    if kind == "flatten":
        return nn.Flatten() if len(shape) > 1 else None
    if kind == "skip":
        inner, after = make_layers(layer["layers"], shape)
        if not len(inner):
            return None
        if layer["join"] == "cat" and after[1:] == shape[1:]:
            return Skip(inner, "cat")
        if layer["join"] == "twice" and after == shape:
            return Skip(inner, "twice")
        join = "mul" if layer["join"] == "mul" else "add"
        if after == shape:
            return Skip(inner, join)
        if len(after) == len(shape) == 3 and after[1:] == shape[1:]:
            return Skip(inner, join, nn.Conv2d(shape[0], after[0], 1))
        if len(after) == len(shape) and after[:-1] == shape[:-1]:
            return Skip(inner, join, nn.Linear(shape[-1], after[-1]))
        return inner
    return None


def make_layers(layers, shape):
    """Returns the modules and the shape after them. Shapes are without N."""
    modules = nn.Sequential()
    x = torch.randn(2, *shape)
    for layer in layers:
        module = make_layer(layer, list(x.shape[1:]))
        if module is None:
            continue
        try:
            with torch.no_grad():
                y = module.eval()(x.clone())
        except (RuntimeError, ValueError):  # PyTorch rejects the shape
            continue
        if not 0 < math.prod(y.shape[1:]) <= 3000:
            continue
        modules.append(module)
        x = y
    return modules, list(x.shape[1:])
