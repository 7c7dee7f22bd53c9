#!/usr/bin/env python3
"""Makes the networks of tests/frontends/networks/: small networks of known kinds with random weights, exported by
PyTorch 2.11, and PyTorch's losses of ten steps in float64.

    python3 tests/frontends/make_networks.py tests/frontends/networks

Needs torch, transformers and onnx; the test needs only the files. Six samples in batches of four: every second batch is
short, and neither size divides by three devices. Epsilons are powers of two, and heads of 4 or 16 numbers have exact
scales, so the float32 values in the file are exactly those that PyTorch uses in float64.
"""
import json
import os
import sys
import warnings

import numpy as np
import onnx
import torch
import torch.nn.functional as F
import transformers
from torch import nn

SAMPLES, BATCH, STEPS, RATE, WORDS, LENGTH = 6, 4, 10, 0.05, 13, 7
EPSILON = 2.0 ** -16


def words(length=LENGTH):
    return torch.randint(2, WORDS, (SAMPLES, length))


def pictures(size):
    return torch.randn(SAMPLES, 3, size, size)


class Logits(nn.Module):
    """A language model that outputs only the scores."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids, attention_mask=torch.ones_like(ids), use_cache=False).logits


def gpt2():
    config = transformers.GPT2Config(vocab_size=WORDS, n_positions=16, n_embd=8, n_layer=1, n_head=2, resid_pdrop=0.0,
                                     embd_pdrop=0.0, attn_pdrop=0.0, activation_function="relu",
                                     layer_norm_epsilon=EPSILON)
    return Logits(transformers.GPT2LMHeadModel(config)), (words(),)


def bloom():
    config = transformers.BloomConfig(vocab_size=WORDS, hidden_size=8, n_layer=1, n_head=2, hidden_dropout=0.0,
                                      attention_dropout=0.0, layer_norm_epsilon=EPSILON)
    return Logits(transformers.BloomForCausalLM(config)), (words(),)


def swin():
    config = transformers.SwinConfig(image_size=8, patch_size=2, embed_dim=8, depths=[2], num_heads=[2], window_size=2,
                                     drop_path_rate=0.0, num_labels=5, hidden_act="relu", layer_norm_eps=EPSILON)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.SwinForImageClassification(config)

        def forward(self, x):
            return self.model(x).logits

    return Net(), (pictures(8),)


def clip():
    """Both directions of the contrastive loss. The model itself computes the labels, which are the diagonal."""
    text = dict(vocab_size=WORDS, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1,
                max_position_embeddings=16, eos_token_id=2, pad_token_id=1, bos_token_id=0, hidden_act="relu",
                layer_norm_eps=EPSILON)
    vision = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1, image_size=8,
                  patch_size=4, hidden_act="relu", layer_norm_eps=EPSILON)
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.CLIPModel(config)

        def forward(self, ids, picture):
            out = self.model(input_ids=ids, pixel_values=picture)
            n = torch.arange(ids.shape[0], device=ids.device)
            return torch.stack([out.logits_per_image, out.logits_per_text]), torch.stack([n, n])

    ids = words()
    ids[:, -1] = 2
    return Net(), (ids, pictures(8))


def dlrm():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bottom, self.top = nn.Linear(4, 8), nn.Linear(8 + 6, 5)
            self.bags = nn.ModuleList([nn.EmbeddingBag(10, 8, mode=mode) for mode in ("sum", "mean", "max")])

        def forward(self, x, *indices):
            rows = [torch.relu(self.bottom(x))] + [bag(i) for bag, i in zip(self.bags, indices)]
            stacked = torch.stack(rows, 1)
            products = torch.bmm(stacked, stacked.transpose(1, 2))
            i, j = torch.tril_indices(4, 4, -1)
            return self.top(torch.cat([rows[0], products[:, i, j]], 1))

    return Net(), (torch.randn(SAMPLES, 4), *[torch.randint(0, 10, (SAMPLES, n)) for n in (3, 2, 4)])


def pieces():
    """Sequences of tensors, and positions in the batch."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows, self.head = nn.Linear(12, 12), nn.Linear(12, 5)

        def forward(self, x):
            a, b, c = self.rows(x).chunk(3, -1)
            parts = torch.split(self.rows(x), [2, 4, 6], -1)
            first = torch.unbind(x.view(x.shape[0], 4, 3), 1)[0]
            n = torch.arange(x.shape[0], device=x.device)
            y = torch.cat([a * b, parts[2] + torch.cat([c, first[:, :2]], -1), x[:, :2]], -1)
            return self.head(y[n] + (n % 4)[:, None] * x)

    return Net(), (torch.randn(SAMPLES, 12),)


# How each is exported: TorchScript, or dynamo without its optimizer.
NETWORKS = {gpt2: "torchscript", bloom: "torchscript", swin: "torchscript", clip: "torchscript", dlrm: "torchscript",
            pieces: "dynamo"}


def export(path, form, model, inputs):
    names = [f"x{i}" for i in range(len(inputs))]
    if form == "torchscript":
        torch.onnx.export(model, inputs, path, dynamo=False, input_names=names, opset_version=18,
                          dynamic_axes={name: {0: "N"} for name in names}, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.TRAINING)
    else:
        batch = torch.export.Dim("N", min=2, max=64)
        torch.onnx.export(model, inputs, path, dynamo=True, input_names=names, optimize=False, external_data=False,
                          dynamic_shapes=tuple({0: batch} for _ in inputs))
    file = onnx.load(path)
    for node in file.graph.node:
        node.doc_string = ""
        for i in reversed(range(len(node.metadata_props))):
            if node.metadata_props[i].key == "pkg.torch.onnx.stack_trace":  # where it was in the Python source
                del node.metadata_props[i]
    onnx.save(file, path)
    return [output.name for output in file.graph.output]


def losses(model, inputs, label):
    model = model.double().train()
    inputs = [x.double() if x.is_floating_point() else x for x in inputs]
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    found, at = [], 0
    for _ in range(STEPS):
        at = 0 if at >= SAMPLES else at
        batch = slice(at, at + BATCH)
        at += BATCH
        scores = model(*[x[batch] for x in inputs])
        scores, own = scores if isinstance(scores, tuple) else (scores, None)
        wanted = label[batch] if own is None else own
        loss = F.cross_entropy(scores.reshape(-1, scores.shape[-1]), wanted.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def make(folder, network, form):
    torch.manual_seed(1)
    model, inputs = network()
    os.makedirs(folder, exist_ok=True)
    outputs = export(os.path.join(folder, "model.onnx"), form, model.train(), inputs)
    for i, x in enumerate(inputs):
        np.save(os.path.join(folder, f"x{i}.npy"), x.numpy())
    scores, label = model(*inputs), None
    if isinstance(scores, tuple):
        target = outputs[1]
    else:
        label, target = torch.randint(0, scores.shape[-1], scores.shape[:-1]), "label"
        np.save(os.path.join(folder, "label.npy"), label.numpy())
    case = {"inputs": len(inputs), "batch": BATCH, "steps": STEPS, "rate": RATE,
            "loss": f"softmax_cross_entropy({outputs[0]},{target})", "losses": losses(model, inputs, label)}
    with open(os.path.join(folder, "case.json"), "w") as file:
        json.dump(case, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for network, form in NETWORKS.items():
        if len(sys.argv) < 3 or network.__name__ in sys.argv[2:]:
            make(os.path.join(sys.argv[1], network.__name__), network, form)
