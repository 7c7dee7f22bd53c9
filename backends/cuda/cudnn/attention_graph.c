// See attention_graph.h.
#include "backends/cuda/cudnn/attention_graph.h"

#include "backends/cuda/cudnn/graph.h"

typedef cudnnBackendDescriptor_t tensor;

typedef struct {
  dp_cudnn_graph graph;
  const dp_cudnn_attention *a;
  tensor scale;
} builder;

// ---- tensors --------------------------------------------------------------------------------------------------------

enum { Q = DP_ATTENTION_Q, K = DP_ATTENTION_K, V = DP_ATTENTION_V };

// [batch, heads, rows, columns] of a tensor that lies as [batch, rows, heads, columns], where rows are `pitch` apart.
static tensor by_heads(builder *b, int64_t id, int64_t heads, int64_t pitch, int64_t rows, int64_t columns) {
  const int64_t extents[] = {b->a->batch, heads, rows, columns}, strides[] = {rows * pitch, columns, pitch, 1};
  return dp_cudnn_graph_tensor(&b->graph, id, dp_cudnn_data_type(b->a->dtype), extents, strides);
}

// The same with rows and columns exchanged.
static tensor turned(builder *b, int64_t id, int64_t heads, int64_t pitch, int64_t rows, int64_t columns) {
  const int64_t extents[] = {b->a->batch, heads, columns, rows}, strides[] = {rows * pitch, columns, 1, pitch};
  return dp_cudnn_graph_tensor(&b->graph, id, dp_cudnn_data_type(b->a->dtype), extents, strides);
}

static tensor queries(builder *b, int64_t id, int64_t pitch) {
  return by_heads(b, id, b->a->heads, pitch, b->a->length, b->a->size);
}

// Y or dY.
static tensor results(builder *b, int64_t id) {
  return by_heads(b, id, b->a->heads, b->a->all_heads * b->a->v_size, b->a->length, b->a->v_size);
}

static tensor of_keys(builder *b, int64_t id, int64_t pitch, int64_t size) {
  return by_heads(b, id, b->a->groups, pitch, b->a->keys, size);
}

static tensor turned_keys(builder *b, int64_t id, int64_t pitch, int64_t size) {
  return turned(b, id, b->a->groups, pitch, b->a->keys, size);
}

// Dense, for all heads of the graph. id 0: no memory holds it outside the engine.
static tensor dense(builder *b, int64_t id, cudnnDataType_t type, int64_t rows, int64_t columns) {
  const int64_t extents[] = {b->a->batch, b->a->heads, rows, columns};
  const int64_t strides[] = {b->a->heads * rows * columns, rows * columns, columns, 1};
  return dp_cudnn_graph_tensor(&b->graph, id, type, extents, strides);
}

static tensor scores(builder *b) { return dense(b, 0, CUDNN_DATA_FLOAT, b->a->length, b->a->keys); }

// One number for each row of the scores; in memory, it lies among those of all heads.
static tensor rows(builder *b, int64_t id) {
  const dp_cudnn_attention *a = b->a;
  const int64_t extents[] = {a->batch, a->heads, a->length, 1};
  const int64_t strides[] = {(id ? a->all_heads : a->heads) * a->length, a->length, 1, 1};
  return dp_cudnn_graph_tensor(&b->graph, id, CUDNN_DATA_FLOAT, extents, strides);
}

// ---- what both have -------------------------------------------------------------------------------------------------

// scale Q K' + mask
static tensor masked_scores(builder *b, tensor q, tensor k) {
  const dp_cudnn_attention *a = b->a;
  tensor raw = scores(b), scaled = scores(b);
  dp_cudnn_graph_product(&b->graph, q, k, raw);
  dp_cudnn_graph_pointwise(&b->graph, CUDNN_POINTWISE_MUL, raw, b->scale, scaled);
  if (!a->mask_batch) return scaled;
  const int64_t extents[] = {a->mask_batch, a->mask_heads, a->length, a->keys};
  const int64_t plane = a->length * a->keys, strides[] = {a->mask_all_heads * plane, plane, a->keys, 1};
  tensor mask = dp_cudnn_graph_tensor(&b->graph, DP_CUDNN_MASK, CUDNN_DATA_FLOAT, extents, strides), masked = scores(b);
  dp_cudnn_graph_pointwise(&b->graph, CUDNN_POINTWISE_ADD, scaled, mask, masked);
  return masked;
}

// Scores of keys that come no later than the row's query; HIDDEN in the place of the others. Engines know this pattern,
// and compute no blocks of scores of which nothing is left.
static tensor without_later_keys(builder *b, tensor s) {
  const dp_cudnn_attention *a = b->a;
  dp_cudnn_graph *g = &b->graph;
  if (!a->causal) return s;
  tensor row = dense(b, 0, CUDNN_DATA_INT32, a->length, a->keys);
  tensor column = dense(b, 0, CUDNN_DATA_INT32, a->length, a->keys);
  dp_cudnn_graph_places(g, 2, s, row);
  dp_cudnn_graph_places(g, 3, s, column);
  if (a->first) {
    tensor place = dense(b, 0, CUDNN_DATA_INT32, a->length, a->keys);
    dp_cudnn_graph_pointwise_in(g, CUDNN_DATA_INT32, CUDNN_POINTWISE_ADD, row,
                                dp_cudnn_graph_integer(g, DP_CUDNN_FIRST), place);
    row = place;
  }
  tensor seen = dense(b, 0, CUDNN_DATA_BOOLEAN, a->length, a->keys), kept = scores(b);
  dp_cudnn_graph_pointwise_in(g, CUDNN_DATA_BOOLEAN, CUDNN_POINTWISE_CMP_GE, row, column, seen);
  dp_cudnn_graph_select(g, seen, s, dp_cudnn_graph_number(g, DP_CUDNN_HIDDEN), kept);
  return kept;
}

// ---- forward --------------------------------------------------------------------------------------------------------

// P = exp(S - most) / sum, rounded to Q's type; LSE = most + log(sum), which engines want in the graph even if nobody
// does: then no memory holds it.
static void add_forward(builder *b) {
  const dp_cudnn_attention *a = b->a;
  dp_cudnn_graph *g = &b->graph;
  tensor s = masked_scores(b, queries(b, DP_CUDNN_Q, a->rows[Q]), turned_keys(b, DP_CUDNN_K, a->rows[K], a->size));
  s = without_later_keys(b, s);
  tensor most = rows(b, 0), less = scores(b), exponentials = scores(b), sum = rows(b, 0);
  dp_cudnn_graph_reduce(g, CUDNN_REDUCE_TENSOR_MAX, s, most);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_SUB, s, most, less);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_EXP, less, NULL, exponentials);
  dp_cudnn_graph_reduce(g, CUDNN_REDUCE_TENSOR_ADD, exponentials, sum);
  tensor log = rows(b, 0);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_LOG, sum, NULL, log);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_ADD, most, log, rows(b, a->statistics ? DP_CUDNN_LSE : 0));
  tensor p = dense(b, 0, dp_cudnn_data_type(a->dtype), a->length, a->keys);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_DIV, exponentials, sum, p);
  dp_cudnn_graph_product(g, p, of_keys(b, DP_CUDNN_V, a->rows[V], a->v_size), results(b, DP_CUDNN_Y));
}

// ---- gradient -------------------------------------------------------------------------------------------------------

// x' y, where each group has the sum over its heads: the gradient of K or V. x is rounded to their type.
static void add_keys_gradient(builder *b, tensor x, tensor y, int64_t size, tensor gradient) {
  const dp_cudnn_attention *a = b->a;
  const cudnnDataType_t type = dp_cudnn_data_type(a->dtype);
  const int64_t extents[] = {a->batch, a->heads, a->keys, a->length};
  const int64_t strides[] = {a->heads * a->length * a->keys, a->length * a->keys, 1, a->keys};
  tensor turned_x = dp_cudnn_graph_tensor(&b->graph, 0, type, extents, strides);
  dp_cudnn_graph_reshape(&b->graph, x, turned_x);
  if (a->heads == a->groups) {
    dp_cudnn_graph_product(&b->graph, turned_x, y, gradient);
    return;
  }
  tensor of_heads = dense(b, 0, type, a->keys, size);
  dp_cudnn_graph_product(&b->graph, turned_x, y, of_heads);
  dp_cudnn_graph_reduce(&b->graph, CUDNN_REDUCE_TENSOR_ADD, of_heads, gradient);
}

// P = exp(S - LSE); dV = P' dY; dS = P (dY V' - sum(dY Y)); dK = scale dS' Q; dQ = scale dS K. Engines look for later
// keys to be hidden after LSE is subtracted.
static void add_gradient(builder *b) {
  const dp_cudnn_attention *a = b->a;
  dp_cudnn_graph *g = &b->graph;
  tensor q = queries(b, DP_CUDNN_Q, a->rows[Q]), k = turned_keys(b, DP_CUDNN_K, a->rows[K], a->size);
  tensor v = turned_keys(b, DP_CUDNN_V, a->rows[V], a->v_size), dy = results(b, DP_CUDNN_DY);
  tensor products = dense(b, 0, CUDNN_DATA_FLOAT, a->length, a->v_size), sums = rows(b, 0);
  tensor through = rows(b, DP_CUDNN_THROUGH);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_MUL, dy, results(b, DP_CUDNN_Y), products);
  dp_cudnn_graph_reduce(g, CUDNN_REDUCE_TENSOR_ADD, products, sums);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_MUL, sums, dp_cudnn_graph_number(g, DP_CUDNN_ONE), through);

  tensor less = scores(b), p = scores(b);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_SUB, masked_scores(b, q, k), rows(b, DP_CUDNN_LSE), less);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_EXP, without_later_keys(b, less), NULL, p);
  add_keys_gradient(b, p, dy, a->v_size, of_keys(b, DP_CUDNN_DV, a->gradient_rows[V], a->v_size));

  tensor dp = scores(b), centred = scores(b), weighted = scores(b), ds = scores(b);
  dp_cudnn_graph_product(g, dy, v, dp);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_SUB, dp, through, centred);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_MUL, centred, p, weighted);
  dp_cudnn_graph_pointwise(g, CUDNN_POINTWISE_MUL, weighted, b->scale, ds);
  add_keys_gradient(b, ds, q, a->size, of_keys(b, DP_CUDNN_DK, a->gradient_rows[K], a->size));
  tensor plain_k = of_keys(b, 0, a->rows[K], a->size);
  dp_cudnn_graph_reshape(g, k, plain_k);
  dp_cudnn_graph_product(g, ds, plain_k, queries(b, DP_CUDNN_DQ, a->gradient_rows[Q]));
}

// ---- plans ----------------------------------------------------------------------------------------------------------

dp_status dp_cudnn_attention_plan(const dp_cudnn_calls *calls, cudnnHandle_t handle, cudnnBackendDescriptor_t device,
                                  const dp_cudnn_attention *attention, dp_cudnn_plan *plan, bool *found) {
  builder b = {.graph = {.plan = plan, .next = DP_CUDNN_ATTENTION_TENSORS}, .a = attention};
  *plan = (dp_cudnn_plan){.calls = calls};
  b.scale = dp_cudnn_graph_number(&b.graph, DP_CUDNN_SCALE);
  if (attention->gradient)
    add_gradient(&b);
  else
    add_forward(&b);
  const dp_cudnn_spec limits = {.dtype = attention->dtype, .workspace = attention->workspace};
  cudnnBackendDescriptor_t graph = dp_cudnn_graph_end(&b.graph, handle);
  return dp_cudnn_plan_search(plan, handle, device, &limits, NULL, b.graph.status, graph, "planning attention", found);
}

static uint64_t in_tiles(int64_t extent) { return ((uint64_t)extent + 63) / 64 * 64; }

uint64_t dp_cudnn_attention_workspace(const dp_cudnn_attention *a) {
  const uint64_t heads = (uint64_t)(a->batch * a->heads), more = 64 << 10;
  if (!a->gradient) return more;
  const uint64_t of_scores = heads * in_tiles(a->length) * in_tiles(a->keys) * 2;
  const uint64_t of_heads = a->heads == a->groups ? 0 : heads * (uint64_t)(a->keys * (a->size + a->v_size)) * 2;
  return of_scores + of_heads + more;
}
