"""Makes samples/ with NumPy, Pillow and zstandard: files of each format, and as .npy what they hold.

python3 make_samples.py, in this folder. Each expected_*.npy is float64 with samples first.
"""
import gzip
import io
import os
import struct
import tarfile

import numpy as np
import zstandard
from PIL import Image

os.makedirs("samples", exist_ok=True)
os.chdir("samples")
random = np.random.default_rng(1)


def expect(name, array):
    np.save(f"expected_{name}.npy", np.asarray(array, dtype=np.float64))


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)


# ---- .npz -------------------------------------------------------------------------------------------------------
x = random.standard_normal((6, 3)).astype(np.float32)
y = random.integers(0, 5, 6)
np.savez("two.npz", x=x, y=y)
np.savez_compressed("packed.npz", x=x, y=y)
np.savez("one.npz", x)
expect("x", x)
expect("y", y)

# ---- compressed -------------------------------------------------------------------------------------------------
buffer = io.BytesIO()
np.save(buffer, x)
write("x.npy.gz", gzip.compress(buffer.getvalue(), mtime=0))
write("x.npy.zst", zstandard.ZstdCompressor().compress(buffer.getvalue()))

# ---- CSV --------------------------------------------------------------------------------------------------------
rows = "\r\n".join(",".join(f"{v:.9g}" for v in [*row, label]) for row, label in zip(x, y))
write("named.csv", f'\ufeffa,"the ""b""", c ,label\r\n{rows}\r\n'.encode())
write("bare.csv", rows.replace("\r", "").encode())
write("named.csv.zst", zstandard.ZstdCompressor().compress(f"a,b,c,label\n{rows}\n".encode()))

# ---- tokens -----------------------------------------------------------------------------------------------------
tokens = random.integers(0, 50000, 34)
tokens.astype("<u2").tofile("tokens16.bin")
(tokens + 100000).astype("<u4").tofile("tokens32.bin")
expect("tokens", tokens[:32].reshape(4, 8))
expect("next", tokens[1:33].reshape(4, 8))

# ---- CIFAR ------------------------------------------------------------------------------------------------------
pictures = random.integers(0, 256, (3, 3, 32, 32), dtype=np.uint8)
labels = np.array([7, 0, 9], dtype=np.uint8)
coarse = np.array([1, 19, 4], dtype=np.uint8)
write("cifar10.bin", b"".join(bytes([l]) + p.tobytes() for l, p in zip(labels, pictures)))
write("cifar100.bin", b"".join(bytes([c, l]) + p.tobytes() for c, l, p in zip(coarse, labels, pictures)))
expect("cifar", pictures)
expect("labels", labels)
expect("coarse", coarse)

# ---- pictures ---------------------------------------------------------------------------------------------------
WIDTH, HEIGHT = 9, 7


def smooth(seed):
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [(columns * 20 + seed * 10) % 256, rows * 30, (rows + columns) * 12]
    return np.stack(planes, -1).astype(np.uint8)


def encode(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


colour = Image.fromarray(smooth(3))
grey = colour.convert("L")
made = {
    "cats/a.png": encode(colour, "PNG"),
    "cats/b.jpg": encode(Image.fromarray(smooth(5)), "JPEG", quality=90),
    "cats/c.JPEG": encode(Image.fromarray(smooth(6)), "JPEG", quality=70, progressive=True),
    "dogs/d.png": encode(colour.quantize(16), "PNG"),
    "dogs/e.png": encode(grey, "PNG"),
    "dogs/f.png": encode(Image.merge("RGBA", [*colour.split(), grey]), "PNG"),
    "dogs/g.jpg": encode(grey, "JPEG"),
    "emus/h.png": encode(grey.convert("1"), "PNG"),
    "emus/i.jpg": encode(colour, "JPEG", subsampling=0),
}
decoded = []
for name, content in made.items():
    os.makedirs(os.path.dirname(f"pictures/{name}"), exist_ok=True)
    write(f"pictures/{name}", content)
    decoded.append(np.asarray(Image.open(io.BytesIO(content)).convert("RGB")))
write("pictures/dogs/notes.txt", b"no picture\n")
expect("pictures", np.stack(decoded).transpose(0, 3, 1, 2))
classes = [0, 0, 0, 1, 1, 1, 1, 2, 2]
expect("classes", classes)

# ---- tar --------------------------------------------------------------------------------------------------------
for form, name in [(tarfile.GNU_FORMAT, "gnu.tar"), (tarfile.PAX_FORMAT, "pax.tar"), (tarfile.USTAR_FORMAT, "us.tar")]:
    with tarfile.open(name, "w", format=form) as tar:
        for i, (path, content) in enumerate(made.items()):
            long = "folder/" * (20 if name == "us.tar" else 40)
            key = f"{long if i % 3 == 0 else ''}{i:05}"
            ending = "png" if path.endswith("png") else "jpg"
            for member, data in [(f"{key}.{ending}", content), (f"{key}.cls", f"{classes[i]}\n".encode())]:
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
write("us.tar.gz", gzip.compress(open("us.tar", "rb").read(), mtime=0))

# ---- of other colours or depths ---------------------------------------------------------------------------------
write("cmyk.jpg", encode(colour.convert("CMYK"), "JPEG"))
write("deep.png", encode(Image.fromarray(smooth(3)[:, :, 0].astype(np.uint16) * 256), "PNG"))

# ---- broken -----------------------------------------------------------------------------------------------------
def png_chunk(kind, data):
    import zlib
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


giant = struct.pack(">IIBBBBB", 1000000000, 1000000000, 8, 2, 0, 0, 0)
write("giant.png", b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", giant) + png_chunk(b"IDAT", b"\x78\x9c") +
      png_chunk(b"IEND", b""))
