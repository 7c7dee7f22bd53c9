// See finite.h. Whatever is read from a NaN comes after the node that made it, so the first one that is seen is the
// first that was made.
#include "runtime/exec/finite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// What the numbers of an operand or result are.
typedef struct {
  int64_t count, nan, inf;
  double min, max;  // of those that are finite
} range;

struct dp_finite {
  int n;
  range ranges[];
};

static bool is_float(const dp_kernel_operand *o) { return o->present && dp_type_is_float(o->dtype); }

static int64_t count_of(const dp_kernel_operand *o) {
  int64_t count = 1;
  for (int d = 0; d < o->local.rank; d++) count *= o->local.extents[d];
  return count;
}

static void look_at(dp_dtype dtype, const char *data, range *r) {
  const size_t size = dp_type_bytes(dtype);
  for (int64_t i = 0; i < r->count; i++) {
    const double x = dp_element_get(dtype, data + (size_t)i * size);
    if (isnan(x)) {
      r->nan++;
    } else if (isinf(x)) {
      r->inf++;
    } else {
      if (x < r->min) r->min = x;
      if (x > r->max) r->max = x;
    }
  }
}

// data: on the unit's device.
static dp_status measure(const dp_bound *bound, const dp_unit *unit, const dp_kernel_operand *o, const void *data,
                         range *r) {
  const dp_backend *backend = bound->binding->memory->backend;
  *r = (range){.count = is_float(o) ? count_of(o) : 0, .min = INFINITY, .max = -INFINITY};
  if (!r->count || !data) return DP_OK;
  if (!backend->download) {
    look_at(o->dtype, data, r);
    return DP_OK;
  }
  const size_t bytes = (size_t)r->count * dp_type_bytes(o->dtype);
  char *copy = malloc(bytes);
  if (!copy) return dp_fail(DP_EX_MEMORY, "no memory to look at the numbers of a node");
  dp_status status = backend->download(unit->devices[0], copy, data, bytes);
  if (!status) look_at(o->dtype, copy, r);
  free(copy);
  return status;
}

static const void *plain_operand(const dp_unit *unit, int i) {
  return unit->plain && i == unit->kernel->packs ? unit->plain : unit->in[i];
}

dp_status dp_finite_begin(const dp_bound *bound, const dp_unit *unit, dp_finite **before) {
  const int n = unit->spec->n_inputs;
  dp_finite *b = malloc(sizeof *b + (size_t)n * sizeof *b->ranges);
  if (!b) return dp_fail(DP_EX_MEMORY, "no memory to look at the numbers of a node");
  b->n = n;
  dp_status status = DP_OK;
  for (int i = 0; i < n && !status; i++)
    status = measure(bound, unit, &unit->spec->inputs[i], plain_operand(unit, i), &b->ranges[i]);
  if (status)
    free(b);
  else
    *before = b;
  return status;
}

// ---- the report -----------------------------------------------------------------------------------------------------

static const char *value_name(const dp_bound *bound, const dp_unit *unit, uint32_t operand) {
  const dp_role_program *role = &bound->programs[unit->role];
  return operand ? role->graph->values[role->program->tensors[operand - 1]->value]->name : "?";
}

static void print_range(FILE *out, const char *name, const range *r) {
  fprintf(out, " '%s'", name);
  if (r->min <= r->max) fprintf(out, " from %.6g to %.6g", r->min, r->max);
  if (r->nan) fprintf(out, ", %lld NaN", (long long)r->nan);
  if (r->inf) fprintf(out, ", %lld Inf", (long long)r->inf);
  fprintf(out, " (%lld numbers)", (long long)r->count);
}

// The nodes of a region, of which the unit's name says only the first.
static void print_members(FILE *out, const dp_bound *bound, const dp_unit *unit) {
  const Dp__Instruction *in = unit->at->instruction;
  const dp_graph *graph = bound->programs[unit->role].graph;
  if (in->n_nodes < 2) return;
  fputs("; one of the nodes that are computed together here (dpc compile --no-fuse tells them apart):", out);
  for (size_t i = 0; i < in->n_nodes; i++)
    fprintf(out, "%s '%s' (%s)", i ? "," : "", graph->nodes[in->nodes[i]]->name, graph->nodes[in->nodes[i]]->op->name);
}

static dp_status report(const dp_bound *bound, const dp_unit *unit, const dp_finite *before, int result,
                        const range *made) {
  const Dp__Instruction *in = unit->at->instruction;
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return dp_fail(DP_EX_MEMORY, "no memory to say which node made NaN or Inf");
  fprintf(out, "on device %d it made %s:", unit->devices[0], made->nan ? "NaN" : "Inf");
  print_range(out, value_name(bound, unit, in->outputs[result]), made);
  fputs(" of", out);
  for (int i = 0, n = 0; i < before->n; i++)
    if (before->ranges[i].count) {
      if (n++) fputc(',', out);
      print_range(out, value_name(bound, unit, in->inputs[i]), &before->ranges[i]);
    }
  print_members(out, bound, unit);
  fclose(out);
  dp_status status = dp_fail(EX_DATAERR, "%s", text);
  free(text);
  return status;
}

dp_status dp_finite_end(const dp_bound *bound, const dp_unit *unit, dp_finite *before) {
  dp_status status = DP_OK;
  bool any = false, infinite = false;
  for (int i = 0; i < before->n; i++) {
    any |= before->ranges[i].count > 0;
    infinite |= before->ranges[i].inf || before->ranges[i].nan;
  }
  for (int i = 0; i < unit->spec->n_outputs && !status; i++) {
    range r;
    status = measure(bound, unit, &unit->spec->outputs[i], unit->out[i], &r);
    if (!status && (r.nan || (r.inf && any && !infinite))) status = report(bound, unit, before, i, &r);
  }
  free(before);
  return status;
}
