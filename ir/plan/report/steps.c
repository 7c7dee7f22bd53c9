// See steps.h.
#include "ir/plan/report/steps.h"

#include <stdlib.h>
#include <string.h>

#include "ir/graph/type.h"

static bool is_communication(const Dp__Instruction *in, const char *op) {
  return in->communication && !strcmp(in->op, op);
}

// ---- steps and what is before them ----------------------------------------------------------------------------------

static void list_steps(dp_arena *arena, dp_plan_steps *s, size_t program) {
  const Dp__Plan *plan = s->plan;
  const Dp__Program **programs = dp_alloc_n(arena, plan->n_roles, sizeof *programs);
  s->programs = programs;
  for (uint32_t r = 0; r < plan->n_roles; r++) {
    programs[r] = plan->roles[r]->programs[program];
    for (size_t q = 0; q < programs[r]->n_streams; q++) s->n_steps += (uint32_t)programs[r]->streams[q]->n_instructions;
  }
  s->steps = dp_alloc_n(arena, (size_t)s->n_steps + 1, sizeof *s->steps);
  uint32_t n = 0;
  for (uint32_t r = 0; r < plan->n_roles; r++)
    for (uint32_t q = 0; q < programs[r]->n_streams; q++)
      for (size_t i = 0; i < programs[r]->streams[q]->n_instructions; i++)
        s->steps[n++] =
            (dp_plan_step){.in = programs[r]->streams[q]->instructions[i], .role = r, .stream = q, .micro = -1};
}

typedef struct {
  uint32_t channel, step;
  bool receives;
} end;

static int by_channel(const void *a, const void *b) {
  const end *x = a, *y = b;
  if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
  return (x->receives > y->receives) - (x->receives < y->receives);
}

static void pair_transfers(dp_arena *arena, dp_plan_steps *s) {
  end *ends = NULL;
  size_t n = 0;
  s->one = dp_alloc_n(arena, (size_t)s->n_steps + 1, sizeof *s->one);
  s->receiver = dp_alloc_n(arena, (size_t)s->n_steps + 1, sizeof *s->receiver);
  for (uint32_t i = 0; i < s->n_steps; i++) {
    const Dp__Instruction *in = s->steps[i].in;
    s->one[i] = i;
    bool receives = is_communication(in, "Recv");
    if (receives || is_communication(in, "Send"))
      DP_PUSH(arena, ends, n, ((end){in->communication->channel, i, receives}));
  }
  if (n) qsort(ends, n, sizeof *ends, by_channel);
  for (size_t k = 1; k < n; k++) {
    if (!ends[k].receives || ends[k - 1].receives || ends[k].channel != ends[k - 1].channel) continue;
    s->one[ends[k].step] = ends[k - 1].step;
    s->receiver[ends[k - 1].step] = ends[k].step + 1;
  }
}

// Predecessors by streams and events.
static void find_before(dp_arena *arena, dp_plan_steps *s) {
  uint32_t *signaller = NULL;  // by event, plus 1
  uint32_t n = 0;
  s->first = dp_alloc_n(arena, (size_t)s->n_steps + 1, sizeof *s->first);
  for (uint32_t i = 0; i < s->n_steps; i++) {
    const dp_plan_step *step = &s->steps[i];
    if (!i || s->steps[i - 1].role != step->role) {
      signaller = dp_alloc_n(arena, (size_t)s->programs[step->role]->events + 1, sizeof *signaller);
      for (uint32_t k = i; k < s->n_steps && s->steps[k].role == step->role; k++)
        if (s->steps[k].in->signal) signaller[s->steps[k].in->signal - 1] = k + 1;
    } else if (s->steps[i - 1].stream == step->stream) {
      DP_PUSH(arena, s->before, n, i - 1);
    }
    for (size_t w = 0; w < step->in->n_waits; w++)
      if (signaller[step->in->waits[w]]) DP_PUSH(arena, s->before, n, signaller[step->in->waits[w]] - 1);
    s->first[i + 1] = n;
  }
}

// ---- order ----------------------------------------------------------------------------------------------------------

static void put_in_order(dp_arena *arena, dp_plan_steps *s) {
  uint32_t n = s->n_steps, n_edges = s->first[n];
  uint32_t *missing = dp_alloc_n(arena, (size_t)n + 1, sizeof *missing);
  uint32_t *from = dp_alloc_n(arena, (size_t)n + 2, sizeof *from);  // edges reversed
  uint32_t *after = dp_alloc_n(arena, (size_t)n_edges + 1, sizeof *after);
  for (uint32_t e = 0; e < n_edges; e++) from[s->one[s->before[e]] + 2]++;
  for (uint32_t i = 0; i < n; i++) from[i + 2] += from[i + 1];
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t e = s->first[i]; e < s->first[i + 1]; e++) {
      after[from[s->one[s->before[e]] + 1]++] = s->one[i];
      missing[s->one[i]]++;
    }
  s->order = dp_alloc_n(arena, (size_t)n + 1, sizeof *s->order);
  for (uint32_t i = 0; i < n; i++)
    if (s->one[i] == i && !missing[i]) s->order[s->n_ordered++] = i;
  for (uint32_t k = 0; k < s->n_ordered; k++)
    for (uint32_t e = from[s->order[k]]; e < from[s->order[k] + 1]; e++)
      if (!--missing[after[e]]) s->order[s->n_ordered++] = after[e];
}

// ---- what they are of -----------------------------------------------------------------------------------------------

static bool any_float(const Dp__Program *program, size_t count, const uint32_t *operands) {
  for (size_t k = 0; k < count; k++)
    if (operands[k] && dp_type_is_float((dp_dtype)program->tensors[operands[k] - 1]->dtype)) return true;
  return false;
}

static bool works_on_floats(const Dp__Program *program, const Dp__Instruction *in) {
  return any_float(program, in->n_inputs, in->inputs) || any_float(program, in->n_outputs, in->outputs);
}

static int32_t micro_of(const Dp__Program *program, size_t count, const uint32_t *operands) {
  int32_t last = -1;
  for (size_t k = 0; k < count; k++) {
    const Dp__MicroSet *set = operands[k] ? program->tensors[operands[k] - 1]->micro : NULL;
    if (set && set->count && (int32_t)(set->first + set->count - 1) > last)
      last = (int32_t)(set->first + set->count - 1);
  }
  return last;
}

// Whether the receiver's peer is a later stage.
static bool from_later(const dp_plan_steps *s, const dp_plan_step *step) {
  const Dp__Communication *c = step->in->communication;
  for (size_t k = 0; k < c->n_peer; k++) {
    int64_t own = s->plan->roles[step->role]->devices[c->peer[k]->axis]->first;
    if (c->peer[k]->offset < s->plan->mesh[c->peer[k]->axis]->size - own) return true;
  }
  return false;
}

// Follows what results are computed from, not merely what came before them. backward: (roles, tensors).
static void follow_results(const dp_plan_steps *s, dp_plan_step *step, bool **backward) {
  const Dp__Instruction *in = step->in;
  bool *of = backward[step->role];
  step->backward |= is_communication(in, "Recv") && from_later(s, step);
  for (size_t k = 0; k < in->n_inputs; k++) step->backward |= in->inputs[k] && of[in->inputs[k] - 1];
  for (size_t k = 0; k < in->n_outputs; k++)
    if (in->outputs[k]) of[in->outputs[k] - 1] = step->backward;
}

static void find_tasks(dp_arena *arena, dp_plan_steps *s) {
  bool **backward = dp_alloc_n(arena, s->plan->n_roles, sizeof *backward);
  for (size_t r = 0; r < s->plan->n_roles; r++)
    backward[r] = dp_alloc_n(arena, s->programs[r]->n_tensors + 1, sizeof **backward);
  for (uint32_t i = 0; i < s->n_steps; i++) {
    dp_plan_step *step = &s->steps[i];
    const Dp__Program *program = s->programs[step->role];
    int32_t in = micro_of(program, step->in->n_inputs, step->in->inputs);
    int32_t out = micro_of(program, step->in->n_outputs, step->in->outputs);
    if (!dp_plan_step_computes(step) || works_on_floats(program, step->in)) step->micro = in > out ? in : out;
  }
  for (uint32_t k = 0; k < s->n_ordered; k++) {
    dp_plan_step *step = &s->steps[s->order[k]];
    follow_results(s, step, backward);
    if (!s->receiver[s->order[k]]) continue;
    dp_plan_step *other = &s->steps[s->receiver[s->order[k]] - 1];
    other->backward = step->backward;
    follow_results(s, other, backward);
  }
}

dp_plan_steps dp_plan_steps_make(dp_arena *arena, const Dp__Plan *plan, size_t program) {
  dp_plan_steps s = {.plan = plan};
  list_steps(arena, &s, program);
  pair_transfers(arena, &s);
  find_before(arena, &s);
  put_in_order(arena, &s);
  find_tasks(arena, &s);
  return s;
}

// ---- the clock ------------------------------------------------------------------------------------------------------

static double begin_of(const dp_plan_steps *s, uint32_t i) {
  double begin = 0;
  for (uint32_t e = s->first[i]; e < s->first[i + 1]; e++)
    if (s->steps[s->before[e]].end_ns > begin) begin = s->steps[s->before[e]].end_ns;
  return begin;
}

double dp_plan_steps_run(dp_plan_steps *s) {
  double last = 0;
  for (uint32_t k = 0; k < s->n_ordered; k++) {
    dp_plan_step *step = &s->steps[s->order[k]];
    dp_plan_step *other = s->receiver[s->order[k]] ? &s->steps[s->receiver[s->order[k]] - 1] : step;
    double begin = begin_of(s, s->order[k]), others = begin_of(s, (uint32_t)(other - s->steps));
    double ns = step->ns > other->ns ? step->ns : other->ns;
    step->end_ns = other->end_ns = (begin > others ? begin : others) + ns;
    if (step->end_ns > last) last = step->end_ns;
  }
  return last;
}
