"""Tests with stand-ins for the driver and CUDA's libraries: standin_test is a dp_test that uses them, cuda_test a test of
another room, run on the backend cuda.
"""

load("//tests:defs.bzl", "dp_test")

def standin_test(name, data = [], **kwargs):
    dp_test(
        name = name,
        data = data + ["//tests/cuda/standin:libraries"],
        # No machine code that is made for GPUs, wherever it lies: the stand-ins cannot run it.
        env = {
            "DP_CUDA_CODE": "",
            "LD_LIBRARY_PATH": "tests/cuda/standin",
        },
        **kwargs
    )

def cuda_test(name, of, arguments = [], size = "medium", **kwargs):
    native.sh_test(
        name = name,
        size = size,
        srcs = ["on_standin.sh"],
        args = ["$(location %s)" % of] + arguments,
        data = [
            of,
            "//tests/cuda/standin:libraries",
        ],
        **kwargs
    )
