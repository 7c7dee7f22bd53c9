"""Trains a network to tell the digits 0 to 7 apart and saves it as PyTorch's DataParallel names it: names begin with
`module.`, and the head has 8 classes. Needs PyTorch and NumPy.

    python3 examples/transfer/pretrain.py examples/data/digits examples/transfer/pretrained.safetensors
"""
import json
import struct
import sys

import numpy
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(64, classes)

    def forward(self, image):
        return self.head(self.features(image))


def read(path, header):
    return torch.from_numpy(numpy.fromfile(path, numpy.uint8)[header:].copy())


def save(path, tensors):
    """The form of safetensors: the length of a JSON header, the header, the numbers."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + 4 * tensor.numel()]}
        at += 4 * tensor.numel()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.numpy().astype("<f4").tobytes())


source, target = sys.argv[1:]
images = read(f"{source}/train-images-idx3-ubyte", 16).reshape(-1, 1, 8, 8) / 255
labels = read(f"{source}/train-labels-idx1-ubyte", 8).long()
images, labels = images[labels < 8], labels[labels < 8]
torch.manual_seed(0)
net = nn.DataParallel(Net(classes=8))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.1)
for epoch in range(20):
    for batch in torch.randperm(len(images)).split(64):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}  loss {loss.item():.4f}")
save(target, {name: tensor.detach().cpu() for name, tensor in net.state_dict().items()})
