"""The networks that bench/gpu measures. Each is defined once, as a function of a builder, which either writes it as
text for dpc (text.py) or computes it in PyTorch (module.py), so that both sides are the same network. Needs no
PyTorch."""


def mlp(b, x, width):
    x = b.flatten(x)
    for name in ("fc1", "fc2"):
        x = b.relu(b.linear(name, x, width))
    return b.linear("fc3", x, b.classes)


def mnist_cnn(b, x, width, hidden):
    x = b.relu(b.conv("conv1", x, width, 3, bias=True))
    x = b.relu(b.conv("conv2", x, 2 * width, 3, bias=True))
    x = b.flatten(b.maxpool(x, 2, 2, 0))
    return b.linear("fc2", b.relu(b.linear("fc1", x, hidden)), b.classes)


def normalized(b, name, x, after, size, stride=1):
    return b.batchnorm(name + ".norm", b.conv(name, x, after, size, stride))


def residual(b, name, x, width, stride, bottleneck):
    """A basic block (two convolutions) or a bottleneck (three, the last to four times the width)."""
    after = 4 * width if bottleneck else width
    shapes = [(width, 1, 1), (width, 3, stride), (after, 1, 1)] if bottleneck else [(width, 3, stride), (after, 3, 1)]
    y = x
    for i, (channels, size, step) in enumerate(shapes):
        y = normalized(b, "%s.conv%d" % (name, i + 1), b.relu(y) if i else y, channels, size, step)
    if stride != 1 or b.extents(x)[0] != after:
        x = normalized(b, name + ".skip", x, after, 1, stride)
    return b.relu(b.add(y, x))


def resnet(b, x, counts, width, bottleneck, large):
    """large: a first convolution and a pooling for pictures of 224 x 224."""
    x = b.relu(normalized(b, "stem", x, width, *((7, 2) if large else (3, 1))))
    if large:
        x = b.maxpool(x, 3, 2, 1)
    for stage, count in enumerate(counts):
        for i in range(count):
            x = residual(b, "stage%d.%d" % (stage, i), x, width << stage, 2 if stage and not i else 1, bottleneck)
    return b.linear("fc", b.mean(x), b.classes)


def gpt(b, x, layers, width, heads):
    """GPT-2: embeddings of words, which are also the last product's weight, and of places; GELU without approximation,
    no Dropout."""
    h = b.places("places", b.embedding("words", x, width))
    for i in range(layers):
        name = "block%d." % i
        q, k, v = b.split(b.linear(name + "qkv", b.layernorm(name + "norm1", h), 3 * width), 3)
        h = b.add(h, b.linear(name + "out", b.attention(q, k, v, heads, heads), width))
        up = b.gelu(b.linear(name + "up", b.layernorm(name + "norm2", h), 4 * width))
        h = b.add(h, b.linear(name + "down", up, width))
    return b.tied("words", b.layernorm("norm", h))


def llama(b, x, layers, width, heads, groups, hidden):
    """groups: heads of keys and values. RMSNorm, rotary places of base 500,000, SwiGLU, tied embeddings."""
    h = b.embedding("words", x, width)
    size = width // heads
    for i in range(layers):
        name = "block%d." % i
        y = b.rmsnorm(name + "norm1", h)
        q = b.rotate(b.linear(name + "query", y, width, bias=False), heads)
        k = b.rotate(b.linear(name + "key", y, groups * size, bias=False), groups)
        v = b.linear(name + "value", y, groups * size, bias=False)
        h = b.add(h, b.linear(name + "out", b.attention(q, k, v, heads, groups), width, bias=False))
        y = b.rmsnorm(name + "norm2", h)
        gate = b.silu(b.linear(name + "gate", y, hidden, bias=False))
        y = b.mul(gate, b.linear(name + "up", y, hidden, bias=False))
        h = b.add(h, b.linear(name + "down", y, width, bias=False))
    return b.tied("words", b.rmsnorm("norm", h))


class Network:
    """define(b, x, **size) -> scores. sample: (channels, height, width) of a picture, or (length,) of a text. classes:
    of the labels; of a text, its words. optimizer: its name in dpc's specifications, and arguments."""

    def __init__(self, define, size, sample, classes, batch, optimizer, precision="fp32"):
        self.define, self.size, self.sample, self.classes = define, size, sample, classes
        self.batch, self.optimizer, self.precision = batch, optimizer, precision

    def is_text(self):
        return len(self.sample) == 1

    def build(self, builder, x):
        return self.define(builder, x, **self.size)

    def optimizer_spec(self):
        name, arguments = self.optimizer
        return "%s(%s)" % (name, ",".join("%s=%r" % pair for pair in arguments.items()))


ADAM = ("adam", {"lr": 1e-3})
ADAMW = ("adamw", {"lr": 3e-4, "weight_decay": 0.1})
SGD = ("sgd", {"lr": 0.01, "momentum": 0.9})

GPT2 = dict(layers=12, width=768, heads=12)
GPT2_MEDIUM = dict(layers=24, width=1024, heads=16)
LLAMA = dict(layers=16, width=2048, heads=32, groups=8, hidden=8192)  # as Llama 3.2 1B
RESNET18 = dict(counts=(2, 2, 2, 2), width=64, bottleneck=False, large=False)
RESNET50 = dict(counts=(3, 4, 6, 3), width=64, bottleneck=True, large=True)

NETWORKS = {
    "mlp": Network(mlp, dict(width=1024), (1, 28, 28), 10, 64, ADAM),
    "mnist-cnn": Network(mnist_cnn, dict(width=64, hidden=1024), (1, 28, 28), 10, 64, ADAM),
    "resnet-18": Network(resnet, RESNET18, (3, 32, 32), 10, 64, SGD),
    "resnet-50": Network(resnet, RESNET50, (3, 224, 224), 1000, 256, SGD, "bf16"),
    "gpt-124m": Network(gpt, GPT2, (1024,), 50257, 16, ADAMW, "bf16"),
    "gpt-350m": Network(gpt, GPT2_MEDIUM, (1024,), 50257, 8, ADAMW, "bf16"),
    "llama-1b": Network(llama, LLAMA, (1024,), 128256, 4, ADAMW, "bf16"),
}

# The same with few layers and small extents, for any machine.
SMALL = {
    "mlp": Network(mlp, dict(width=32), (1, 28, 28), 10, 8, ADAM),
    "mnist-cnn": Network(mnist_cnn, dict(width=4, hidden=16), (1, 12, 12), 10, 8, ADAM),
    "resnet-18": Network(resnet, dict(RESNET18, counts=(1, 1), width=8), (3, 16, 16), 10, 8, SGD),
    "resnet-50": Network(resnet, dict(RESNET50, counts=(1, 2), width=8), (3, 32, 32), 10, 8, SGD, "bf16"),
    "gpt-124m": Network(gpt, dict(layers=2, width=32, heads=4), (16,), 97, 4, ADAMW, "bf16"),
    "gpt-350m": Network(gpt, dict(layers=3, width=32, heads=2), (16,), 97, 4, ADAMW, "bf16"),
    "llama-1b": Network(llama, dict(layers=2, width=32, heads=4, groups=2, hidden=64), (16,), 300, 4, ADAMW, "bf16"),
}


def find(name, small):
    return (SMALL if small else NETWORKS)[name]
