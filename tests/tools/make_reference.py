"""Makes reference.safetensors (initial weights, float32) and reference.json (losses, accuracy and weights after
training) with PyTorch, for the network of reference.dpt. Run by hand, from the project's root:

    python3 tests/tools/make_reference.py

Trains in float64 on examples/data/digits, in file order, for one epoch of batches of 64, the last one short. No code of
this project is used: reference_test compares dpc and dprun with these files.
"""

import json
import struct

import numpy as np
import torch
from torch import nn

DATA = "examples/data/digits/"
OUT = "tests/tools/reference."
BATCH = 64
OPTIMIZERS = {
    "sgd(lr=0.05)": dict(lr=0.05),
    "sgd(lr=0.05,momentum=0.9)": dict(lr=0.05, momentum=0.9),
    "sgd(lr=0.02,momentum=0.9,nesterov=1,weight_decay=1e-3)": dict(
        lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-3
    ),
}


def read_idx(name):
    data = open(DATA + name, "rb").read()
    shape = struct.unpack(">%dI" % data[3], data[4 : 4 + 4 * data[3]])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 8, 3, padding=1, stride=2, bias=False)
        self.bn2 = nn.BatchNorm2d(8)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, image):
        x = torch.relu(self.bn1(self.conv1(image[:, None].double() / 255)))
        x = nn.functional.max_pool2d(x, 2)
        x = torch.tanh(self.bn2(self.conv2(x))).flatten(1)
        return self.fc2(torch.relu(self.fc1(x)))


def tensors_of(net):
    return {k: v.numpy() for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = np.ascontiguousarray(tensor, dtype="<f4").tobytes()
        header[name] = dict(dtype="F32", shape=list(tensor.shape), data_offsets=[len(data), len(data) + len(raw)])
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def train(initial, options, images, labels, test_images, test_labels):
    net = Net().double()
    net.load_state_dict({k: torch.from_numpy(v).double() for k, v in initial.items()}, strict=False)
    optimizer = torch.optim.SGD(net.parameters(), **options)
    losses = []
    for first in range(0, len(images), BATCH):
        optimizer.zero_grad()
        scores = net(images[first : first + BATCH])
        loss = nn.functional.cross_entropy(scores, labels[first : first + BATCH])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        scores = net(test_images)
    return {
        "losses": losses,
        "eval_loss": nn.functional.cross_entropy(scores, test_labels).item(),
        "accuracy": (scores.argmax(1) == test_labels).double().mean().item(),
        "norms": {k: float(np.linalg.norm(v)) for k, v in tensors_of(net).items()},
        "sums": {k: float(np.sum(v)) for k, v in tensors_of(net).items()},
    }


def main():
    torch.manual_seed(5)
    torch.set_num_threads(1)
    images, labels = (torch.from_numpy(read_idx("train-" + n).copy()) for n in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    test = [torch.from_numpy(read_idx("test-" + n).copy()) for n in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    initial = tensors_of(Net())
    write_safetensors(OUT + "safetensors", initial)
    runs = {
        spec: train(initial, options, images, labels.long(), test[0], test[1].long())
        for spec, options in OPTIMIZERS.items()
    }
    with open(OUT + "json", "w") as f:
        json.dump({"torch": torch.__version__, "batch": BATCH, "runs": runs}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
