// Products as dprun computes them, by one thread, beside oneDNN's alone: those of networks whose layers have many
// weights and few samples, and gradients of weights. Operands and results come from memory, not from a cache.
//
//   products [avx2|avx512]
//
// Prints GFLOP/s of each, by the median of the thread's CPU time.
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/onednn/sgemm.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "bench/timing.h"

typedef struct {
  const char *what;
  dp_sgemm product;
} problem;

static const problem problems[] = {
    {"MLP", {false, true, 64, 1024, 1024, false}},
    {"MLP, first", {false, true, 64, 1024, 784, false}},
    {"MLP, gradient of x", {false, false, 64, 1024, 1024, false}},
    {"MLP, gradient of a weight", {true, false, 1024, 1024, 64, false}},
    {"MLP, gradient of the first", {true, false, 1024, 784, 64, false}},
    {"MNIST CNN", {false, true, 64, 512, 50176, false}},
    {"MNIST CNN, gradient of x", {false, false, 64, 50176, 512, false}},
    {"MNIST CNN, gradient of a weight", {true, false, 512, 50176, 64, false}},
    {"LSTM", {false, false, 16, 1024, 256, false}},
    {"LSTM, transposed weights", {false, true, 16, 1024, 256, false}},
    {"LSTM, gradient of x", {false, false, 16, 256, 1024, false}},
    {"few samples, gradient of x", {false, false, 8, 4096, 1024, false}},
    {"more samples, gradient of x", {false, false, 32, 4096, 1024, false}},
    {"128 samples, gradient of a weight", {true, false, 768, 3072, 128, false}},
    {"256 samples, gradient of a weight", {true, false, 1024, 1024, 256, false}},
    {"GPT, gradient of a weight, up", {true, false, 1024, 256, 1024, false}},
    {"GPT, gradient of a weight, down", {true, false, 256, 1024, 1024, false}},
};

typedef struct {
  float *a, *b, *y;
  void *room;
  char *flushed;
} memory;

static dp_status run(const dp_sgemm *g, const memory *m, bool alone) {
  const dp_sgemm_share all = dp_sgemm_share_of(g, 0, 1);
  if (!alone) return dp_sgemm_run(g, &all, 1, m->a, m->b, 0, m->y, m->room, 1);
  return dp_primitive_sgemm(g->trans_a, g->trans_b, g->m, g->n, g->k, 1, m->a, g->trans_a ? g->m : g->k, m->b,
                            g->trans_b ? g->k : g->n, 0, m->y, g->n, 1);
}

static void measure(const problem *p, const memory *m) {
  const dp_sgemm *g = &p->product;
  double ms[2][TURNS];
  for (int t = 0; t < TURNS; t++)
    for (int k = 0; k < 2; k++) {
      memset(m->flushed, t, FLUSHED);
      const double begun = now();
      dp_status status = run(g, m, k);
      if (status) fail(dp_status_message(status));
      ms[k][t] = now() - begun;
    }
  const double mflop = 2e-6 * (double)g->m * (double)g->n * (double)g->k;
  printf("%-36s %5lld x %5lld x %5lld  %6.1f GFLOP/s, oneDNN alone %6.1f\n", p->what, (long long)g->m, (long long)g->n,
         (long long)g->k, mflop / median(ms[0]), mflop / median(ms[1]));
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

int main(int argc, char **argv) {
  dp_status status = dp_isa_hold(argc > 1 ? argv[1] : "avx512");
  if (!status) status = dp_sgemm_code_prepare();
  if (status) fail(dp_status_message(status));
  int64_t a = 0, b = 0, y = 0, room = 0;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    const dp_sgemm *g = &problems[i].product;
    a = larger(a, g->m * g->k);
    b = larger(b, g->k * g->n);
    y = larger(y, g->m * g->n);
    room = larger(room, (int64_t)dp_sgemm_bytes(g));
  }
  const memory m = {allocate((size_t)a * sizeof(float)), allocate((size_t)b * sizeof(float)),
                    allocate((size_t)y * sizeof(float)), allocate((size_t)room), allocate(FLUSHED)};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) measure(&problems[i], &m);
  return 0;
}
