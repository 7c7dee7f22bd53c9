// dp.Region that is the head of a network (ir/kernel/head.h), in chunks of rows: each is a region of its own
// (backends/base/head.h), and so the launches of the kernel of regions, one chunk after another.
#include <stdlib.h>

#include "backends/base/head.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/kernels/region.h"
#include "ir/base/base.h"

static bool match(const dp_kernel_spec *spec) {
  dp_head head;
  return dp_head_of(spec, DP_CUDA_HEAD_ROWS, &head) && dp_kernel_cuda_Region.match(spec);
}

// ---- sums -----------------------------------------------------------------------------------------------------------

static uint64_t bytes_of(const dp_kernel_operand *v) {
  return dp_align_up((uint64_t)dp_local_count(&v->local) * dp_type_bytes(v->dtype), DP_CUDA_ALIGNMENT);
}

// Where the sums are after so many more chunks. A product adds to them where they are. All others, which are small, go
// to scratch and back, because elementwise launches put what they use where their results will be.
static void find_sums(const dp_kernel_spec *spec, const dp_head *head, int more, void *const *out, char *scratch,
                      void **sums) {
  for (int k = 0; k < spec->n_outputs; k++) {
    const int v = spec->n_inputs + k;
    if (head->standing[v] != DP_HEAD_SUM) continue;
    *sums++ = head->of_product[v] || more % 2 == 0 ? out[k] : scratch;
    if (!head->of_product[v]) scratch += bytes_of(&spec->outputs[k]);
  }
}

static uint64_t sums_bytes(const dp_kernel_spec *spec, const dp_head *head) {
  uint64_t bytes = 0;
  for (int k = 0; k < spec->n_outputs; k++) {
    const int v = spec->n_inputs + k;
    if (head->standing[v] == DP_HEAD_SUM && !head->of_product[v]) bytes += bytes_of(&spec->outputs[k]);
  }
  return bytes;
}

// A chunk that adds has all that one that does not has, and more.
static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_head head;
  dp_head_chunk *chunk = malloc(sizeof *chunk);
  uint64_t bytes = UINT64_MAX;
  if (chunk && dp_head_of(spec, DP_CUDA_HEAD_ROWS, &head)) {
    dp_head_chunk_make(spec, &head, 0, head.most, true, chunk);
    bytes = sums_bytes(spec, &head) + dp_kernel_cuda_Region.scratch_bytes(&chunk->spec);
  }
  free(chunk);
  return bytes;
}

// ---- prepare --------------------------------------------------------------------------------------------------------

typedef struct {
  dp_head_chunk of;
  void *state;
} chunk;

typedef struct {
  dp_head head;
  chunk *chunks;
} head_state;

static void release(void *state) {
  head_state *s = state;
  if (!s) return;
  for (int c = 0; s->chunks && c < s->head.count; c++) dp_kernel_cuda_Region.release(s->chunks[c].state);
  free(s->chunks);
  free(s);
}

static dp_status prepare_all(const dp_kernel_spec *spec, head_state *s) {
  if (!dp_head_of(spec, DP_CUDA_HEAD_ROWS, &s->head)) return dp_fail(EX_SOFTWARE, "a region that is no head");
  s->chunks = calloc((size_t)s->head.count, sizeof *s->chunks);
  if (!s->chunks) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  for (int c = 0; c < s->head.count; c++) {
    dp_head_chunk_make(spec, &s->head, dp_head_first(&s->head, c), dp_head_rows(&s->head, c), c > 0, &s->chunks[c].of);
    DP_TRY(dp_kernel_cuda_Region.prepare(&s->chunks[c].of.spec, &s->chunks[c].state));
  }
  return DP_OK;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  head_state *s = calloc(1, sizeof *s);
  dp_status status = s ? prepare_all(spec, s) : dp_fail(DP_EX_MEMORY, "out of memory for a region");
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

dp_status dp_cuda_head_add(const dp_kernel_spec *spec,
                           dp_status (*add)(const dp_kernel *kernel, const dp_kernel_spec *spec)) {
  dp_head head;
  dp_head_chunk *chunk = malloc(sizeof *chunk);
  dp_status status = DP_OK;
  if (!chunk || !dp_head_of(spec, DP_CUDA_HEAD_ROWS, &head))
    status = dp_fail(DP_EX_MEMORY, "out of memory for a region's functions");
  for (int c = 0; !status && c < head.count; c++) {
    dp_head_chunk_make(spec, &head, dp_head_first(&head, c), dp_head_rows(&head, c), c > 0, chunk);
    status = dp_cuda_region_add(&chunk->spec, add);
  }
  free(chunk);
  return status;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const head_state *s = state;
  const dp_head *head = &s->head;
  char *after_sums = (char *)scratch + sums_bytes(spec, head);
  for (int c = 0; c < head->count; c++) {
    void *before[DP_HEAD_VALUES], *sums[DP_HEAD_VALUES], *to[DP_HEAD_VALUES];
    const void *from[2 * DP_HEAD_VALUES];
    find_sums(spec, head, head->count - c, out, scratch, before);
    find_sums(spec, head, head->count - 1 - c, out, scratch, sums);
    dp_head_chunk_ends(spec, head, dp_head_first(head, c), in, out, before, sums, from, to);
    DP_TRY(dp_kernel_cuda_Region.enqueue(&s->chunks[c].of.spec, s->chunks[c].state, queue, from, to, after_sums));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_head_Region = {
    .name = "cuda.head.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .priority = 1,
    .shares_state = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .enqueue = enqueue,
};
