"""cuda_test: a test of another room, run on the backend cuda with stand-ins for the driver and CUDA's libraries."""

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
