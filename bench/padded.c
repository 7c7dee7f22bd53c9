// What a padded leading dimension of stored tensors would gain on a CPU: CPU time of one thread for a product of
// operands whose rows lie one after the other, as dprun computes it (copying blocks of rows first where they would push
// each other out of the cache), and for the same product by the library alone, of operands that are stored with 16
// floats of padding behind each row of a multiple of 256.
//
//   padded [avx2|avx512]
//
// Prints the median of the first, and that of the second divided by it: below 1, padding gains.
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/onednn/sgemm.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "bench/timing.h"

enum { PERIOD = 256, PADDING = 16 };

typedef struct {
  const char *what;
  dp_sgemm product;
} problem;

static const problem problems[] = {
    {"MLP, gradient of a weight", {true, false, 1024, 1024, 64, false}},
    {"MLP, gradient of x", {false, false, 64, 1024, 1024, false}},
    {"GPT, gradient of a weight", {true, false, 256, 256, 1024, false}},
    {"GPT, gradient of a weight, up", {true, false, 1024, 256, 1024, false}},
    {"GPT, gradient of a weight, down", {true, false, 256, 1024, 1024, false}},
    {"GPT, gradient of x", {false, false, 1024, 256, 256, false}},
    {"GPT, gradient of x, up", {false, false, 1024, 256, 1024, false}},
    {"GPT, gradient of x, down", {false, false, 1024, 1024, 256, false}},
    {"GPT, up", {false, true, 1024, 1024, 256, false}},
    {"GPT, head", {false, true, 1024, 4096, 256, false}},
    {"GPT, head, gradient of its weight", {true, false, 4096, 256, 1024, false}},
    {"GPT, head, gradient of x", {false, false, 1024, 256, 4096, false}},
    {"GPT-2, gradient of a weight", {true, false, 3072, 768, 2048, false}},
    {"GPT-2, gradient of x", {false, false, 2048, 768, 3072, false}},
};

typedef struct {
  const float *a, *b;
  float *y;
  void *room;
  char *flushed;
} memory;

static int64_t padded(int64_t columns) { return columns % PERIOD ? columns : columns + PADDING; }

static const float *numbers(int64_t rows, int64_t columns) {
  const int64_t count = rows * padded(columns);
  float *made = allocate((size_t)count * sizeof *made);
  for (int64_t i = 0; i < count; i++) made[i] = (float)(i * 7 % 11 - 5) / 5;
  return made;
}

static dp_status run(const dp_sgemm *g, const memory *m, bool is_padded) {
  const dp_sgemm_share all = dp_sgemm_share_of(g, 0, 1);
  if (!is_padded) return dp_sgemm_run(g, &all, 1, m->a, m->b, 0, m->y, m->room, 1);
  const int64_t lda = padded(g->trans_a ? g->m : g->k), ldb = padded(g->trans_b ? g->k : g->n);
  return dp_primitive_sgemm(g->trans_a, g->trans_b, g->m, g->n, g->k, 1, m->a, lda, m->b, ldb, 0, m->y, padded(g->n),
                            1);
}

static void measure(const problem *p, const memory *m) {
  double ms[2][TURNS];
  for (int t = 0; t < TURNS; t++)
    for (int k = 0; k < 2; k++) {
      memset(m->flushed, t, FLUSHED);
      const double begun = now();
      dp_status status = run(&p->product, m, k);
      if (status) fail(dp_status_message(status));
      ms[k][t] = now() - begun;
    }
  const double plain = median(ms[0]);
  printf("%-36s %5lld x %4lld x %4lld  %7.2f ms  %5.2f\n", p->what, (long long)p->product.m, (long long)p->product.n,
         (long long)p->product.k, plain, median(ms[1]) / plain);
}

int main(int argc, char **argv) {
  dp_status status = argc > 1 ? dp_isa_hold(argv[1]) : DP_OK;
  if (!status) status = dp_sgemm_code_prepare();
  if (status) fail(dp_status_message(status));
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    const dp_sgemm *g = &problems[i].product;
    memory m = {.a = g->trans_a ? numbers(g->k, g->m) : numbers(g->m, g->k),
                .b = g->trans_b ? numbers(g->n, g->k) : numbers(g->k, g->n),
                .y = allocate((size_t)(g->m * padded(g->n)) * sizeof *m.y),
                .room = allocate(dp_sgemm_bytes(g) + 64),
                .flushed = allocate(FLUSHED)};
    measure(&problems[i], &m);
    void *made[] = {(void *)m.a, (void *)m.b, m.y, m.room, m.flushed};
    for (size_t k = 0; k < sizeof made / sizeof *made; k++) free(made[k]);
  }
}
