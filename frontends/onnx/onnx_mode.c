// Whether a network was exported in training mode. PyTorch's exporters write BatchNormalization and Dropout in
// inference mode unless told otherwise; the newer one always writes BatchNormalization so. Also sets the gradients of
// Clip and Gather by the operation that the node names.
#include <stdlib.h>
#include <string.h>

#include "frontends/onnx/onnx_signature.h"
#include "ir/graph/op.h"

typedef struct {
  int training, inferring;  // numbers of BatchNormalizations
  int dropouts;             // number of Dropouts in the file
  const char *dropped;      // a value where one was left out; NULL: none known
  const char *folded;       // a convolution's weight into which a BatchNormalization was folded; NULL: none known
  const char *scaled;       // an embedding whose gradient is divided by how often a row is taken; NULL: none
} modes;

static bool is_op(const Dp__Onnx__Node *node, const char *op) {
  return !strcmp(node->op_type, op) && (!*node->domain || !strcmp(node->domain, "ai.onnx"));
}

// The traced program's operation shows whether it normalizes by the batch.
static void look_at_norm(dp_onnx_reader *reader, Dp__Onnx__Node *node, modes *m) {
  const char *fx = dp_onnx_signature_of_node(node);
  // The network computes the statistics itself: InstanceNorm, or weight standardization by F.batch_norm.
  if (fx && strstr(fx, "_native_batch_norm_legit.no_stats")) return;
  const bool as_traced = fx && strstr(fx, "_native_batch_norm_legit_functional") && strstr(fx, ", True, ");
  if (as_traced && !dp_onnx_attr_find(node, "training_mode")) dp_onnx_attr_add_int(reader, node, "training_mode", 1);
  const bool trains = dp_onnx_attr_int(node, "training_mode", 0) || node->n_output > 1;
  m->training += trains;
  m->inferring += !trains;
}

// ReLU6 is a hardtanh too.
static void look_at_clip(dp_onnx_reader *reader, Dp__Onnx__Node *node) {
  const char *fx = dp_onnx_signature_of_node(node);
  if (fx && !strcmp(dp_onnx_signature_op(reader->arena, fx), "hardtanh"))
    dp_onnx_attr_add_int(reader, node, DP_ATTR_GRAD_AT_BOUND, 0);
}

// An embedding's padding row gets no gradient through it.
static void look_at_gather(dp_onnx_reader *reader, Dp__Onnx__Node *node, modes *m) {
  const char *fx = dp_onnx_signature_of_node(node);
  if (!fx || strcmp(dp_onnx_signature_op(reader->arena, fx), "embedding")) return;
  // weight, indices, padding_idx, scale_grad_by_freq
  const char *padding = dp_onnx_signature_argument(reader->arena, fx, 2);
  if (!strcmp(dp_onnx_signature_argument(reader->arena, fx, 3), "True")) m->scaled = node->input[0];
  char *end;
  const long long row = strtoll(padding, &end, 10);
  if (*padding && !*end && row >= 0) dp_onnx_attr_add_int(reader, node, DP_ATTR_PADDING, row);
}

// A Dropout leaves a copy, which names the Dropout's module or line. If the optimizer removed the copy, other nodes
// still name its result. Views make copies of their own, so they do not count.
static void look_for_dropout(dp_onnx_reader *reader, const dp_onnx_signature *s, const Dp__Onnx__Node *node, modes *m) {
  static const char *const views[] = {"view", "_unsafe_view", "reshape", "transpose", "permute", "t"};
  const char *fx = dp_onnx_signature_of_node(node), *at = NULL, *name;
  if (!fx) return;
  const char *op = dp_onnx_signature_op(reader->arena, fx);
  const char *modules = dp_onnx_signature_find(node->n_metadata_props, node->metadata_props, "class_hierarchy");
  const char *lines = dp_onnx_signature_find(node->n_metadata_props, node->metadata_props, "stack_trace");
  if (!strcmp(op, "clone") && ((modules && strstr(modules, "ropout")) || (lines && strstr(lines, "ropout"))))
    m->dropped = node->n_output ? node->output[0] : "";
  for (size_t i = 0; i < DP_COUNT(views); i++)
    if (!strcmp(op, views[i])) return;
  while ((name = dp_onnx_signature_next(reader->arena, fx, &at)))
    if (!strncmp(name, "clone", 5) && (!name[5] || name[5] == '_') && dp_names_find(s->defined, name) < 0)
      m->dropped = name;
}

// The older exporter names what it computes from initializers after the operand. If a convolution's weight has such a
// name, a normalization was folded into it.
static void look_at_convolution(const Dp__Onnx__Node *node, modes *m) {
  for (size_t k = 1; k < node->n_input; k++)
    if (!strncmp(node->input[k], "onnx::Conv", 10)) m->folded = node->input[k];
}

dp_status dp_onnx_mode(dp_onnx_reader *reader, const dp_onnx_signature *s, dp_onnx_reasons *reasons) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  modes m = {0};
  if (!s && !dp_onnx_is_from_torch(reader)) return DP_OK;
  for (size_t i = 0; i < graph->n_node; i++) {
    Dp__Onnx__Node *node = graph->node[i];
    if (is_op(node, "BatchNormalization")) look_at_norm(reader, node, &m);
    if (is_op(node, "Dropout")) m.dropouts++;
    if (s && is_op(node, "Clip")) look_at_clip(reader, node);
    if (s && is_op(node, "Gather")) look_at_gather(reader, node, &m);
    if (s)
      look_for_dropout(reader, s, node, &m);
    else if (is_op(node, "Conv") || is_op(node, "ConvTranspose"))
      look_at_convolution(node, &m);
  }
  // If some normalizations train and some do not, that was intended.
  if (m.inferring && !m.training)
    dp_onnx_reasons_add(reasons, "BatchNormalization is as in inference, with statistics that stay as they are");
  if (m.folded) dp_onnx_reasons_add(reasons, "'%s' is a convolution and what follows it in one", m.folded);
  if (m.scaled)
    dp_onnx_reasons_add(reasons, "the gradient of embedding '%s' has scale_grad_by_freq=True, which is not supported",
                        m.scaled);
  // If BatchNormalization is in training mode, a Dropout that was left out had probability 0.
  if (m.dropped && !m.dropouts && !m.training)
    dp_onnx_reasons_add(reasons,
                        "Dropout is not in the file (at '%s'): it was exported as for inference, or its probability is "
                        "0, where nothing is lost and --as-exported is right",
                        m.dropped);
  if (!s && !m.dropouts && !m.training && !m.inferring)
    DP_PUSH(reader->arena, reader->model->notes, reader->model->n_notes,
            "Dropout, if the network has it, is not in the file: PyTorch's TorchScript exporter keeps it only with "
            "training=TrainingMode.TRAINING");
  return DP_OK;
}
