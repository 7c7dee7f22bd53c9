"""Makes metrics.json: scores of a linear model, labels, and what NumPy measures of them. Needs NumPy 2.

    python3 tests/tools/make_metrics.py > tests/tools/metrics.json
"""
import json

import numpy

draw = numpy.random.default_rng(6)
samples, features, classes = 24, 3, 7
x = draw.normal(size=(samples, features)).round(3)
w = draw.normal(size=(features, classes)).round(3)
scores = x @ w
# A third of the labels are what is predicted; the others are anything.
labels = numpy.where(numpy.arange(samples) % 3 == 0, scores.argmax(1), draw.integers(0, classes, samples))
shifted = scores - scores.max(1, keepdims=True)
log_softmax = shifted - numpy.log(numpy.exp(shifted).sum(1, keepdims=True))
loss = -log_softmax[numpy.arange(samples), labels].mean()
best = numpy.argsort(-scores, axis=1)[:, :5]
confusion = numpy.zeros((classes, classes), int)
numpy.add.at(confusion, (labels, scores.argmax(1)), 1)

v = draw.normal(size=(features, 2)).round(3)
target = draw.normal(size=(samples, 2)).round(3)
error = x @ v - target

print(json.dumps({
    "x": x.tolist(), "w": w.tolist(), "labels": labels.tolist(), "v": v.tolist(), "target": target.tolist(),
    "loss": loss, "accuracy": (scores.argmax(1) == labels).mean(), "top5": (best == labels[:, None]).any(1).mean(),
    "perplexity": float(numpy.exp(loss)), "confusion": confusion.tolist(),
    "mse": (error ** 2).mean(), "mae": numpy.abs(error).mean(),
}, indent=None))
