// cse: merges nodes that compute the same thing, and equal constants; the first stays. Random nodes and updates are
// never merged, and nodes only when the user's annotations of them are equal. An Identity goes too, unless the user has
// annotated it, or it stands for a variable or an input.
#include <string.h>

#include "ir/graph/op.h"
#include "passes/base/pass.h"
#include "passes/simplify/cse.h"
#include "passes/simplify/rewrite.h"

// ---- equality of nodes ----------------------------------------------------------------------------------------------

uint64_t dp_cse_mix(dp_cse_hash *of, uint64_t hash, uint64_t word) {
  uint64_t words[] = {hash, word};
  return of(words, sizeof words);
}

// The low half, as dp_hash_name gives it.
static uint64_t hash_text(dp_cse_hash *of, const char *text) { return (uint32_t)of(text, strlen(text)); }

static uint64_t hash_value(dp_cse_hash *of, const dp_attr *attr) {
  switch (attr->kind) {
    case DP_ATTR_STRING:
      return hash_text(of, attr->s);
    case DP_ATTR_INTS:
      return of(attr->ints, attr->count * sizeof *attr->ints);
    case DP_ATTR_FLOATS:
      return of(attr->floats, attr->count * sizeof *attr->floats);
    case DP_ATTR_DIMS:
      return of(attr->dims, attr->count * sizeof *attr->dims);
    default:
      return of(&attr->i, sizeof attr->i);
  }
}

uint64_t dp_cse_hash_attr(dp_cse_hash *of, const dp_attr *attr) {
  uint64_t hash = dp_cse_mix(of, hash_text(of, attr->name), (uint64_t)attr->kind + (attr->count << 8));
  if (attr->kind == DP_ATTR_STRINGS || attr->kind == DP_ATTR_TENSOR) return hash;
  return dp_cse_mix(of, hash, hash_value(of, attr));
}

static uint64_t mix(uint64_t hash, uint64_t word) { return dp_cse_mix(dp_hash_table, hash, word); }

// Attributes are hashed as a set: their order has no meaning.
static uint64_t hash_node(const dp_node *node) {
  uint64_t hash = mix((uint64_t)(uintptr_t)node->op, (uint64_t)node->n_inputs), attrs = 0;
  for (int i = 0; i < node->n_inputs; i++) hash = mix(hash, node->inputs[i] ? (uint64_t)node->inputs[i]->id + 1 : 0);
  for (int i = 0; i < node->n_attrs; i++) attrs += dp_cse_hash_attr(dp_hash_table, &node->attrs[i]);
  return mix(hash, attrs);
}

static bool is_equal_node(const dp_node *a, const dp_node *b) {
  if (a->op != b->op || a->n_inputs != b->n_inputs || a->n_attrs != b->n_attrs || a->device != b->device ||
      a->stage != b->stage || a->n_constraints != b->n_constraints)
    return false;
  for (int i = 0; i < a->n_constraints; i++)
    if (strcmp(a->constraints[i].axis, b->constraints[i].axis) ||
        !dp_placement_equal(a->constraints[i].placement, b->constraints[i].placement))
      return false;
  for (int i = 0; i < a->n_inputs; i++)
    if (a->inputs[i] != b->inputs[i]) return false;
  for (int i = 0; i < a->n_attrs; i++) {
    const dp_attr *other = dp_node_attr(b, a->attrs[i].name);
    if (!other || !dp_attr_equal(&a->attrs[i], other)) return false;
  }
  // The first must give every result that the second gives.
  for (int i = 0; i < b->n_outputs; i++)
    if (b->outputs[i] && (i >= a->n_outputs || !a->outputs[i])) return false;
  return true;
}

static bool does_nothing(const dp_node *node) {
  if (strcmp(node->op->name, "Identity") || *node->op->domain || node->n_constraints) return false;
  const dp_node *before = node->inputs[0]->producer;
  return before && before->device == node->device && before->stage == node->stage;
}

// ---- a table of what stays ------------------------------------------------------------------------------------------

// For nodes or constants; the caller compares entries.
typedef struct {
  uint64_t hash;
  const void *what;
} entry;

typedef struct {
  size_t capacity;  // a power of two, more than twice the entries
  entry *entries;
} table;

static table make_table(dp_arena *scratch, int32_t most) {
  table t = {.capacity = 16};
  while (t.capacity < 2 * (size_t)most) t.capacity *= 2;
  t.entries = dp_alloc_n(scratch, t.capacity, sizeof *t.entries);
  return t;
}

// An entry that equals `what`, or `what` itself after adding it.
static const void *find_or_add(table *t, uint64_t hash, const void *what, bool (*equal)(const void *, const void *)) {
  size_t i = hash & (t->capacity - 1);
  for (; t->entries[i].what; i = (i + 1) & (t->capacity - 1))
    if (t->entries[i].hash == hash && equal(t->entries[i].what, what)) return t->entries[i].what;
  t->entries[i] = (entry){hash, what};
  return what;
}

static bool equal_nodes(const void *a, const void *b) { return is_equal_node(a, b); }

static bool equal_constants(const void *a, const void *b) {
  const dp_tensor *s = ((const dp_value *)a)->constant, *t = ((const dp_value *)b)->constant;
  dp_attr x = {.name = "", .kind = DP_ATTR_TENSOR, .tensor = s}, y = {.name = "", .kind = DP_ATTR_TENSOR, .tensor = t};
  return dp_attr_equal(&x, &y);
}

// ---- the walk -------------------------------------------------------------------------------------------------------

static void merge_constants(dp_arena *scratch, dp_rewrite *rewrite) {
  dp_graph *graph = rewrite->graph;
  table t = make_table(scratch, graph->n_values);
  for (int32_t i = 0; i < graph->n_values; i++) {
    dp_value *v = graph->values[i];
    if (v->kind != DP_VALUE_CONSTANT) continue;
    uint64_t hash = mix(dp_hash_table(v->constant->data, v->constant->bytes), v->constant->dtype);
    dp_value *first = (dp_value *)find_or_add(&t, hash, v, equal_constants);
    if (first == v) continue;
    dp_rewrite_replace(rewrite, v, first);
    dp_rewrite_drop_value(rewrite, v);
  }
}

static dp_status merge(dp_graph *graph) {
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_rewrite rewrite = dp_rewrite_begin(graph);
  merge_constants(scratch, &rewrite);
  table t = make_table(scratch, graph->n_nodes);
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    dp_rewrite_operands(&rewrite, node);
    if (dp_op_is(node->op, DP_OP_RANDOM) || dp_op_is(node->op, DP_OP_UPDATE)) continue;
    if (does_nothing(node)) {
      dp_rewrite_replace(&rewrite, node->outputs[0], node->inputs[0]);
      dp_rewrite_drop(&rewrite, node);
      continue;
    }
    const dp_node *first = find_or_add(&t, hash_node(node), node, equal_nodes);
    if (first == node) continue;
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k]) dp_rewrite_replace(&rewrite, node->outputs[k], first->outputs[k]);
    dp_rewrite_drop(&rewrite, node);
  }
  dp_rewrite_end(&rewrite);
  graph->unchanged = dp_rewrite_did_nothing(&rewrite);
  dp_arena_destroy(scratch);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  for (int i = 0; i < compile->model->n_graphs; i++) DP_TRY(merge(compile->model->graphs[i]));
  return DP_OK;
}

const dp_pass dp_pass_cse = {
    .name = "cse",
    .what = "merges equal nodes and constants, drops nodes that do nothing",
    .run = run,
};
