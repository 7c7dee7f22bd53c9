"""libdpc.so by ctypes: tools/embed/embed.h in Python's terms, and its failures as exceptions."""

import ctypes
import os
import pathlib

MAX_RANK = 8
MAX_OPSET = 28
MESSAGE_ROOM = 4096
EX_DATAERR, EX_UNAVAILABLE = 65, 69


class Error(RuntimeError):
    """What the library refused. code: an exit code of <sysexits.h>."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Tensor(ctypes.Structure):
    """dp_embed_tensor"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("extents", ctypes.c_int64 * MAX_RANK),
        ("bytes", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
    ]

    @property
    def shape(self):
        return tuple(self.extents[: self.rank])


def _find():
    if "DPC_LIBRARY" in os.environ:
        return os.environ["DPC_LIBRARY"]
    here = pathlib.Path(__file__).resolve().parent
    places = [here / "libdpc.so", here.parents[2] / "bazel-bin" / "tools" / "libdpc.so"]
    for place in places:
        if place.exists():
            return str(place)
    raise ImportError(f"libdpc.so is not in {here} and not built: run 'bazel build //tools:libdpc.so' "
                      "or name it in the environment variable DPC_LIBRARY")


def _load():
    library = ctypes.CDLL(_find())
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    tensor = ctypes.POINTER(Tensor)
    signatures = {
        "dp_embed_needs": (ctypes.c_int, [text, size, text, size, ctypes.POINTER(ctypes.c_bool), text, size]),
        "dp_embed_open": (ctypes.c_int, [text, text, size]),
        "dp_embed_compile": (ctypes.c_int,
                             [text, size, text, text, ctypes.c_int, ctypes.POINTER(pointer), text, size]),
        "dp_embed_destroy": (None, [pointer]),
        "dp_embed_input": (ctypes.c_bool, [pointer, size, tensor]),
        "dp_embed_output": (ctypes.c_bool, [pointer, size, tensor]),
        "dp_embed_run": (ctypes.c_int, [pointer, text, size]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


def _call(name, *arguments):
    message = ctypes.create_string_buffer(MESSAGE_ROOM)
    code = getattr(_library, name)(*arguments, message, MESSAGE_ROOM)
    if code:
        raise Error(code, message.value.decode("utf-8", "replace"))


def needs(model, path, n_inputs):
    """Which of the model's inputs must be constants before it can be compiled: a list of bools."""
    flags = (ctypes.c_bool * n_inputs)()
    _call("dp_embed_needs", model, len(model), os.fsencode(path), n_inputs, flags)
    return list(flags)


def open_device(device):
    """Raises Error where models cannot run on `device`: "cpu", "cuda", "cuda:1"."""
    _call("dp_embed_open", device.encode())


class Program:
    """A compiled model."""

    def __init__(self, model, path, device, threads):
        self._handle = ctypes.c_void_p()
        _call("dp_embed_compile", model, len(model), os.fsencode(path), device.encode(), threads,
              ctypes.byref(self._handle))
        self.inputs = {tensor.name.decode(): tensor for tensor in self._list("dp_embed_input")}
        self.outputs = self._list("dp_embed_output")

    def __del__(self):
        if getattr(self, "_handle", None):
            _library.dp_embed_destroy(self._handle)

    def _list(self, name):
        found, tensor = [], Tensor()
        while getattr(_library, name)(self._handle, len(found), ctypes.byref(tensor)):
            found.append(tensor)
            tensor = Tensor()
        return found

    def run(self):
        _call("dp_embed_run", self._handle)
