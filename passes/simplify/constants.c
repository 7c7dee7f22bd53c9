// constants: turns the remaining constants into stored constants, variables of the model named after their content, so
// that each is in memory once, whichever programs use it.
#include "passes/simplify/constants.h"

#include <string.h>

#include "ir/graph/op.h"
#include "passes/base/pass.h"
#include "passes/simplify/rewrite.h"

static bool is_equal(const dp_tensor *a, const dp_tensor *b) {
  dp_attr x = {.name = "", .kind = DP_ATTR_TENSOR, .tensor = a}, y = {.name = "", .kind = DP_ATTR_TENSOR, .tensor = b};
  return dp_attr_equal(&x, &y);
}

static uint64_t hash_of(const dp_tensor *t) {
  uint64_t words[3 + DP_MAX_RANK] = {dp_hash64(t->data, t->bytes), (uint64_t)t->dtype, (uint64_t)t->rank};
  for (int d = 0; d < t->rank; d++) words[3 + d] = (uint64_t)t->extents[d];
  return dp_hash64(words, sizeof words);
}

int32_t dp_constants_store(dp_model *model, const dp_tensor *tensor) {
  uint64_t hash = hash_of(tensor);
  for (int again = 0;; again++) {
    const char *suffix = again ? dp_printf(model->arena, ".%d", again) : "";
    const char *name = dp_printf(model->arena, DP_CONSTANT_PREFIX "%016llx%s", (unsigned long long)hash, suffix);
    int32_t found = dp_model_find_variable(model, name);
    if (found < 0) {
      dp_variable p = {.name = name,
                       .kind = DP_STORED_CONSTANT,
                       .type = &(dp_type){tensor->dtype, dp_tensor_shape(tensor)},
                       .init = {.kind = DP_INIT_TENSOR, .tensor = tensor}};
      return dp_model_add_variable(model, &p);
    }
    const dp_variable *p = &model->variables[found];
    if (p->kind == DP_STORED_CONSTANT && p->init.kind == DP_INIT_TENSOR && is_equal(p->init.tensor, tensor))
      return found;
  }
}

static void store_constants(dp_graph *graph) {
  dp_rewrite rewrite = dp_rewrite_begin(graph);
  for (int32_t i = 0; i < rewrite.n_values; i++) {
    dp_value *v = graph->values[i];
    if (v->kind != DP_VALUE_CONSTANT) continue;
    dp_rewrite_replace(&rewrite, v, dp_graph_variable(graph, dp_constants_store(graph->model, v->constant)));
    dp_rewrite_drop_value(&rewrite, v);
  }
  for (int32_t i = 0; i < graph->n_nodes; i++) dp_rewrite_operands(&rewrite, graph->nodes[i]);
  dp_rewrite_end(&rewrite);
  graph->unchanged = dp_rewrite_did_nothing(&rewrite);
}

static dp_status run(dp_compile *compile) {
  for (int i = 0; i < compile->model->n_graphs; i++) store_constants(compile->model->graphs[i]);
  return DP_OK;
}

const dp_pass dp_pass_constants = {
    .name = "constants",
    .what = "turns constants into variables",
    .needs = DP_HAS_PROGRAMS,
    .gives = DP_HAS_NO_CONSTANTS,
    .run = run,
};
