"""Trains a described network with PyTorch in float64, and with dpc and dprun under --precision=fp64 from PyTorch's own
export. Compares losses, weights and running statistics."""

import contextlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F

import networks

STEPS = 6
LOSS, WEIGHT, BUFFER = 1e-8, 1e-7, 1e-6  # relative; relative to the tensor's norm; absolute


class Failure(Exception):
    """kind: 'export' (PyTorch cannot), 'unsupported' (dpc names the operator), 'absent' (a Python package), 'refused',
    'crash', 'loss', 'weight', 'buffer'."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


# ---- PyTorch's side --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def silence():
    """Hides all output, including what C++ writes."""
    logging.disable(logging.CRITICAL)
    kept = [os.dup(1), os.dup(2)]
    null = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, old in enumerate(kept):
            os.dup2(old, number + 1)
            os.close(old)
        os.close(null)
        logging.disable(logging.NOTSET)


def export(network, description, x, path):
    """Exports as users do. Both exporters print a lot."""
    try:
        with silence():
            common = dict(input_names=["x"], output_names=["y"], opset_version=description["opset"])
            if description["exporter"] == "dynamo":
                # Without the optimizer, parameters stay as they are.
                batch = torch.export.Dim("N", min=2, max=4096)
                torch.onnx.export(network, (x,), path, dynamo=True, optimize=False, external_data=False,
                                  dynamic_shapes=({0: batch},), verbose=False, **common)  # fmt: skip
            else:
                torch.onnx.export(network, (x,), path, dynamo=False, training=torch.onnx.TrainingMode.TRAINING,
                                  do_constant_folding=False, dynamic_axes={"x": {0: "N"}, "y": {0: "N"}}, **common)  # fmt: skip
    except Exception as error:
        raise Failure("export", str(error).strip().split("\n")[0][:200]) from None


def start_from(network, path):
    """Exporting in training mode runs the network once, so the running statistics are taken from the file."""
    found = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    with torch.no_grad():
        for name, value in list(network.named_parameters()) + list(network.named_buffers()):
            if name in found and not name.endswith("num_batches_tracked"):
                value.copy_(torch.tensor(found[name]))
    return network.double()


def make_optimizer(parameters, spec):
    more = {"weight_decay": spec.get("weight_decay", 0.01 if spec["kind"] == "adamw" else 0.0)}
    if spec["kind"] == "sgd":
        for ours, theirs in ("momentum", 0.0), ("dampening", 0.0), ("nesterov", False):
            more[ours] = type(theirs)(spec.get(ours, theirs))
        return torch.optim.SGD(parameters, lr=spec["lr"], **more)
    of = torch.optim.Adam if spec["kind"] == "adam" else torch.optim.AdamW
    betas = spec.get("beta1", 0.9), spec.get("beta2", 0.999)
    return of(parameters, lr=spec["lr"], betas=betas, eps=spec.get("eps", 1e-8), **more)


def make_schedule(optimizer, spec):
    warmup = spec.get("warmup", 0)
    parts = []
    if warmup:
        parts.append(torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: (s + 1) / warmup))
    if spec.get("schedule") == "step":
        parts.append(torch.optim.lr_scheduler.StepLR(optimizer, spec["step_size"], spec["gamma"]))
    elif spec.get("schedule") == "cosine":
        parts.append(torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, spec["total"] - warmup, spec["min_lr"]))
    else:
        parts.append(torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1.0))
    return torch.optim.lr_scheduler.SequentialLR(optimizer, parts, [warmup]) if warmup else parts[0]


def train(network, description, x, y):
    spec = description["optimizer"]
    optimizer = make_optimizer(network.parameters(), spec)
    schedule = make_schedule(optimizer, spec)
    losses, first = [], 0
    for _ in range(STEPS):
        xs, ys = x[first : first + description["batch"]], y[first : first + description["batch"]]
        first = 0 if first + description["batch"] >= len(x) else first + description["batch"]
        out = network(xs if xs.dtype == torch.int64 else xs.double())
        if description["loss"] == "squares":
            loss = F.mse_loss(out, ys)
        else:
            loss = F.cross_entropy(out.flatten(0, -2), ys.flatten())
        optimizer.zero_grad()
        loss.backward()
        if "clip_norm" in spec:
            torch.nn.utils.clip_grad_norm_(network.parameters(), spec["clip_norm"])
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step()
        losses.append(loss.item())
    return losses


BACKEND = "cpu"  # that plans are for and run on


# ---- ours ------------------------------------------------------------------------------------------------------------


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode:
        kind = {69: "unsupported"}.get(result.returncode, "refused" if 64 <= result.returncode <= 78 else "crash")
        raise Failure(kind, f"{os.path.basename(command[0])} exit {result.returncode}: {result.stderr.strip()[-1500:]}")
    return result.stderr


def compile_and_train(tools, description, folder):
    spec = dict(description["optimizer"])
    kind = spec.pop("kind")
    optimizer = f"{kind}({','.join(f'{k}={v}' for k, v in spec.items())})"
    loss = "mse(y,target)" if description["loss"] == "squares" else "softmax_cross_entropy(y,label)"
    label = "target" if description["loss"] == "squares" else "label"
    strategy = ["--strategy=data", f"--devices={description['devices']}"] if description["devices"] > 1 else []
    if description["exporter"] == "dynamo" and '"dropout"' in json.dumps(description["layers"]):
        strategy.append("--as-exported")  # with probability 0, it looks like one that was left out
    run([f"{tools}/dpc", "compile", f"{folder}/model.onnx", f"--loss={loss}", f"--optimizer={optimizer}", "--precision=fp64",
         f"--batch={description['batch']}", "--threads=1", f"--target={BACKEND}", "-o", f"{folder}/plan.bin"] + strategy)  # fmt: skip
    run([f"{tools}/dprun", f"{folder}/plan.bin", "--data", f"x={folder}/x.npy", "--data", f"{label}={folder}/y.npy",
         f"--steps={STEPS}", f"--metrics={folder}/metrics", f"--save={folder}/w.safetensors", "--quiet", "--threads=1",
         f"--device={BACKEND}"])  # fmt: skip
    return read_losses(f"{folder}/metrics"), read_safetensors(f"{folder}/w.safetensors")


def read_losses(path):
    with open(path) as lines:
        return [e["loss"] for e in map(json.loads, lines) if e["event"] == "step"]


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    end = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, t in json.loads(data[8:end]).items():
        if name != "__metadata__":
            first, last = t["data_offsets"]
            of = {"F64": np.float64, "F32": np.float32, "I64": np.int64}[t["dtype"]]
            tensors[name] = np.frombuffer(data[end + first : end + last], of).reshape(t["shape"])
    return tensors


# ---- both ------------------------------------------------------------------------------------------------------------


def make_data(description, out_shape):
    generator = torch.Generator().manual_seed(description["seed"])
    n = description["samples"]
    if description["vocabulary"]:
        x = torch.randint(description["vocabulary"], [n] + description["shape"], generator=generator)
    else:
        x = torch.rand([n] + description["shape"], generator=generator) * 2 - 1
    if description["loss"] == "squares":
        return x, torch.rand([n] + out_shape, generator=generator).double()
    return x, torch.randint(out_shape[-1], [n] + out_shape[:-1], generator=generator)


def compare_tensors(network, description, found, worst):
    buffers = {n for n, _ in network.named_buffers()}
    expected = {n: v.detach().numpy() for n, v in network.state_dict().items() if not n.endswith("num_batches_tracked")}
    trained = {n for n, p in network.named_parameters() if p.grad is not None}
    for name, value in expected.items():
        if name not in found:
            if name in trained:
                raise Failure("weight", f"{name} is not in the file: it holds {sorted(found)}")
            continue
        difference = found[name] - value
        if name in buffers:
            worst["buffer"] = float(np.maximum(worst["buffer"], np.abs(difference).max(initial=0)))
        else:
            part = np.linalg.norm(difference) / max(np.linalg.norm(value), 1e-30)
            if not part <= WEIGHT:
                raise Failure("weight", f"{name} deviates by {part:.2g} of its norm")
            worst["weight"] = max(worst["weight"], float(part))
    if not worst["buffer"] <= BUFFER:
        raise Failure("buffer", f"deviates by {worst['buffer']:.2g}")


def compare_network(tools, description, network, x, y, folder):
    """Exports and trains on both sides. Returns the largest deviations or raises Failure. Trains `network`."""
    export(network, description, x[: description["batch"]], f"{folder}/model.onnx")
    np.save(f"{folder}/x.npy", x.numpy())
    np.save(f"{folder}/y.npy", y.numpy())
    network = start_from(network, f"{folder}/model.onnx")
    expected = train(network, description, x, y)
    if not np.all(np.isfinite(expected)) or max(expected) > 1e4:
        raise Failure("export", f"PyTorch's own losses are {expected}")
    losses, found = compile_and_train(tools, description, folder)
    if len(losses) != STEPS or None in losses:
        raise Failure("loss", f"are {losses}, of PyTorch {expected}")
    worst = {"loss": float(np.max([abs(a - b) / abs(b) for a, b in zip(losses, expected)])), "weight": 0.0, "buffer": 0.0}
    if not worst["loss"] <= LOSS:
        raise Failure("loss", f"deviate by {worst['loss']:.2g}: {losses}, of PyTorch {expected}")
    compare_tensors(network, description, found, worst)
    return worst


def compare(tools, description):
    with tempfile.TemporaryDirectory() as folder:
        network = networks.make(description)
        with torch.no_grad():
            shape = networks.probe(network, description)
        x, y = make_data(description, shape)
        return compare_network(tools, description, network, x, y, folder)
