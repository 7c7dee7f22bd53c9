"""The networks that bench/run measures, as PyTorch modules. dpc gets them by PyTorch's own ONNX export."""
import torch
from torch import nn
from torch.nn import functional as F


class MLP(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                         nn.Linear(1024, 10))


class MnistCNN(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(1, 64, 3), nn.ReLU(), nn.Conv2d(64, 128, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(128 * 12 * 12, 1024), nn.ReLU(), nn.Dropout(0.5), nn.Linear(1024, 10))


class VGG11(nn.Sequential):
    """For pictures of 32 x 32, with batch normalization."""

    def __init__(self):
        layers, before = [], 3
        for width in (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool"):
            if width == "pool":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
                before = width
        super().__init__(*layers, nn.Flatten(), nn.Linear(512, 10))


class Residual(nn.Module):
    """A basic block (two convolutions) or a bottleneck (three, the last to four times the width)."""

    def __init__(self, before, width, stride, bottleneck):
        super().__init__()
        after = 4 * width if bottleneck else width
        shapes = [(before, width, 3, stride), (width, after, 3, 1)]
        if bottleneck:
            shapes = [(before, width, 1, 1), (width, width, 3, stride), (width, after, 1, 1)]
        layers = []
        for i, (a, b, size, step) in enumerate(shapes):
            layers += [nn.ReLU()] if i else []
            layers += [nn.Conv2d(a, b, size, step, size // 2, bias=False), nn.BatchNorm2d(b)]
        self.body = nn.Sequential(*layers)
        self.skip = nn.Identity()
        if stride != 1 or before != after:
            self.skip = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


class ResNet(nn.Module):
    """small: a first convolution for pictures of 32 x 32."""

    def __init__(self, counts, bottleneck, small):
        super().__init__()
        first = [nn.Conv2d(3, 64, 3, 1, 1, bias=False)] if small else [nn.Conv2d(3, 64, 7, 2, 3, bias=False)]
        layers, before = [*first, nn.BatchNorm2d(64), nn.ReLU()], 64
        if not small:
            layers.append(nn.MaxPool2d(3, 2, 1))
        for stage, count in enumerate(counts):
            width = 64 << stage
            for i in range(count):
                layers.append(Residual(before, width, 2 if stage and not i else 1, bottleneck))
                before = 4 * width if bottleneck else width
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(before, 10 if small else 1000)

    def forward(self, x):
        return self.head(self.body(x))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(-1, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(-1, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, layers=4, width=256, heads=8, length=128, words=4096):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.words(x) + self.places)))


class LSTM(nn.Module):
    def __init__(self, words=2000, width=256):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.cells = nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.cells(self.words(x))[0])


class Network:
    """make: () -> module. x: the shape of a sample, and the number of words if it is made of them. classes: of the labels,
    which have the shape of the result without its last axis. Adam with lr 1e-3, but for `infer`: nothing is trained."""

    def __init__(self, make, batch, x, classes, words=0, infer=False):
        self.make, self.batch, self.x, self.classes, self.words, self.infer = make, batch, x, classes, words, infer

    def data(self, samples):
        """Inputs and labels, the same in each process."""
        random = torch.Generator().manual_seed(1)
        if self.words:
            x = torch.randint(self.words, (samples, *self.x), generator=random)
            return x, torch.randint(self.classes, (samples, *self.x), generator=random)
        x = torch.randn(samples, *self.x, generator=random)
        return x, torch.randint(self.classes, (samples,), generator=random)


NETWORKS = {
    "mlp": Network(MLP, 64, (1, 28, 28), 10),
    "mlp-1": Network(MLP, 1, (1, 28, 28), 10),
    "mnist-cnn": Network(MnistCNN, 64, (1, 28, 28), 10),
    "vgg-11": Network(VGG11, 64, (3, 32, 32), 10),
    "resnet-18": Network(lambda: ResNet((2, 2, 2, 2), False, True), 64, (3, 32, 32), 10),
    "resnet-50": Network(lambda: ResNet((3, 4, 6, 3), True, False), 16, (3, 64, 64), 1000),
    "gpt": Network(GPT, 8, (128,), 4096, words=4096),
    "lstm": Network(LSTM, 16, (32,), 2000, words=2000),
    "resnet-50-infer": Network(lambda: ResNet((3, 4, 6, 3), True, False), 1, (3, 224, 224), 1000, infer=True),
    "gpt-infer": Network(GPT, 1, (128,), 4096, words=4096, infer=True),
}


def make(name):
    torch.manual_seed(0)
    network = NETWORKS[name]
    return network.make().train(not network.infer)


def floor(name):
    """Flops of a step, and the bytes it must move at least: each parameter is read forward; in training also backward, its
    gradient is written and read, and it and Adam's two moments are read and written. Activations that fit in caches need
    not move, so they do not count."""
    from torch.utils.flop_counter import FlopCounterMode

    network, module = NETWORKS[name], make(name)
    x, y = network.data(network.batch)
    with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(not network.infer):
        out = module(x)
        if not network.infer:
            F.cross_entropy(out.flatten(0, -2), y.flatten()).backward()
    parameters = sum(p.numel() for p in module.parameters())
    flops = counter.get_total_flops()
    if isinstance(getattr(module, "cells", None), nn.LSTM):  # which the counter does not know
        width, layers = module.cells.hidden_size, module.cells.num_layers
        flops += 3 * 2 * layers * network.batch * network.x[0] * 8 * width * width
    return flops, 4 * parameters * (1 if network.infer else 10)


def export(name, path):
    """Writes an ONNX file as README.md says."""
    network = NETWORKS[name]
    mode = torch.onnx.TrainingMode.EVAL if network.infer else torch.onnx.TrainingMode.TRAINING
    torch.onnx.export(make(name), (network.data(max(network.batch, 2))[0],), path, dynamo=False, training=mode,
                      do_constant_folding=network.infer, opset_version=20, input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {0: "N"}})
