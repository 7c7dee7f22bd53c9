// Embeddings with a padding row in files that do not name it: PyTorch's older exporter leaves padding_idx out. Such a
// row is zero in a new network, and stays zero unless something else trains it. No other row of weights is zero by
// chance.
#include "frontends/onnx/onnx_signature.h"
#include "ir/graph/op.h"

#include <string.h>

// The only row of zeros in a table; -1: none, or several.
static int64_t find_zeros(const dp_tensor *t) {
  const int64_t width = t->extents[1];
  int64_t found = -1;
  for (int64_t row = 0; row < t->extents[0]; row++) {
    int64_t k = 0;
    while (k < width && dp_tensor_get(t, row * width + k) == 0) k++;
    if (k < width) continue;
    if (found >= 0) return -1;
    found = row;
  }
  return found;
}

dp_status dp_onnx_padding(dp_onnx_reader *reader, dp_onnx_scope *scope) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  for (size_t i = 0; i < graph->n_node; i++) {
    Dp__Onnx__Node *node = graph->node[i];
    if (strcmp(node->op_type, "Gather") || node->n_input != 2 || dp_onnx_attr_int(node, "axis", 0)) continue;
    const int32_t at = dp_names_find(scope->names, node->input[0]);  // results of nodes are not in the scope yet
    const dp_onnx_binding *table = at < 0 ? NULL : scope->bindings[at];
    if (!table || !table->initializer || table->role != DP_ONNX_TRAINED || !table->tensor || table->tensor->rank != 2 ||
        table->tensor->extents[0] < 2 || !dp_type_is_float(table->tensor->dtype))
      continue;
    DP_TRY(dp_onnx_count_work(reader, (size_t)dp_tensor_count(table->tensor)));
    const int64_t row = find_zeros(table->tensor);
    if (row < 0) continue;
    dp_onnx_attr_add_int(reader, node, DP_ATTR_PADDING, row);
    const char *note = dp_printf(reader->arena,
                                 "row %lld of '%s' is all zeros: taken for the padding of an embedding (padding_idx), "
                                 "through which it is not trained",
                                 (long long)row, table->name);
    DP_PUSH(reader->arena, reader->model->notes, reader->model->n_notes, note);
  }
  return DP_OK;
}
