// The host's memory, which all devices of all roles share. An input lies at the same bytes for every role, each output
// is given once, and no two instructions touch the same bytes if one of them writes.
#include <stdlib.h>
#include <string.h>

#include "ir/verify/checker.h"

typedef struct {
  const char *name;
  uint64_t begin, end;
  uint32_t role;
} range;

typedef struct {
  dp_arena *arena;
  uint32_t count;
  range *items;
} ranges;

static dp_status fail_inputs(dp_checker *c, const char *what, const range *a, const range *b) {
  return dp_checker_fail(c, dp_checker_at_role(b->role), DP_RULE_MEANING_INPUT,
                         "%s: '%s' at [%llu,%llu) of role %s, '%s' at [%llu,%llu) of role %s", what, a->name,
                         (unsigned long long)a->begin, (unsigned long long)a->end, c->plan->roles[a->role]->name,
                         b->name, (unsigned long long)b->begin, (unsigned long long)b->end,
                         c->plan->roles[b->role]->name);
}

static void add_range(ranges *r, const char *name, const Dp__DeviceTensor *t, uint32_t role) {
  range one = {name, t->offset, t->offset + t->bytes, role};
  DP_PUSH(r->arena, r->items, r->count, one);
}

static int by_name(const void *a, const void *b) { return strcmp(((const range *)a)->name, ((const range *)b)->name); }

static int by_begin(const void *a, const void *b) {
  const range *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

static void sort_ranges(ranges *r, int (*by)(const void *, const void *)) {
  if (r->count) qsort(r->items, r->count, sizeof *r->items, by);
}

static dp_status check_inputs(dp_checker *c) {
  ranges all = {.arena = c->shared.arena}, apart = all;
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (size_t i = 0; i < p->n_inputs; i++) add_range(&all, p->inputs[i]->name, p->tensors[p->inputs[i]->tensor], r);
  }
  sort_ranges(&all, by_name);
  for (uint32_t i = 0; i < all.count; i++) {
    const range *one = &all.items[i];
    const range *last = i && !strcmp(one->name, one[-1].name) ? &one[-1] : NULL;
    if (last && (last->begin != one->begin || last->end != one->end))
      return fail_inputs(c, "an input lies at the same bytes for all roles", last, one);
    if (!last && one->begin < one->end) DP_PUSH(apart.arena, apart.items, apart.count, *one);
  }
  sort_ranges(&apart, by_begin);
  for (uint32_t i = 1; i < apart.count; i++)
    if (apart.items[i].begin < apart.items[i - 1].end)
      return fail_inputs(c, "inputs overlap", &apart.items[i - 1], &apart.items[i]);
  return DP_OK;
}

// ---- who writes what ------------------------------------------------------------------------------------------------

// Bytes of the host that an instruction reads or writes.
typedef struct {
  Dp__Space space;
  uint64_t begin, end;
  bool writes;
  dp_checker_location location;
} host_access;

typedef struct {
  dp_arena *arena;
  uint32_t count;
  host_access *items;
} host_accesses;

static void add_operands(host_accesses *all, const Dp__Program *p, dp_checker_location location, size_t count,
                         const uint32_t *operands, bool writes) {
  for (size_t i = 0; i < count; i++) {
    const Dp__DeviceTensor *t = operands[i] ? p->tensors[operands[i] - 1] : NULL;
    if (!t || !t->bytes || !dp_checker_is_on_host(t->space)) continue;
    host_access one = {t->space, t->offset, t->offset + t->bytes, writes, location};
    DP_PUSH(all->arena, all->items, all->count, one);
  }
}

static int by_first_byte(const void *a, const void *b) {
  const host_access *x = a, *y = b;
  if (x->space != y->space) return x->space < y->space ? -1 : 1;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

// `next` begins no later than `last` ends.
static dp_status check_apart(dp_checker *c, const host_access *last, const host_access *next) {
  char text[512];
  if (!last || last->space != next->space || last->end <= next->begin) return DP_OK;
  return dp_checker_fail(
      c, next->location, DP_RULE_ORDER_CONFLICT,
      "it %s bytes [%llu,%llu) of %s memory, and %s %s [%llu,%llu): each device comes to them "
      "in its own time, whatever the order of the two is",
      next->writes ? "writes" : "reads", (unsigned long long)next->begin, (unsigned long long)next->end,
      dp_plan_form_space(next->space), dp_checker_location_print(c, last->location, text, sizeof text),
      last->writes ? "writes" : "reads", (unsigned long long)last->begin, (unsigned long long)last->end);
}

// Between host and devices there is no rendezvous. Each device fetches or gives its part by itself, so the order of two
// instructions on every device is no order between two devices. Hence no other instruction, of this role or another,
// touches bytes that one writes, neither before nor after. (Within one instruction each device writes a part of its
// own.)
static dp_status check_writers(dp_checker *c) {
  host_accesses all = {.arena = c->shared.arena};
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (uint32_t s = 0; s < p->n_streams; s++)
      for (uint32_t i = 0; i < p->streams[s]->n_instructions; i++) {
        const Dp__Instruction *in = p->streams[s]->instructions[i];
        add_operands(&all, p, (dp_checker_location){r, s, i}, in->n_inputs, in->inputs, false);
        add_operands(&all, p, (dp_checker_location){r, s, i}, in->n_outputs, in->outputs, true);
      }
  }
  if (all.count) qsort(all.items, all.count, sizeof *all.items, by_first_byte);
  // The access, and the write, that reach furthest so far.
  const host_access *any = NULL, *writer = NULL;
  for (uint32_t i = 0; i < all.count; i++) {
    const host_access *one = &all.items[i];
    DP_TRY(check_apart(c, one->writes ? any : writer, one));
    if (!any || any->space != one->space || any->end < one->end) any = one;
    if (one->writes && (!writer || writer->space != one->space || writer->end < one->end)) writer = one;
  }
  return DP_OK;
}

// Every input of the graph is bound by some role: else the runtime would have nowhere to put it.
static dp_status check_bound(dp_checker *c) {
  bool *bound = dp_alloc_n(c->shared.arena, (size_t)c->graph->n_values, sizeof *bound);
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (size_t i = 0; i < p->n_inputs; i++) bound[p->tensors[p->inputs[i]->tensor]->value] = true;
  }
  for (int32_t i = 0; i < c->graph->n_values; i++)
    if (c->graph->values[i]->kind == DP_VALUE_INPUT && !bound[i])
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_INPUT,
                             "its logical graph takes '%s', and no role has a place for it", c->graph->values[i]->name);
  return DP_OK;
}

dp_status dp_checker_host(dp_checker *c) {
  for (int o = 0; o < c->graph->n_outputs; o++)
    if (!c->shared.given[o])
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_OUTPUT, "it does not give output '%s'",
                             c->graph->outputs[o].name);
  DP_TRY(check_bound(c));
  if (c->plan->n_roles > 1) DP_TRY(check_inputs(c));
  return check_writers(c);
}
