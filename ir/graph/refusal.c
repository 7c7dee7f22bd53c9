// See refusal.h.
#include "ir/graph/refusal.h"

struct dp_refusal_entry {
  dp_value *count;
  struct dp_refusal_entry *next;
};

bool dp_refusal_of(const dp_node *node, dp_refusal *refusal) {
  *refusal = (dp_refusal){0};
  return node->op->refuses && node->op->refuses(node, refusal);
}

dp_refusal dp_refusal_counted(const dp_node *count) {
  const dp_attr *limit = dp_node_attr(count, DP_ATTR_LIMIT), *other = dp_node_attr(count, DP_ATTR_OTHER);
  return (dp_refusal){.bounded = limit != NULL,
                      .limit = limit && limit->count ? limit->dims[0] : dp_dim_of(0),
                      .negative = dp_node_int(count, DP_ATTR_NEGATIVE, 0) != 0,
                      .has_other = other != NULL,
                      .other = other ? other->i : 0,
                      .once = dp_node_int(count, DP_ATTR_ONCE, 0) != 0};
}

static bool is_same(const dp_refusal *a, const dp_refusal *b) {
  if (a->bounded != b->bounded || a->once != b->once) return false;
  if (!a->bounded) return true;
  return dp_dim_equal(a->limit, b->limit) && a->negative == b->negative && a->has_other == b->has_other &&
         (!a->has_other || a->other == b->other);
}

dp_value *dp_refusal_count(dp_builder *b, const dp_refusal *refusal, dp_value *data) {
  const dp_shape limit = {1, {refusal->limit}};
  dp_attr attrs[4];
  int n = 0;
  if (refusal->bounded) {
    attrs[n++] = dp_attr_dims(b->graph->arena, DP_ATTR_LIMIT, &limit);
    if (refusal->negative) attrs[n++] = dp_attr_int(DP_ATTR_NEGATIVE, 1);
    if (refusal->has_other) attrs[n++] = dp_attr_int(DP_ATTR_OTHER, refusal->other);
  }
  if (refusal->once) attrs[n++] = dp_attr_int(DP_ATTR_ONCE, 1);
  const bool symbolic = refusal->bounded && dp_dim_is_symbolic(refusal->limit);
  dp_value *in[] = {data, symbolic ? dp_graph_scalar(b->graph, DP_SCALAR_N) : NULL};
  return dp_build(b, "dp.CountRefused", symbolic ? 2 : 1, in, 1, n, attrs);
}

dp_value *dp_refusal_skip(const dp_node *update) {
  const int skip = update->op->n_inputs - 1;
  return dp_op_is(update->op, DP_OP_UPDATE) && skip < update->n_inputs ? update->inputs[skip] : NULL;
}

dp_refusal_table dp_refusal_table_make(dp_arena *arena, const dp_graph *graph) {
  dp_refusal_table table = {.arena = arena, .n_values = graph->n_values};
  table.entries = dp_alloc_n(arena, (size_t)graph->n_values + 1, sizeof *table.entries);
  return table;
}

void dp_refusal_table_add(dp_refusal_table *table, const dp_value *data, dp_value *count) {
  struct dp_refusal_entry *entry = dp_alloc(table->arena, sizeof *entry);
  if (data->id >= table->n_values) return;
  *entry = (struct dp_refusal_entry){count, table->entries[data->id]};
  table->entries[data->id] = entry;
}

dp_value *dp_refusal_table_find(const dp_refusal_table *table, const dp_value *data, const dp_refusal *refusal) {
  if (data->id >= table->n_values) return NULL;
  for (const struct dp_refusal_entry *e = table->entries[data->id]; e; e = e->next) {
    const dp_refusal counted = dp_refusal_counted(e->count->producer);
    if (is_same(&counted, refusal)) return e->count;
  }
  return NULL;
}
