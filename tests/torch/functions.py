"""Functions without parameters that random networks apply, by name. Constants are exact in float32."""

import torch
from torch.nn import functional as F

ACTIVATIONS = {
    "relu": torch.relu, "relu_": lambda x: F.relu(x, inplace=True), "leaky": lambda x: F.leaky_relu(x, 0.125),
    "elu": lambda x: F.elu(x, 0.75), "celu": lambda x: F.celu(x, 1.5), "silu": F.silu, "silu_": lambda x: F.silu(x, inplace=True),
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "softplus": F.softplus, "softsign": F.softsign, "mish": F.mish,
    "hardswish": F.hardswish, "relu6": F.relu6, "hardtanh": lambda x: F.hardtanh(x, -0.75, 1.25), "logsigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink, "softshrink": lambda x: F.softshrink(x, 0.25), "hardshrink": lambda x: F.hardshrink(x, 0.25),
    "threshold": lambda x: F.threshold(x, 0.0, 0.0), "erf": torch.erf, "sin": torch.sin, "cos": torch.cos, "atan": torch.atan,
    "exp": lambda x: torch.exp(-x * x), "log": lambda x: torch.log(x * x + 1), "sqrt": lambda x: torch.sqrt(torch.abs(x) + 0.5),
    "square": lambda x: x.pow(2) * 0.25, "cube": lambda x: x.clamp(-2, 2) ** 3, "reciprocal": lambda x: 1 / (x.abs() + 1.5),
    "rsqrt": lambda x: torch.rsqrt(x * x + 0.5), "clamp": lambda x: x.clamp(min=-0.5), "affine": lambda x: 1.25 - x * 0.5,
    "where": lambda x: torch.where(x > 0.25, x, x * x), "minmax": lambda x: torch.maximum(torch.minimum(x, -x + 1), x * 0.5),
    "sign": lambda x: x * torch.sign(x),
    "round": lambda x: x + torch.floor(x * 4) * 0.125,
}  # fmt: skip
SMOOTH_GELU = ("gelu", "gelu_tanh")  # need opset 20: before that the exporter writes constants rounded to float32

# Functions of (N, ...) that change shapes or mix values, for any rank. They return x unchanged if they do not fit.
MIXES = {
    "softmax": lambda x: x + torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
    "centre": lambda x: x - x.mean(-1, keepdim=True),
    "spread": lambda x: x / (x.std(-1, keepdim=True, unbiased=False) + 1) if x.shape[-1] > 2 else x,
    "unit": lambda x: x / (x.norm(dim=-1, keepdim=True) + 1),
    "glu": lambda x: F.glu(x, 1) if x.shape[1] % 2 == 0 else x,
    "chunks": lambda x: torch.cat([p * (k + 1) for k, p in enumerate(x.chunk(3, 1))], 1) if x.shape[1] >= 3 else x,
    "roll": lambda x: torch.cat([x[:, 1:], x[:, :1]], 1),
    "flip": lambda x: x.flip(-1) if x.shape[-1] > 1 else x,
    "strided": lambda x: x[..., ::2] if x.shape[-1] > 3 else x,
    "peak": lambda x: x * x.amax(-1, keepdim=True),
    "total": lambda x: x + 0.125 * x.sum(1, keepdim=True),
    "cumsum": lambda x: torch.cumsum(x, -1) * 0.25,
    "stack": lambda x: torch.stack([x, x * x * 0.25], 1).flatten(1, 2),
    "repeat": lambda x: x.repeat(1, 2, *[1] * (x.dim() - 2)) if x.shape[1] < 8 else x,
    "expand": lambda x: x.unsqueeze(1).expand(-1, 2, *x.shape[1:]).sum(1),
    "tril": lambda x: torch.tril(x) if x.dim() > 2 else x,
    "gather": lambda x: x.index_select(1, torch.tensor([0, x.shape[1] - 1, 0])) if x.shape[1] > 1 else x,
    "lse": lambda x: x - torch.logsumexp(x, -1, keepdim=True),
    "outer": lambda x: torch.matmul(x.transpose(-1, -2), x) * 0.125 if x.dim() > 2 and x.shape[-1] < 9 else x,
    "pad": lambda x: F.pad(x, (1, 2), value=0.5),
}

IMAGE_MIXES = {
    "reflect": lambda x: F.pad(x, (1, 1, 1, 0), mode="reflect") if min(x.shape[2:]) > 1 else x,
    "edge": lambda x: F.pad(x, (0, 1, 1, 0), mode="replicate"),
    "shuffle": lambda x: F.pixel_shuffle(x, 2) if x.shape[1] % 4 == 0 else x,
    "unshuffle": lambda x: F.pixel_unshuffle(x, 2) if all(s % 2 == 0 for s in x.shape[2:]) else x,
    "channels": lambda x: x.view(x.shape[0], 2, x.shape[1] // 2, *x.shape[2:]).transpose(1, 2).flatten(1, 2)
    if x.shape[1] % 2 == 0 else x,
    "crop": lambda x: x[:, :, 1:, :-1] if min(x.shape[2:]) > 3 else x,
    "transpose": lambda x: x.transpose(2, 3),
    "lrn": lambda x: F.local_response_norm(x, 3, alpha=0.5, beta=0.75, k=1.0),
}  # fmt: skip
