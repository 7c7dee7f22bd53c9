"""Makes references.json: losses, evaluations and predictions that PyTorch gives in float64 for the network and the data
that losses_test.cc makes by the same formulas. Run by hand, from the project's root:

    python3 tests/end_to_end/losses/make_references.py

No code of this project is used.
"""
import json

import numpy as np
import torch
import torch.nn.functional as F

SAMPLES = 23
BATCH = 5  # the last one has 3 samples
RATE = 0.2


def spread(shape, a, b, scale):
    """Numbers between -scale / 2 and scale / 2."""
    count = int(np.prod(shape))
    return torch.from_numpy(scale * (((np.arange(count) * a + b) % 97) / 97 - 0.5)).reshape(shape)


PARAMETERS = {
    "w1": ((8, 6), 31, 5, 1.5), "b1": ((8,), 13, 2, 0.5),
    "w2": ((5, 8), 41, 7, 3), "b2": ((5,), 17, 11, 1),
    "w3": ((4, 8), 29, 3, 3), "b3": ((4,), 19, 1, 1),
    "w4": ((15, 8), 37, 9, 3), "b4": ((15,), 23, 4, 1),
}

i = np.arange(SAMPLES)
spots = np.arange(SAMPLES * 3)
cells = np.arange(SAMPLES)[:, None] * 7 + np.arange(5) * 3
DATA = {
    "x": spread((SAMPLES, 6), 43, 17, 4),
    "label": torch.from_numpy(np.where(i % 4 == 1, -100, (i * 7 + i // 3) % 5)),
    "plain": torch.from_numpy((i * 7 + i // 3) % 5),
    "spot": torch.from_numpy(np.where(spots * spots % 7 == 2, -100, (spots * 2 + spots // 3) % 5)).reshape(SAMPLES, 3),
    "target": spread((SAMPLES, 4), 53, 21, 4),
    "soft": spread((SAMPLES, 4), 59, 30, 1) + 0.5,
    "share": torch.from_numpy(cells % 5 / 10),
    "logshare": torch.from_numpy(np.log((cells % 5 + 1) / 15)),
}

WEIGHTS = torch.tensor([0.5, 2, 0, 1.25, 3], dtype=torch.float64)
POSITIVE = torch.tensor([0.5, 2, 1, 4], dtype=torch.float64)


def ce(scores, label, **options):
    return lambda o, d: F.cross_entropy(o[scores], d[label], **options)


def nll(scores, label, **options):
    return lambda o, d: F.nll_loss(o[scores], d[label], **options)


def of(loss, prediction, target, **options):
    return lambda o, d: loss(o[prediction], d[target], **options)


# Scores whose classes lie along the last axis, for PyTorch along axis 1.
LAST = "many_first"

RUNS = {
    "softmax_cross_entropy(logits,plain)": ce("logits", "plain"),
    "softmax_cross_entropy(logits,label)": ce("logits", "label"),
    "softmax_cross_entropy(logits,plain,ignore_index=2)": ce("logits", "plain", ignore_index=2),
    "softmax_cross_entropy(logits,plain,weight=[0.5,2,0,1.25,3])": ce("logits", "plain", weight=WEIGHTS),
    "softmax_cross_entropy(logits,label,weight=[0.5,2,0,1.25,3])": ce("logits", "label", weight=WEIGHTS),
    "softmax_cross_entropy(logits,label,label_smoothing=0.1)": ce("logits", "label", label_smoothing=0.1),
    "softmax_cross_entropy(logits,label,label_smoothing=1)": ce("logits", "label", label_smoothing=1.0),
    "softmax_cross_entropy(logits,label,weight=[0.5,2,0,1.25,3],label_smoothing=0.3)":
        ce("logits", "label", weight=WEIGHTS, label_smoothing=0.3),
    "softmax_cross_entropy(many,spot)": ce(LAST, "spot"),
    "softmax_cross_entropy(planes,spot,weight=[0.5,2,0,1.25,3],label_smoothing=0.2)":
        ce("planes", "spot", weight=WEIGHTS, label_smoothing=0.2),
    "nll(log_probs,label)": nll("log_probs", "label"),
    "nll(log_probs,plain,ignore_index=2)": nll("log_probs", "plain", ignore_index=2),
    "nll(log_probs,label,weight=[0.5,2,0,1.25,3])": nll("log_probs", "label", weight=WEIGHTS),
    "mse(pred,target)": of(F.mse_loss, "pred", "target"),
    "l1(pred,target)": of(F.l1_loss, "pred", "target"),
    "smooth_l1(pred,target)": of(F.smooth_l1_loss, "pred", "target"),
    "smooth_l1(pred,target,beta=0.3)": of(F.smooth_l1_loss, "pred", "target", beta=0.3),
    "smooth_l1(pred,target,beta=0)": of(F.smooth_l1_loss, "pred", "target", beta=0.0),
    "huber(pred,target)": of(F.huber_loss, "pred", "target"),
    "huber(pred,target,delta=0.4)": of(F.huber_loss, "pred", "target", delta=0.4),
    "bce_with_logits(pred,soft)": of(F.binary_cross_entropy_with_logits, "pred", "soft"),
    "bce_with_logits(pred,soft,pos_weight=3)":
        of(F.binary_cross_entropy_with_logits, "pred", "soft", pos_weight=torch.tensor(3.0, dtype=torch.float64)),
    "bce_with_logits(pred,soft,pos_weight=[0.5,2,1,4])":
        of(F.binary_cross_entropy_with_logits, "pred", "soft", pos_weight=POSITIVE),
    "kl_div(log_probs,share)": of(F.kl_div, "log_probs", "share", reduction="mean"),
    "kl_div(log_probs,logshare,log_target=1)": of(F.kl_div, "log_probs", "logshare", reduction="mean", log_target=True),
    "value(each)": lambda o, d: o["each"].mean(),
    "value(penalty)": lambda o, d: o["penalty"],
    "0.5*mse(pred,target)+softmax_cross_entropy(logits,label)":
        lambda o, d: 0.5 * F.mse_loss(o["pred"], d["target"]) + F.cross_entropy(o["logits"], d["label"]),
    "softmax_cross_entropy(many,spot,weight=[0.5,2,0,1.25,3])-0.25*l1(pred,target)+2*value(penalty)":
        lambda o, d: F.cross_entropy(o[LAST], d["spot"], weight=WEIGHTS) - 0.25 * F.l1_loss(o["pred"], d["target"])
        + 2 * o["penalty"],
    "0.5*softmax_cross_entropy(logits,label)+1.5*softmax_cross_entropy(many,spot)+value(each)":
        lambda o, d: 0.5 * F.cross_entropy(o["logits"], d["label"]) + 1.5 * F.cross_entropy(o[LAST], d["spot"])
        + o["each"].mean(),
}


def forward(p, x):
    h = torch.tanh(x @ p["w1"].T + p["b1"])
    o = {"logits": h @ p["w2"].T + p["b2"], "pred": h @ p["w3"].T + p["b3"]}
    wide = h @ p["w4"].T + p["b4"]
    o["many"] = wide.reshape(-1, 3, 5)
    o["many_first"] = o["many"].transpose(1, 2)
    o["planes"] = wide.reshape(-1, 5, 3)
    o["log_probs"] = F.log_softmax(o["logits"], -1)
    o["each"] = (o["pred"] * o["pred"]).sum(1)
    o["penalty"] = (p["w2"] * p["w2"]).mean() + (h * h).mean()
    return o


def summary(values):
    """The norm, and a sum in which each position has its own weight."""
    flat = values.detach().numpy().reshape(-1)
    return [float(np.linalg.norm(flat)), float(flat @ ((np.arange(flat.size) * 37 % 64) / 64 - 0.5))]


def train(loss_of):
    p = {name: spread(*how).requires_grad_() for name, how in PARAMETERS.items()}
    losses = []
    for first in range(0, SAMPLES, BATCH):
        d = {name: v[first:first + BATCH] for name, v in DATA.items()}
        loss = loss_of(forward(p, d["x"]), d)
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for v in p.values():
                if v.grad is not None:
                    v -= RATE * v.grad
                    v.grad = None
    o = forward(p, DATA["x"])
    assert all(np.isfinite(losses)), losses
    return {"losses": losses, "eval": loss_of(o, DATA).item(),
            "outputs": {name: summary(o[name]) for name in ["logits", "pred", "many"]}}


def main():
    torch.set_num_threads(1)
    runs = {spec: train(loss_of) for spec, loss_of in RUNS.items()}
    with open("tests/end_to_end/losses/references.json", "w") as f:
        json.dump({"torch": torch.__version__, "runs": runs}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
