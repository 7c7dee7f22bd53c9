// The host's memory, which the roles of a program share: an input lies where every role reads it, and what one role gives
// no other writes to; outputs are given once.
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

// Whatever a role may write there, not only what it gives.
static dp_status check_results(dp_checker *c) {
  ranges all = {.arena = c->shared.arena};
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    const Dp__Program *p = dp_checker_program(c, r);
    for (size_t i = 0; i < p->n_tensors; i++) {
      const Dp__DeviceTensor *t = p->tensors[i];
      if (t->space == DP__SPACE__HOST_OUTPUT && t->bytes) add(&all, c->graph->values[t->value]->name, t, r);
    }
  }
  sort(&all, by_begin);
  // The one that reaches furthest: as long as no two roles overlap, all that reach as far are its role's.
  for (uint32_t i = 1, last = 0; i < all.count; i++) {
    if (all.items[i].begin < all.items[last].end && all.items[i].role != all.items[last].role)
      return fail(c, all.items[i].role, DP_RULE_MEANING_OUTPUT, "two roles write to the same bytes on the host",
                  &all.items[last], &all.items[i]);
    if (all.items[i].end > all.items[last].end) last = i;
  }
  return DP_OK;
}

dp_status dp_checker_roles(dp_checker *c) {
  for (int o = 0; o < c->graph->n_outputs; o++)
    if (!c->shared.given[o])
      return dp_checker_fail(c, DP_CHECKER_PROGRAM, DP_RULE_MEANING_OUTPUT, "it does not give output '%s'",
                             c->graph->outputs[o].name);
  if (c->plan->n_roles == 1) return DP_OK;
  DP_TRY(check_inputs(c));
  return check_results(c);
}
