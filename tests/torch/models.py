"""Networks of libraries (transformers, timm) in tiny configurations with random weights. exporters.py exports each in
three ways. If a network takes more than one tensor, they lie side by side in x."""
import importlib

import torch
from torch import nn
from torch.nn import functional as F

from compare import Failure


class Absent:
    """Stands for a package that is not installed; its networks cannot be made."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        raise Failure("absent", f"the Python package {self.name} is not installed")


def find(name, module=None):
    try:
        return importlib.import_module(module or name)
    except ImportError:
        return Absent(name)


transformers = find("transformers")
maxxvit, xcit = find("timm", "timm.models.maxxvit"), find("timm", "timm.models.xcit")
if not isinstance(transformers, Absent):
    transformers.logging.set_verbosity_error()  # hides notes on missing kernels and masks

WORDS, LENGTH = 17, 6


class Scores(nn.Module):
    """A network of transformers that outputs only the scores."""

    def __init__(self, model, mask=False, **more):
        super().__init__()
        self.model, self.mask, self.more = model, mask, more

    def forward(self, x):
        mask = dict(attention_mask=torch.ones_like(x)) if self.mask else {}  # else it looks for packed texts
        return self.model(x, **mask, **self.more).logits


TOKENS = dict(vocab_size=WORDS, bos_token_id=1, eos_token_id=2, pad_token_id=None)


def language(of, config, **sizes):
    """A language model, by the names of its class and its configuration, with small sizes."""

    def make():
        model = getattr(transformers, of)(getattr(transformers, config)(**TOKENS, **sizes))
        return Scores(model, mask=True, use_cache=False)

    return make


SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=16)
GATED = dict(SMALL, intermediate_size=24, num_key_value_heads=1, head_dim=16)
NARROW = dict(GATED, hidden_size=16)
EAGER = dict(attn_implementation="eager")  # PyTorch's newer exporter cannot export the other one
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def mamba():
    return language("MambaForCausalLM", "MambaConfig", hidden_size=16, num_hidden_layers=2, state_size=4)()


def rwkv():
    return language("RwkvForCausalLM", "RwkvConfig", context_length=16, hidden_size=16, num_hidden_layers=2)()


def bloom():
    """With PyTorch's GELU. The network's own computes its gradient in Python code, with rounded constants, and no file
    holds that."""
    model = transformers.BloomForCausalLM(transformers.BloomConfig(**TOKENS, hidden_size=32, n_layer=2, n_head=2))
    for block in model.transformer.h:
        block.mlp.gelu_impl = nn.GELU(approximate="tanh")
    return Scores(model, mask=True, use_cache=False)


def bert():
    return Scores(transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=WORDS, intermediate_size=24, **SMALL, **NO_DROPOUT)))  # fmt: skip


def deberta():
    return Scores(transformers.DebertaV2ForMaskedLM(transformers.DebertaV2Config(
        vocab_size=WORDS, intermediate_size=24, relative_attention=True, position_buckets=8,
        pos_att_type=["p2c", "c2p"], **SMALL, **NO_DROPOUT)))  # fmt: skip


class Both(nn.Module):
    """An encoder and a decoder that both get the same words."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        ones = torch.ones_like(x)
        return self.model(input_ids=x, decoder_input_ids=x.flip(1), attention_mask=ones, decoder_attention_mask=ones,
                          use_cache=False).logits  # fmt: skip


def bart():
    return Both(transformers.BartForConditionalGeneration(transformers.BartConfig(
        vocab_size=WORDS, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=16, dropout=0.0,
        attention_dropout=0.0)))  # fmt: skip


def t5():
    return Both(transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=WORDS, d_model=32, d_kv=16, d_ff=24, num_layers=1, num_decoder_layers=1, num_heads=2,
        dropout_rate=0.0, **EAGER)))  # fmt: skip


class Clip(nn.Module):
    """Both directions of the contrastive loss: scores of [N, 2, N], where sample i must find sample i of the batch."""

    def __init__(self):
        super().__init__()
        sizes = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1)
        text = dict(sizes, vocab_size=WORDS, max_position_embeddings=16, eos_token_id=2, pad_token_id=1, bos_token_id=0)
        vision = dict(sizes, image_size=8, patch_size=4)
        config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
        self.model = transformers.CLIPModel(config)

    def forward(self, x):
        ids = (x[:, :LENGTH].abs() * 14).long() + 3
        out = self.model(input_ids=F.pad(ids, (0, 1), value=2), pixel_values=x[:, LENGTH:].reshape(-1, 3, 8, 8))
        return torch.stack([out.logits_per_image, out.logits_per_text], 1)


class Dlrm(nn.Module):
    """Sums of table rows (bags), and their pairwise products."""

    def __init__(self, modes=("sum", "mean", "max")):
        super().__init__()
        self.bottom, self.top = nn.Linear(4, 8), nn.Linear(8 + 6, 5)
        self.bags = nn.ModuleList(nn.EmbeddingBag(10, 8, mode=mode) for mode in modes)

    def forward(self, x):
        ids = (x[:, 4:].abs() * 10).long()
        bags = [bag(ids[:, 3 * i : 3 * i + 3]) for i, bag in enumerate(self.bags)]
        rows = [torch.relu(self.bottom(x[:, :4])), *bags]
        stacked = torch.stack(rows, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([rows[0], products[:, i, j]], 1))


class Views(nn.Module):
    """SimCLR: two views of each sample, concatenated along the batch. The scores of all 2N views with all 2N are
    arranged as [N, 2, 2N], so that each view of sample i must find i, its other view."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x):
        z = F.normalize(self.net(torch.cat([x, x * 0.5 + 0.25], 0)), dim=1)
        n = x.shape[0]
        first, second, own = z[:n], z[n:], torch.arange(n)
        # Scores of the first views with the second ones, then with each other; and vice versa.
        across, away = first @ second.T * 4, (own[:, None] == own[None, :]).to(z.dtype) * 1e4
        firsts, seconds = first @ first.T * 4 - away, second @ second.T * 4 - away
        return torch.stack([torch.cat([across, firsts], 1), torch.cat([across.T, seconds], 1)], 1)


def swin(of, config):
    def make():
        return Scores(getattr(transformers, of)(getattr(transformers, config)(
            image_size=8, patch_size=2, embed_dim=8, depths=[2], num_heads=[2], window_size=2, drop_path_rate=0.0,
            num_labels=5, **EAGER)))  # fmt: skip

    return make


def convnext():
    return Scores(transformers.ConvNextForImageClassification(transformers.ConvNextConfig(
        num_stages=2, hidden_sizes=[8, 12], depths=[1, 1], patch_size=2, num_labels=5,
        layer_scale_init_value=0.5)))  # fmt: skip


def make_xcit():
    return xcit.Xcit(img_size=16, patch_size=8, num_classes=5, embed_dim=16, depth=1, num_heads=2, cls_attn_layers=1)


def coatnet():
    return maxxvit.MaxxVit(maxxvit.MaxxVitCfg(
        embed_dim=(8, 8, 16, 16), depths=(1, 1, 1, 1), block_type=("C", "C", "T", "T"), stem_width=8,
        conv_cfg=maxxvit.MaxxVitConvCfg(expand_ratio=2.0),
        transformer_cfg=maxxvit.MaxxVitTransformerCfg(dim_head=16, rel_pos_type="bias")),
        img_size=(64, 64), num_classes=5)  # fmt: skip


TEXT, IMAGE, PICTURE = ("words", [LENGTH], WORDS), ("image", [3, 8, 8], 0), ("image", [3, 16, 16], 0)
GPT2 = dict(n_positions=16, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)

MODELS = {
    "gpt2": (language("GPT2LMHeadModel", "GPT2Config", **GPT2), TEXT, WORDS),
    "gpt-neox": (language("GPTNeoXForCausalLM", "GPTNeoXConfig", **SMALL, intermediate_size=24), TEXT, WORDS),
    "bloom": (bloom, TEXT, WORDS),
    "llama-hf": (language("LlamaForCausalLM", "LlamaConfig", **GATED), TEXT, WORDS),
    "mistral": (language("MistralForCausalLM", "MistralConfig", **GATED), TEXT, WORDS),
    "qwen3": (language("Qwen3ForCausalLM", "Qwen3Config", **GATED), TEXT, WORDS),
    "gemma": (language("GemmaForCausalLM", "GemmaConfig", **NARROW), TEXT, WORDS),
    "gemma2": (language("Gemma2ForCausalLM", "Gemma2Config", **NARROW, query_pre_attn_scalar=16), TEXT, WORDS),
    "phi": (language("PhiForCausalLM", "PhiConfig", **SMALL, intermediate_size=24), TEXT, WORDS),
    "mamba": (mamba, TEXT, WORDS),
    "rwkv": (rwkv, TEXT, WORDS),
    "bert": (bert, TEXT, WORDS),
    "deberta": (deberta, TEXT, WORDS),
    "bart": (bart, TEXT, WORDS),
    "t5": (t5, TEXT, WORDS),
    "clip": (Clip, ("row", [LENGTH + 192], 0), "batch"),
    "convnext": (convnext, PICTURE, 5),
    "swin": (swin("SwinForImageClassification", "SwinConfig"), IMAGE, 5),
    "swin2": (swin("Swinv2ForImageClassification", "Swinv2Config"), IMAGE, 5),
    "xcit": (make_xcit, PICTURE, 5),
    "coatnet": (coatnet, ("image", [3, 64, 64], 0), 5),
    "dlrm": (Dlrm, ("row", [13], 0), 5),
    "simclr": (Views, ("row", [6], 0), "batch"),
}
