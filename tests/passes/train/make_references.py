#!/usr/bin/env python3
"""Makes references.txt: losses and weights that PyTorch gives for the networks of training_test.cc, in float64.

    python3 tests/passes/train/make_references.py > tests/passes/train/references.txt

Needs torch; the test needs only the file. Element i of tensor t is ((i * 37 + t * 11) % 64) / 64 - 0.5, so that both
sides have the same bits.
"""
import torch
import torch.nn.functional as F

STEPS = [5, 5, 3, 5]  # samples of each step
OPTIMIZERS = {
    "sgd(lr=0.1)": dict(lr=0.1),
    "sgd(lr=0.1,weight_decay=0.05)": dict(lr=0.1, weight_decay=0.05),
    "sgd(lr=0.1,momentum=0.9)": dict(lr=0.1, momentum=0.9),
    "sgd(lr=0.05,momentum=0.9,dampening=0.5,weight_decay=0.01)":
        dict(lr=0.05, momentum=0.9, dampening=0.5, weight_decay=0.01),
    "sgd(lr=0.05,momentum=0.8,nesterov=1,weight_decay=0.01)":
        dict(lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.01),
}


def numbers(t, *shape):
    count = 1
    for extent in shape:
        count *= extent
    values = [((i * 37 + t * 11) % 64) / 64 - 0.5 for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


class Cnn:
    """Convolution, batch statistics, pooling, two dense layers; cross entropy."""

    def __init__(self):
        shapes = {"conv.weight": (2, 1, 3, 3), "conv.bias": (2,), "bn.weight": (2,), "bn.bias": (2,),
                  "fc.weight": (3, 8), "fc.bias": (3,)}
        self.parameters = {n: numbers(t, *s).requires_grad_() for t, (n, s) in enumerate(shapes.items(), 1)}
        self.buffers = {"bn.mean": torch.zeros(2, dtype=torch.float64), "bn.var": torch.ones(2, dtype=torch.float64)}

    def forward(self, x, training):
        p, b = self.parameters, self.buffers
        h = F.conv2d(x, p["conv.weight"], p["conv.bias"], padding=1)
        h = F.batch_norm(h, b["bn.mean"], b["bn.var"], p["bn.weight"], p["bn.bias"], training, 0.1, 1e-5)
        h = F.max_pool2d(torch.relu(h), 2).flatten(1)
        return h @ p["fc.weight"].T + p["fc.bias"]

    def loss(self, step, n, training=True):
        label = torch.tensor([(i + step) % 3 for i in range(n)])
        scores = self.forward(numbers(20 + step, n, 1, 4, 4), training)
        return F.cross_entropy(scores, label), int((scores.argmax(1) == label).sum())


class Shared:
    """One weight used three times, and a residual; mean squared error."""

    def __init__(self):
        self.parameters = {"w": numbers(1, 4, 4).requires_grad_(), "b": numbers(2, 4).requires_grad_()}
        self.buffers = {}

    def loss(self, step, n, training=True):
        x, w, b = numbers(20 + step, n, 4), self.parameters["w"], self.parameters["b"]
        h = torch.tanh(x @ w + b)
        h = torch.sigmoid(h @ w.T + b) + h
        return F.mse_loss(h @ w, numbers(30 + step, n, 4)), 0


def say(*what):
    print(*[w if isinstance(w, str) else " ".join(f"{v:.17g}" for v in torch.as_tensor(w).reshape(-1).tolist())
            for w in what])


for network in (Cnn, Shared):
    for name, options in OPTIMIZERS.items():
        net = network()
        sgd = torch.optim.SGD(net.parameters.values(), **options)
        say("case", network.__name__.lower(), name)
        for step, n in enumerate(STEPS):
            sgd.zero_grad()
            loss, _ = net.loss(step, n)
            loss.backward()
            say("loss", loss.detach())
            sgd.step()
        for key, value in {**net.parameters, **net.buffers}.items():
            say("value", key, value.detach())
        loss, correct = net.loss(7, 5, training=False)
        say("eval", loss.detach(), correct)
