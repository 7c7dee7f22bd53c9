"""Makes the description of a failing network smaller while it still fails in the same way."""

import copy

from compare import Failure, compare


def without_layers(layers):
    """Every way to leave out one layer, or to replace a skip by its inner layers."""
    for i, layer in enumerate(layers):
        yield layers[:i] + layers[i + 1 :]
        if layer["kind"] == "skip":
            yield layers[:i] + layer["layers"] + layers[i + 1 :]
            for inner in without_layers(layer["layers"]):
                yield layers[:i] + [dict(layer, layers=inner)] + layers[i + 1 :]


def smaller(description):
    for layers in without_layers(description["layers"]):
        yield dict(description, layers=layers)
    plain = {"kind": "sgd", "lr": 0.05}
    if description["optimizer"] != plain:
        yield dict(description, optimizer=plain)
        for key in description["optimizer"]:
            if key not in ("kind", "lr"):
                yield dict(description, optimizer={k: v for k, v in description["optimizer"].items() if k != key})
    for key, value in ("devices", 1), ("loss", "squares"), ("per_place", False), ("classes", 2), ("width", 4):
        if description[key] != value:
            yield dict(description, **{key: value})
    if description["samples"] % description["batch"]:
        yield dict(description, samples=description["batch"])
    if description["batch"] > 3:
        yield dict(description, batch=3, samples=3)
    for i, extent in enumerate(description["shape"]):
        for less in {1, extent // 2, extent - 1} - {0, extent}:
            yield dict(description, shape=description["shape"][:i] + [less] + description["shape"][i + 1 :])


def shrink(tools, description, kind, tries=300):
    """Returns the smallest description found, and its failure's text."""
    best, why, found = copy.deepcopy(description), "", True
    while found and tries > 0:
        found = False
        for candidate in smaller(best):
            tries -= 1
            try:
                compare(tools, candidate)
            except Failure as failure:
                if failure.kind == kind:
                    best, why, found = candidate, str(failure), True
            except Exception:  # it no longer describes a network
                pass
            if found or tries <= 0:
                break
    return best, why
