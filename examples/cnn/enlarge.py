"""Makes the digits of this folder, 28x28 pixels as MNIST's, from those of 8x8 in examples/data/digits: enlarged to
20x20 bilinearly, with a margin of 4.

    python3 examples/cnn/enlarge.py examples/data/digits examples/cnn
"""
import gzip
import struct
import sys

SMALL, LARGE, MARGIN = 8, 20, 4


def neighbours(at):
    """Two places of the small side, and the share of the second."""
    place = min(max((at + 0.5) * SMALL / LARGE - 0.5, 0), SMALL - 1)
    first = min(int(place), SMALL - 2)
    return first, first + 1, place - first


def enlarge(small):
    side = LARGE + 2 * MARGIN
    large = bytearray(side * side)
    for y in range(LARGE):
        y0, y1, fy = neighbours(y)
        for x in range(LARGE):
            x0, x1, fx = neighbours(x)
            above = small[y0 * SMALL + x0] * (1 - fx) + small[y0 * SMALL + x1] * fx
            below = small[y1 * SMALL + x0] * (1 - fx) + small[y1 * SMALL + x1] * fx
            large[(y + MARGIN) * side + x + MARGIN] = round(above * (1 - fy) + below * fy)
    return bytes(large)


def write(path, content):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(content)


source, target = sys.argv[1:]
for part in "train", "test":
    with open(f"{source}/{part}-images-idx3-ubyte", "rb") as file:
        magic, count, height, width = struct.unpack(">4I", file.read(16))
        pictures = [file.read(height * width) for _ in range(count)]
    side = LARGE + 2 * MARGIN
    header = struct.pack(">4I", magic, count, side, side)
    write(f"{target}/{part}-images-idx3-ubyte.gz", header + b"".join(map(enlarge, pictures)))
    with open(f"{source}/{part}-labels-idx1-ubyte", "rb") as file:
        write(f"{target}/{part}-labels-idx1-ubyte.gz", file.read())
