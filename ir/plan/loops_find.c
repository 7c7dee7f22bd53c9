// Finds what repeats in a list. See loops_find.h.
//
// Distances at which items, and runs of 8, 64 and 512, come again most often are tried as lengths of a body. A run
// repeats with a period if from each item to the one a period on, and from that to the next, numbers change by the
// same. Offsets in memory alone may change as they like, since the arena is packed without regard to loops. The runs
// that spare most items become loops first.
#include "ir/plan/loops_find.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ITERATIONS = 3 };
enum { WIDTHS = 4, WIDER = 8, PERIODS_OF_WIDTH = 4, PERIODS = WIDTHS * PERIODS_OF_WIDTH };

// ---- periods --------------------------------------------------------------------------------------------------------

typedef struct {
  uint64_t text;
  size_t next;  // one past where it came last; 0: not yet
} seen;

// How often texts come again at each distance. texts: hashes. of: `mask` + 1, where a text may push another out.
static void count_distances(size_t n, const uint64_t *texts, size_t mask, seen *of, size_t *counts) {
  memset(of, 0, (mask + 1) * sizeof *of);
  memset(counts, 0, n * sizeof *counts);
  for (size_t i = 0; i < n; i++) {
    seen *s = &of[texts[i] & mask];
    if (s->next && s->text == texts[i]) counts[i + 1 - s->next]++;
    *s = (seen){texts[i], i + 1};
  }
}

// Adds the most frequent distances to the periods.
static void add_periods(size_t n, size_t *counts, size_t *n_periods, size_t *periods) {
  for (int round = 0; round < PERIODS_OF_WIDTH; round++) {
    size_t best = 0;
    for (size_t d = 1; d < n; d++)
      if (counts[d] > counts[best]) best = d;
    if (!best) return;
    counts[best] = 0;
    bool known = false;
    for (size_t k = 0; k < *n_periods; k++) known |= periods[k] == best;
    if (!known) periods[(*n_periods)++] = best;
  }
}

static size_t find_periods(const dp_loops_items *f, size_t periods[PERIODS]) {
  size_t n = f->n_items, mask = 1, n_periods = 0;
  while (mask < 2 * n) mask = 2 * mask + 1;
  seen *of = dp_alloc_n(f->scratch, mask + 1, sizeof *of);
  size_t *counts = dp_alloc_n(f->scratch, n, sizeof *counts);
  uint64_t *texts = dp_alloc_n(f->scratch, n, sizeof *texts);
  for (size_t i = 0; i < n; i++) texts[i] = f->items[i].rest;
  for (size_t width = 1, w = 0; n && w < WIDTHS; w++, width *= WIDER) {
    count_distances(n, texts, mask, of, counts);
    add_periods(n, counts, &n_periods, periods);
    const size_t more = (WIDER - 1) * width;
    n = n > more ? n - more : 0;
    for (size_t i = 0; i < n; i++) {
      uint64_t parts[WIDER];
      for (size_t k = 0; k < WIDER; k++) parts[k] = texts[i + k * width];
      texts[i] = dp_hash64(parts, sizeof parts);
    }
  }
  return n_periods;
}

// ---- what repeats ---------------------------------------------------------------------------------------------------

// Whether items i, i + period and i + 2 * period are alike and change by the same.
static bool is_steady(const dp_loops_items *f, size_t i, size_t period) {
  const dp_loops_item *a = &f->items[i], *b = a + period, *c = b + period;
  if (a->rest != b->rest || a->rest != c->rest) return false;
  // These differ only if hashes are equal by chance.
  if (a->n_numbers != b->n_numbers || a->n_numbers != c->n_numbers) return false;
  for (size_t k = 0; k < a->n_numbers; k++)
    if (!a->is_offset[k] && b->numbers[k] - a->numbers[k] != c->numbers[k] - b->numbers[k]) return false;
  return true;
}

static void find_repeats(const dp_loops_items *f, size_t period, size_t *count, dp_loops_repeat **repeats) {
  for (size_t i = 0; i + 2 * period < f->n_items; i++) {
    const size_t begin = i;
    while (i + 2 * period < f->n_items && is_steady(f, i, period)) i++;
    const dp_loops_repeat found = {begin, period, 2 + (i - begin) / period};
    if (found.count >= LEAST_ITERATIONS) DP_PUSH(f->scratch, *repeats, *count, found);
  }
}

static size_t spared(const dp_loops_repeat *r) { return r->length * (r->count - 1); }

static int most_spared_first(const void *a, const void *b) {
  const dp_loops_repeat *x = a, *y = b;
  if (spared(x) != spared(y)) return spared(x) > spared(y) ? -1 : 1;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->length > y->length) - (x->length < y->length);
}

static int in_order(const void *a, const void *b) {
  const dp_loops_repeat *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

// Those that spare most first; of others, what these leave.
static size_t choose(const dp_loops_items *f, size_t n_found, const dp_loops_repeat *found, dp_loops_repeat **chosen) {
  bool *taken = dp_alloc_n(f->scratch, f->n_items, sizeof *taken);
  size_t n_chosen = 0;
  for (const dp_loops_repeat *r = found; r < found + n_found; r++) {
    const size_t end = r->first + r->length * r->count;
    for (size_t i = r->first, left = 0; i <= end; i++) {
      if (i < end && !taken[i]) {
        left++;
        continue;
      }
      const dp_loops_repeat part = {i - left, r->length, left / r->length};
      left = 0;
      if (part.count < LEAST_ITERATIONS) continue;
      DP_PUSH(f->scratch, *chosen, n_chosen, part);
      memset(taken + part.first, true, part.length * part.count);
    }
  }
  qsort(*chosen, n_chosen, sizeof **chosen, in_order);
  return n_chosen;
}

size_t dp_loops_find(const dp_loops_items *f, dp_loops_repeat **chosen) {
  size_t periods[PERIODS], n_found = 0;
  dp_loops_repeat *found = NULL;
  const size_t n_periods = find_periods(f, periods);
  for (size_t i = 0; i < n_periods; i++) find_repeats(f, periods[i], &n_found, &found);
  if (!n_found) return 0;
  qsort(found, n_found, sizeof *found, most_spared_first);
  return choose(f, n_found, found, chosen);
}
