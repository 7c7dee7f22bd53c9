"""Measures by PyTorch what a device reaches.

    peaks.py DEVICE PRECISION THREADS full|small      prints TFLOP/s of products and GB/s of copies"""
import os
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from processes import keep_apart, say  # noqa: E402
from setting import configure, type_of, wait  # noqa: E402


def main(device, precision, threads, size):
    """The best of several products of square matrices of several sizes, and of several copies."""
    import torch

    configure(int(threads))
    device = torch.device(device)
    large = device.type == "cuda" and size != "small"

    def best(do):
        """Seconds of one of four, in the fastest of nine times."""
        least = float("inf")
        for _ in range(9):
            wait(device)
            begun = time.perf_counter()
            for _ in range(4):
                do()
            wait(device)
            least = min(least, (time.perf_counter() - begun) / 4)
        return least

    flops = 0
    for width in (4096, 8192, 16384) if large else (256, 1024):
        a = torch.randn(width, width, device=device).to(type_of(precision))
        flops = max(flops, 2 * width**3 / best(lambda: torch.mm(a, a)))
    numbers = 1 << (28 if large else 22)
    big, copy = (torch.ones(numbers, device=device) for _ in range(2))
    say(tflops=flops / 1e12, gbytes=2 * 4 * numbers / best(lambda: copy.copy_(big)) / 1e9)


if __name__ == "__main__":
    keep_apart()
    main(*sys.argv[1:])
