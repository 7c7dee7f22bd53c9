// Weights, as far as the pass layout is concerned: variables with four dims whose elements lie otherwise in NHWC, and
// in all graphs what is of their shape around them: copies, gradients, sums of these, which of their elements are
// finite, new values.
#include "passes/emit/layout_work.h"

static bool lies_otherwise(const dp_type *type) {
  const dp_dim *dims = type->shape.dims;
  return type->shape.rank == 4 && dp_type_is_float(type->dtype) && !dp_shape_is_symbolic(&type->shape) &&
         dims[1].offset > 1 && dims[2].offset * dims[3].offset > 1;
}

static bool is_on_device(const dp_value *v) {
  return v->space == DP_SPACE_PERSISTENT || v->space == DP_SPACE_TRANSIENT || v->space == DP_SPACE_OFFLOAD;
}

static bool is_variable(const dp_layout_use *use) {
  const dp_value *v = use->value;
  bool is = v->kind == DP_VALUE_VARIABLE;
  for (int i = 0; i < use->work->graph->n_updates && !is; i++) is = use->work->graph->updates[i].value == v;
  return is;
}

// Whether the share is a variable's, of which all may be in NHWC.
static bool is_candidate(const dp_layout_share *share) {
  bool all = share->n_uses > 0 && is_variable(&share->uses[0]);
  for (int i = 0; i < share->n_uses && all; i++)
    all = lies_otherwise(share->uses[i].value->type) && is_on_device(share->uses[i].value) &&
          !share->uses[i].work->bound[share->uses[i].value->id];
  return all;
}

// Shapes that weights have, each once.
typedef struct {
  int count;
  const dp_shape **shapes;
} shape_set;

static bool has_shape(const shape_set *set, const dp_shape *shape) {
  int i = 0;
  while (i < set->count && !dp_shape_equal(set->shapes[i], shape)) i++;
  return i < set->count;
}

// Whether a value that is no variable may be one: weights in 16 bits are images to the pass.
static bool is_like_weight(const dp_layout_work *w, const dp_value *v, const shape_set *set) {
  return v->kind == DP_VALUE_RESULT && v->space != DP_SPACE_PERSISTENT && v->type->shape.rank == 4 &&
         v->type->dtype != DP_BFLOAT16 && v->type->dtype != DP_FLOAT16 && is_on_device(v) && !w->bound[v->id] &&
         has_shape(set, &v->type->shape);
}

static bool may_be_weight(const dp_layout_work *w, const dp_value *v) { return w->weight[v->id]; }

// Marks as weights, for a start, all values of such a shape.
static void mark(dp_layout_work *w, const shape_set *set, const bool *candidates) {
  for (int32_t i = 0; i < w->graph->n_values; i++) {
    const dp_value *v = w->graph->values[i];
    const int32_t share = w->share_of[i];
    w->weight[i] = (share >= 0 && candidates[share]) || is_like_weight(w, v, set);
  }
}

void dp_layout_find_weights(dp_layout_work *works, int n_works) {
  if (!n_works) return;
  const dp_layout_shares *shares = works->shares;
  bool *candidates = dp_alloc_n(works->scratch, (size_t)shares->count, sizeof *candidates);
  shape_set set = {0};
  for (int32_t s = 0; s < shares->count; s++) {
    candidates[s] = is_candidate(&shares->all[s]);
    if (!candidates[s]) continue;
    const dp_shape *shape = &shares->all[s].uses[0].value->type->shape;
    if (!has_shape(&set, shape)) DP_PUSH(works->scratch, set.shapes, set.count, shape);
  }
  for (int i = 0; i < n_works; i++) mark(&works[i], &set, candidates);
  for (int32_t s = 0; s < shares->count; s++)
    for (int i = 0; i < shares->all[s].n_uses && candidates[s]; i++)
      dp_layout_open_around(shares->all[s].uses[i].work, shares->all[s].uses[i].value);
  dp_layout_walk(works, n_works, may_be_weight);
  for (int i = 0; i < n_works; i++)
    for (int32_t v = 0; v < works[i].graph->n_values; v++) {
      const int32_t share = works[i].share_of[v];
      works[i].weight[v] = (share >= 0 && candidates[share]) || (works[i].weight[v] && works[i].reached[v]);
    }
}
