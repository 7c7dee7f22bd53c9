// Bucket sizes by cost. A bucket's reduction starts when its last member is ready and the previous bucket is done, and
// costs latency_ns + bytes / link_bytes_per_ns (passes/cost/cost_model.h):
//
//   done(b) = max(done(b - 1), ready(last member of b)) + cost(b)
//
// Small buckets start early but pay the latency often, large ones the reverse. Only the end of the last counts, since
// everything before it overlaps computation. The earliest possible end follows from prefix to prefix. Then, backwards
// from that end, follows the latest time at which each suffix needs the link. Where computation is long, there is slack
// between the two: buckets are made as large as it allows, so that there are few. The first is an exception: it is sent
// as soon as its transfer takes as long as the latency, since cost figures are rough and an early start is safe.
#include "passes/schedule/bucket_size.h"

#include <math.h>

typedef struct {
  const dp_target_costs *costs;
  int32_t count, most;
  double most_bytes;
  const dp_bucket_member *members;
  double *bytes;   // (count + 1) of the members before
  double *latest;  // (count + 1) the link must be free by then for the remaining members
} sizing;

static bool bucket_fits(const sizing *s, int32_t from, int32_t to) {
  return to <= s->count && to - from <= s->most && (to - from == 1 || s->bytes[to] - s->bytes[from] <= s->most_bytes);
}

static double cost_ns(const sizing *s, int32_t from, int32_t to) {
  return dp_cost_model_latency_ns(s->costs, s->bytes[to] - s->bytes[from]);
}

static double done_ns(const sizing *s, double free_ns, int32_t from, int32_t to) {
  return fmax(free_ns, s->members[to - 1].ready_ns) + cost_ns(s, from, to);
}

static double earliest_end(dp_arena *scratch, const sizing *s) {
  double *done = dp_alloc_n(scratch, (size_t)s->count + 1, sizeof *done);
  for (int32_t to = 1; to <= s->count; to++) {
    done[to] = INFINITY;
    for (int32_t from = to - 1; from >= 0 && bucket_fits(s, from, to); from--)
      done[to] = fmin(done[to], done_ns(s, done[from], from, to));
  }
  return done[s->count];
}

static void set_latest(sizing *s, double end_ns) {
  s->latest[s->count] = end_ns;
  for (int32_t from = s->count; from-- > 0;) {
    s->latest[from] = -INFINITY;
    for (int32_t to = from + 1; bucket_fits(s, from, to); to++) {
      double begin = s->latest[to] - cost_ns(s, from, to);
      if (s->members[to - 1].ready_ns <= begin) s->latest[from] = fmax(s->latest[from], begin);
    }
  }
}

int32_t dp_bucket_size(dp_arena *scratch, const dp_target_costs *costs, int32_t count, const dp_bucket_member *members,
                       int32_t most, double most_bytes, int32_t *ends) {
  sizing s = {.costs = costs, .count = count, .most = most, .most_bytes = most_bytes, .members = members};
  s.bytes = dp_alloc_n(scratch, (size_t)count + 1, sizeof *s.bytes);
  s.latest = dp_alloc_n(scratch, (size_t)count + 1, sizeof *s.latest);
  for (int32_t i = 0; i < count; i++) s.bytes[i + 1] = s.bytes[i] + members[i].bytes;
  // One collective less is worth ending one latency later.
  set_latest(&s, earliest_end(scratch, &s) + costs->latency_ns);
  int32_t n = 0;
  double free_ns = 0;
  for (int32_t from = 0; from < count; from = ends[n++]) {
    ends[n] = from + 1;
    for (int32_t to = from + 1; bucket_fits(&s, from, to); to++) {
      if (done_ns(&s, free_ns, from, to) > s.latest[to]) continue;
      ends[n] = to;
      if (!n && cost_ns(&s, from, to) >= 2 * costs->latency_ns) break;
    }
    free_ns = done_ns(&s, free_ns, from, ends[n]);
  }
  return n;
}
