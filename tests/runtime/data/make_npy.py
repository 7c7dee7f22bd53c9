#!/usr/bin/env python3
"""Writes the arrays of npy_write_test with NumPy, into the folder npy beside this file. NumPy 2.4 made what is there."""
import pathlib

import numpy as np

folder = pathlib.Path(__file__).parent / "npy"
folder.mkdir(exist_ok=True)
for name in ("float32", "float64", "float16", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "bool"):
    np.save(folder / f"{name}.npy", np.arange(6).reshape(2, 3).astype(name))
np.save(folder / "number.npy", np.array(-2.5))
np.save(folder / "row.npy", np.array([1.5, -0.0, np.inf, np.nan], np.float32))
np.save(folder / "empty.npy", np.zeros((0, 4), np.int64))
np.save(folder / "deep.npy", np.arange(1024, dtype=np.uint8).reshape(1, 2, 1, 4, 1, 128, 1, 1))
# Headers just below, at and above a multiple of 64 bytes. Such arrays are too large to make, so only headers are
# written.
for digits in range(1, 5):
    with open(folder / f"long{digits}.npy", "wb") as file:
        shape = (0,) + (10**digits,) * 7
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
# bfloat16 is written as float32; these are the upper halves of the bits.
np.save(folder / "bfloat16.npy", (np.array([0x3F80, 0xC049, 0x7F80, 0x0001], np.uint32) << 16).view(np.float32))
