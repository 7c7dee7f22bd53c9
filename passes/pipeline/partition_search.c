// The best cuts of a line of nodes into stages; see partition.h.
//
// A stage's time and memory grow with its nodes, so greedily taking as many nodes as allowed, stage after stage, gets
// as far as any cuts do: one walk decides whether a time is feasible. The least feasible time is bisected; each try
// moves one end of the interval to a sum of times that actually occurs, so the result is exact (Pinar and Aykanat,
// "Fast optimal load balancing algorithms for 1D partitioning", 2004). The same walk from both ends bounds where each
// cut may fall within the slack. Over those positions, dynamic programming minimises the bytes, with a queue of the
// best previous cuts.
#include <math.h>
#include <string.h>

#include "passes/pipeline/partition.h"

enum { ROUNDS = 10, MEMORY_ROUNDS = 50 };

typedef struct {
  const dp_partition_line *line;
  const dp_partition_task *task;
  dp_arena *arena;
  double *time, *kept, *held;  // (n + 1) prefix sums over the nodes
  int32_t *lowest, *highest;   // (stages + 1) the task's bounds, leaving a node for each stage
  int32_t *first, *last;       // (stages + 1) where a cut may fall within a limit
  int32_t *starts;
  struct column *columns;  // (stages + 1)
  int32_t *queue;
} search;

typedef struct {
  double time, memory;
} limit;

static double time_of(const search *s, int32_t from, int32_t to) { return s->time[to] - s->time[from]; }

static double memory_of(const search *s, int stage, int32_t from, int32_t to) {
  return s->held[to] - s->held[from] + s->task->in_flight[stage] * (s->kept[to] - s->kept[from]);
}

static bool stage_fits(const search *s, limit l, int stage, int32_t from, int32_t to) {
  return time_of(s, from, to) <= l.time && memory_of(s, stage, from, to) <= l.memory;
}

static double *sums(const search *s, const double *of) {
  double *sum = dp_alloc_n(s->arena, (size_t)s->line->n + 1, sizeof *sum);
  for (int32_t i = 0; i < s->line->n; i++) sum[i + 1] = sum[i] + of[i];
  return sum;
}

static dp_partition_score score_of(const search *s, const int32_t *starts) {
  dp_partition_score score = {0};
  for (int k = 0; k < s->task->stages; k++) {
    score.time = fmax(score.time, time_of(s, starts[k], starts[k + 1]));
    score.memory = fmax(score.memory, memory_of(s, k, starts[k], starts[k + 1]));
    if (k) score.bytes += s->line->crossing[starts[k]];
  }
  return score;
}

// ---- how far a stage gets -------------------------------------------------------------------------------------------

// The last position, at most `most`, where a stage that begins at `from` may end.
static int32_t reach(const search *s, limit l, int stage, int32_t from, int32_t most) {
  int32_t good = from, bad = most + 1;
  while (bad - good > 1) {
    int32_t middle = good + (bad - good) / 2;
    *(stage_fits(s, l, stage, from, middle) ? &good : &bad) = middle;
  }
  return good;
}

// The first position, at least `least`, where a stage that ends at `to` may begin.
static int32_t reach_back(const search *s, limit l, int stage, int32_t to, int32_t least) {
  int32_t good = to, bad = least - 1;
  while (good - bad > 1) {
    int32_t middle = bad + (good - bad) / 2;
    *(stage_fits(s, l, stage, middle, to) ? &good : &bad) = middle;
  }
  return good;
}

// The last position of each cut. On failure, *next is the least time that lets any stage reach farther.
static bool cut_as_late_as_possible(const search *s, limit l, int32_t *ends, double *next) {
  const int p = s->task->stages;
  *next = INFINITY;
  ends[0] = 0;
  for (int k = 0; k < p; k++) {
    ends[k + 1] = reach(s, l, k, ends[k], s->highest[k + 1]);
    if (ends[k + 1] < s->highest[k + 1]) {
      double more = time_of(s, ends[k], ends[k + 1] + 1);
      if (more > l.time) *next = fmin(*next, more);
    }
    if (ends[k + 1] < s->lowest[k + 1] || ends[k + 1] == ends[k]) return false;
  }
  return true;
}

static bool can(const search *s, limit l) {
  double next;
  return cut_as_late_as_possible(s, l, s->starts, &next);
}

// Likewise the first positions, from the end; `last` is already known.
static void walk_back(const search *s, limit l) {
  const int p = s->task->stages;
  s->first[p] = s->line->n;
  for (int k = p; k-- > 1;) s->first[k] = reach_back(s, l, k, s->first[k + 1], s->lowest[k]);
  s->first[0] = 0;
}

// ---- time and memory ------------------------------------------------------------------------------------------------

// The least possible memory of the largest stage, to a millionth.
static double least_memory(const search *s) {
  limit l = {INFINITY, 0};
  double low = 0, high = 0;
  for (int k = 0; k < s->task->stages; k++) high = fmax(high, memory_of(s, k, 0, s->line->n));
  for (int round = 0; round < MEMORY_ROUNDS && high - low > 1e-6 * high; round++) {
    l.memory = low + (high - low) / 2;
    *(can(s, l) ? &high : &low) = l.memory;
  }
  return high;
}

// The least time of the slowest stage within a feasible memory.
static double least_time(const search *s, double memory) {
  double low = 0, high = time_of(s, 0, s->line->n), next;
  while (low < high) {
    limit l = {low + (high - low) / 2, memory};
    if (cut_as_late_as_possible(s, l, s->starts, &next))
      high = fmin(l.time, score_of(s, s->starts).time);
    else
      low = next;
  }
  return high;
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

struct column {
  double *bytes;  // by position, from first[k] on
  int32_t *from;  // the previous cut
};

// Allocates for the widest limit, which is used first.
static void make_columns(search *s) {
  const int p = s->task->stages;
  int32_t widest = 1;
  s->columns = dp_alloc_n(s->arena, (size_t)p + 1, sizeof *s->columns);
  for (int k = 0; k <= p; k++) {
    const int32_t width = s->last[k] - s->first[k] + 1;
    widest = width > widest ? width : widest;
    s->columns[k].bytes = dp_alloc_n(s->arena, (size_t)width, sizeof(double));
    s->columns[k].from = dp_alloc_n(s->arena, (size_t)width, sizeof(int32_t));
  }
  s->queue = dp_alloc_n(s->arena, (size_t)widest, sizeof *s->queue);
}

// Scores the positions of cut k from the best positions of cut k - 1. The previous positions at which a stage may begin
// move forward with its end; `queue` holds those that no later one beats.
static void extend_column(const search *s, limit l, int k) {
  const struct column *c = &s->columns[k], *former = &s->columns[k - 1];
  const int32_t base = s->first[k], before = s->first[k - 1], n_former = s->last[k - 1] - before + 1;
  int32_t *queue = s->queue, head = 0, tail = 0, next = 0;
  for (int32_t j = base; j <= s->last[k]; j++) {
    for (; next < n_former && before + next < j; next++) {
      while (tail > head && former->bytes[queue[tail - 1]] >= former->bytes[next]) tail--;
      queue[tail++] = next;
    }
    while (head < tail && !stage_fits(s, l, k - 1, before + queue[head], j)) head++;
    double crossing = k < s->task->stages ? s->line->crossing[j] : 0;
    c->bytes[j - base] = head < tail ? former->bytes[queue[head]] + crossing : INFINITY;
    c->from[j - base] = head < tail ? before + queue[head] : -1;
  }
}

// Sets s->starts to the cuts within a feasible limit with the fewest bytes crossing.
static dp_partition_score fewest_bytes(search *s, limit l) {
  const int p = s->task->stages;
  double next;
  if (!cut_as_late_as_possible(s, l, s->last, &next)) return (dp_partition_score){INFINITY, INFINITY, INFINITY};
  walk_back(s, l);
  if (!s->columns) make_columns(s);
  for (int k = 1; k <= p; k++) extend_column(s, l, k);
  s->starts[p] = s->line->n;
  for (int k = p; k > 0; k--) s->starts[k - 1] = s->columns[k].from[s->starts[k] - s->first[k]];
  return score_of(s, s->starts);
}

// Reduces the time, or the memory, of the cuts in `starts` as far as no more bytes cross. The other quantity stays
// within l.
static dp_partition_score reduce_within_bytes(search *s, limit l, bool of_time, double low, dp_partition_score best,
                                              int32_t *starts) {
  const size_t bytes = ((size_t)s->task->stages + 1) * sizeof *starts;
  double high = of_time ? best.time : best.memory;
  const double close = 1e-3 * (high - low);
  for (int round = 0; round < ROUNDS && high - low > close; round++) {
    const double middle = low + (high - low) / 2;
    *(of_time ? &l.time : &l.memory) = middle;
    dp_partition_score score = fewest_bytes(s, l);
    if (score.bytes > best.bytes) {
      low = middle;
      continue;
    }
    best = score;
    memcpy(starts, s->starts, bytes);
    high = of_time ? best.time : best.memory;
  }
  return best;
}

// ---- the whole ------------------------------------------------------------------------------------------------------

// Bounds that leave a node for each stage; false: impossible.
static bool bound_starts(const search *s) {
  const int p = s->task->stages;
  for (int k = 0; k <= p; k++) {
    s->lowest[k] = k ? (int32_t)dp_max_i64(s->task->lowest[k], s->lowest[k - 1] + 1) : 0;
    s->highest[k] = k == p ? s->line->n : s->task->highest[k];
  }
  s->highest[0] = 0;
  s->lowest[p] = s->line->n;
  for (int k = p; k-- > 1;) s->highest[k] = (int32_t)dp_min_i64(s->highest[k], s->highest[k + 1] - 1);
  for (int k = 0; k < p; k++)
    if (s->lowest[k] > s->highest[k] || s->lowest[k] >= s->lowest[k + 1]) return false;
  return true;
}

bool dp_partition_search(dp_arena *arena, const dp_partition_line *line, const dp_partition_task *task, int32_t *starts,
                         dp_partition_score *score) {
  const size_t bytes = ((size_t)task->stages + 1) * sizeof *starts;
  search s = {.line = line, .task = task, .arena = arena};
  s.time = sums(&s, line->time);
  s.kept = sums(&s, line->kept);
  s.held = sums(&s, line->held);
  int32_t **const tables[] = {&s.lowest, &s.highest, &s.first, &s.last, &s.starts};
  for (size_t i = 0; i < DP_COUNT(tables); i++) *tables[i] = dp_alloc(arena, bytes);
  if (!bound_starts(&s)) return false;
  limit l = {INFINITY, task->memory};
  if (!can(&s, l)) l.memory = least_memory(&s);
  const double least = least_time(&s, l.memory);
  l.time = least * DP_CUT_SLACK;
  dp_partition_score best = fewest_bytes(&s, l);
  memcpy(starts, s.starts, bytes);
  best = reduce_within_bytes(&s, l, true, least, best, starts);
  l.time = best.time;
  *score = reduce_within_bytes(&s, l, false, 0, best, starts);
  return true;
}
