// The host's memory, which all devices of all roles share: an input lies where every role reads it, outputs are given once,
// and what one step writes there no other touches.
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

static dp_status fail(dp_checker *c, uint32_t role, dp_rule rule, const char *what, const range *a, const range *b) {
  c->report->fault = (dp_fault){.role = c->plan->roles[role]->name, .program = dp_checker_program(c, role)->name};
  return dp_rule_fail(&c->report->fault, rule, "%s: '%s' at [%llu,%llu) of role %s, '%s' at [%llu,%llu) of role %s",
                      what, a->name, (unsigned long long)a->begin, (unsigned long long)a->end,
                      c->plan->roles[a->role]->name, b->name, (unsigned long long)b->begin, (unsigned long long)b->end,
                      c->plan->roles[b->role]->name);
}

static void add(ranges *r, const char *name, const Dp__DeviceTensor *t, uint32_t role) {
  range one = {name, t->offset, t->offset + t->bytes, role};
  DP_PUSH(r->arena, r->items, r->count, one);
}

static int by_name(const void *a, const void *b) { return strcmp(((const range *)a)->name, ((const range *)b)->name); }

static int by_begin(const void *a, const void *b) {
  const range *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

static void sort(ranges *r, int (*by)(const void *, const void *)) {
  if (r->count) qsort(r->items, r->count, sizeof *r->items, by);
}

static dp_status check_inputs(dp_checker *c) {
  ranges all = {.arena = c->shared.arena}, apart = all;
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (size_t i = 0; i < p->n_inputs; i++) add(&all, p->inputs[i]->name, p->tensors[p->inputs[i]->tensor], r);
  }
  sort(&all, by_name);
  for (uint32_t i = 0; i < all.count; i++) {
    const range *one = &all.items[i];
    const range *last = i && !strcmp(one->name, one[-1].name) ? &one[-1] : NULL;
    if (last && (last->begin != one->begin || last->end != one->end))
      return fail(c, one->role, DP_RULE_MEANING_INPUT, "an input has one place on the host", last, one);
    if (!last && one->begin < one->end) DP_PUSH(apart.arena, apart.items, apart.count, *one);
  }
  sort(&apart, by_begin);
  for (uint32_t i = 1; i < apart.count; i++)
    if (apart.items[i].begin < apart.items[i - 1].end)
      return fail(c, apart.items[i].role, DP_RULE_MEANING_INPUT, "inputs overlap", &apart.items[i - 1],
                  &apart.items[i]);
  return DP_OK;
}

// ---- who writes where -----------------------------------------------------------------------------------------------

// Bytes of the host that a step reads or writes.
typedef struct {
  Dp__Space space;
  uint64_t begin, end;
  bool writes;
  dp_checker_place place;
} host_access;

typedef struct {
  dp_arena *arena;
  uint32_t count;
  host_access *items;
} host_accesses;

static void add_operands(host_accesses *all, const Dp__Program *p, dp_checker_place place, size_t count,
                         const uint32_t *operands, bool writes) {
  for (size_t i = 0; i < count; i++) {
    const Dp__DeviceTensor *t = operands[i] ? p->tensors[operands[i] - 1] : NULL;
    if (!t || !t->bytes || !dp_checker_is_on_host(t->space)) continue;
    host_access one = {t->space, t->offset, t->offset + t->bytes, writes, place};
    DP_PUSH(all->arena, all->items, all->count, one);
  }
}

static int by_place(const void *a, const void *b) {
  const host_access *x = a, *y = b;
  if (x->space != y->space) return x->space < y->space ? -1 : 1;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

// `next` begins no later than `last` ends.
static dp_status check_apart(dp_checker *c, const host_access *last, const host_access *next) {
  char text[512];
  if (!last || last->space != next->space || last->end <= next->begin) return DP_OK;
  return dp_checker_fail_place(
      c, next->place, DP_RULE_ORDER_CONFLICT,
      "it %s bytes [%llu,%llu) of %s memory, and %s %s [%llu,%llu): each device comes to them "
      "in its own time, whatever the order of the two is",
      next->writes ? "writes" : "reads", (unsigned long long)next->begin, (unsigned long long)next->end,
      dp_checker_space(next->space), dp_checker_place_print(c, last->place, text, sizeof text),
      last->writes ? "writes" : "reads", (unsigned long long)last->begin, (unsigned long long)last->end);
}

// Between host and devices there is no rendezvous: each device fetches or gives its part by itself, so that order on every
// one of them, by streams and events, is no order between what two of them do. Hence bytes that one step writes no other
// touches, neither before nor after, of this role or another. (Within a step each device writes a part of its own.)
static dp_status check_writers(dp_checker *c) {
  host_accesses all = {.arena = c->shared.arena};
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (uint32_t s = 0; s < p->n_streams; s++)
      for (uint32_t i = 0; i < p->streams[s]->n_instructions; i++) {
        const Dp__Instruction *in = p->streams[s]->instructions[i];
        add_operands(&all, p, (dp_checker_place){r, s, i}, in->n_inputs, in->inputs, false);
        add_operands(&all, p, (dp_checker_place){r, s, i}, in->n_outputs, in->outputs, true);
      }
  }
  if (all.count) qsort(all.items, all.count, sizeof *all.items, by_place);
  // Those that reach furthest so far.
  const host_access *any = NULL, *writer = NULL;
  for (uint32_t i = 0; i < all.count; i++) {
    const host_access *one = &all.items[i];
    DP_TRY(check_apart(c, one->writes ? any : writer, one));
    if (!any || any->space != one->space || any->end < one->end) any = one;
    if (one->writes && (!writer || writer->space != one->space || writer->end < one->end)) writer = one;
  }
  return DP_OK;
}

// What the graph takes is given to some role: the runtime would have no place to put it.
static dp_status check_bound(dp_checker *c) {
  bool *bound = dp_alloc_n(c->shared.arena, (size_t)c->graph->n_values, sizeof *bound);
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (size_t i = 0; i < p->n_inputs; i++) bound[p->tensors[p->inputs[i]->tensor]->value] = true;
  }
  for (int32_t i = 0; i < c->graph->n_values; i++)
    if (c->graph->values[i]->kind == DP_VALUE_INPUT && !bound[i])
      return dp_checker_fail(c, DP_CHECKER_PROGRAM, DP_RULE_MEANING_INPUT,
                             "its logical graph takes '%s', and no role has a place for it", c->graph->values[i]->name);
  return DP_OK;
}

dp_status dp_checker_host(dp_checker *c) {
  for (int o = 0; o < c->graph->n_outputs; o++)
    if (!c->shared.given[o])
      return dp_checker_fail(c, DP_CHECKER_PROGRAM, DP_RULE_MEANING_OUTPUT, "it does not give output '%s'",
                             c->graph->outputs[o].name);
  DP_TRY(check_bound(c));
  if (c->plan->n_roles > 1) DP_TRY(check_inputs(c));
  return check_writers(c);
}
