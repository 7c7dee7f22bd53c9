// dp.ConvGradWeight(x, dy) on small planes. See planes.h. Each part computes some rows of dw from all samples.
#include <string.h>

#define ROLES(spec) \
  { .x = &(spec)->inputs[0].local, .w = &(spec)->outputs[0].local, .sums = true }
#include "backends/cpu/fast/planes_kernel.h"
#include "backends/cpu/onednn/primitive.h"

// (taps, rows, columns) to (rows, columns, taps).
static void store(const dp_planes *p, int64_t rows, const float *sums, float *dw) {
  const int64_t taps = p->conv.window.kernel_plane, columns = p->conv.x_channels, row = dp_planes_row(columns);
  for (int64_t r = 0; r < rows; r++)
    p->transpose(taps, columns, sums + r * row, rows * row, dw + r * columns * taps, taps);
}

static dp_status compute(const dp_planes *p, const float *x, const float *dy, float *dw, void *scratch, int part) {
  const dp_conv *c = &p->conv;
  const dp_planes_part mine = dp_planes_part_of(p, part);
  const int64_t row = dp_planes_row(c->x_channels), taps = c->window.kernel_plane;
  if (!mine.channels || !c->x_channels) return DP_OK;
  float *x_taken = dp_planes_scratch(p, scratch, part), *dy_taken = x_taken + p->room.x, *sums = dy_taken + p->room.y;
  dp_planes_images xs = dp_planes_x(p, x_taken), dys = dp_planes_y(p);
  dys.channels = mine.channels;
  memset(sums, 0, (size_t)(taps * mine.channels * row) * sizeof *sums);
  for (int64_t at = 0; at < c->samples; at += p->chunk) {
    const int64_t n = dp_min_i64(p->chunk, c->samples - at);
    xs.samples = dys.samples = n;
    dp_planes_take(p, &xs, x + at * xs.all * xs.plane, x_taken);
    dp_planes_take(p, &dys, dy + (at * dys.all + mine.channel) * dys.plane, dy_taken);
    for (const dp_planes_run *r = p->runs; r < p->runs + p->n_runs; r++)
      DP_TRY(dp_primitive_sgemm(false, true, mine.channels, c->x_channels, r->count * n, 1, dy_taken + r->y * n,
                                dp_planes_pitch(dys.plane, n), x_taken + r->x * n, dp_planes_pitch(xs.plane, n), 1,
                                sums + r->tap * mine.channels * row, row, 1));
  }
  store(p, mine.channels, sums, dw + mine.channel * c->x_channels * taps);
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)spec;
  const dp_planes *planes = state;
  for (int i = part; i < planes->parts; i += parts) DP_TRY(compute(planes, in[0], in[1], out[0], scratch, i));
  return DP_OK;
}

const dp_kernel dp_kernel_planes_dp_ConvGradWeight = {
    .name = "cpu.planes.dp.ConvGradWeight",
    .op = "ConvGradWeight",
    .domain = "dp",
    PLANES,
};
