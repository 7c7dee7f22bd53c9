"""Tests with stand-ins for the driver and CUDA's libraries: standin_test is a dp_test that uses them, cuda_test a test of
another room, run on the backend cuda.
"""

load("//tests:defs.bzl", "dp_test")

# Where the stand-in of NVRTC keeps what it has compiled, by its text. tools/test drops what is a day old.
KEPT = "/tmp/dp-standin-code"

def standin_test(name, data = [], **kwargs):
    dp_test(
        name = name,
        data = data + ["//tests/cuda/standin:libraries"],
        # No machine code that is made for GPUs, wherever it lies: the stand-ins cannot run it.
        env = {
            "DP_CUDA_CODE": "",
            "DP_STANDIN_CODE": KEPT,
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
        env = {"DP_STANDIN_CODE": KEPT},
        data = [
            of,
            "//tests/cuda/standin:libraries",
        ],
        **kwargs
    )
