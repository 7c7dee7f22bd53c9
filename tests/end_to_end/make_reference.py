"""Makes reference.dpt (a network with its initial weights) and reference.txt (what training it gives) with PyTorch. Run
by hand, from the project's root:

    python3 tests/end_to_end/make_reference.py

Six steps on examples/data/digits in file order, in float64; the last batch is short. No code of this project is used:
reference_test compares the compiler and the runtime with these files.
"""

import base64
import struct

import numpy as np
import torch
from torch import nn

DATA = "examples/data/digits/train-"
OUT = "tests/end_to_end/reference."
BATCHES = [16, 16, 16, 16, 16, 7]
EVALUATED = 50

MODEL = """// Made by make_reference.py.
model reference {{
  opset 18
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.05,momentum=0.9)"

  input image: uint8[N,1,8,8]
  constant scale: float32[] = 255

{persistents}

  pixels = Cast(image) {{to="float32"}}
  x0 = Div(pixels, scale)
  c1 = Conv(x0, conv1.weight, conv1.bias) {{pads=[1,1,1,1]}}
  n1, m1, v1 = BatchNormalization(c1, bn1.weight, bn1.bias, bn1.running_mean, bn1.running_var) {{training_mode=1, unbiased=1}}
  r1 = Relu(n1)
  p1 = MaxPool(r1) {{kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}}
  c2 = Conv(p1, conv2.weight) {{group=2, pads=[0,0,1,1], strides=[1,2]}}
  n2, m2, v2 = BatchNormalization(c2, bn2.weight, bn2.bias, bn2.running_mean, bn2.running_var) {{training_mode=1, unbiased=1, momentum=0.75, epsilon=1e-3}}
  t2 = Tanh(n2)
  g = GlobalAveragePool(t2)
  flat = Flatten(g)
  logits = Gemm(flat, fc.weight, fc.bias) {{transB=1}}
  output logits
}}
"""


def read_idx(name):
    data = open(DATA + name, "rb").read()
    shape = struct.unpack(">%dI" % data[3], data[4 : 4 + 4 * data[3]])
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape).copy())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 6, 3, stride=(1, 2), groups=2, bias=False)
        self.bn2 = nn.BatchNorm2d(6, momentum=0.25, eps=1e-3)
        self.fc = nn.Linear(6, 10)

    def forward(self, image):
        x = torch.relu(self.bn1(self.conv1(image[:, None].double() / 255)))
        x = nn.functional.max_pool2d(x, 3, stride=2, padding=1)
        x = self.conv2(nn.functional.pad(x, (0, 1, 0, 1)))
        return self.fc(torch.tanh(self.bn2(x)).mean((2, 3)))


def tensors_of(net):
    return {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}


def persistent(name, tensor):
    kind = "buffer" if "running" in name else "parameter"
    shape = ",".join(str(d) for d in tensor.shape)
    data = base64.b64encode(tensor.numpy().astype("<f4").tobytes()).decode()
    return f'  {kind} {name}: float32[{shape}] = base64 "{data}"'


def main():
    torch.manual_seed(11)
    torch.set_num_threads(1)
    net = Net()
    with torch.no_grad():  # away from values that would hide mistakes
        for norm in (net.bn1, net.bn2):
            norm.weight.uniform_(0.5, 1.5)
            norm.bias.uniform_(-0.3, 0.3)
            norm.running_mean.uniform_(-0.2, 0.2)
            norm.running_var.uniform_(0.5, 2)
    with open(OUT + "dpt", "w") as f:
        f.write(MODEL.format(persistents="\n".join(persistent(k, v) for k, v in tensors_of(net).items())))
    net.double()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    images, labels = read_idx("images-idx3-ubyte"), read_idx("labels-idx1-ubyte").long()
    lines, first = [], 0
    for n in BATCHES:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images[first : first + n]), labels[first : first + n])
        loss.backward()
        optimizer.step()
        lines.append(("loss", [loss.item()]))
        first += n
    net.eval()
    with torch.no_grad():
        scores, expected = net(images[first : first + EVALUATED]), labels[first : first + EVALUATED]
        for k in range(0, EVALUATED, BATCHES[0]):
            loss = nn.functional.cross_entropy(scores[k : k + BATCHES[0]], expected[k : k + BATCHES[0]])
            right = (scores[k : k + BATCHES[0]].argmax(1) == expected[k : k + BATCHES[0]]).sum()
            lines.append(("eval", [loss.item(), right.item()]))
    lines += [(k, v.flatten().tolist()) for k, v in tensors_of(net).items()]
    for parameter, state in optimizer.state.items():
        name = next(k for k, p in net.named_parameters() if p is parameter)
        lines.append(("dp.momentum/" + name, state["momentum_buffer"].flatten().tolist()))
    with open(OUT + "txt", "w") as f:
        f.write(f"# Made by make_reference.py with PyTorch {torch.__version__}.\n")
        for name, numbers in lines:
            f.write(name + "".join(f" {x:.17g}" for x in numbers) + "\n")


if __name__ == "__main__":
    main()
