// What regions would gain on a CPU that begin with a product or end with a reduction: CPU time of one thread for all of
// the product and then its members on all of the result, in place, as instructions of their own do it, and by blocks of
// the result that are still in the cache when the members come. Kernels of products are dprun's; members are loops.
//
//   producers [avx2|avx512]
//
// Prints the median of the whole, and for each size of block its median divided by that: below 1, blocks gain.
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/primitive.h"
#include "backends/cpu/onednn/sgemm.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "bench/timing.h"

enum { SIZES = 4, BIASES = 4096 };

typedef struct {
  const char *what;
  dp_sgemm product;
  bool channels;         // rows are channels of a picture, each with a bias
  bool columns;          // blocks are of columns
  int64_t sizes[SIZES];  // of blocks, in rows or columns; 0: no more
} problem;

static const problem problems[] = {
    {"MLP, layer", {false, true, 64, 1024, 784, false}, false, false, {32}},
    {"GPT, up", {false, true, 1024, 1024, 256, false}, false, false, {512, 256, 128, 64}},
    {"GPT, down", {false, true, 1024, 256, 1024, false}, false, false, {512, 256, 128, 64}},
    {"GPT, out", {false, true, 1024, 256, 256, false}, false, false, {512, 256, 128, 64}},
    {"GPT, inference, up", {false, false, 128, 1024, 256, false}, false, false, {64, 32}},
    {"GPT-2, up", {false, true, 2048, 3072, 768, false}, false, false, {512, 256, 128, 64}},
    {"GPT-2, out", {false, true, 2048, 768, 768, false}, false, false, {512, 256, 128, 64}},
    {"low rank", {false, false, 8192, 768, 64, false}, false, false, {512, 256, 128, 64}},
    {"ResNet-50, 64 to 256 channels", {false, false, 256, 3136, 64, false}, true, false, {128, 64, 32}},
    {"ResNet-50, 64 to 256 channels", {false, false, 256, 3136, 64, false}, true, true, {1024, 512, 256}},
    {"ResNet-50, 128 to 512", {false, false, 512, 784, 128, false}, true, false, {256, 128, 64, 32}},
    {"ResNet-50, 128 to 512", {false, false, 512, 784, 128, false}, true, true, {392, 256}},
    {"ResNet-50, 256 to 1024", {false, false, 1024, 196, 256, false}, true, false, {512, 256, 128, 64}},
    {"ResNet-50, 256 to 1024", {false, false, 1024, 196, 256, false}, true, true, {98}},
};

typedef struct {
  float *a, *b, *residual, *bias, *y, *sums;
  void *room;
  char *flushed;
} memory;

static float *numbers(int64_t count) {
  float *made = allocate((size_t)count * sizeof *made);
  for (int64_t i = 0; i < count; i++) made[i] = (float)(i * 7 % 11 - 5) / 5;
  return made;
}

// ---- a product, and its bias, residual and activation ---------------------------------------------------------------

static void run_members(const problem *p, const dp_sgemm_share *s, const memory *m) {
  for (int64_t i = s->row; i < s->row + s->rows; i++) {
    const float *restrict residual = m->residual + i * p->product.n, *restrict bias = m->bias;
    float *restrict y = m->y + i * p->product.n;
    for (int64_t j = s->column; j < s->column + s->columns; j++) {
      const float sum = y[j] + bias[p->channels ? i : j] + residual[j];
      y[j] = sum > 0 ? sum : 0;
    }
  }
}

static void run_product(const problem *p, int64_t size, const memory *m) {
  const dp_sgemm *g = &p->product;
  const int64_t extent = p->columns ? g->n : g->m;
  for (int64_t at = 0; at < extent; at += size) {
    const int64_t count = dp_min_i64(size, extent - at);
    const dp_sgemm_share share =
        p->columns ? (dp_sgemm_share){0, g->m, at, count} : (dp_sgemm_share){at, count, 0, g->n};
    dp_status status = dp_sgemm_run(g, &share, 1, m->a, m->b, 0, m->y, m->room, 1);
    if (status) fail(dp_status_message(status));
    run_members(p, &share, m);
  }
}

// ---- a gradient of an activation, and its sum over rows, the gradient of a bias -------------------------------------

static void run_reduction(const problem *p, int64_t size, const memory *m) {
  const int64_t rows = p->product.m, columns = p->product.n;
  memset(m->sums, 0, (size_t)columns * sizeof *m->sums);
  for (int64_t at = 0; at < rows; at += size) {
    const int64_t end = dp_min_i64(at + size, rows);
    for (int64_t i = at * columns; i < end * columns; i++) m->y[i] = m->residual[i] > 0 ? m->y[i] : 0;
    for (int64_t i = at; i < end; i++)
      for (int64_t j = 0; j < columns; j++) m->sums[j] += m->y[i * columns + j];
  }
}

// ---- turns ----------------------------------------------------------------------------------------------------------

static void measure(const problem *p, void (*run)(const problem *p, int64_t size, const memory *m), const char *what,
                    const memory *m) {
  double times[SIZES + 1][TURNS];
  int count = 1;
  while (count <= SIZES && p->sizes[count - 1]) count++;
  for (int turn = 0; turn < TURNS; turn++)
    for (int i = 0; i < count; i++) {
      memset(m->flushed, turn, FLUSHED);
      const double start = now();
      run(p, i ? p->sizes[i - 1] : dp_max_i64(p->product.m, p->product.n), m);
      times[i][turn] = now() - start;
    }
  const double whole = median(times[0]);
  printf("%-30s %-10s %8.3f ms", p->what, what, whole);
  for (int i = 1; i < count; i++) printf("  %4lld: %.2f", (long long)p->sizes[i - 1], median(times[i]) / whole);
  printf("\n");
  fflush(stdout);
}

int main(int argc, char **argv) {
  dp_status status = argc > 1 ? dp_isa_hold(argv[1]) : DP_OK;
  if (!status) status = dp_sgemm_code_prepare();
  if (status) fail(dp_status_message(status));
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    const problem *p = &problems[i];
    const dp_sgemm *g = &p->product;
    memory m = {.a = numbers(g->m * g->k),
                .b = numbers(g->k * g->n),
                .residual = numbers(g->m * g->n),
                .bias = numbers(BIASES),
                .y = numbers(g->m * g->n),
                .sums = numbers(g->n),
                .room = allocate(dp_sgemm_bytes(g) + 64),
                .flushed = allocate(FLUSHED)};
    measure(p, run_product, p->columns ? "by columns" : "by rows", &m);
    if (!p->channels) measure(p, run_reduction, "reduction", &m);
    void *made[] = {m.a, m.b, m.residual, m.bias, m.y, m.sums, m.room, m.flushed};
    for (size_t k = 0; k < sizeof made / sizeof *made; k++) free(made[k]);
  }
}
