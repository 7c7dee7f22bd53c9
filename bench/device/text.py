"""Writes a network of networks.py as text for dpc, and counts the floating-point operations of its products in a step
of training. A value is its name, the extents of a sample, and whether a gradient comes to it."""
import math
import struct
from collections import namedtuple

Value = namedtuple("Value", "name extents trained")
# init: of normal(mean, deviation), kaiming_uniform(fan-in), zeros, ones. turned: PyTorch's weight is the transpose.
Parameter = namedtuple("Parameter", "name extents init turned")


def shown(extents):
    return ",".join(str(n) for n in extents)


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def frequencies(size):
    """By what angle a place turns each pair of a head's numbers, as float32."""
    return [float32(5e5 ** (-2.0 * i / size)) for i in range(size // 2)]


class Text:
    def __init__(self, network):
        self.network, self.classes = network, network.classes
        self.parameters, self.buffers, self.constants, self.nodes = [], [], [], []
        self.flops, self.numbers, self.has_angles = 0, {}, False
        self.scores = network.build(self, self.input())

    def model(self):
        declared = ["parameter %s: float32[%s] = %s" % (p.name, shown(p.extents), self.init(p.init))
                    for p in self.parameters]  # fmt: skip
        declared += ["buffer %s: float32[%s] = %s" % buffer for buffer in self.buffers] + self.constants
        kind = "int64" if self.network.is_text() else "uint8"
        lines = ["opset 23", 'loss "softmax_cross_entropy(%s,label)"' % self.scores.name,
                 'optimizer "%s"' % self.network.optimizer_spec(),
                 "input x: %s[N,%s]" % (kind, shown(self.network.sample)),
                 *declared, *self.nodes, "output " + self.scores.name]  # fmt: skip
        return "model bench {\n  " + "\n  ".join(lines) + "\n}\n"

    def count(self):
        """Numbers in all parameters."""
        return sum(math.prod(p.extents) for p in self.parameters)

    @staticmethod
    def init(init):
        return init[0] + ("(%s)" % shown(init[1:]) if len(init) > 1 else "")

    def input(self):
        x = Value("x", self.network.sample, False)
        if self.network.is_text():
            return x
        self.constants.append("constant scale: float32[] = 255")
        return self.node("scaled", "Div", [self.node("pixels", "Cast", [x], to="float32"), "scale"])

    # ---- parts of the text ------------------------------------------------------------------------------------------

    def parameter(self, name, extents, init, turned=False):
        self.parameters.append(Parameter(name, tuple(extents), init, turned))
        return Value(name, tuple(extents), True)

    def fresh(self, stem):
        self.numbers[stem] = self.numbers.get(stem, 0) + 1
        return "%s_%d" % (stem, self.numbers[stem])

    def node(self, name, op, operands, extents=None, **attributes):
        """A node whose result has its first operand's extents, unless others are given. Operands: values or names."""
        names = [x if isinstance(x, str) else x.name for x in operands]
        said = " {%s}" % ", ".join("%s=%s" % pair for pair in attributes.items()) if attributes else ""
        self.nodes.append("%s = %s(%s)%s" % (name, op, ", ".join(names), said))
        trained = any(x.trained for x in operands if isinstance(x, Value))
        return Value(name, tuple(operands[0].extents if extents is None else extents), trained)

    def unary(self, op, x):
        return self.node(self.fresh(op.lower()), op, [x])

    def product(self, x, multiplications):
        """Counts a product of x and something trained, of so many multiplications a sample: forward, and the gradients
        of both, of x only if it needs one."""
        self.flops += 2 * multiplications * self.network.batch * (3 if x.trained else 2)

    # ---- what networks are made of ----------------------------------------------------------------------------------

    @staticmethod
    def extents(x):
        return x.extents

    def linear(self, name, x, after, bias=True):
        before = x.extents[-1]
        w = self.parameter(name + ".weight", (before, after), self.weights(before), turned=True)
        add = [self.parameter(name + ".bias", (after,), self.biases(before))] if bias else []
        self.product(x, math.prod(x.extents) * after)
        if len(x.extents) == 1:
            return self.node(name, "Gemm", [x, w, *add], (after,))
        y = self.node(name + ".product" if bias else name, "MatMul", [x, w], (*x.extents[:-1], after))
        return self.node(name, "Add", [y, *add]) if bias else y

    def weights(self, fan):
        return ("normal", 0, 0.02) if self.network.is_text() else ("kaiming_uniform", fan)

    def biases(self, fan):
        return ("zeros",) if self.network.is_text() else ("kaiming_uniform", fan)

    def conv(self, name, x, after, size, stride=1, bias=False):
        before, height, width = x.extents
        pad = size // 2
        height, width = ((n + 2 * pad - size) // stride + 1 for n in (height, width))
        fan = before * size * size
        operands = [x, self.parameter(name + ".weight", (after, before, size, size), ("kaiming_uniform", fan))]
        if bias:
            operands.append(self.parameter(name + ".bias", (after,), self.biases(fan)))
        self.product(x, after * height * width * fan)
        return self.node(name, "Conv", operands, (after, height, width), strides=[stride, stride], pads=4 * [pad])

    def batchnorm(self, name, x):
        count = x.extents[0]
        operands = [x, self.parameter(name + ".weight", (count,), ("ones",)),
                    self.parameter(name + ".bias", (count,), ("zeros",))]  # fmt: skip
        for what, init in (("mean", "zeros"), ("var", "ones")):
            self.buffers.append((name + "." + what, count, init))
            operands.append(name + "." + what)
        results = "%s, %s.new_mean, %s.new_var" % (name, name, name)
        y = self.node(results, "BatchNormalization", operands, training_mode=1)
        return y._replace(name=name)

    def maxpool(self, x, size, stride, pad):
        after = [(n + 2 * pad - size) // stride + 1 for n in x.extents[1:]]
        return self.node(self.fresh("pool"), "MaxPool", [x], (x.extents[0], *after), kernel_shape=[size, size],
                         strides=[stride, stride], pads=4 * [pad])  # fmt: skip

    def mean(self, x):
        return self.flatten(self.node("mean", "GlobalAveragePool", [x], (x.extents[0], 1, 1)))

    def flatten(self, x):
        return self.node(self.fresh("flat"), "Flatten", [x], (math.prod(x.extents),))

    def embedding(self, name, x, width):
        table = self.parameter(name, (self.classes, width), ("normal", 0, 0.02))
        return self.node(name + ".row", "Gather", [table, x], (*x.extents, width))

    def places(self, name, x):
        return self.node(name + ".sum", "Add", [x, self.parameter(name, x.extents, ("normal", 0, 0.02))])

    def layernorm(self, name, x):
        parameters = [self.parameter(name + ".weight", x.extents[-1:], ("ones",)),
                      self.parameter(name + ".bias", x.extents[-1:], ("zeros",))]  # fmt: skip
        return self.node(name, "LayerNormalization", [x, *parameters], epsilon=1e-5)

    def rmsnorm(self, name, x):
        weight = self.parameter(name + ".weight", x.extents[-1:], ("ones",))
        return self.node(name, "RMSNormalization", [x, weight], epsilon=1e-5)

    def split(self, x, count):
        names = [self.fresh("part") for _ in range(count)]
        part = self.node(", ".join(names), "Split", [x], (*x.extents[:-1], x.extents[-1] // count), axis=2,
                         num_outputs=count)  # fmt: skip
        return [part._replace(name=name) for name in names]

    def attention(self, q, k, v, heads, groups):
        """Each place looks at itself and at those before it, so half of the two products count."""
        length, width = q.extents
        self.product(q, length * length * width)
        return self.node(self.fresh("attention"), "Attention", [q, k, v], is_causal=1, q_num_heads=heads,
                         kv_num_heads=groups)  # fmt: skip

    def rotate(self, x, heads):
        """Halves (a, b) of each head become (a cos - b sin, b cos + a sin)."""
        length, width = x.extents
        size, name = width // heads, self.fresh("turned")
        if not self.has_angles:
            self.angles(length, size)
        apart = self.node(name + ".heads", "Reshape", [x], (length, heads, size),
                          shape="[N,%d,%d,%d]" % (length, heads, size))  # fmt: skip
        self.node("%s.a, %s.b" % (name, name), "Split", [apart], axis=3, num_outputs=2)
        a, b = (Value("%s.%s" % (name, half), (length, heads, size // 2), True) for half in "ab")
        first = self.node(name + ".first", "Sub", [self.times(a, "cosines"), self.times(b, "sines")])
        second = self.node(name + ".second", "Add", [self.times(b, "cosines"), self.times(a, "sines")])
        both = self.node(name + ".both", "Concat", [first, second], apart.extents, axis=3)
        return self.node(name, "Reshape", [both], x.extents, shape="[N,%d,%d]" % (length, width))

    def times(self, x, by):
        return self.node("%s.%s" % (x.name, by), "Mul", [x, by])

    def angles(self, length, size):
        self.has_angles = True
        self.constants.append("constant place: float32[%d,1,1] = [%s]" % (length, shown(range(length))))
        numbers = ",".join("%.9g" % f for f in frequencies(size))
        self.constants.append("constant frequency: float32[%d] = [%s]" % (size // 2, numbers))
        for line in ("angles = Mul(place, frequency)", "cosines = Cos(angles)", "sines = Sin(angles)"):
            self.nodes.append(line)

    def tied(self, name, x):
        """Scores of the words: x times the transpose of the embedding."""
        width = x.extents[-1]
        head = self.node(name + ".turned", "Transpose", [Value(name, (self.classes, width), True)], perm=[1, 0])
        self.product(x, math.prod(x.extents) * self.classes)
        return self.node("scores", "MatMul", [x, head], (*x.extents[:-1], self.classes))

    def relu(self, x):
        return self.unary("Relu", x)

    def gelu(self, x):
        return self.unary("Gelu", x)

    def silu(self, x):
        return self.mul(x, self.unary("Sigmoid", x))

    def add(self, x, y):
        return self.node(self.fresh("sum"), "Add", [x, y])

    def mul(self, x, y):
        return self.node(self.fresh("times"), "Mul", [x, y])
