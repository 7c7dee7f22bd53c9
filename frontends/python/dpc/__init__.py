"""dpc in Python: models compiled and run in this process by libdpc.so.

    dpc.onnx_backend    ONNX models, with the interface of onnx.backend.base.Backend (needs onnx and numpy)

`bazel build //tools:libdpc.so` makes the library; $DPC_LIBRARY names another place where it lies.
"""
