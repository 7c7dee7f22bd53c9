// Writes the loops of a plan's lists out. See loops.h.
#include "ir/plan/loops.h"

#include <string.h>

#include "ir/base/limits.h"
#include "ir/plan/loops_fields.h"

// ---- one iteration --------------------------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  const Dp__Loop *loop;
  size_t iteration;  // being made; the body is number 0
  size_t number;     // of the body's numbers: the next to be passed
  size_t change;     // the next to be made
} iterating;

size_t dp_plan_loops_memory(const ProtobufCMessage *message) {
  size_t bytes = message->descriptor->sizeof_message;
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
    const dp_loops_field f = dp_loops_field_of(message, i);
    if (f.is->label == PROTOBUF_C_LABEL_REPEATED) bytes += f.count * f.bytes;
    for (size_t k = 0; dp_loops_is_message(&f) && k < f.count; k++)
      bytes += dp_plan_loops_memory(dp_loops_message(&f, k));
    for (size_t k = 0; f.is->type == PROTOBUF_C_TYPE_STRING && k < f.count; k++)
      bytes += strlen(((char **)f.at)[k]) + 1;
    for (size_t k = 0; f.is->type == PROTOBUF_C_TYPE_BYTES && k < f.count; k++)
      bytes += ((const ProtobufCBinaryData *)f.at)[k].len;
  }
  return bytes;
}

bool dp_plan_loops_fit(ProtobufCMessage *const *items, size_t n, size_t times, uint64_t *memory) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += sizeof(void *) + dp_plan_loops_memory(items[i]);
  if (bytes > (DP_LIMIT_LOOPED - *memory) / times) return false;
  *memory += bytes * times;
  return true;
}

static size_t numbers_of(const ProtobufCMessage *message) {
  size_t numbers = 0;
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
    const dp_loops_field f = dp_loops_field_of(message, i);
    if (dp_loops_is_number(&f)) numbers += f.count;
    for (size_t k = 0; dp_loops_is_message(&f) && k < f.count; k++) numbers += numbers_of(dp_loops_message(&f, k));
  }
  return numbers;
}

// Whether one of the next numbers changes.
static bool changes_within(const iterating *it, size_t numbers) {
  return it->change < it->loop->n_changes && it->loop->changes[it->change]->number < it->number + numbers;
}

static void change_numbers(iterating *it, const dp_loops_field *f) {
  for (; changes_within(it, f->count); it->change++) {
    const Dp__Change *c = it->loop->changes[it->change];
    const int64_t by = c->by[c->n_by > 1 ? it->iteration - 1 : 0];
    char *at = f->at + (c->number - it->number) * f->bytes;
    uint64_t number = 0;
    memcpy(&number, at, f->bytes);  // little-endian: the low bytes come first
    number += (uint64_t)by;
    memcpy(at, &number, f->bytes);
  }
  it->number += f->count;
}

// A copy whose numbers change; messages in it without such are shared.
static ProtobufCMessage *next_of(iterating *it, const ProtobufCMessage *before) {
  char *next = dp_memdup(it->arena, before, before->descriptor->sizeof_message);
  for (unsigned i = 0; i < before->descriptor->n_fields; i++) {
    dp_loops_field f = dp_loops_field_of((ProtobufCMessage *)next, i);
    const bool is_message = dp_loops_is_message(&f);
    size_t numbers = dp_loops_is_number(&f) ? f.count : 0;
    for (size_t k = 0; is_message && k < f.count; k++) numbers += numbers_of(dp_loops_message(&f, k));
    if (!changes_within(it, numbers)) {
      it->number += numbers;
      continue;
    }
    if (f.is->label == PROTOBUF_C_LABEL_REPEATED)
      f.at = *(char **)(next + f.is->offset) = dp_memdup(it->arena, f.at, f.count * f.bytes);
    if (!is_message) change_numbers(it, &f);
    for (size_t k = 0; is_message && k < f.count; k++)
      ((ProtobufCMessage **)f.at)[k] = next_of(it, dp_loops_message(&f, k));
  }
  return (ProtobufCMessage *)next;
}

// ---- a list ---------------------------------------------------------------------------------------------------------

static dp_status check_changes(dp_fault *fault, const dp_plan_list *list, const Dp__Loop *loop, size_t numbers) {
  for (size_t i = 0; i < loop->n_changes; i++) {
    const Dp__Change *c = loop->changes[i];
    if (c->number >= numbers || (i && c->number <= loop->changes[i - 1]->number))
      return dp_rule_fail(fault, DP_RULE_FORM_INDEX, "%s: change %zu of a loop is of number %u of %zu, or out of order",
                          list->name, i, c->number, numbers);
    if (c->n_by != 1 && c->n_by != loop->count - 1)
      return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "%s: number %u of a loop of %u iterations changes %zu times",
                          list->name, c->number, loop->count, c->n_by);
  }
  return DP_OK;
}

static dp_status too_much(dp_fault *fault, const dp_plan_list *list) {
  return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "%s: loops of more than %d bytes when they are written out",
                      list->name, DP_LIMIT_LOOPED);
}

// at: where the loop before it ends in the list.
static dp_status check_loop(dp_fault *fault, const dp_plan_list *list, const Dp__Loop *loop, size_t at,
                            uint64_t *memory) {
  if (loop->first < at || loop->first > *list->n_items || loop->length > *list->n_items - loop->first)
    return dp_rule_fail(fault, DP_RULE_FORM_INDEX, "%s: a loop of %u items from %u on, where %zu to %zu are left",
                        list->name, loop->length, loop->first, at, *list->n_items);
  if (!loop->length || loop->count < 2)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "%s: a loop of %u items and %u iterations", list->name, loop->length,
                        loop->count);
  ProtobufCMessage *const *body = *list->items + loop->first;
  if (!dp_plan_loops_fit(body, loop->length, loop->count - 1, memory)) return too_much(fault, list);
  size_t numbers = 0;
  for (size_t i = 0; i < loop->length; i++) numbers += numbers_of(body[i]);
  return check_changes(fault, list, loop, numbers);
}

static void add_iterations(dp_arena *arena, const Dp__Loop *loop, ProtobufCMessage **body) {
  for (size_t j = 1; j < loop->count; j++) {
    iterating it = {.arena = arena, .loop = loop, .iteration = j};
    for (size_t i = 0; i < loop->length; i++)
      body[j * loop->length + i] = next_of(&it, body[(j - 1) * loop->length + i]);
  }
}

// memory: that iterations of the plan take so far.
static dp_status expand(dp_arena *arena, dp_fault *fault, dp_plan_list list, uint64_t *memory) {
  size_t at = 0, total = *list.n_items, from = 0, to = 0;
  for (size_t i = 0; i < *list.n_loops; i++) {
    const Dp__Loop *loop = (*list.loops)[i];
    DP_TRY(check_loop(fault, &list, loop, at, memory));
    at = (size_t)loop->first + loop->length;
    total += (size_t)loop->length * (loop->count - 1);
  }
  // A list that was written out before, since messages of a file may be one and the same: whoever looks at the plan
  // looks at it again, so it counts again.
  if (!*list.n_loops)
    return !*list.loops || dp_plan_loops_fit(*list.items, total, 1, memory) ? DP_OK : too_much(fault, &list);
  ProtobufCMessage **items = dp_alloc_n(arena, total, sizeof *items);
  for (size_t i = 0; i < *list.n_loops; i++) {
    const Dp__Loop *loop = (*list.loops)[i];
    for (; from < (size_t)loop->first + loop->length; from++) items[to++] = (*list.items)[from];
    add_iterations(arena, loop, items + to - loop->length);
    to += (size_t)loop->length * (loop->count - 1);
  }
  for (; from < *list.n_items; from++) items[to++] = (*list.items)[from];
  *list.items = items;
  *list.n_items = total;
  *list.n_loops = 0;
  return DP_OK;
}

// ---- a plan ---------------------------------------------------------------------------------------------------------

static dp_status expand_program(dp_arena *arena, dp_fault *fault, Dp__Program *program, uint64_t *memory) {
  fault->program = program->name;
  DP_TRY(expand(arena, fault, dp_plan_list_of_tensors(program), memory));
  for (size_t s = 0; s < program->n_streams; s++)
    DP_TRY(expand(arena, fault, dp_plan_list_of_instructions(program->streams[s]), memory));
  fault->program = NULL;
  return DP_OK;
}

dp_status dp_plan_loops_expand(dp_arena *arena, Dp__Plan *plan, dp_fault *fault) {
  uint64_t memory = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++) {
      fault->role = plan->n_roles > 1 ? plan->roles[r]->name : NULL;
      DP_TRY(expand_program(arena, fault, plan->roles[r]->programs[p], &memory));
    }
  fault->role = NULL;
  return DP_OK;
}
