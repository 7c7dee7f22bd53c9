"""ONNX models on dpc, with the interface of onnx.backend.base.Backend.

    import dpc.onnx_backend as backend
    outputs = backend.prepare(onnx.load("model.onnx")).run([image])

A model is compiled for inference on one device, in this process: the CPU, or a GPU (device="CUDA" or "CUDA:1"). What
the compiler must know about the inputs, it learns when they arrive: open extents, and the values of inputs that
determine the graph's form (the shape that Reshape gets). A program is compiled for each new combination and kept.

What is not supported raises Unsupported before anything runs: from prepare(), or from the first run() if it depends on
the inputs. `dpc ops` prints the tables that decide.
"""

import collections
import ctypes
import functools

import numpy
import onnx
import onnx.backend.base
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

from dpc import _library

KEPT_PROGRAMS = 8


class Unsupported(BackendIsNotSupposedToImplementIt):
    """An operator, a type, an attribute or a form of model that `dpc ops` does not list."""


def _refusing(function, *arguments):
    try:
        return function(*arguments)
    except _library.Error as error:
        if error.code == _library.EX_UNAVAILABLE:
            raise Unsupported(str(error)) from None
        raise


def _is_open(value_info):
    kind = value_info.type.tensor_type
    return not kind.HasField("shape") or any(not dim.HasField("dim_value") for dim in kind.shape.dim)


def _close(value_info, shape):
    """Gives the input these extents."""
    dims = value_info.type.tensor_type.shape.dim
    del dims[:]
    for extent in shape:
        dims.add().dim_value = extent


def _name_of(device):
    """ONNX's "CUDA:1" as dpc names it; the CPU is one device."""
    kind, _, number = device.partition(":")
    return "cpu" if kind == "CPU" and number in ("", "0") else device.lower()


@functools.cache
def _why_not(device):
    """Why models cannot run on a device, or None."""
    if device.partition(":")[0] not in ("CPU", "CUDA"):
        return "there are CPU and CUDA"
    try:
        _library.open_device(_name_of(device))
    except _library.Error as error:
        return str(error)
    return None


class _Form:
    """A model, and what the compiler must be told before it can compile it."""

    def __init__(self, model, path):
        graph, given = model.graph, {tensor.name for tensor in model.graph.initializer}
        for value in graph.input:
            if value.type.WhichOneof("value") not in (None, "tensor_type"):
                raise Unsupported(f"input '{value.name}' is no tensor")
        flags = _refusing(_library.needs, model.SerializeToString(), path, len(graph.input))
        needed = {value.name for value, flag in zip(graph.input, flags) if flag}
        tensors = [value for value in graph.input if value.name not in given and value.type.HasField("tensor_type")]
        self.model = model
        self.constants = [value.name for value in tensors if value.name in needed]
        self.open = [value.name for value in tensors if value.name not in needed and _is_open(value)]

    def key(self, arrays):
        return (tuple(arrays[name].shape for name in self.open),
                tuple((arrays[name].dtype.str, arrays[name].shape, arrays[name].tobytes()) for name in self.constants))

    def specialize(self, arrays):
        """The model with what the inputs tell."""
        if not self.open and not self.constants:
            return self.model.SerializeToString()
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        inputs = {value.name: value for value in model.graph.input}
        for name in self.open:
            _close(inputs[name], arrays[name].shape)
        for name in self.constants:
            model.graph.input.remove(inputs[name])
        nodes = [onnx.helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(arrays[name]))
                 for name in self.constants]
        rest = list(model.graph.node)
        del model.graph.node[:]
        model.graph.node.extend(nodes + rest)
        return model.SerializeToString()


class Rep(onnx.backend.base.BackendRep):
    """A prepared model."""

    def __init__(self, model, path="model.onnx", device="CPU", threads=1):
        given = {tensor.name for tensor in model.graph.initializer}
        self._path, self._device, self._threads = path, _name_of(device), threads
        self._inputs = [value.name for value in model.graph.input if value.name not in given]
        self._output = onnx.backend.base.namedtupledict("Outputs", [value.name for value in model.graph.output])
        self._programs = collections.OrderedDict()
        self._form = _Form(model, path)
        if not self._form.constants and not self._form.open:
            self._compile({})

    def _compile(self, arrays):
        key = self._form.key(arrays)
        if key not in self._programs:
            program = _refusing(_library.Program, self._form.specialize(arrays), self._path, self._device,
                                self._threads)
            while len(self._programs) >= KEPT_PROGRAMS:
                self._programs.popitem(last=False)
            self._programs[key] = program
        self._programs.move_to_end(key)
        return self._programs[key]

    def _name(self, inputs):
        """The inputs by name: of a dict, or in the graph's order."""
        if not isinstance(inputs, dict):
            if isinstance(inputs, (numpy.ndarray, numpy.generic)):
                inputs = [inputs]
            if len(inputs) != len(self._inputs):
                raise ValueError(f"{len(inputs)} inputs are given; the model has {len(self._inputs)}: "
                                 f"{', '.join(self._inputs)}")
            inputs = dict(zip(self._inputs, inputs))
        missing = [name for name in self._inputs if name not in inputs]
        if missing:
            raise ValueError(f"nothing is given for {', '.join(missing)}")
        return {name: numpy.asarray(inputs[name]) for name in self._inputs}

    def run(self, inputs, **kwargs):
        arrays = self._name(inputs)
        program = self._compile(arrays)
        for name, tensor in program.inputs.items():
            _write(name, tensor, arrays[name])
        program.run()
        return self._output(*[_read(tensor) for tensor in program.outputs])


def _write(name, tensor, array):
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.dtype)
    if array.dtype != dtype or array.shape != tensor.shape:
        raise ValueError(f"input '{name}' is {array.dtype}{list(array.shape)}; {dtype}{list(tensor.shape)} is expected")
    if tensor.data and tensor.bytes:
        ctypes.memmove(tensor.data, numpy.ascontiguousarray(array).ctypes.data, tensor.bytes)


def _read(tensor):
    array = numpy.empty(tensor.shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.dtype))
    if tensor.bytes:
        ctypes.memmove(array.ctypes.data, tensor.data, tensor.bytes)
    return array


class Backend(onnx.backend.base.Backend):
    """ONNX's interface. The module's functions are its methods."""

    @classmethod
    def supports_device(cls, device):
        """Whether this machine has it: "CPU", or "CUDA" and "CUDA:N" for a GPU and the libraries that it needs."""
        return _why_not(device) is None

    @classmethod
    def _check_device(cls, device):
        if not cls.supports_device(device):
            raise Unsupported(f"device {device} is not supported: {_why_not(device)}")

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """Compiles the model, or as much of it as can be without inputs. threads=T: of the device; default 1."""
        cls._check_device(device)
        onnx.checker.check_model(model)
        return Rep(model, device=device, threads=kwargs.get("threads", 1))

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        try:
            cls.prepare(model, device, **kwargs)
        except Unsupported:
            return False
        return True

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one operator. opset_version=V: whose meaning it has; default: the newest that is supported."""
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        opset = kwargs.get("opset_version", min(onnx.defs.onnx_opset_version(), _library.MAX_OPSET))
        arrays = {name: numpy.asarray(value) for name, value in zip([name for name in node.input if name], inputs)}
        values = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype),
                                                     array.shape)
                  for name, array in arrays.items()]
        results = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], node.op_type, values, results)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        cls._check_device(device)
        return Rep(model, device=device).run(arrays)


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
is_compatible = Backend.is_compatible
