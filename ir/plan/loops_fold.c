// Finds what repeats in a plan's lists and folds it into loops. See loops.h.
//
// An item is a hash of all of it but its numbers, and its numbers. Distances at which items, and runs of 8, 64 and 512,
// come again most often are tried as lengths of a body. A run repeats with a period if from each item to the one a period on,
// and from that to the next, numbers change by the same; offsets in memory alone may change as they like, since the
// arena is packed without regard to loops. The runs that spare most items become loops first.
#include <stdlib.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/plan/loops.h"
#include "ir/plan/loops_fields.h"

enum { LEAST_ITERATIONS = 3 };
enum { WIDTHS = 4, WIDER = 8, PERIODS_OF_WIDTH = 4, PERIODS = WIDTHS * PERIODS_OF_WIDTH };

typedef struct {
  size_t first, length, count;
} repeat;

typedef struct {
  uint64_t is;
  bool is_offset;  // in memory
} number;

typedef struct {
  dp_arena *scratch;
  size_t n_items;
  size_t *first;   // (n_items + 1) of each item's numbers
  uint64_t *rest;  // (n_items) hash of all else
  size_t n_numbers, number_room;
  number *numbers;
  size_t n_text, text_room;
  char *text;  // what the hash is of
} folding;

// ---- items ----------------------------------------------------------------------------------------------------------

// The array, with room for more elements than it has.
static void *with_room(dp_arena *arena, void *array, size_t has, size_t more, size_t size, size_t *room) {
  if (more <= *room - has) return array;
  *room = 2 * (*room + more);
  void *larger = dp_alloc_n(arena, *room, size);
  return has ? memcpy(larger, array, has * size) : larger;
}

static void add_text(folding *f, const void *data, size_t bytes) {
  f->text = with_room(f->scratch, f->text, f->n_text, bytes, 1, &f->text_room);
  if (bytes) memcpy(f->text + f->n_text, data, bytes);
  f->n_text += bytes;
}

// 64 bits without a sign are an offset in memory or the size of something there. Sizes count as text too.
static void add_numbers(folding *f, const dp_loops_field *field) {
  const bool in_memory = field->is->type == PROTOBUF_C_TYPE_UINT64;
  const bool is_offset = in_memory && !strcmp(field->is->name, "offset");
  if (in_memory && !is_offset) add_text(f, field->at, field->count * field->bytes);
  f->numbers = with_room(f->scratch, f->numbers, f->n_numbers, field->count, sizeof *f->numbers, &f->number_room);
  for (size_t i = 0; i < field->count; i++) {
    number *n = &f->numbers[f->n_numbers++];
    *n = (number){.is_offset = is_offset};
    memcpy(&n->is, field->at + i * field->bytes, field->bytes);  // little-endian: the low bytes come first
    if (field->is->type == PROTOBUF_C_TYPE_INT32) n->is = (uint64_t)(int64_t)(int32_t)n->is;
  }
}

static void add_message(folding *f, const ProtobufCMessage *message);

static void add_field(folding *f, const dp_loops_field *field) {
  const ProtobufCType type = field->is->type;
  if (field->is->label == PROTOBUF_C_LABEL_REPEATED || dp_loops_is_message(field))
    add_text(f, &field->count, sizeof field->count);
  if (!dp_loops_is_message(field) && !dp_loops_is_number(field) && !dp_loops_is_text(field))
    add_text(f, field->at, field->count * field->bytes);
  for (size_t i = 0; i < field->count && dp_loops_is_message(field); i++) add_message(f, dp_loops_message(field, i));
  if (dp_loops_is_number(field)) add_numbers(f, field);
  for (size_t i = 0; i < field->count && type == PROTOBUF_C_TYPE_STRING; i++) {
    const char *text = ((char *const *)field->at)[i];
    add_text(f, text, strlen(text) + 1);
  }
  for (size_t i = 0; i < field->count && type == PROTOBUF_C_TYPE_BYTES; i++) {
    const ProtobufCBinaryData *data = &((const ProtobufCBinaryData *)field->at)[i];
    add_text(f, &data->len, sizeof data->len);
    add_text(f, data->data, data->len);
  }
}

static void add_message(folding *f, const ProtobufCMessage *message) {
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
    const dp_loops_field field = dp_loops_field_of(message, i);
    add_field(f, &field);
  }
}

static folding look_at(dp_arena *scratch, size_t n_items, ProtobufCMessage *const *items) {
  folding f = {.scratch = scratch, .n_items = n_items};
  f.first = dp_alloc_n(scratch, n_items + 1, sizeof *f.first);
  f.rest = dp_alloc_n(scratch, n_items, sizeof *f.rest);
  for (size_t i = 0; i < n_items; i++) {
    f.n_text = 0;
    add_message(&f, items[i]);
    f.rest[i] = dp_hash64(f.text, f.n_text);
    f.first[i + 1] = f.n_numbers;
  }
  return f;
}

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

static size_t find_periods(const folding *f, size_t periods[PERIODS]) {
  size_t n = f->n_items, mask = 1, n_periods = 0;
  while (mask < 2 * n) mask = 2 * mask + 1;
  seen *of = dp_alloc_n(f->scratch, mask + 1, sizeof *of);
  size_t *counts = dp_alloc_n(f->scratch, n, sizeof *counts);
  uint64_t *texts = dp_memdup(f->scratch, f->rest, n * sizeof *texts);
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
static bool is_steady(const folding *f, size_t i, size_t period) {
  if (f->rest[i] != f->rest[i + period] || f->rest[i] != f->rest[i + 2 * period]) return false;
  const number *a = f->numbers + f->first[i], *b = f->numbers + f->first[i + period];
  const number *c = f->numbers + f->first[i + 2 * period];
  for (size_t k = 0; k < f->first[i + 1] - f->first[i]; k++)
    if (!a[k].is_offset && b[k].is - a[k].is != c[k].is - b[k].is) return false;
  return true;
}

static void find_repeats(const folding *f, size_t period, size_t *count, repeat **repeats) {
  for (size_t i = 0; i + 2 * period < f->n_items; i++) {
    const size_t begin = i;
    while (i + 2 * period < f->n_items && is_steady(f, i, period)) i++;
    const repeat found = {begin, period, 2 + (i - begin) / period};
    if (found.count >= LEAST_ITERATIONS) DP_PUSH(f->scratch, *repeats, *count, found);
  }
}

static size_t spared(const repeat *r) { return r->length * (r->count - 1); }

static int most_spared_first(const void *a, const void *b) {
  const repeat *x = a, *y = b;
  if (spared(x) != spared(y)) return spared(x) > spared(y) ? -1 : 1;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->length > y->length) - (x->length < y->length);
}

static int in_order(const void *a, const void *b) {
  const repeat *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

// Those that spare most first; of others, what these leave.
static size_t choose(const folding *f, size_t n_found, const repeat *found, repeat **chosen) {
  bool *taken = dp_alloc_n(f->scratch, f->n_items, sizeof *taken);
  size_t n_chosen = 0;
  for (const repeat *r = found; r < found + n_found; r++) {
    const size_t end = r->first + r->length * r->count;
    for (size_t i = r->first, left = 0; i <= end; i++) {
      if (i < end && !taken[i]) {
        left++;
        continue;
      }
      const repeat part = {i - left, r->length, left / r->length};
      left = 0;
      if (part.count < LEAST_ITERATIONS) continue;
      DP_PUSH(f->scratch, *chosen, n_chosen, part);
      memset(taken + part.first, true, part.length * part.count);
    }
  }
  qsort(*chosen, n_chosen, sizeof **chosen, in_order);
  return n_chosen;
}

static size_t find_loops(const folding *f, repeat **chosen) {
  size_t periods[PERIODS], n_found = 0;
  repeat *found = NULL;
  const size_t n_periods = find_periods(f, periods);
  for (size_t i = 0; i < n_periods; i++) find_repeats(f, periods[i], &n_found, &found);
  if (!n_found) return 0;
  qsort(found, n_found, sizeof *found, most_spared_first);
  return choose(f, n_found, found, chosen);
}

// ---- loops ----------------------------------------------------------------------------------------------------------

// The change of number k of item i; NULL: it stays.
static Dp__Change *change_of(dp_arena *arena, const folding *f, const repeat *r, size_t i, size_t k) {
  int64_t *by = dp_alloc_n(arena, r->count - 1, sizeof *by);
  bool stays = true, regular = true;
  for (size_t j = 1; j < r->count; j++) {
    const size_t now = f->first[i + j * r->length] + k, before = f->first[i + (j - 1) * r->length] + k;
    by[j - 1] = (int64_t)(f->numbers[now].is - f->numbers[before].is);
    stays &= !by[j - 1];
    regular &= by[j - 1] == by[0];
  }
  if (stays) return NULL;
  Dp__Change *change = dp_alloc(arena, sizeof *change);
  dp__change__init(change);
  change->n_by = regular ? 1 : r->count - 1;
  change->by = by;
  return change;
}

static Dp__Loop *loop_of(dp_arena *arena, const folding *f, const repeat *r, size_t first) {
  Dp__Loop *loop = dp_alloc(arena, sizeof *loop);
  dp__loop__init(loop);
  loop->first = (uint32_t)first;
  loop->length = (uint32_t)r->length;
  loop->count = (uint32_t)r->count;
  for (size_t i = r->first; i < r->first + r->length; i++)
    for (size_t k = 0; k < f->first[i + 1] - f->first[i]; k++) {
      Dp__Change *change = change_of(arena, f, r, i, k);
      if (!change) continue;
      change->number = (uint32_t)(f->first[i] - f->first[r->first] + k);
      DP_PUSH(arena, loop->changes, loop->n_changes, change);
    }
  return loop;
}

// memory: that iterations of the plan take so far; what would take too much stays as it is.
static bool has_room(const repeat *r, ProtobufCMessage *const *items, uint64_t *memory) {
  uint64_t bytes = 0;
  for (size_t i = r->first; i < r->first + r->length; i++) bytes += sizeof(void *) + dp_plan_loops_memory(items[i]);
  if (bytes > (DP_LIMIT_LOOPED - *memory) / (r->count - 1)) return false;
  *memory += bytes * (r->count - 1);
  return true;
}

// A list that has loops stays as it is.
static void fold(dp_arena *arena, dp_plan_list list, uint64_t *memory) {
  if (*list.n_loops) return;
  ProtobufCMessage **items = *list.items, **kept = dp_alloc_n(arena, *list.n_items, sizeof *kept);
  size_t n_kept = 0, from = 0;
  const folding f = look_at(arena, *list.n_items, items);
  repeat *repeats = NULL;
  const size_t n_repeats = find_loops(&f, &repeats);
  for (const repeat *r = repeats; r < repeats + n_repeats; r++) {
    if (!has_room(r, items, memory)) continue;
    while (from < r->first) kept[n_kept++] = items[from++];
    Dp__Loop *loop = loop_of(arena, &f, r, n_kept);
    DP_PUSH(arena, *list.loops, *list.n_loops, loop);
    while (from < r->first + r->length) kept[n_kept++] = items[from++];
    from = r->first + r->length * r->count;
  }
  while (from < *list.n_items) kept[n_kept++] = items[from++];
  *list.items = kept;
  *list.n_items = n_kept;
}

// ---- a plan ---------------------------------------------------------------------------------------------------------

// A copy of the array, whose messages are copies.
static void copy_each(dp_arena *arena, size_t count, void *array, size_t bytes) {
  void ***messages = array;
  if (!count) return;
  *messages = dp_memdup(arena, *messages, count * sizeof **messages);
  for (size_t i = 0; i < count; i++) (*messages)[i] = dp_memdup(arena, (*messages)[i], bytes);
}

static void fold_program(dp_arena *arena, Dp__Program *program, uint64_t *memory) {
  copy_each(arena, program->n_streams, &program->streams, sizeof **program->streams);
  fold(arena, dp_plan_list_of_tensors(program), memory);
  for (size_t s = 0; s < program->n_streams; s++)
    fold(arena, dp_plan_list_of_instructions(program->streams[s]), memory);
}

Dp__Plan *dp_plan_loops_fold(dp_arena *arena, const Dp__Plan *plan) {
  Dp__Plan *folded = dp_memdup(arena, plan, sizeof *plan);
  uint64_t memory = 0;
  copy_each(arena, folded->n_roles, &folded->roles, sizeof **folded->roles);
  for (size_t r = 0; r < folded->n_roles; r++) {
    Dp__Role *role = folded->roles[r];
    copy_each(arena, role->n_programs, &role->programs, sizeof **role->programs);
    for (size_t p = 0; p < role->n_programs; p++) fold_program(arena, role->programs[p], &memory);
  }
  return folded;
}
