"""Makes references.txt: the losses of 200 steps of three networks in PyTorch, in float32 and under its autocast in
bfloat16, on the CPU. Run by hand, from the project's root:

    python3 tests/end_to_end/mixed/make_references.py

No code of this project is used. Weights and tokens follow formulas that mixed_test has too.
"""
import numpy as np
import torch
import torch.nn.functional as F

DATA = "examples/data/digits/train-"
OUT = "tests/end_to_end/mixed/references.txt"
STEPS, BATCH, SAMPLES = 200, 32, 1024


def weights(name, shape, bound):
    """Between -bound and bound, by a hash of the index and of the name's bytes."""
    count = int(np.prod(shape))
    seed = sum(name.encode()) & 0xFFFFFFFF
    x = (np.arange(1, count + 1, dtype=np.uint64) * 2654435761 + seed * 40503) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 2246822519) & 0xFFFFFFFF
    x = x ^ (x >> 13)
    u = (x >> 8).astype(np.float64) / (1 << 23) - 1
    return torch.tensor((u * bound).astype(np.float32)).reshape(shape)


class Network(torch.nn.Module):
    def __init__(self, shapes):
        super().__init__()
        for name, (shape, bound) in shapes.items():
            value = torch.ones(shape) if bound == "ones" else weights(name, shape, bound)
            setattr(self, name.replace(".", "_"), torch.nn.Parameter(value))


class Mlp(Network):
    optimizer = staticmethod(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))

    def __init__(self):
        super().__init__({"w1": ((64, 64), 0.125), "b1": ((64,), 0.125), "w2": ((10, 64), 0.125), "b2": ((10,), 0.125)})

    def forward(self, x):
        return F.linear(torch.relu(F.linear(x.flatten(1), self.w1, self.b1)), self.w2, self.b2)


class Cnn(Network):
    optimizer = staticmethod(lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9))

    def __init__(self):
        super().__init__({"c1": ((8, 1, 3, 3), 0.33), "n1": ((8,), "ones"), "m1": ((8,), 0.01),
                          "c2": ((16, 8, 3, 3), 0.12), "n2": ((16,), "ones"), "m2": ((16,), 0.01),
                          "w": ((10, 64), 0.125), "b": ((10,), 0.125)})

    def forward(self, x):
        x = torch.relu(F.batch_norm(F.conv2d(x, self.c1, padding=1), None, None, self.n1, self.m1, training=True))
        x = F.max_pool2d(x, 2)
        x = torch.relu(F.batch_norm(F.conv2d(x, self.c2, padding=1), None, None, self.n2, self.m2, training=True))
        return F.linear(F.max_pool2d(x, 2).flatten(1), self.w, self.b)


class Gpt(Network):
    optimizer = staticmethod(lambda p: torch.optim.Adam(p, lr=1e-3))
    T, D, HEADS, V = 16, 32, 4, 64

    def __init__(self):
        d, shapes = self.D, {"wte": ((self.V, self.D), 0.5), "wpe": ((self.T, self.D), 0.5)}
        for b in ("b0.", "b1."):
            for norm in ("n1", "n2"):
                shapes[b + norm + ".w"] = ((d,), "ones")
                shapes[b + norm + ".b"] = ((d,), 0.01)
            shapes |= {b + "qkv.w": ((d, 3 * d), 0.18), b + "qkv.b": ((3 * d,), 0.01), b + "o.w": ((d, d), 0.18),
                       b + "up.w": ((d, 4 * d), 0.18), b + "up.b": ((4 * d,), 0.01),
                       b + "down.w": ((4 * d, d), 0.09), b + "down.b": ((d,), 0.01)}
        shapes["head.w"] = ((d, self.V), 0.18)
        super().__init__(shapes)

    def forward(self, tokens):
        n, d = tokens.shape[0], self.D
        h = F.embedding(tokens, self.wte) + self.wpe
        mask = torch.full((self.T, self.T), -1e9).triu(1)
        heads = lambda x: x.reshape(n, self.T, self.HEADS, d // self.HEADS).transpose(1, 2)
        for b in ("b0_", "b1_"):
            of = lambda name: getattr(self, b + name)
            x = F.layer_norm(h, (d,), of("n1_w"), of("n1_b"))
            q, k, v = map(heads, F.linear(x, of("qkv_w").t(), of("qkv_b")).split(d, 2))
            p = torch.softmax(q @ k.transpose(-1, -2) / 2 + mask, -1)
            h = h + F.linear((p @ v).transpose(1, 2).reshape(n, self.T, d), of("o_w").t())
            x = F.layer_norm(h, (d,), of("n2_w"), of("n2_b"))
            x = F.gelu(F.linear(x, of("up_w").t(), of("up_b")))
            h = h + F.linear(x, of("down_w").t(), of("down_b"))
        return F.linear(h, self.head_w.t())


def digits():
    with open(DATA + "images-idx3-ubyte", "rb") as f:
        images = np.frombuffer(f.read()[16:], np.uint8).reshape(-1, 1, 8, 8)[:SAMPLES]
    with open(DATA + "labels-idx1-ubyte", "rb") as f:
        labels = np.frombuffer(f.read()[8:], np.uint8)[:SAMPLES]
    return torch.tensor(images.astype(np.float32) / 255), torch.tensor(labels.astype(np.int64))


def tokens():
    s = np.arange(SAMPLES)[:, None]
    text = ((s * 7 + 3) % 61 + np.arange(Gpt.T + 1)[None] * (1 + s % 5)) % Gpt.V
    return torch.tensor(text[:, :-1]), torch.tensor(text[:, 1:])


def train(make, data, autocast):
    network = make()
    optimizer = make.optimizer(network.parameters())
    x, y = data
    losses = []
    for step in range(STEPS):
        at = torch.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            scores = network(x[at])
            # In float32, as autocast does it on GPUs.
            loss = F.cross_entropy(scores.float().flatten(0, -2), y[at].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.set_num_threads(1)
    with open(OUT, "w") as f:
        f.write("# Made by make_references.py.\n")
        for name, make, data in (("mlp", Mlp, digits()), ("cnn", Cnn, digits()), ("gpt", Gpt, tokens())):
            for kind, autocast in (("fp32", False), ("autocast", True)):
                losses = train(make, data, autocast)
                f.write(f"{name}.{kind} " + " ".join(f"{loss:.9g}" for loss in losses) + "\n")


main()
