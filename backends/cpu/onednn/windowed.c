// Kernels of convolution and pooling by oneDNN. See windowed.h.
#include "backends/cpu/onednn/windowed.h"

enum { RESULT = -1, ABSENT = -2 };

// Where x and w stand in the operators: an operand's number, RESULT or ABSENT.
static const struct {
  int x, w;
} places[] = {
    [DP_PRIMITIVE_CONV] = {0, 1},
    [DP_PRIMITIVE_CONV_GRAD_INPUT] = {RESULT, 0},
    [DP_PRIMITIVE_CONV_GRAD_WEIGHT] = {0, RESULT},
    [DP_PRIMITIVE_AVERAGE_POOL] = {0, ABSENT},
    [DP_PRIMITIVE_AVERAGE_POOL_PADDED] = {0, ABSENT},
};

static const dp_local *local_at(const dp_kernel_spec *spec, int place) {
  return place == ABSENT ? NULL : place == RESULT ? &spec->outputs[0].local : &spec->inputs[place].local;
}

static int64_t whole_count(const dp_local *local) {
  int64_t count = 1;
  for (int d = 0; d < local->rank; d++) count *= local->whole[d];
  return count;
}

// Elements of one sample of x and of y, of so many channels.
static int64_t plane_sum(const dp_geometry *window, int64_t x_channels, int64_t y_channels) {
  for (int i = 0; i < window->rank; i++) {
    x_channels *= window->x[i];
    y_channels *= window->y[i];
  }
  return x_channels + y_channels;
}

static dp_status spec_of(const dp_kernel_spec *spec, dp_primitive_kind kind, dp_primitive_spec *primitive,
                         bool *empty) {
  const dp_local *x = local_at(spec, places[kind].x), *w = local_at(spec, places[kind].w);
  *empty = dp_local_count(x) == 0 || (w && dp_local_count(w) == 0);
  if (*empty) return DP_OK;
  dp_primitive_spec p = {.kind = kind, .samples = x->extents[0], .x_channels = x->extents[1], .threads = spec->threads};
  p.groups = w ? dp_geometry_groups(dp_node_int(spec->node, "group", 1), x->extents[1], w->extents[1]) : 1;
  p.y_channels = w ? w->extents[0] : x->extents[1];
  p.bias = kind == DP_PRIMITIVE_CONV && spec->n_inputs > 2 && spec->inputs[2].present;
  DP_TRY(dp_geometry_make(spec->node, x->rank - 2, x->extents + 2, w ? w->extents + 2 : NULL, &p.window));
  p.whole_sample = plane_sum(&p.window, x->whole[1], w ? w->whole[0] : x->whole[1]);
  p.whole_weights = w ? whole_count(w) : 0;
  *primitive = p;
  return DP_OK;
}

bool dp_windowed_match(const dp_kernel_spec *spec, dp_primitive_kind kind) {
  const dp_local *x = local_at(spec, places[kind].x);
  if (spec->inputs[0].dtype != DP_FLOAT32 || x->rank < 3 || x->rank > 2 + DP_MAX_SPATIAL) return false;
  dp_primitive_spec p;
  bool empty;
  dp_status status = spec_of(spec, kind, &p, &empty);
  bool found = !status && (empty || dp_chunks_exist(&p));
  dp_status_free(status);
  return found;
}

uint64_t dp_windowed_scratch_bytes(const dp_kernel_spec *spec, dp_primitive_kind kind) {
  dp_primitive_spec p;
  bool empty;
  dp_status status = spec_of(spec, kind, &p, &empty);
  uint64_t bytes = status || empty ? 0 : dp_chunks_scratch_bytes(&p);
  dp_status_free(status);
  return bytes;
}

dp_status dp_windowed_prepare(const dp_kernel_spec *spec, dp_primitive_kind kind, void **state) {
  dp_primitive_spec p;
  bool empty;
  dp_chunks *chunks = NULL;
  DP_TRY(spec_of(spec, kind, &p, &empty));
  if (!empty) DP_TRY(dp_chunks_create(&p, &chunks));
  *state = chunks;
  return DP_OK;
}

void dp_windowed_release(void *state) { dp_chunks_destroy(state); }
