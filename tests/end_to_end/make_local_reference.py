"""Makes local_reference.dpt (a network with its initial weights) and local_reference.txt (what training it with
--batchnorm=local gives on several device counts) with PyTorch on one device. Run by hand, from the project's root:

    python3 tests/end_to_end/make_local_reference.py

Trains on examples/data/digits in file order, in float64. Some batches do not divide by the device count, and some are
smaller. Each batch is cut as the devices would cut it, and every part is normalised by its own statistics. Loss and
gradient are those of the whole batch. The running statistics learn from the first part that has samples, which is what
device 0 does in DataParallel and DistributedDataParallel. A part with one value per channel, which PyTorch refuses, has
variance 0. No code of this project is used.
"""

import torch
from torch import nn

from make_reference import persistent, read_idx, tensors_of

OUT = "tests/end_to_end/local_reference."
DEVICES = [1, 2, 3, 4, 5, 8]
BATCHES = [13, 16, 7, 3, 1, 16, 5]
EVALUATED = 9

MODEL = """// Made by make_local_reference.py.
model local_reference {{
  opset 18
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.05,momentum=0.9)"

  input image: uint8[N,1,8,8]
  constant scale: float32[] = 255

{persistents}

  pixels = Cast(image) {{to="float32"}}
  x0 = Div(pixels, scale)
  rows = Reshape(x0) {{shape=[8*N,8]}}
  n1, m1, v1 = BatchNormalization(rows, bn1.weight, bn1.bias, bn1.running_mean, bn1.running_var)
    {{training_mode=1, unbiased=1}}
  picture = Reshape(n1) {{shape=[N,1,8,8]}}
  c = Conv(picture, conv.weight) {{pads=[1,1,1,1]}}
  n2, m2, v2 = BatchNormalization(c, bn2.weight, bn2.bias, bn2.running_mean, bn2.running_var)
    {{training_mode=1, unbiased=1}}
  t2 = Tanh(n2)
  p = AveragePool(t2) {{kernel_shape=[4,4], strides=[4,4]}}
  flat = Flatten(p)
  h = Gemm(flat, fc1.weight, fc1.bias) {{transB=1}}
  n3, m3, v3 = BatchNormalization(h, bn3.weight, bn3.bias, bn3.running_mean, bn3.running_var)
    {{training_mode=1, unbiased=1, momentum=0.75, epsilon=1e-3}}
  t3 = Tanh(n3)
  logits = Gemm(t3, fc2.weight, fc2.bias) {{transB=1}}
  output logits
}}
"""


class LocalNorm(nn.Module):
    """Batch normalization as `parts` devices do it, each by itself."""

    def __init__(self, channels, momentum=0.1, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels).uniform_(0.5, 1.5))
        self.bias = nn.Parameter(torch.empty(channels).uniform_(-0.3, 0.3))
        self.register_buffer("running_mean", torch.empty(channels).uniform_(-0.2, 0.2))
        self.register_buffer("running_var", torch.empty(channels).uniform_(0.5, 2))
        self.momentum, self.eps = momentum, eps

    def normalise(self, x, mean, var):
        wide = lambda v: v.reshape([1, -1] + [1] * (x.dim() - 2))
        return (x - wide(mean)) / torch.sqrt(wide(var) + self.eps) * wide(self.weight) + wide(self.bias)

    def forward(self, x, samples, parts):
        if not self.training:
            return self.normalise(x, self.running_mean, self.running_var)
        unit, results, first = x.shape[0] // samples, [], True
        for i in range(parts):
            part = x[i * samples // parts * unit : (i + 1) * samples // parts * unit]
            if not len(part):
                continue
            dims = [d for d in range(x.dim()) if d != 1]
            count = part.numel() // part.shape[1]
            mean = part.mean(dims)
            var = ((part - mean.reshape([1, -1] + [1] * (x.dim() - 2))) ** 2).mean(dims)
            results.append(self.normalise(part, mean, var))
            if count > 1:
                theirs = nn.functional.batch_norm(part, None, None, self.weight, self.bias, True, 0, self.eps)
                assert torch.allclose(results[-1], theirs, rtol=1e-12, atol=1e-12)
            if first:
                with torch.no_grad():
                    self.running_mean.lerp_(mean, self.momentum)
                    self.running_var.lerp_(var * count / max(count - 1, 1), self.momentum)
            first = False
        return torch.cat(results)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn1 = LocalNorm(8)
        self.conv = nn.Conv2d(1, 3, 3, padding=1, bias=False)
        self.bn2 = LocalNorm(3)
        self.fc1 = nn.Linear(12, 5)
        self.bn3 = LocalNorm(5, momentum=0.25, eps=1e-3)
        self.fc2 = nn.Linear(5, 10)

    def forward(self, image, parts):
        n = len(image)
        x = self.bn1((image.double() / 255).reshape(8 * n, 8), n, parts).reshape(n, 1, 8, 8)
        x = torch.tanh(self.bn2(self.conv(x), n, parts))
        x = self.fc1(nn.functional.avg_pool2d(x, 4).flatten(1))
        return self.fc2(torch.tanh(self.bn3(x, n, parts)))


def train(initial, parts, images, labels):
    """Lines of the text file: name, numbers."""
    net = Net().double()
    net.load_state_dict(initial)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    lines, first = [("devices", [parts])], 0
    for n in BATCHES:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images[first : first + n], parts), labels[first : first + n])
        loss.backward()
        optimizer.step()
        lines.append(("loss", [loss.item()]))
        first += n
    net.eval()
    with torch.no_grad():
        scores = net(images[first : first + EVALUATED], parts)
        lines.append(("eval", [nn.functional.cross_entropy(scores, labels[first : first + EVALUATED]).item()]))
    return lines + [(k, v.flatten().tolist()) for k, v in tensors_of(net).items()]


def main():
    torch.manual_seed(5)
    torch.set_num_threads(1)
    net = Net()
    with open(OUT + "dpt", "w") as f:
        f.write(MODEL.format(persistents="\n".join(persistent(k, v) for k, v in tensors_of(net).items())))
    initial = net.double().state_dict()
    images, labels = read_idx("images-idx3-ubyte"), read_idx("labels-idx1-ubyte").long()
    with open(OUT + "txt", "w") as f:
        f.write(f"# Made by make_local_reference.py with PyTorch {torch.__version__}.\n")
        for parts in DEVICES:
            for name, numbers in train(initial, parts, images, labels):
                f.write(name + "".join(f" {x:.17g}" for x in numbers) + "\n")


if __name__ == "__main__":
    main()
