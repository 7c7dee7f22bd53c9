"""The files that both sides read: data by a seed, and first weights. Needs no PyTorch."""
import array
import json
import math
import os
import random
import struct

BATCHES = 8  # different ones, over and over


def token_type(network):
    return "uint16" if network.classes <= 1 << 16 else "uint32"


def token_count(network):
    return BATCHES * network.batch * network.sample[0] + 1


def write_npy(path, kind, shape, parts):
    """parts: bytes of the elements, in order."""
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (kind, ", ".join(str(n) for n in shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for part in parts:
            file.write(part)


def pictures(network, folder):
    """Noise whose mean tells the class."""
    drawn = random.Random(1)
    samples, size = BATCHES * network.batch, network.sample[0] * network.sample[1] * network.sample[2]
    labels = [drawn.randrange(network.classes) for _ in range(samples)]
    last = max(network.classes - 1, 1)
    tables = [bytes(b // 2 + 127 * c // last for b in range(256)) for c in range(network.classes)]
    parts = (drawn.randbytes(size).translate(tables[label]) for label in labels)
    write_npy(folder + "/x.npy", "|u1", (samples, *network.sample), parts)
    write_npy(folder + "/label.npy", "<u2", (samples,), [array.array("H", labels).tobytes()])


def tokens(network, folder):
    """Words that are the less frequent the higher their number, as those of a language are."""
    drawn = random.Random(1)
    words = (int(network.classes ** drawn.random()) - 1 for _ in range(token_count(network)))
    with open(folder + "/tokens.bin", "wb") as file:
        array.array("H" if token_type(network) == "uint16" else "I", words).tofile(file)


def write_data(network, folder):
    (tokens if network.is_text() else pictures)(network, folder)


def data_arguments(network, folder, steps):
    """The same for dprun, as often as it takes for so many steps to be one epoch: between two it waits for the
    device."""
    names = ("tokens.bin",) if network.is_text() else ("x.npy", "label.npy")
    os.makedirs(folder + "/epoch", exist_ok=True)
    for name in names:
        for i in range(-(-steps // BATCHES)):
            link = "%s/epoch/%05d.%s" % (folder, i, name)
            if not os.path.lexists(link):
                os.symlink("../" + name, link)
    pattern = folder + "/epoch/*."
    if not network.is_text():
        return ["--data", "x=%sx.npy" % pattern, "--data", "label=%slabel.npy" % pattern]
    file = "%stokens.bin:%s" % (pattern, token_type(network))
    return ["--data", "x=" + file, "--data", "label=%s+1" % file]


def write_weights(path, tensors):
    """A file of safetensors. tensors: (name, extents, what gives its float32 bytes), in order."""
    header, end = {}, 0
    for name, extents, _ in tensors:
        begin, end = end, end + 4 * math.prod(extents)
        header[name] = {"dtype": "F32", "shape": list(extents), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".new", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, give in tensors:
            file.write(give())
    os.replace(path + ".new", path)
