// The cost model's numbers, measured: chains of one operator, compiled and run as any plan is. They begin with a
// parameter and end with a mean, so that next to nothing is copied between host and device. What a run takes beside its
// nodes is the same for chains of two lengths, so it is not in their difference.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/text/text.h"
#include "passes/pipeline.h"
#include "runtime/base/backend.h"
#include "runtime/session.h"
#include "tools/calibrate/calibration.h"

// A parameter (rows, columns) of float32, and `length` times what is done to it.
typedef struct {
  const char *node;  // "MatMul($, w)": of what was there before
  int64_t rows, columns;
  int length;
} chain;

typedef struct {
  const dp_backend_entry *entry;
  const dp_backend *backend;
  const char *isa;
  int threads;
} device;

enum { TIMES = 5, LENGTH = 4, TINY_LENGTH = 512 };
// A run takes so long, in ns, that clocks and interruptions do not matter, or operands have reached their bound.
static const double LONG_ENOUGH = 20e6;

static char *text_of(const chain *c) {
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  fprintf(out, "model chain { opset 18 input x: float32[N] ");
  fprintf(out, "parameter v0: float32[%lld,%lld] = kaiming_uniform() ", (long long)c->rows, (long long)c->columns);
  fprintf(out, "parameter w: float32[%lld,%lld] = kaiming_uniform() ", (long long)c->columns, (long long)c->columns);
  for (int i = 1; i <= c->length; i++) {
    char operand[16];
    snprintf(operand, sizeof operand, "v%d", i - 1);
    fprintf(out, "v%d = ", i);
    for (const char *at = c->node; *at; at++) *at == '$' ? fputs(operand, out) : fputc(*at, out);
    fputc(' ', out);
  }
  fprintf(out, "mean = ReduceMean(v%d) {keepdims=0} y = Add(x, mean) output y }", c->length);
  fclose(out);
  return text;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// The shortest of several runs. The first ones prepare, and capture what is captured.
static dp_status run_times(dp_session *session, double *ns) {
  const int program = dp_session_find(session, "infer");
  const dp_step step = {.n = 1};
  *ns = 0;
  for (int i = 0; i < 2 + TIMES; i++) {
    const double begin = now();
    DP_TRY(dp_session_run(session, program, 0, &step));
    const double taken = now() - begin;
    if (i >= 2 && (!*ns || taken < *ns)) *ns = taken;
  }
  return DP_OK;
}

static dp_status time_chain(dp_arena *arena, const device *d, const chain *c, double *ns) {
  dp_model *model;
  Dp__Plan *plan;
  dp_session *session;
  char *text = text_of(c);
  if (!text) return dp_fail(DP_EX_MEMORY, "no memory to measure");
  dp_status status = dp_text_parse(arena, "chain", text, strlen(text), &model);
  free(text);
  DP_TRY(status);
  const dp_options options = {
      .mode = "infer", .batch = 1, .no_fuse = true, .threads = d->threads, .isa = d->isa, .target = d->entry->target};
  DP_TRY(dp_pipeline_run(model, &options, &plan));
  DP_TRY(dp_session_create(plan, d->backend, &(dp_session_options){.workers = d->threads}, &session));
  status = run_times(session, ns);
  dp_session_destroy(session);
  return status;
}

// What one node takes, in ns. *whole: what a run takes. Nodes are most of a run, so a difference that says otherwise
// comes from something else that the machine did, and is measured again.
static dp_status time_node(dp_arena *arena, const device *d, chain c, double *node, double *whole) {
  chain longer = c;
  longer.length *= 2;
  for (int attempt = 0; attempt < 3; attempt++) {
    double once, twice;
    DP_TRY(time_chain(arena, d, &c, &once));
    DP_TRY(time_chain(arena, d, &longer, &twice));
    const double share = (twice - once) / (twice / 2);
    *whole = twice;
    *node = twice / longer.length;
    if (share < 0.5 || share > 1.1) continue;
    *node = (twice - once) / c.length;
    break;
  }
  return DP_OK;
}

// Operations in a ns, of products of square matrices.
static dp_status measure_flops(dp_arena *arena, const device *d, double *rate) {
  double node, whole = 0;
  for (int64_t k = 128; k <= 4096 && whole < LONG_ENOUGH; k *= 2) {
    DP_TRY(time_node(arena, d, (chain){"MatMul($, w)", k, k, LENGTH}, &node, &whole));
    *rate = 2 * (double)(k * k * k) / node;
  }
  return DP_OK;
}

// Bytes in a ns, read and written, of tensors that no cache holds.
static dp_status measure_bytes(dp_arena *arena, const device *d, double *rate) {
  double node, whole = 0;
  for (int64_t rows = 64; rows <= 16384 && whole < LONG_ENOUGH; rows *= 2) {
    DP_TRY(time_node(arena, d, (chain){"Neg($)", rows * 4, 1024, LENGTH}, &node, &whole));
    *rate = 2.0 * (double)(rows * 4096) * sizeof(float) / node;
  }
  return DP_OK;
}

dp_status dp_dpc_costs_measure(dp_arena *arena, const dp_backend_entry *entry, const dp_backend *backend,
                               const char *isa, int threads, dp_dpc_costs *costs) {
  const device d = {entry, backend, isa, threads};
  double whole;
  costs->threads = threads;
  DP_TRY(time_node(arena, &d, (chain){"Neg($)", 1, 1, TINY_LENGTH}, &costs->start_ns, &whole));
  DP_TRY(measure_flops(arena, &d, &costs->flops_per_ns));
  return measure_bytes(arena, &d, &costs->bytes_per_ns);
}
