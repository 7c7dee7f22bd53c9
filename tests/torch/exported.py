"""Small networks with what exporters fold, merge or drop: equal initial values, tied and transposed weights, buffers,
single numbers, normalization. exporters.py exports each in three ways."""

import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Rotary(nn.Module):
    def __init__(self, size, length):
        super().__init__()
        angles = torch.outer(torch.arange(length).float(), 100.0 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos(), persistent=False)
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin(), persistent=False)

    def forward(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin


class Attention(nn.Module):
    """Heads have sixteen numbers, so the scale's root, a float32 constant, is exact."""

    def __init__(self, width, heads, length, form, bias=True, rotary=False):
        super().__init__()
        self.heads, self.form = heads, form
        self.qkv = nn.Linear(width, 3 * width, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)
        self.rotary = Rotary(width // heads, length) if rotary else None
        if form == "buffer":
            self.register_buffer("mask", torch.full((length, length), torch.finfo(torch.float32).min).triu(1))
        if form == "bool":
            self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (p.view(n, t, self.heads, d // self.heads).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        if self.form == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
            if self.form == "buffer":
                scores = scores + self.mask
            else:
                scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
            y = torch.softmax(scores, -1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, d))


class Block(nn.Module):
    def __init__(self, width, heads, length, form, norm, gated, rotary=False, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = norm(width), norm(width)
        self.attention = Attention(width, heads, length, form, bias=not gated, rotary=rotary)
        self.gated = gated
        self.up = nn.Linear(width, 2 * width, bias=not gated)
        self.gate = nn.Linear(width, 2 * width, bias=False) if gated else None
        self.down = nn.Linear(2 * width, width, bias=not gated)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x):
        x = x + self.drop(self.attention(self.norm1(x)))
        y = self.norm2(x)
        y = F.silu(self.gate(y)) * self.up(y) if self.gated else F.gelu(self.up(y), approximate="tanh")
        return x + self.drop(self.down(y))


class GPT(nn.Module):
    def __init__(self, form="sdpa", norm=nn.LayerNorm, gated=False, rotary=False, tied=False, dropout=0.0, words=17, width=32, length=6):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.places = None if rotary else nn.Embedding(length, width)
        self.register_buffer("place_ids", torch.arange(length), persistent=False)
        self.blocks = nn.ModuleList(Block(width, 2, length, form, norm, gated, rotary, dropout) for _ in range(2))
        self.norm = norm(width)
        self.head = nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.tokens.weight

    def forward(self, x):
        x = self.tokens(x)
        if self.places is not None:
            x = x + self.places(self.place_ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Recurrent(nn.Module):
    def __init__(self, of, **more):
        super().__init__()
        self.tokens = nn.Embedding(11, 6)
        self.core = of(6, 5, batch_first=True, **more)
        self.head = nn.Linear(5 * (2 if more.get("bidirectional") else 1), 3)

    def forward(self, x):
        return self.head(self.core(self.tokens(x))[0][:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(11, 32)
        layer = nn.TransformerEncoderLayer(32, 2, 12, dropout=0.0, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.encoder(self.tokens(x)).mean(1))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 32, 4, stride=4)
        self.cls = nn.Parameter(torch.randn(1, 1, 32))
        self.places = nn.Parameter(torch.randn(1, 5, 32))
        self.attention = Attention(32, 2, 5, "sdpa")
        self.norm = nn.LayerNorm(32)
        self.scale = nn.Parameter(torch.full((32,), 0.1))
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.places
        x = x + self.scale * self.attention(self.norm(x))
        return self.head(x[:, 0])


class Residual(nn.Module):
    """A small ResNet: normalization, and a skip connection with a projection."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU())
        self.conv1, self.bn1 = nn.Conv2d(6, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.down = nn.Sequential(nn.Conv2d(6, 8, 1, stride=2, bias=False), nn.BatchNorm2d(8))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return self.head(F.relu(y + self.down(x)).mean((2, 3)))


class Scales(nn.Module):
    """Scalar parameters: learned temperatures, exponents, gates."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 8), nn.Linear(8, 4)
        self.temperature = nn.Parameter(torch.tensor(0.7))
        self.gate = nn.Parameter(torch.tensor([0.5]))
        self.slope = nn.PReLU()
        self.power = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        x = self.slope(self.fc1(x))
        x = x + self.gate * x.abs().add(0.5).pow(self.power)
        return self.fc2(x) * self.temperature.exp()


class Equal(nn.Module):
    """Layers that start with equal numbers. An exporter merges them; PyTorch trains them separately."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(6, 8)
        self.b.load_state_dict(self.a.state_dict())
        self.n1, self.n2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(torch.cat([self.n1(self.a(x)), torch.tanh(self.n2(self.b(x)))], 1))


class WeightNorm(nn.Module):
    """Computes with parameters alone, which an exporter may fold into a number."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 6))
        self.g = nn.Parameter(torch.rand(8, 1) + 0.5)
        self.b = nn.Parameter(torch.zeros(8))
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        w = self.g * self.w / self.w.norm(dim=1, keepdim=True)  # weight norm
        return self.head(torch.relu(F.linear(x, w, self.b)))


class Constants(nn.Module):
    """Floats that are not parameters: masks, clips, thresholds, fixed scales. All are exact in float32."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 8), nn.Linear(8, 4)
        self.register_buffer("mean", torch.rand(6))
        self.register_buffer("std", torch.rand(6) + 0.5)
        self.register_buffer("keep", (torch.rand(8) > 0.3).float())

    def forward(self, x):
        x = self.fc1((x - self.mean) / self.std).clamp(-2.5, 2.5)
        x = torch.where(x > 0.125, x, x * 0.25) * self.keep
        return self.fc2(x.pow(2) * 0.5 + x / 1.75)


class Fixed(nn.Module):
    """Buffers used as layers use their weights, and a parameter used so."""

    def __init__(self):
        super().__init__()
        self.fc, self.mix, self.head = nn.Linear(6, 8), nn.Parameter(torch.randn(8, 8)), nn.Linear(8, 4)
        self.register_buffer("basis", torch.randn(8, 8))
        self.register_buffer("kernel", torch.tensor([[[0.25, 0.5, 0.25]]]))
        self.register_buffer("table", torch.randn(5, 8))

    def forward(self, x):
        rows = self.table[(x[:, 0].abs() * 5).long()]
        x = torch.tanh(self.fc(x) @ self.basis) @ self.mix + rows
        return self.head(F.conv1d(torch.tanh(x)[:, None], self.kernel, padding=1)[:, 0])


class Standardized(nn.Module):
    """Normalization without running statistics: of the weight of a convolution, and of each image."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.Linear(144, 5)
        self.gain = nn.Parameter(torch.full((4,), 0.25))

    def forward(self, x):
        weight = F.batch_norm(self.conv.weight.reshape(1, 4, -1), None, None, self.gain, training=True, momentum=0.0)
        x = F.conv2d(x, weight.reshape_as(self.conv.weight), self.conv.bias)
        return self.head(F.relu(self.norm(x)).flatten(1))


class Frozen(nn.Module):
    """A frozen feature extractor, and a head that trains."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
        self.head = nn.Linear(8, 4)
        self.body.requires_grad_(False)

    def forward(self, x):
        return self.head(self.body(x))


class Repeat(nn.Module):
    """One layer that is used three times, and once more with its weight transposed."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.first, self.head = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x):
        x = self.first(x)
        for _ in range(3):
            x = torch.tanh(self.inner(x))
        return self.head(x @ self.inner.weight)


class Gated(nn.Module):
    """A gate without a gradient, because of detach() or no_grad()."""

    def __init__(self, detach):
        super().__init__()
        self.detach, self.inner, self.gate, self.out = detach, nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 5)

    def forward(self, x):
        if self.detach:
            gate = torch.sigmoid(self.gate(x)).detach()
        else:
            with torch.no_grad():
                gate = torch.sigmoid(self.gate(x))
        return self.out(torch.tanh(self.inner(x)) * gate)


def by_frequency():
    return nn.Sequential(nn.Embedding(6, 8, scale_grad_by_freq=True), nn.Flatten(), nn.Linear(32, 5))


WORDS, IMAGE, ROW = ("words", [6], 17), ("image", [3, 8, 8], 0), ("row", [6], 0)
SHORT = ("words", [6], 11)

NETWORKS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 4)), ROW, 4),
    "mlp-dropout": (lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 4)), ROW, 4),
    "cnn": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)), IMAGE, 5),
    "cnn-norm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)), IMAGE, 5),
    "norm-first": (lambda: nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 3), nn.ReLU(), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 5)), IMAGE, 5),
    "standardized": (Standardized, IMAGE, 5),
    "group-norm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.Flatten(), nn.Linear(144, 5)), IMAGE, 5),
    "resnet": (Residual, IMAGE, 5),
    "vit": (Vit, IMAGE, 4),
    "gpt": (lambda: GPT(), WORDS, 17),
    "gpt-mask": (lambda: GPT("buffer"), WORDS, 17),
    "gpt-tied": (lambda: GPT("bool", tied=True), WORDS, 17),
    "llama": (lambda: GPT("sdpa", RMSNorm, gated=True, rotary=True), WORDS, 17),
    "llama-tied": (lambda: GPT("buffer", RMSNorm, gated=True, rotary=True, tied=True), WORDS, 17),
    "encoder": (Encoder, SHORT, 5),
    "lstm": (lambda: Recurrent(nn.LSTM), SHORT, 3),
    "gru": (lambda: Recurrent(nn.GRU, bidirectional=True), SHORT, 3),
    "scales": (Scales, ROW, 4),
    "equal": (Equal, ROW, 4),
    "weight-norm": (WeightNorm, ROW, 4),
    "constants": (Constants, ROW, 4),
    "fixed": (Fixed, ROW, 4),
    "frozen": (Frozen, ROW, 4),
    "repeat": (Repeat, ROW, 4),
}

# Networks whose gradients are not those of what they compute.
DETACHED = {
    "detach": (lambda: Gated(True), ROW, 5),
    "no-grad": (lambda: Gated(False), ROW, 5),
    "by-frequency": (by_frequency, ("words", [4], 6), 5),
}
