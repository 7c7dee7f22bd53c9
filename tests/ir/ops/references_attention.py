"""Attention that keeps no scores, as PyTorch gives it from the scores."""
import numpy as np
import torch

from references_draw import t
from references_numbers import dropout


def seen(s):
    """Which keys come no later than the query."""
    return torch.ones(s.shape[-2:], dtype=bool).tril()


def scores(a, q, k, mask):
    """S, [batch, heads, length, keys]."""
    q, k = t(q).double().permute(0, 2, 1, 3), t(k).double().permute(0, 2, 1, 3)
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    s = a.get("scale", 1.0) * q @ k.transpose(2, 3)
    if a.get("is_causal"):
        return torch.where(seen(s), s, torch.tensor(-np.inf, dtype=s.dtype))
    if mask is None:
        return s
    if mask.dtype == bool:
        return torch.where(t(mask), s, torch.tensor(a.get("masked", -np.inf), dtype=s.dtype))
    return s + t(mask).double()


def keep(a, shape, seed, step):
    """What dropout multiplies the probabilities by."""
    if not a.get("ratio"):
        return torch.ones(shape, dtype=torch.float64)
    return t(dropout(a, np.ones(shape), seed, step))


def mixed(p, v):
    v = v.permute(0, 2, 1, 3)
    return (p @ v.repeat_interleave(p.shape[1] // v.shape[1], 1)).permute(0, 2, 1, 3)


def attention(a, q, k, v, mask=None, seed=None, step=None):
    s = scores(a, q, k, mask)
    p, lse = torch.softmax(s, -1), torch.logsumexp(s, -1)
    if a.get("masked_rows") == "zero":
        p = torch.where(lse.isneginf()[..., None], torch.zeros_like(p), p)
    return [mixed(p * keep(a, p.shape, seed, step), t(v).double()), lse]


def attention_grad(a, dy, q, k, v, y, lse, mask=None, seed=None, step=None):
    """The formula: y and lse are drawn, so no attention has them."""
    s, dy, y, lse = scores(a, q, k, mask), t(dy).double(), t(y).double(), t(lse).double()
    p, m = torch.exp(s - lse[..., None]), keep(a, s.shape, seed, step)
    groups = k.shape[2]
    whole = lambda x: t(x).double().permute(0, 2, 1, 3).repeat_interleave(q.shape[2] // groups, 1)
    back = lambda x: x.reshape(x.shape[0], groups, -1, *x.shape[2:]).sum(2).permute(0, 2, 1, 3)
    by_head = dy.permute(0, 2, 1, 3)
    ds = p * (m * (by_head @ whole(v).transpose(2, 3)) - (dy * y).sum(-1).permute(0, 2, 1)[..., None])
    if mask is not None and mask.dtype == bool:
        ds = torch.where(t(mask), ds, torch.zeros_like(ds))
    if a.get("is_causal"):
        ds = torch.where(seen(ds), ds, torch.zeros_like(ds))
    scale, queries = a.get("scale", 1.0), t(q).double().permute(0, 2, 1, 3)
    return [(scale * ds @ whole(k)).permute(0, 2, 1, 3), back(scale * ds.transpose(2, 3) @ queries),
            back((p * m).transpose(2, 3) @ by_head), ds]
