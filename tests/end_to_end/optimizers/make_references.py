"""Makes references.json: losses, learning rates and weights that PyTorch gives in float64 for the network and the data
of tests/tools/make_reference.py. Run by hand, from the project's root:

    python3 tests/end_to_end/optimizers/make_references.py

No code of this project is used: optimizers_test compares dpc and dprun with this file.

conv1.bias is frozen. A normalization behind it subtracts the mean, so its true gradient is zero, and Adam would turn
rounding errors into steps.
"""
import fnmatch
import inspect
import json
import sys

import numpy as np
import torch
from torch.optim import SGD, Adagrad, Adam, Adamax, AdamW, NAdam, Optimizer, RAdam, RMSprop
from torch.optim import _muon
from torch.optim.lr_scheduler import (
    CosineAnnealingLR, CosineAnnealingWarmRestarts, ExponentialLR, LambdaLR, LinearLR, MultiStepLR, OneCycleLR,
    PolynomialLR, SequentialLR, StepLR)
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/tools")
from make_reference import Net, read_idx, tensors_of  # noqa: E402

BATCH = 64
STEPS = 23  # an epoch, with a short last batch


def cosine(total, min_lr=0.0):
    return lambda optimizer: CosineAnnealingLR(optimizer, total, min_lr)


def step(step_size, gamma=0.1):
    return lambda optimizer: StepLR(optimizer, step_size, gamma)


def of(kind, *arguments, **options):
    return lambda optimizer: kind(optimizer, *arguments, **options)


def stable_decay(total, decay, least=0.0):
    """The rate falls along a line, from lr to `least`; PyTorch has no such schedule."""
    def make(optimizer):
        lr = optimizer.defaults["lr"]
        line = lambda s: 1 + (least / lr - 1) * (s - (total - decay)) / decay
        return LambdaLR(optimizer, lambda s: 1 if s <= total - decay else line(s) if s < total else least / lr)

    return make


def constant(optimizer):
    return LambdaLR(optimizer, lambda _: 1.0)


def warmup(steps, then):
    def make(optimizer):
        first = LambdaLR(optimizer, lambda s: (s + 1) / steps)
        return SequentialLR(optimizer, [first, then(optimizer)], milestones=[steps])

    return make


class Lion(Optimizer):
    """Chen and others 2023, algorithm 2; PyTorch has none."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, (beta1, beta2) = group["lr"], group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                direction = torch.sign(beta1 * m + (1 - beta1) * p.grad)
                p -= lr * (direction + group["weight_decay"] * p)
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


class Lamb(Optimizer):
    """You and others 2020, algorithm 2, with the identity for phi; PyTorch has none."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                s = self.state[p]
                s["t"] = t = s.get("t", 0) + 1
                m = s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * p.grad
                v = s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * p.grad ** 2
                r = m / (1 - beta1 ** t) / (torch.sqrt(v / (1 - beta2 ** t)) + group["eps"])
                u = r + group["weight_decay"] * p
                a, b = torch.linalg.vector_norm(p), torch.linalg.vector_norm(u)
                p -= group["lr"] * (a / b if a > 0 and b > 0 else 1.0) * u


class Muon(torch.optim.Muon):
    """torch.optim.Muon for matrices, AdamW for the rest."""

    def __init__(self, params, lr=1e-3, weight_decay=0.1, **options):
        params = list(params)
        super().__init__([p for p in params if p.ndim == 2], lr, weight_decay, **options)
        self.rest = AdamW([p for p in params if p.ndim != 2], lr, weight_decay=weight_decay)

    def step(self):
        for group in self.rest.param_groups:
            group["lr"] = self.param_groups[0]["lr"]
        self.rest.step()
        super().step()

    def zero_grad(self):
        self.rest.zero_grad()
        super().zero_grad()


# PyTorch iterates in bfloat16; this is its own source with float64.
SOURCE = inspect.getsource(_muon._zeropower_via_newtonschulz)
assert "torch.bfloat16" in SOURCE
exec(SOURCE.replace("torch.bfloat16", "torch.float64"), vars(_muon))


# SPEC: optimizer, its options, schedule, the norm that gradients are clipped to.
RUNS = {
    "sgd(lr=0.05,momentum=0.9,dampening=0.5,weight_decay=0.01,schedule=step,step_size=5,gamma=0.7)": (
        SGD, dict(lr=0.05, momentum=0.9, dampening=0.5, weight_decay=0.01), step(5, 0.7), None),
    "sgd(lr=0.05,momentum=0.9,nesterov=1,schedule=cosine,total=23,warmup=4)": (
        SGD, dict(lr=0.05, momentum=0.9, nesterov=True), warmup(4, cosine(19)), None),
    "sgd(lr=0.1,clip_norm=0.575)": (SGD, dict(lr=0.1), None, 0.575),
    "adam(lr=1e-2)": (Adam, dict(lr=1e-2), None, None),
    "adam(lr=1e-2,beta1=0.8,beta2=0.99,eps=1e-6,weight_decay=0.02,clip_norm=0.65,schedule=step,step_size=6,warmup=3)": (
        Adam, dict(lr=1e-2, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.02), warmup(3, step(6)), 0.65),
    "adam(lr=5e-3,schedule=cosine,total=30,min_lr=1e-3)": (Adam, dict(lr=5e-3), cosine(30, 1e-3), None),
    "adamw(lr=1e-2)": (AdamW, dict(lr=1e-2), None, None),
    "adamw(lr=1e-2,weight_decay=0.1,warmup=5)": (AdamW, dict(lr=1e-2, weight_decay=0.1), warmup(5, constant), None),
    "adamw(lr=2e-2,beta2=0.95,clip_norm=1,schedule=cosine,warmup=2,total=40,min_lr=1e-4)": (
        AdamW, dict(lr=2e-2, betas=(0.9, 0.95)), warmup(2, cosine(38, 1e-4)), 1.0),
    "sgd(lr=0.05,schedule=multistep,milestones=[3,8,20],gamma=0.3)": (
        SGD, dict(lr=0.05), of(MultiStepLR, [3, 8, 20], 0.3), None),
    "sgd(lr=0.05,warmup=4,schedule=multistep,milestones=9)": (
        SGD, dict(lr=0.05), warmup(4, of(MultiStepLR, [9])), None),
    "sgd(lr=0.05,schedule=exponential,gamma=0.9,warmup=3)": (
        SGD, dict(lr=0.05), warmup(3, of(ExponentialLR, 0.9)), None),
    "sgd(lr=0.05,schedule=linear,total=15)": (SGD, dict(lr=0.05), of(LinearLR, total_iters=15), None),
    "sgd(lr=0.05,schedule=linear,start_factor=1,end_factor=0.1,warmup=3,total=20)": (
        SGD, dict(lr=0.05), warmup(3, of(LinearLR, 1, 0.1, 17)), None),
    "sgd(lr=0.05,schedule=polynomial,total=20)": (SGD, dict(lr=0.05), of(PolynomialLR, 20), None),
    "sgd(lr=0.05,schedule=polynomial,total=20,power=2.5,warmup=2)": (
        SGD, dict(lr=0.05), warmup(2, of(PolynomialLR, 18, 2.5)), None),
    "sgd(lr=0.1,schedule=one_cycle,total=23)": (
        SGD, dict(lr=0.1), of(OneCycleLR, 0.1, 23, cycle_momentum=False), None),
    "sgd(lr=0.1,schedule=one_cycle,total=40,pct_start=0.4,div_factor=10,final_div_factor=50)": (
        SGD, dict(lr=0.1),
        of(OneCycleLR, 0.1, 40, pct_start=0.4, div_factor=10, final_div_factor=50, cycle_momentum=False), None),
    "sgd(lr=0.05,schedule=warm_restarts,period=5)": (SGD, dict(lr=0.05), of(CosineAnnealingWarmRestarts, 5), None),
    "sgd(lr=0.05,schedule=warm_restarts,period=3,period_factor=2,min_lr=1e-3,warmup=2)": (
        SGD, dict(lr=0.05), warmup(2, of(CosineAnnealingWarmRestarts, 3, 2, 1e-3)), None),
    "sgd(lr=0.05,schedule=wsd,warmup=3,total=21,decay=9,min_lr=1e-3)": (
        SGD, dict(lr=0.05), warmup(3, stable_decay(18, 9, 1e-3)), None),
    "sgd(lr=0.05,momentum=0.9,schedule=step,step_size=8);*.bias,bn*:weight_decay=0.1,momentum=0.5;fc2.*:"
    "lr_scale=0.1;fc2.bias:weight_decay=0.3": (
        SGD, dict(lr=0.05, momentum=0.9), step(8), None,
        [("*.bias,bn*", dict(weight_decay=0.1, momentum=0.5)), ("fc2.*", dict(lr_scale=0.1)),
         ("fc2.bias", dict(weight_decay=0.3))]),
    "adamw(lr=1e-2,weight_decay=0.1,clip_norm=1);*.bias,bn?.*:weight_decay=0;conv*:lr_scale=0.5,beta1=0.8": (
        AdamW, dict(lr=1e-2, weight_decay=0.1), None, 1.0,
        [("*.bias,bn?.*", dict(weight_decay=0)), ("conv*", dict(lr_scale=0.5, beta1=0.8))]),
    "nadam(lr=1e-2,weight_decay=0.1,warmup=3);*.bias:weight_decay=0,lr_scale=2": (
        NAdam, dict(lr=1e-2, weight_decay=0.1), warmup(3, constant), None,
        [("*.bias", dict(weight_decay=0, lr_scale=2))]),
    # Weights are the averages, as --save=FILE.safetensors writes them.
    "sgd(lr=0.05,momentum=0.9,ema=0.9)": (SGD, dict(lr=0.05, momentum=0.9), None, None),
    "lamb(lr=0.02,warmup=3,ema=0.99)": (Lamb, dict(lr=0.02), warmup(3, constant), None),
    "rmsprop()": (RMSprop, {}, None, None),
    "rmsprop(lr=2e-3,alpha=0.9,eps=1e-6,weight_decay=0.02,momentum=0.8,centered=1,clip_norm=0.6)": (
        RMSprop, dict(lr=2e-3, alpha=0.9, eps=1e-6, weight_decay=0.02, momentum=0.8, centered=True), None, 0.6),
    "adagrad()": (Adagrad, {}, None, None),
    "adagrad(lr=0.02,lr_decay=0.1,weight_decay=0.02,initial_accumulator_value=0.01,eps=1e-6)": (
        Adagrad, dict(lr=0.02, lr_decay=0.1, weight_decay=0.02, initial_accumulator_value=0.01, eps=1e-6), None, None),
    "adamax()": (Adamax, {}, None, None),
    "adamax(lr=0.01,beta1=0.8,beta2=0.9,eps=1e-3,weight_decay=0.02)": (
        Adamax, dict(lr=0.01, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.02), None, None),
    "nadam()": (NAdam, {}, None, None),
    "nadam(lr=0.01,beta1=0.8,beta2=0.99,eps=1e-6,weight_decay=0.02,momentum_decay=0.1)": (
        NAdam, dict(lr=0.01, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.02, momentum_decay=0.1), None, None),
    "nadam(lr=0.01,weight_decay=0.05,decoupled_weight_decay=1)": (
        NAdam, dict(lr=0.01, weight_decay=0.05, decoupled_weight_decay=True), None, None),
    "radam()": (RAdam, {}, None, None),
    "radam(lr=0.01,beta1=0.8,beta2=0.95,eps=1e-4,weight_decay=0.02)": (
        RAdam, dict(lr=0.01, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.02), None, None),
    "radam(lr=0.01,weight_decay=0.05,decoupled_weight_decay=1)": (
        RAdam, dict(lr=0.01, weight_decay=0.05, decoupled_weight_decay=True), None, None),
    "lion(lr=1e-3)": (Lion, dict(lr=1e-3), None, None),
    "lion(lr=1e-3,beta1=0.8,beta2=0.95,weight_decay=0.1)": (
        Lion, dict(lr=1e-3, betas=(0.8, 0.95), weight_decay=0.1), None, None),
    "lamb(lr=0.01)": (Lamb, dict(lr=0.01), None, None),
    "lamb(lr=0.02,beta1=0.8,beta2=0.95,eps=1e-4,weight_decay=0)": (
        Lamb, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0), None, None),
    "muon(lr=0.01)": (Muon, dict(lr=0.01), None, None),
    "muon(lr=0.01,weight_decay=0.2,momentum=0.8,nesterov=0,eps=1e-3,ns_steps=3,adjust_lr_fn=match_rms_adamw)": (
        Muon, dict(lr=0.01, weight_decay=0.2, momentum=0.8, nesterov=False, eps=1e-3, ns_steps=3,
                   adjust_lr_fn="match_rms_adamw"), None, None),
    "muon(lr=0.01,adjust_lr_fn=spectral_unclamped)": (
        Muon, dict(lr=0.01, adjust_lr_fn="spectral_unclamped"), None, None),
}


def mix(values):
    """A sum in which each position has its own weight."""
    flat = values.reshape(-1)
    return float(flat @ ((np.arange(flat.size) * 37 % 64) / 64 - 0.5))


def groups_of(net, options, groups):
    """A group for each parameter: the options, overridden by each of `groups` that has it, in turn."""
    result = []
    for name, p in net.named_parameters():
        own = dict(options, params=[p])
        for globs, more in groups:
            if any(fnmatch.fnmatchcase(name, g) for g in globs.split(",")):
                own.update(more)
        own["lr"] *= own.pop("lr_scale", 1)
        if "beta1" in own:
            own["betas"] = (own.pop("beta1"), 0.999)
        result += [own] if p.requires_grad else []
    return result


def train(initial, run, images, labels, ema):
    kind, options, schedule, clip, *groups = run
    net = Net().double()
    net.load_state_dict({k: torch.from_numpy(v).double() for k, v in initial.items()}, strict=False)
    net.conv1.bias.requires_grad_(False)
    if groups:
        optimizer = kind(groups_of(net, options, groups[0]))
    else:
        optimizer = kind([p for p in net.parameters() if p.requires_grad], **options)
    scheduler = schedule(optimizer) if schedule else None
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(ema)) if ema else None
    # A parameter that is in no group with a rate of its own.
    base = next(g for g in optimizer.param_groups if any(p is net.fc1.weight for p in g["params"]))
    losses, rates, clipped = [], [], 0
    for s in range(STEPS):
        at = slice(s * BATCH, (s + 1) * BATCH)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images[at]), labels[at])
        loss.backward()
        if clip:
            clipped += float(torch.nn.utils.clip_grad_norm_(net.parameters(), clip)) > clip
        losses.append(loss.item())
        rates.append(base["lr"])
        optimizer.step()
        if scheduler:
            scheduler.step()
        if average:
            average.update_parameters(net)
    assert not clip or 0 < clipped < STEPS, (clip, clipped)  # both branches of the clipping
    averaged = net if not average else average.module
    if average:  # the buffers of the network itself, which AveragedModel leaves at its own
        averaged.load_state_dict({k: v for k, v in net.state_dict().items() if "running" in k}, strict=False)
    weights = {k: [float(np.linalg.norm(v)), mix(v)] for k, v in tensors_of(averaged).items()}
    return {"losses": losses, "lr": rates, "weights": weights}


def ema_of(spec):
    return float(spec.split("ema=")[1].split(")")[0]) if "ema=" in spec else None


def read_safetensors(path):
    with open(path, "rb") as f:
        data = f.read()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    at = lambda t: np.frombuffer(data[end:][slice(*t["data_offsets"])], "<f4").reshape(t["shape"]).copy()
    return {name: at(t) for name, t in header.items() if name != "__metadata__"}


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)  # NAdam's product of momenta has this type
    images = torch.from_numpy(read_idx("train-images-idx3-ubyte").copy())
    labels = torch.from_numpy(read_idx("train-labels-idx1-ubyte").copy()).long()
    initial = read_safetensors("tests/tools/reference.safetensors")
    runs = {spec: train(initial, run, images, labels, ema_of(spec)) for spec, run in RUNS.items()}
    with open("tests/end_to_end/optimizers/references.json", "w") as f:
        json.dump({"torch": torch.__version__, "runs": runs}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
