// See division.h.
#include "backends/cpu/onednn/division.h"

#include "backends/cpu/reference/reference.h"

enum { BLOCK = 16 };  // channels that oneDNN computes together

typedef struct {
  int64_t first, count;
} range;

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static range range_of(int64_t extent, int64_t unit, int part, int parts) {
  int64_t first, last;
  dp_part_range(divide_up(extent, unit), part, parts, &first, &last);
  first = dp_min_i64(first * unit, extent);
  return (range){first, dp_min_i64(last * unit, extent) - first};
}

// ---- channels -------------------------------------------------------------------------------------------------------

static bool is_pooling(const dp_primitive_spec *p) { return p->kind >= DP_PRIMITIVE_AVERAGE_POOL; }

static int64_t result_channels(const dp_primitive_spec *p) {
  return p->kind == DP_PRIMITIVE_CONV_GRAD_INPUT ? p->x_channels : p->y_channels;
}

// Channels of the result that stay together: a block, or groups that have as many. Groups of an image in blocks stay
// together if they share one.
static int64_t unit_of(const dp_primitive_spec *p) {
  const int64_t in_group = p->groups > 1 ? result_channels(p) / p->groups : 1;
  const int64_t unit = divide_up(BLOCK, in_group) * in_group, groups = unit / in_group;
  const bool apart = p->groups == 1 || ((!p->x_block || groups * (p->x_channels / p->groups) % p->x_block == 0) &&
                                        (!p->y_block || groups * (p->y_channels / p->groups) % p->y_block == 0));
  return apart ? unit : result_channels(p);
}

static int64_t plane(const dp_geometry *window, bool of_x, int first) {
  int64_t count = 1;
  for (int i = first; i < window->rank; i++) count *= of_x ? window->x[i] : window->y[i];
  return count;
}

// channels: of the result.
static void take_channels(const dp_primitive_spec *p, range channels, dp_share *s) {
  const int64_t of_group = result_channels(p) / p->groups;
  range x = {0, p->x_channels}, y = {0, p->y_channels};
  if (p->groups > 1) {
    const range groups = {channels.first / of_group, channels.count / of_group};
    x = (range){groups.first * (x.count / p->groups), groups.count * (x.count / p->groups)};
    y = (range){groups.first * (y.count / p->groups), groups.count * (y.count / p->groups)};
    s->spec.groups = groups.count;
    s->spec.grouped = true;
  } else {
    if (p->kind != DP_PRIMITIVE_CONV) x = channels;
    if (p->kind != DP_PRIMITIVE_CONV_GRAD_INPUT) y = channels;
  }
  s->spec.x_channels = x.count;
  s->spec.y_channels = y.count;
  s->x = x.first * plane(&p->window, true, 0);
  s->y = y.first * plane(&p->window, false, 0);
  s->bias = y.first;
  if (is_pooling(p)) return;
  int64_t taps = 1;
  for (int i = 0; i < p->window.rank; i++) taps *= p->window.kernel[i];
  s->spec.w_channels = p->x_channels / p->groups;
  s->w = (y.first * s->spec.w_channels + (p->groups > 1 ? 0 : x.first)) * taps;
}

int64_t dp_division_most_by_channels(const dp_primitive_spec *p, int parts) {
  if (is_pooling(p) || p->kind == DP_PRIMITIVE_CONV_GRAD_WEIGHT || p->packed || parts == 1) return 0;
  if (result_channels(p) / unit_of(p) < parts) return 0;
  int64_t weights = p->y_channels * (p->x_channels / p->groups);
  for (int i = 0; i < p->window.rank; i++) weights *= p->window.kernel[i];
  return weights / dp_primitive_sample(p, p->kind == DP_PRIMITIVE_CONV);
}

bool dp_division_channels(const dp_primitive_spec *p, int part, int parts, dp_share *s) {
  const range channels = range_of(result_channels(p), unit_of(p), part, parts);
  if (!channels.count) return false;
  *s = (dp_share){.spec = *p};
  s->spec.threads = 1;
  take_channels(p, channels, s);
  s->spec.x_all_channels = p->x_channels;
  s->spec.y_all_channels = p->y_channels;
  return true;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// The rows of x that those windows reach, and how many rows of padding before and behind them; count <= 0: none.
static range reach(const dp_geometry *g, range y, int64_t *before, int64_t *behind) {
  const int64_t first = y.first * g->stride[0] - g->pad_begin[0],
                end = first + (y.count - 1) * g->stride[0] + (g->kernel[0] - 1) * g->dilation[0] + 1;
  const range x = {dp_max_i64(first, 0), dp_min_i64(end, g->x[0]) - dp_max_i64(first, 0)};
  *before = x.first - first;
  *behind = end - x.first - x.count;
  return x;
}

static void take_rows(const dp_primitive_spec *p, range y, dp_share *s) {
  dp_geometry *g = &s->spec.window;
  const range x = reach(&p->window, y, &g->pad_begin[0], &g->pad_end[0]);
  g->x[0] = x.count;
  g->y[0] = y.count;
  s->spec.x_rows = p->window.x[0];
  s->spec.y_rows = p->window.y[0];
  s->x += x.first * plane(&p->window, true, 1) * dp_max_i64(1, p->x_block);
  s->y += y.first * plane(&p->window, false, 1) * dp_max_i64(1, p->y_block);
}

// Where windows lie in padding alone, there is no x to compute a share of.
static bool rows_divide(const dp_primitive_spec *p, int rows) {
  if (rows == 1) return true;
  if (p->kind != DP_PRIMITIVE_CONV) return false;
  for (int i = 0; i < rows; i++) {
    int64_t before, behind;
    const range y = range_of(p->window.y[0], 1, i, rows);
    if (y.count && reach(&p->window, y, &before, &behind).count <= 0) return false;
  }
  return true;
}

// ---- the division ---------------------------------------------------------------------------------------------------

dp_division dp_division_of(const dp_primitive_spec *p, int parts) {
  const int64_t units = divide_up(result_channels(p), unit_of(p));
  dp_division best = {parts, parts, 1};
  int64_t least = divide_up(units, parts) * p->window.y[0];
  for (int channels = parts - 1; channels >= 1; channels--) {
    if (parts % channels || !rows_divide(p, parts / channels)) continue;
    const int64_t largest = divide_up(units, channels) * divide_up(p->window.y[0], parts / channels);
    if (largest >= least) continue;
    least = largest;
    best = (dp_division){parts, channels, parts / channels};
  }
  return best;
}

bool dp_division_share(const dp_primitive_spec *p, const dp_division *d, int part, dp_share *s) {
  const range channels = range_of(result_channels(p), unit_of(p), part / d->rows, d->channels),
              rows = range_of(p->window.y[0], 1, part % d->rows, d->rows);
  if (!channels.count || !rows.count) return false;
  *s = (dp_share){.spec = *p};
  s->spec.samples = s->spec.threads = 1;
  take_channels(p, channels, s);
  if (d->rows > 1) take_rows(p, rows, s);
  return true;
}
