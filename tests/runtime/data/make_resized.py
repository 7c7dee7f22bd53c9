"""Makes resized.txt: which parts of pictures torchvision's RandomResizedCrop chooses, given the numbers that
dp.augment.resized draws, and what PyTorch makes of parts. Needs torchvision and xxhash.

    python3 tests/runtime/data/make_resized.py > tests/runtime/data/resized.txt
"""
import random
import types
import unittest.mock

import numpy
import torch
import torchvision.transforms.transforms
import torchvision.transforms.v2.functional as functional
import xxhash
from torchvision.transforms import RandomResizedCrop


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


class Words:
    """The words of one attempt after the other: area, ratio, top, left."""

    def __init__(self, seed, epoch, sample):
        self.seed, self.epoch, self.sample, self.given = seed, epoch, sample, []

    def next(self):
        attempt, word = divmod(len(self.given), 4)
        name = xxhash.xxh3_64_intdigest(b"dp.augment.resized") + attempt & 0xFFFFFFFF
        block = philox([self.epoch, name, self.sample & 0xFFFFFFFF, self.sample >> 32],
                       [self.seed & 0xFFFFFFFF, self.seed >> 32])
        self.given.append(block[word])
        return block[word]

    def uniform(self, low, high):
        # The third number of an attempt is a place, so one that did not fit leaves two.
        while len(self.given) % 4 > 1:
            self.next()
        return low + (high - low) * (self.next() >> 8) / 2 ** 24

    def integer(self, count):
        return self.next() * count >> 32


def choose(area, height, width, words):
    """What get_params chooses when its random numbers are these, and in float64."""
    torch_ = types.SimpleNamespace(
        empty=lambda _: types.SimpleNamespace(uniform_=lambda low, high: numpy.float64(words.uniform(low, high))),
        randint=lambda low, high, size: numpy.int64(low + words.integer(high - low)),
        tensor=numpy.array, log=numpy.log, exp=numpy.exp)
    with unittest.mock.patch.object(torchvision.transforms.transforms, "torch", torch_):
        return RandomResizedCrop.get_params(torch.ones(1).expand(1, height, width), list(area), [3 / 4, 4 / 3])


draw = random.Random(1)
for case in range(400):
    height, width = draw.choice([(28, 28), (32, 32), (7, 61), (90, 6), (224, 180), (1, 1), (3, 2)])
    area = draw.choice([(0.08, 1), (0.25, 0.5), (0.9, 1), (1, 1)])
    seed, epoch, sample = draw.getrandbits(64), draw.randrange(5), draw.choice([draw.randrange(9), draw.getrandbits(40)])
    part = choose(area, height, width, Words(seed, epoch, sample))
    print("choose", height, width, *area, seed, epoch, sample, *map(int, part))

torch.manual_seed(2)
for dtype, name in ((torch.uint8, "uint8"), (torch.float32, "float32"), (torch.float64, "float64")):
    for height, width, channels, part in ((5, 7, 1, (1, 2, 3, 4)), (6, 4, 3, (0, 0, 6, 4)), (4, 9, 3, (3, 1, 1, 2)),
                                          (8, 8, 1, (2, 5, 1, 1)), (5, 5, 2, (0, 1, 4, 4))):
        picture = torch.rand(channels, height, width, dtype=torch.float64) * 255
        picture = picture.round().to(dtype) if dtype == torch.uint8 else picture.to(dtype)
        top, left, h, w = part
        cut = picture[:, top:top + h, left:left + w].double()
        large = functional.resize(cut, [height, width], antialias=True)
        large = large.round().to(dtype) if dtype == torch.uint8 else large
        print("enlarge", name, height, width, channels, *part, *(repr(v) for v in picture.flatten().tolist()),
              *(repr(v) for v in large.flatten().tolist()))
