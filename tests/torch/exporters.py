"""The networks of exported.py and models.py, exported in PyTorch's three ways, and trained for ten steps by PyTorch and
by dpc and dprun in float64. Either losses and parameters are the same to 1e-9, under the names of state_dict, or dpc
refuses the file and names the export that works. REFUSED says which is expected, so an unnecessary refusal fails too.
Networks of a library that is not installed are skipped and named.

    exporters.py [--tools=bazel-bin/tools] [--keep=FOLDER] [--way=WAY] [NAME ...]
    exporters.py --store=tests/frontends/exporters NAME.WAY ...

The second form makes the files of tests/frontends/exporters_test.cc: the model, data, and PyTorch's losses.
"""

import argparse
import collections
import copy
import json
import os
import re
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

import compare
from compare import Failure
from exported import DETACHED, NETWORKS
from models import MODELS

STEPS, BATCH = 10, 4
TOLERANCE = collections.defaultdict(lambda: 1e-9)
TOLERANCE["xcit", "script"] = 1e-8  # tracing computes wavelengths in float32
WAYS = ("optimized", "plain", "script")
OUTCOMES = collections.defaultdict(dict)  # by way, then by network: the refusal, or None where it trains
PASSED_OVER = set()  # networks of libraries that are not installed

# The newer exporter's optimizer folds normalization, embedded positions, zero biases, reordered gates and computed
# single numbers, and merges initially equal layers.
REFUSED = {("optimized", name) for name in ("cnn-norm", "resnet", "gpt", "gpt-mask", "gpt-tied", "encoder", "lstm",
                                            "gru", "scales", "equal", "weight-norm", "standardized")}  # fmt: skip

# It does so in all networks of libraries except this one: it folds positions, scales and zero biases, and merges equal
# layers.
REFUSED |= {("optimized", name) for name in MODELS if name != "dlrm"}

# What dpc asks for, by words of its note or refusal. The older exporter's files do not tell parameters from buffers.
# The newer one's do not tell a Dropout with probability 0 from one in inference mode.
NO_DROPOUT = {"Dropout is not in the file": "--as-exported"}
SAY = {
    "constants": {"script": {"mean": "--freeze=mean", "std": "--freeze=std", "keep": "--freeze=keep"}},
    "fixed": {"script": {name: f"--freeze={name}" for name in ("basis", "kernel", "table")}},
    "bart": {"script": {"model.final_logits_bias": "--freeze=model.final_logits_bias"}},
    "mlp-dropout": dict.fromkeys(("optimized", "plain"), {"Dropout is not in the file": "--as-exported"}),
    "encoder": {"plain": {"Dropout is not in the file": "--as-exported"}},
}
# No file says what is frozen.
FROZEN = {"frozen": ["--freeze=body.*"]}


NETWORKS = {**NETWORKS, **MODELS}

# Every third or fourth batch is short. In XCiT, PyTorch 2.11 needs more than one sample: for a single one, its
# gradients before the first Transpose differ from finite differences.
SAMPLES = collections.defaultdict(lambda: 13, xcit=14)


# ---- exports ---------------------------------------------------------------------------------------------------------

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")


def read_calls():
    """The calls of torch.onnx.export that README.md shows, by way."""
    with open(README) as file:
        section = file.read().split("\n## From PyTorch\n")[1].split("\n## ")[0]
    lines = [line[4:] for line in section.split("\n") if line.startswith("    ")]
    calls = "\n".join(lines).split("torch.onnx.export(")[1:]
    assert len(calls) == len(WAYS), calls
    return {way: "torch.onnx.export(" + call.strip() for way, call in zip(WAYS, calls)}


def export(network, x, path, way, inference=False):
    call = read_calls()[way].replace('"model.onnx"', "path")
    if inference:  # as users do who do not know better
        call = call.replace("model.train()", "model.eval()").replace("TrainingMode.TRAINING", "TrainingMode.EVAL")
        call = call.replace("do_constant_folding=False", "do_constant_folding=True")
    try:
        with compare.silence():
            exec(call, {"torch": torch, "model": network, "x": x, "path": path})
    except Exception as error:  # whatever PyTorch raises
        raise Failure("export", str(error).strip().split("\n")[0]) from error


def entry(name):
    return NETWORKS[name] if name in NETWORKS else DETACHED[name]


def make(name):
    torch.manual_seed(3)
    return entry(name)[0]().train()


def make_data(name):
    kind, shape, words = entry(name)[1]
    generator = torch.Generator().manual_seed(1)
    shape = [SAMPLES[name]] + shape
    x = torch.randint(words, shape, generator=generator) if words else torch.rand(shape, generator=generator) * 2 - 1
    return x, generator


# ---- PyTorch's side --------------------------------------------------------------------------------------------------


class AsInTheFile(TorchFunctionMode):
    """Libraries' networks compute some things in float32 explicitly, with constants that the file stores as float32.
    Here everything is float64, and such a constant is the shortest decimal of its float32 value, as dpc reads it."""

    def translate(self, value):
        if value is torch.float32:
            return torch.float64
        if isinstance(value, float):
            return float(str(np.float32(value)))
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            return type(value)(map(self.translate, value))
        return value

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        args, kwargs = self.translate(args), {key: self.translate(value) for key, value in (kwargs or {}).items()}
        return function(*args, **kwargs)


def forward(network, x):
    torch.set_default_dtype(torch.float64)
    try:
        with AsInTheFile():
            return network(x)
    finally:
        torch.set_default_dtype(torch.float32)


def train(network, x, y):
    parameters = [p for p in network.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=0.003, weight_decay=0.05)
    losses, first = [], 0
    for _ in range(STEPS):
        xs, ys = x[first : first + BATCH], y[first : first + BATCH]
        first = 0 if first + BATCH >= len(x) else first + BATCH
        out = forward(network, xs if xs.dtype == torch.int64 else xs.double())
        loss = F.cross_entropy(out.flatten(0, -2), ys.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def take_statistics(network, path):
    """The older exporter runs the network once in training mode, so the running statistics are taken from the file."""
    found = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    with torch.no_grad():
        for name, value in network.named_buffers():
            if "running_" in name and name in found:
                value.copy_(torch.tensor(found[name]))


# ---- both ------------------------------------------------------------------------------------------------------------


def compile_ours(tools, folder, more):
    """Compiles; returns what dpc says on stderr."""
    return compare.run([f"{tools}/dpc", "compile", f"{folder}/model.onnx", "--loss=softmax_cross_entropy(y,label)",
                        "--optimizer=adamw(lr=0.003,weight_decay=0.05)", "--precision=fp64", f"--batch={BATCH}",
                        "--threads=1", "-o", f"{folder}/plan.bin", *more])  # fmt: skip


def run_ours(tools, name, way, folder):
    say = SAY.get(name, {}).get(way, NO_DROPOUT if name in MODELS and way != "script" else {})
    more = FROZEN.get(name, [])
    try:
        said = compile_ours(tools, folder, more)
    except Failure as failure:
        # --as-exported accepts any reason; here it must be this one alone.
        if failure.kind != "refused" or "--as-exported" not in say.values() or "parameters that" in str(failure):
            raise
        said = str(failure)
    for words, option in say.items():
        if words in said:
            more = more + [option]
        elif say is not NO_DROPOUT:
            raise Failure("refused", f"nothing asks for {option}: {said}")
    if say:
        compile_ours(tools, folder, more)
    compare.run([f"{tools}/dprun", f"{folder}/plan.bin", "--data", f"x={folder}/x.npy", "--data",
                 f"label={folder}/y.npy", f"--steps={STEPS}", f"--metrics={folder}/metrics",
                 f"--save={folder}/w.safetensors", "--quiet", "--threads=1"])  # fmt: skip
    return compare.read_losses(f"{folder}/metrics"), compare.read_safetensors(f"{folder}/w.safetensors")


def check(network, expected, losses, found, tolerance):
    if len(losses) != STEPS or None in losses:
        raise Failure("loss", f"are {losses}, of PyTorch {expected}")
    worst = float(np.max([abs(a - b) / (abs(b) or 1) for a, b in zip(losses, expected)]))
    if not worst <= tolerance:
        raise Failure("loss", f"deviates by {worst:.2g}: {losses}, of PyTorch {expected}")
    worst = {"loss": worst, "weight": 0.0, "buffer": 0.0}
    there = {}  # by tensor: whether the file has one of its names; a tied tensor has several
    for name, p in network.state_dict().items():
        there[p.data_ptr()] = there.get(p.data_ptr(), False) or name in found
        if name in found:
            difference = np.linalg.norm(found[name] - p.numpy()) / max(np.linalg.norm(p.numpy()), 1)
            if not difference <= tolerance:
                raise Failure("weight", f"{name} deviates by {difference:.2g}")
            worst["weight"] = max(worst["weight"], float(difference))
    missing = [name for name, p in network.named_parameters() if not there[p.data_ptr()]]
    strange = set(found) - set(network.state_dict())
    if missing or strange:
        raise Failure("weight", f"not in the file: {missing}; not in state_dict: {strange}")
    return worst


def prepare(name, way, folder):
    """Writes the file and its data into the folder. Returns the network, its inputs and its labels."""
    x, generator = make_data(name)
    network = make(name)
    classes, extents = entry(name)[2], [len(x)] + list(copy.deepcopy(network)(x[:2]).shape[1:-1])
    if classes == "batch":  # each sample is a class of its own
        y = (torch.arange(len(x)) % BATCH)[:, None].expand(extents)
    else:
        y = torch.randint(classes, extents, generator=generator)
    export(copy.deepcopy(network), x[:BATCH], f"{folder}/model.onnx", way)
    np.save(f"{folder}/x.npy", x.numpy())
    np.save(f"{folder}/y.npy", y.numpy())
    if way == "script":
        take_statistics(network, f"{folder}/model.onnx")
    return network.double(), x, y


def compare_way(tools, name, way, folder):
    network, x, y = prepare(name, way, folder)
    try:
        losses, found = run_ours(tools, name, way, folder)
    except Failure as failure:
        # A refusal names the export that works: the plain one.
        if (way, name) in REFUSED and "exit 65" in str(failure) and "optimize=False)" in str(failure):
            OUTCOMES[way][name] = str(failure).split("model.onnx: ", 1)[1]
            return {}
        raise
    if (way, name) in REFUSED:
        raise Failure("refused", "was expected, but it trained")
    worst = check(network, train(network, x, y), losses, found, TOLERANCE[name, way])
    OUTCOMES[way][name] = None
    return worst


def summary():
    refused = {way: sum(text is not None for text in OUTCOMES[way].values()) for way in WAYS}
    counts = [f"{way}: {len(OUTCOMES[way]) - refused[way]} train, {refused[way]} are refused" for way in WAYS]
    absent = f"; passed over: {', '.join(sorted(PASSED_OVER))}" if PASSED_OVER else ""
    return "networks as exported; " + "; ".join(counts) + absent


def store(folder, name, way):
    """Omits each node's lines of code, which name files of this machine."""
    folder = f"{folder}/{name}.{way}"
    os.makedirs(folder, exist_ok=True)
    network, x, y = prepare(name, way, folder)
    model = onnx.load(f"{folder}/model.onnx")
    for node in model.graph.node:
        kept = [p for p in node.metadata_props if not p.key.endswith("stack_trace")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, f"{folder}/model.onnx")
    if os.path.exists(f"{folder}/model.onnx.data"):
        os.remove(f"{folder}/model.onnx.data")
    with open(f"{folder}/case.json", "w") as file:
        json.dump({"batch": BATCH, "losses": train(network, x, y)}, file, indent=1)


def one(tools, name, way, keep=None):
    with tempfile.TemporaryDirectory() as folder:
        if keep:
            folder = f"{keep}/{name}.{way}"
            os.makedirs(folder, exist_ok=True)
        try:
            return compare_way(tools, name, way, folder)
        except Failure as failure:
            if failure.kind == "absent":
                PASSED_OVER.add(name)
            raise


def refused_in_inference(tools, name, way):
    """BatchNormalization and Dropout in inference mode are refused in training, whichever exporter wrote them."""
    with tempfile.TemporaryDirectory() as folder:
        export(make(name), make_data(name)[0][:BATCH], f"{folder}/model.onnx", way, inference=True)
        try:
            said = compile_ours(tools, folder, [])
        except Failure as failure:
            if "exit 65" not in str(failure) or "torch.onnx.export(model.train()" not in str(failure):
                raise
            compile_ours(tools, folder, ["--as-exported"])
            return {"loss": 0.0, "weight": 0.0, "buffer": 0.0}
        if (way, name) == ("script", "mlp-dropout") and "Dropout, if the network has it, is not in the file" in said:
            return {"loss": 0.0, "weight": 0.0, "buffer": 0.0}  # nothing in the file shows it
        raise Failure("refused", f"was expected: {said}")


def refused_without_gradients(tools, name, way, words):
    with tempfile.TemporaryDirectory() as folder:
        prepare(name, way, folder)
        try:
            said = compile_ours(tools, folder, [])
        except Failure as failure:
            if "exit 65" in str(failure) and words in str(failure):
                return {"loss": 0.0, "weight": 0.0, "buffer": 0.0}
            raise
        raise Failure("refused", f"was expected, of '{words}': {said}")


def documents_count(tools):
    """README.md and docs/onnx.md give the number of these networks."""
    for path in (README, os.path.join(os.path.dirname(README), "docs", "onnx.md")):
        with open(path) as file:
            said = re.findall(r"exporters\.py` [a-z ]*?(\d+) networks", " ".join(file.read().split()))
        if said != [str(len(NETWORKS))]:
            raise Failure("documents", f"{path} gives {said} networks, and there are {len(NETWORKS)}")
    return {"loss": 0.0, "weight": 0.0, "buffer": 0.0}


TESTS = {f"{name}, {way}": (lambda tools, name=name, way=way: one(tools, name, way))
         for name in NETWORKS for way in WAYS}  # fmt: skip
TESTS.update({f"{name} in inference, {way}": (lambda tools, name=name, way=way: refused_in_inference(tools, name, way))
              for name in ("mlp-dropout", "cnn-norm", "norm-first", "resnet") for way in WAYS})  # fmt: skip
# The older exporter's files show none of these.
TESTS["detach, plain"] = lambda tools: one(tools, "detach", "plain")
TESTS.update({f"{name}, {way}, refused": (lambda tools, name=name, way=way, words=words:
                                          refused_without_gradients(tools, name, way, words))
              for name, way, words in (("detach", "optimized", "a detach() is not in the file"),
                                       ("no-grad", "optimized", "torch.no_grad()"),
                                       ("no-grad", "plain", "torch.no_grad()"),
                                       ("by-frequency", "optimized", "scale_grad_by_freq"),
                                       ("by-frequency", "plain", "scale_grad_by_freq"))})  # fmt: skip
TESTS["the number of networks in the documents"] = documents_count


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", default="bazel-bin/tools")
    parser.add_argument("--keep")
    parser.add_argument("--way")
    parser.add_argument("--store")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.store:
        for name in options.names:
            store(options.store, *name.rsplit(".", 1))
        sys.exit()
    failed = False
    for name in options.names or NETWORKS:
        for way in [options.way] if options.way else WAYS:
            try:
                worst = one(os.path.abspath(options.tools), name, way, options.keep)
                refusal = OUTCOMES[way][name]
                said = f"refused: {refusal}" if refusal else f"trains, to {max(worst.values()):.1e}"
                print(f"{name}, {way}: {said}", flush=True)
            except Failure as failure:
                failed |= failure.kind != "absent"
                print(f"{name}, {way}: {failure}", flush=True)
    print(summary())
    sys.exit(failed)
