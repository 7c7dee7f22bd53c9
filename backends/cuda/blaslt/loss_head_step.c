// The loss's head, in chunks of rows: a product, one launch for the loss and its gradient in the scores' place, and two
// products that take it. See loss_head.h.
//
// Where the number of classes is no multiple of what a vector holds, products are of the next multiple of ALIGNED
// classes: of others, cuBLASLt's cost several times as much (with 50,257 classes on an H200 seven times). The rows of
// scores are longer then, weights are copied, and so is their gradient; all end with zeros.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/blaslt/loss_head.h"
#include "backends/cuda/blaslt/product.h"
#include "backends/cuda/device/cross_entropy.h"
#include "backends/cuda/device/head_loss.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/kernels/block.h"
#include "backends/cuda/kernels/draw.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/region.h"
#include "backends/cuda/kernels/types.h"
#include "ir/base/base.h"
#include "ir/kernel/extents.h"

// ENOUGH_BLOCKS of the loss keep a GPU busy; more rows are several to a block.
enum { ALIGNED = 64, ENOUGH_BLOCKS = 256 };

static bool match(const dp_kernel_spec *spec) {
  dp_loss_head head;
  return dp_loss_head_of(spec, &head);
}

// ---- extents and scratch --------------------------------------------------------------------------------------------

typedef struct {
  dp_loss_head of;
  dp_head chunks;
  dp_dtype dtype;
  int64_t pitch;                                               // of scores
  int vectors, threads;                                        // of the loss: of a thread, of a block
  bool copies;                                                 // weights, and their gradient
  uint64_t scores, weights, gradient, losses, workspace, end;  // where each begins in scratch
} extents;

static uint64_t take(uint64_t *end, uint64_t bytes) {
  const uint64_t at = *end;
  *end += dp_align_up(bytes, DP_CUDA_ALIGNMENT);
  return at;
}

// So many vectors of a row are shared as evenly as warps allow.
static void set_threads(extents *e, int64_t vectors) {
  e->vectors = (int)((vectors + DP_HEAD_LOSS_THREADS - 1) / DP_HEAD_LOSS_THREADS);
  e->threads = (int)dp_align_up((uint64_t)((vectors + e->vectors - 1) / e->vectors), DP_WARP);
}

static bool extents_of(const dp_kernel_spec *spec, extents *e) {
  *e = (extents){0};
  if (!dp_loss_head_of(spec, &e->of) || !dp_head_of(spec, DP_CUDA_HEAD_ROWS, &e->chunks)) return false;
  const dp_loss_head *head = &e->of;
  e->dtype = spec->region->values[head->w].dtype;
  const uint64_t each = dp_type_bytes(e->dtype);
  e->copies = head->classes % (DP_BLASLT_ALIGNMENT / (int64_t)each);
  e->pitch = e->copies ? (int64_t)dp_align_up((uint64_t)head->classes, ALIGNED) : head->classes;
  set_threads(e, (e->pitch * (int64_t)each + DP_HEAD_LOSS_VECTOR - 1) / DP_HEAD_LOSS_VECTOR);
  const uint64_t rows = (uint64_t)e->chunks.most, copy = (uint64_t)(head->features * e->pitch) * each;
  e->scores = take(&e->end, rows * (uint64_t)e->pitch * each);
  e->weights = take(&e->end, e->copies ? copy : 0);
  e->gradient = take(&e->end, e->copies && head->dw >= 0 ? copy : 0);
  e->losses = take(&e->end, (uint64_t)e->chunks.rows * sizeof(double));
  // Products give scores, dh and dw.
  const int64_t of_rows = e->chunks.most * dp_max_i64(e->pitch, head->features);
  e->workspace = take(&e->end, dp_blaslt_workspace(dp_max_i64(of_rows, head->features * e->pitch)));
  return true;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  extents e;
  return extents_of(spec, &e) ? e.end : UINT64_MAX;
}

// ---- prepare --------------------------------------------------------------------------------------------------------

// Of chunks of so many rows. first_dw: of the first chunk, which adds to nothing.
typedef struct {
  int64_t rows;
  dp_blaslt_product scores, dh, first_dw, dw;
} products;

typedef struct {
  extents e;
  const dp_cuda_function *loss, *sum, *pitch, *fill;
  products of[2];  // all chunks but the last ones have the same rows
} step;

static dp_status make_products(const dp_kernel_spec *spec, const extents *e, int64_t rows, products *p) {
  const dp_loss_head *head = &e->of;
  // Zeros behind the classes are multiplied too.
  const int64_t wide = e->pitch, turned = head->transposed;
  dp_blaslt_spec s = {.dtype = e->dtype,
                      .tf32 = spec->tf32 && e->dtype == DP_FLOAT32,
                      .batches = 1,
                      .alpha = 1,
                      .alignment = DP_BLASLT_ALIGNMENT};
  p->rows = rows;
  s.m = rows, s.n = wide, s.k = head->features;
  s.trans_b = turned;
  DP_TRY(dp_blaslt_product_need(&s, &p->scores));
  s.n = head->features, s.k = wide;
  s.trans_b = !turned;
  if (head->dh >= 0) DP_TRY(dp_blaslt_product_need(&s, &p->dh));
  if (head->dw < 0) return DP_OK;
  s.trans_a = true, s.trans_b = false, s.k = rows;
  s.m = turned ? wide : head->features, s.n = turned ? head->features : wide;
  DP_TRY(dp_blaslt_product_need(&s, &p->first_dw));
  s.beta = 1;
  return dp_blaslt_product_need(&s, &p->dw);
}

static dp_status add_functions(const dp_kernel_spec *spec, const extents *e, step *s) {
  const char *label = dp_cuda_type_of(spec->region->values[e->of.labels].dtype)->stored;
  char defines[1024];
  snprintf(defines, sizeof defines, "%s%s#define LABEL %s\n#define VECTORS %d\n#define HELD %d\n",
           dp_cuda_type_of(e->dtype)->defines, dp_cuda_type_of(e->dtype)->pairs, label, e->vectors,
           (int)dp_min_i64(e->vectors, DP_HEAD_LOSS_HELD));
  DP_TRY(dp_cuda_function_add("head_loss", defines, dp_cuda_source_head_loss, &s->loss));
  snprintf(defines, sizeof defines, "%s#define LABEL %s\n", dp_cuda_type_of(DP_FLOAT32)->defines, label);
  if (e->of.loss >= 0) DP_TRY(dp_cuda_function_add("loss_sum", defines, dp_cuda_source_loss_sum, &s->sum));
  if (e->copies)
    DP_TRY(dp_cuda_function_add("pitch", dp_cuda_type_moved(e->dtype)->defines, dp_cuda_source_pitch, &s->pitch));
  return dp_cuda_fill_add(e->dtype, &s->fill);
}

static dp_status make(const dp_kernel_spec *spec, step *s) {
  if (!extents_of(spec, &s->e)) return dp_fail(EX_SOFTWARE, "a region that is not a loss's head");
  DP_TRY(add_functions(spec, &s->e, s));
  for (int c = 0; c < s->e.chunks.count; c++) {
    const int64_t rows = dp_head_rows(&s->e.chunks, c);
    products *p = &s->of[rows == s->of[0].rows || !c ? 0 : 1];
    if (rows && p->rows != rows) DP_TRY(make_products(spec, &s->e, rows, p));
  }
  return DP_OK;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  step *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "there is no memory for a head's state");
  dp_status status = make(spec, s);
  if (status)
    free(s);
  else
    *state = s;
  return status;
}

dp_status dp_cuda_loss_head_add(const dp_kernel_spec *spec) {
  step s = {.loss = NULL};
  return extents_of(spec, &s.e) ? add_functions(spec, &s.e, &s) : DP_OK;
}

// ---- enqueue --------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_kernel_spec *spec;
  const step *s;
  dp_queue *queue;
  const void *const *in;
  void *const *out;
  char *scratch;
} running;

static void *result(const running *r, int32_t value) { return r->out[value - r->spec->n_inputs]; }

static const void *row(const running *r, const void *x, int64_t first) {
  return (const char *)x + first * r->s->e.of.features * (int64_t)dp_type_bytes(r->s->e.dtype);
}

// From weights of `from` classes to those of `to`. Where a row is a class, all of them are one row here.
static dp_status copy(const running *r, const void *x, int64_t from, void *y, int64_t to) {
  const dp_loss_head *head = &r->s->e.of;
  const int64_t each = DP_PITCH_EACH * DP_PITCH_THREADS, rows = head->transposed ? 1 : head->features;
  const int64_t wide = to * head->features / rows;
  const dp_pitch_arguments a = {.columns = head->classes * head->features / rows,
                                .wide = wide,
                                .from_pitch = from * head->features / rows,
                                .parts = (wide + each - 1) / each,
                                .x = x,
                                .y = y};
  return dp_cuda_launch(r->queue, r->s->pitch, rows * a.parts, DP_PITCH_THREADS, &a, sizeof a);
}

// Of all rows.
static dp_cross_entropy_arguments loss_of(const running *r) {
  const extents *e = &r->s->e;
  const dp_local *labels = &r->spec->region->values[e->of.labels].local;
  const dp_node *node = r->spec->region->members[e->of.of_loss].node;
  const bool is_mean = !strcmp(dp_node_string(node, "reduction", "mean"), "mean");
  return (dp_cross_entropy_arguments){.labels_count = e->chunks.rows,
                                      .classes = e->of.classes,
                                      .inner = 1,
                                      .place = dp_cuda_place_of(labels),
                                      .reporter = {dp_cuda_queue_fault(r->queue), dp_cuda_queue_instruction(r->queue)},
                                      .scores = r->scratch + e->scores,
                                      .labels = r->in[e->of.labels],
                                      .ignored = dp_node_int(node, "ignore_index", 0),
                                      .has_ignored = dp_node_attr(node, "ignore_index") != NULL,
                                      .divisor = is_mean ? (double)dp_max_i64(1, dp_whole_count(labels)) : 1,
                                      .losses = (double *)(r->scratch + e->losses),
                                      .dloss = e->of.dloss < 0 ? NULL : r->in[e->of.dloss],
                                      .y = e->of.loss < 0 ? NULL : result(r, e->of.loss)};
}

static dp_status put_losses(const running *r, const dp_cross_entropy_arguments *loss, int64_t first, int64_t rows) {
  const int64_t each = dp_min_i64(DP_HEAD_LOSS_ROWS, dp_max_i64(1, rows / ENOUGH_BLOCKS));
  const dp_head_loss_arguments a = {.loss = *loss, .pitch = r->s->e.pitch, .first = first, .rows = rows, .each = each};
  return dp_cuda_launch(r->queue, r->s->loss, (rows + each - 1) / each, r->s->e.threads, &a, sizeof a);
}

static dp_status run_chunk(const running *r, const dp_cross_entropy_arguments *loss, int c) {
  const extents *e = &r->s->e;
  const dp_loss_head *head = &e->of;
  const int64_t first = dp_head_first(&e->chunks, c), rows = dp_head_rows(&e->chunks, c);
  const products *p = &r->s->of[rows == r->s->of[0].rows ? 0 : 1];
  char *scores = r->scratch + e->scores, *workspace = r->scratch + e->workspace;
  const void *w = e->copies ? r->scratch + e->weights : r->in[head->w];
  if (!rows) return DP_OK;
  const dp_blaslt_data forward = {.a = row(r, r->in[head->h], first), .b = w, .y = scores};
  DP_TRY(dp_blaslt_product_enqueue(&p->scores, r->queue, &forward, workspace));
  DP_TRY(put_losses(r, loss, first, rows));
  if (head->dh >= 0) {
    const dp_blaslt_data dh = {.a = scores, .b = w, .y = (void *)(uintptr_t)row(r, result(r, head->dh), first)};
    DP_TRY(dp_blaslt_product_enqueue(&p->dh, r->queue, &dh, workspace));
  }
  if (head->dw < 0) return DP_OK;
  const void *x = row(r, r->in[head->x], first);
  void *dw = e->copies ? (void *)(r->scratch + e->gradient) : result(r, head->dw);
  const dp_blaslt_data data = {
      .a = head->transposed ? scores : x, .b = head->transposed ? x : scores, .c = c ? dw : NULL, .y = dw};
  return dp_blaslt_product_enqueue(c ? &p->dw : &p->first_dw, r->queue, &data, workspace);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const running r = {spec, state, queue, in, out, scratch};
  const extents *e = &r.s->e;
  const dp_loss_head *head = &e->of;
  if (e->copies && e->chunks.rows) DP_TRY(copy(&r, in[head->w], head->classes, r.scratch + e->weights, e->pitch));
  const dp_cross_entropy_arguments loss = loss_of(&r);
  for (int c = 0; c < e->chunks.count; c++) DP_TRY(run_chunk(&r, &loss, c));
  if (r.s->sum) DP_TRY(dp_cuda_launch(queue, r.s->sum, 1, DP_BLOCK_MOST, &loss, sizeof loss));
  if (head->dw < 0) return DP_OK;
  void *dw = result(&r, head->dw);
  if (!e->chunks.rows) return dp_cuda_fill(queue, r.s->fill, dw, head->features * head->classes, 0);
  return e->copies ? copy(&r, r.scratch + e->gradient, e->pitch, dw, head->classes) : DP_OK;
}

const dp_kernel dp_kernel_cuda_blaslt_Region = {
    .name = "cuda.blaslt.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .priority = 2,
    .library = true,
    .shares_state = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .expect = dp_blaslt_expect,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
