// How a convolution at batch 1 is best divided over two threads: CPU time of one thread for all of it, and of the
// longer part where it is divided by channels of the result or by rows. Weights are packed beforehand. The convolutions
// are those of ResNet-50, with how often each occurs.
//
//   divisions [avx2|avx512]
//
// Prints medians: of the whole, and of the longer part of both ways divided by it. 0.5 would be perfect.
#include "backends/cpu/onednn/division.h"
#include "backends/cpu/onednn/isa.h"
#include "bench/timing.h"

enum { PARTS = 2, WAYS = 3, OWN_CACHE = 1 << 20 };

static const struct {
  int64_t times, x_channels, y_channels, x, kernel, stride;
} problems[] = {
    {1, 3, 64, 224, 7, 2},   {1, 64, 64, 56, 1, 1},    {3, 64, 64, 56, 3, 1},    {4, 64, 256, 56, 1, 1},
    {2, 256, 64, 56, 1, 1},  {1, 256, 128, 56, 1, 1},  {1, 128, 128, 56, 3, 2},  {1, 256, 512, 56, 1, 2},
    {4, 128, 512, 28, 1, 1}, {3, 512, 128, 28, 1, 1},  {3, 128, 128, 28, 3, 1},  {1, 512, 256, 28, 1, 1},
    {1, 256, 256, 28, 3, 2}, {1, 512, 1024, 28, 1, 2}, {6, 256, 1024, 14, 1, 1}, {5, 1024, 256, 14, 1, 1},
    {5, 256, 256, 14, 3, 1}, {1, 1024, 512, 14, 1, 1}, {1, 512, 512, 14, 3, 2},  {1, 1024, 2048, 14, 1, 2},
    {3, 512, 2048, 7, 1, 1}, {2, 2048, 512, 7, 1, 1},  {2, 512, 512, 7, 3, 1},
};

static const dp_division ways[WAYS] = {{1, 1, 1}, {PARTS, PARTS, 1}, {PARTS, 1, PARTS}};

typedef struct {
  dp_share share;
  dp_primitive *primitive;
  void *packed, *scratch;
} part;

static void check(dp_status status) {
  if (status) fail(dp_status_message(status));
}

static dp_primitive_spec spec_of(size_t i) {
  dp_primitive_spec s = {.kind = DP_PRIMITIVE_CONV, .samples = 1, .groups = 1, .packed = true, .threads = 1};
  s.x_channels = problems[i].x_channels;
  s.y_channels = problems[i].y_channels;
  dp_geometry *g = &s.window;
  g->rank = 2;
  for (int d = 0; d < g->rank; d++) {
    g->x[d] = problems[i].x;
    g->kernel[d] = problems[i].kernel;
    g->stride[d] = problems[i].stride;
    g->dilation[d] = 1;
    g->pad_begin[d] = g->pad_end[d] = problems[i].kernel / 2;
    g->y[d] = (g->x[d] + 2 * g->pad_begin[d] - g->kernel[d]) / g->stride[d] + 1;
  }
  return s;
}

static void make(const dp_primitive_spec *s, const dp_division *way, int i, const float *w, part *p) {
  if (!dp_division_share(s, way, i, &p->share)) fail("a part has nothing to do");
  uint64_t scratch, packed;
  check(dp_primitive_scratch_bytes(&p->share.spec, &scratch));
  check(dp_primitive_packed_bytes(&p->share.spec, &packed));
  check(dp_primitive_create(&p->share.spec, &p->primitive));
  p->scratch = allocate(scratch + 64);
  p->packed = allocate(packed + 64);
  check(dp_primitive_pack(p->primitive, w + p->share.w, p->packed, p->scratch));
}

static void run(const part *p, const float *x, float *y) {
  const dp_primitive_data d = {x + p->share.x, p->packed, NULL, y + p->share.y};
  check(dp_primitive_run(p->primitive, &d, p->scratch, false, false));
}

// The longest part, whose operands the cores' common cache holds, as it holds what the instruction before has written.
static double longest(const part *parts, int count, const float *x, float *y, char *flushed) {
  double most = 0;
  for (int p = 0; p < count; p++) {
    run(&parts[p], x, y);
    memset(flushed, p, OWN_CACHE);
    const double begun = now();
    run(&parts[p], x, y);
    const double took = now() - begun;
    if (took > most) most = took;
  }
  return most;
}

static void measure(size_t i, double *sums) {
  const dp_primitive_spec s = spec_of(i);
  const int64_t taps = problems[i].kernel * problems[i].kernel;
  float *x = allocate((size_t)dp_primitive_sample(&s, true) * sizeof *x),
        *y = allocate((size_t)dp_primitive_sample(&s, false) * sizeof *y),
        *w = allocate((size_t)(s.x_channels * s.y_channels * taps) * sizeof *w);
  char *flushed = allocate(OWN_CACHE);
  part parts[WAYS][PARTS];
  double ms[WAYS][TURNS], of[WAYS];
  for (int k = 0; k < WAYS; k++)
    for (int p = 0; p < ways[k].parts; p++) make(&s, &ways[k], p, w, &parts[k][p]);
  for (int t = 0; t < TURNS; t++)
    for (int k = 0; k < WAYS; k++) ms[k][t] = longest(parts[k], ways[k].parts, x, y, flushed);
  for (int k = 0; k < WAYS; k++) {
    of[k] = median(ms[k]);
    sums[k] += (double)problems[i].times * of[k];
  }
  printf("%lld of %4lld to %4lld, %3lld, %lld/%lld  %6.2f ms  %5.2f %5.2f\n", (long long)problems[i].times,
         (long long)s.x_channels, (long long)s.y_channels, (long long)problems[i].x, (long long)problems[i].kernel,
         (long long)problems[i].stride, of[0], of[1] / of[0], of[2] / of[0]);
  for (int k = 0; k < WAYS; k++)
    for (int p = 0; p < ways[k].parts; p++) {
      dp_primitive_destroy(parts[k][p].primitive);
      free(parts[k][p].packed);
      free(parts[k][p].scratch);
    }
  void *made[] = {x, y, w, flushed};
  for (size_t k = 0; k < sizeof made / sizeof *made; k++) free(made[k]);
}

int main(int argc, char **argv) {
  if (argc > 1) check(dp_isa_hold(argv[1]));
  double sums[WAYS] = {0};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) measure(i, sums);
  printf("all: %.2f ms, by channels %.2f, by rows %.2f\n", sums[0], sums[1], sums[2]);
}
