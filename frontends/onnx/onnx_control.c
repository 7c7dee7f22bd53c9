// Control flow whose course is known at import: the branch of an If, the rounds of a Loop or a Scan. A body enters the
// graph as often as it would run, with its nodes named after the node and the round; it sees the surrounding names.
//
// What decides the course must be known (the condition, the number of rounds, a round's condition); everything else may
// be computed. The file's size limits all rounds together. A body's initializers are constants.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

dp_status dp_onnx_control_graph(const Dp__Onnx__Node *m, const char *name, const Dp__Onnx__Graph **body) {
  const Dp__Onnx__Attribute *a = dp_onnx_attr_find(m, name);
  if (!a || !a->g) return dp_fail(EX_DATAERR, "attribute '%s' with its graph is missing", name);
  *body = a->g;
  return DP_OK;
}

static dp_status walk_body(dp_onnx_reader *reader, dp_onnx_scope *inner, const Dp__Onnx__Graph *body, size_t n_inputs,
                           dp_onnx_binding *const *inputs, dp_onnx_binding **results) {
  if (body->n_input != n_inputs)
    return dp_fail(EX_DATAERR, "its graph '%s' has %zu inputs where %zu are expected", body->name, body->n_input,
                   n_inputs);
  for (size_t i = 0; i < body->n_initializer; i++) {
    dp_onnx_binding binding = {0};
    DP_TRY(dp_onnx_tensor_read(reader, body->initializer[i], &binding.tensor));
    DP_TRY(dp_onnx_scope_bind(reader, inner, body->initializer[i]->name, binding));
  }
  for (size_t i = 0; i < n_inputs; i++) DP_TRY(dp_onnx_scope_alias(reader, inner, body->input[i]->name, inputs[i]));
  DP_TRY(dp_onnx_walk(reader, inner, body->n_node, body->node));
  for (size_t i = 0; i < body->n_output; i++) {
    DP_TRY(dp_onnx_scope_find(inner, body->output[i]->name, &results[i]));
    if (!results[i]) return dp_fail(EX_DATAERR, "result %zu of its graph '%s' is missing", i + 1, body->name);
  }
  return DP_OK;
}

dp_status dp_onnx_control_run(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                              const Dp__Onnx__Graph *body, const char *part, size_t n_inputs,
                              dp_onnx_binding *const *inputs, dp_onnx_binding **results) {
  if (reader->calls >= DP_ONNX_MAX_CALLS || (reader->work += DP_ONNX_ROUND_WORK) > reader->max_work)
    return dp_fail(EX_DATAERR, "its graphs are nested too deeply, or run too often");
  const char *prefix = dp_printf(reader->arena, "%s/%s/", dp_onnx_name(reader, scope, m), part);
  dp_onnx_scope *inner = dp_onnx_scope_create(reader, prefix, scope->opset);
  inner->outer = scope;
  reader->calls++;
  dp_status status = walk_body(reader, inner, body, n_inputs, inputs, results);
  reader->calls--;
  return status;
}

static dp_status bind_results(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, size_t first,
                              size_t count, dp_onnx_binding *const *results) {
  for (size_t i = 0; i < count && first + i < m->n_output; i++)
    if (*m->output[first + i]) DP_TRY(dp_onnx_scope_alias(reader, scope, m->output[first + i], results[i]));
  return DP_OK;
}

// The single integer or bool that x holds; *known is false if it is computed.
static dp_status read_number(dp_onnx_reader *reader, dp_onnx_binding *x, int64_t *number, bool *known) {
  const dp_onnx_known *k = dp_onnx_scope_known(reader, x);
  *known = k && k->count == 1 && !dp_type_is_float(k->dtype) && !dp_dim_is_symbolic(k->numbers[0].i);
  if (*known) *number = k->numbers[0].i.offset;
  if (k && k->count != 1) return dp_fail(EX_DATAERR, "'%s' has %lld elements, not 1", x->name, (long long)k->count);
  return DP_OK;
}

static dp_onnx_binding *make_number(dp_onnx_reader *reader, const char *name, dp_dtype dtype, int64_t number) {
  dp_onnx_known *known = dp_onnx_fold_make(reader, dtype, 0, NULL);
  if (!known) return NULL;
  known->numbers[0].i = dp_dim_of(number);
  dp_onnx_binding binding = {.name = name, .known = known};
  return dp_memdup(reader->arena, &binding, sizeof binding);
}

// ---- If -------------------------------------------------------------------------------------------------------------

dp_status dp_onnx_control_if(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  dp_onnx_binding *condition;
  const Dp__Onnx__Graph *body = NULL;
  int64_t number = 0;
  bool known;
  if (m->n_input != 1) return dp_fail(EX_DATAERR, "one operand is expected");
  DP_TRY(dp_onnx_scope_find(scope, m->input[0], &condition));
  if (!condition) return dp_fail(EX_DATAERR, "its condition is missing");
  DP_TRY(read_number(reader, condition, &number, &known));
  if (!known)
    return dp_fail(EX_UNAVAILABLE,
                   "its condition is computed from data, or depends on the batch, which is not supported");
  DP_TRY(dp_onnx_control_graph(m, number ? "then_branch" : "else_branch", &body));
  if (body->n_output < m->n_output)
    return dp_fail(EX_DATAERR, "it has %zu results, but its graph has %zu", m->n_output, body->n_output);
  dp_onnx_binding **results = dp_alloc_n(reader->arena, body->n_output, sizeof *results);
  DP_TRY(dp_onnx_control_run(reader, scope, m, body, number ? "then" : "else", 0, NULL, results));
  *done = true;
  return bind_results(reader, scope, m, 0, body->n_output, results);
}

// ---- results of all rounds ------------------------------------------------------------------------------------------

// One result of every round, stacked along a new axis.
typedef struct {
  int n;
  dp_onnx_binding **parts;  // (n)
  int64_t axis;
  bool backwards;
} stack;

// Concatenates them along axis 0 if all are known; else NULL.
static const dp_onnx_known *stack_known(dp_onnx_reader *reader, const stack *s) {
  if (s->axis || !s->n || s->backwards) return NULL;
  const dp_onnx_known *first = dp_onnx_scope_known(reader, s->parts[0]);
  if (!first || first->rank == DP_MAX_RANK) return NULL;
  int64_t extents[DP_MAX_RANK] = {s->n};
  memcpy(extents + 1, first->extents, (size_t)first->rank * sizeof *extents);
  dp_onnx_known *all = dp_onnx_fold_make(reader, first->dtype, first->rank + 1, extents);
  for (int i = 0; all && i < s->n; i++) {
    const dp_onnx_known *part = dp_onnx_scope_known(reader, s->parts[i]);
    if (!part || part->dtype != first->dtype || part->rank != first->rank ||
        memcmp(part->extents, first->extents, (size_t)first->rank * sizeof *extents))
      return NULL;
    if (part->count) memcpy(all->numbers + i * part->count, part->numbers, (size_t)part->count * sizeof *all->numbers);
  }
  return all;
}

static dp_status stack_parts(dp_onnx_reader *reader, const char *name, const stack *s, dp_onnx_binding **result) {
  if (!s->n) return dp_fail(EX_UNAVAILABLE, "'%s' stacks the results of zero rounds, which is not supported", name);
  dp_onnx_binding binding = {.name = name, .known = stack_known(reader, s)};
  if (!binding.known) {
    dp_builder builder = {.graph = reader->graph, .prefix = name};
    dp_value **values = dp_alloc_n(reader->arena, (size_t)s->n, sizeof *values);
    dp_attr axes = dp_attr_ints(reader->arena, "axes", &s->axis, 1);
    for (int i = 0; i < s->n; i++) {
      dp_value *x;
      DP_TRY(dp_onnx_scope_value(reader, s->parts[s->backwards ? s->n - 1 - i : i], &x));
      values[i] = dp_build(&builder, "Unsqueeze", 1, &x, 1, 1, &axes);
    }
    // As many at once as an operator takes.
    dp_attr axis = dp_attr_int("axis", s->axis);
    for (int n = s->n, made; n > 1; n = made) {
      made = 0;
      for (int i = 0; i < n; i += DP_MAX_REPEATED) {
        int count = n - i < DP_MAX_REPEATED ? n - i : DP_MAX_REPEATED;
        values[made++] = count == 1 ? values[i] : dp_build(&builder, "Concat", count, values + i, 1, 1, &axis);
      }
    }
    DP_TRY(builder.status);
    binding.value = values[0];
  }
  *result = dp_memdup(reader->arena, &binding, sizeof binding);
  return DP_OK;
}

// ---- Loop and Scan --------------------------------------------------------------------------------------------------

typedef struct {
  dp_onnx_reader *reader;
  dp_onnx_scope *scope;
  const Dp__Onnx__Node *m;
  const Dp__Onnx__Graph *body;
  size_t n_states, n_stacks, skip;  // skip: inputs of the body before the states; a Loop also skips one result
  dp_onnx_binding **inputs;         // (body->n_input)
  dp_onnx_binding **results;        // (body->n_output)
  stack *stacks;                    // (n_stacks)
} rounds;

static dp_status begin_rounds(rounds *r, size_t skip_results) {
  dp_arena *arena = r->reader->arena;
  if (r->body->n_output < skip_results + r->n_states)
    return dp_fail(EX_DATAERR, "its graph has %zu results; at least %zu are expected", r->body->n_output,
                   skip_results + r->n_states);
  r->n_stacks = r->body->n_output - skip_results - r->n_states;
  if (r->m->n_output > r->n_states + r->n_stacks)
    return dp_fail(EX_DATAERR, "it has %zu results, but its graph gives %zu", r->m->n_output,
                   r->n_states + r->n_stacks);
  r->inputs = dp_alloc_n(arena, r->body->n_input + 1, sizeof *r->inputs);
  r->results = dp_alloc_n(arena, r->body->n_output + 1, sizeof *r->results);
  r->stacks = dp_alloc_n(arena, r->n_stacks + 1, sizeof *r->stacks);
  return DP_OK;
}

static dp_status begin_states(rounds *r, size_t first_operand) {
  for (size_t i = 0; i < r->n_states; i++) {
    DP_TRY(dp_onnx_scope_find(r->scope, r->m->input[first_operand + i], &r->inputs[r->skip + i]));
    if (!r->inputs[r->skip + i]) return dp_fail(EX_DATAERR, "operand %zu is missing", first_operand + i + 1);
  }
  return DP_OK;
}

static dp_status run_round(rounds *r, int64_t round, size_t skip_results) {
  const char *part = dp_printf(r->reader->arena, "%lld", (long long)round);
  DP_TRY(dp_onnx_control_run(r->reader, r->scope, r->m, r->body, part, r->body->n_input, r->inputs, r->results));
  memcpy(r->inputs + r->skip, r->results + skip_results, r->n_states * sizeof *r->inputs);
  for (size_t i = 0; i < r->n_stacks; i++)
    DP_PUSH(r->reader->arena, r->stacks[i].parts, r->stacks[i].n, r->results[skip_results + r->n_states + i]);
  return DP_OK;
}

static dp_status finish(rounds *r) {
  DP_TRY(bind_results(r->reader, r->scope, r->m, 0, r->n_states, r->inputs + r->skip));
  for (size_t i = 0; i < r->n_stacks && r->n_states + i < r->m->n_output; i++) {
    const char *name = r->m->output[r->n_states + i];
    dp_onnx_binding *result = NULL;
    if (!*name) continue;
    DP_TRY(stack_parts(r->reader, dp_printf(r->reader->arena, "%s%s", r->scope->prefix, name), &r->stacks[i], &result));
    DP_TRY(dp_onnx_scope_alias(r->reader, r->scope, name, result));
  }
  return DP_OK;
}

// What decides whether there is a next round: an operand of the Loop, or a result of the last round. If it is absent,
// *number is unchanged.
static dp_status decide(dp_onnx_reader *reader, dp_onnx_binding *x, const char *what, int64_t *number) {
  bool known = true;
  if (x) DP_TRY(read_number(reader, x, number, &known));
  return known ? DP_OK
               : dp_fail(EX_UNAVAILABLE,
                         "%s is computed from data, or depends on the batch, which is not supported; an "
                         "EmbeddingBag is, without padding_idx and if its indices are given as [N,L], not with "
                         "offsets",
                         what);
}

dp_status dp_onnx_control_loop(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  rounds r = {.reader = reader, .scope = scope, .m = m, .skip = 2};
  DP_TRY(dp_onnx_control_graph(m, "body", &r.body));
  if (m->n_input < 2 || r.body->n_input != m->n_input)
    return dp_fail(EX_DATAERR, "it has %zu operands, its graph %zu inputs; 2 at least and as many are expected",
                   m->n_input, r.body->n_input);
  DP_TRY(dp_onnx_bags_loop(reader, scope, m, r.body, done));
  if (*done) return DP_OK;
  r.n_states = m->n_input - 2;
  DP_TRY(begin_rounds(&r, 1));
  DP_TRY(begin_states(&r, 2));
  dp_onnx_binding *count, *condition;
  int64_t most = INT64_MAX, goes_on = 1;
  DP_TRY(dp_onnx_scope_find(scope, m->input[0], &count));
  DP_TRY(dp_onnx_scope_find(scope, m->input[1], &condition));
  const dp_onnx_known *rounds_known = count ? dp_onnx_scope_known(reader, count) : NULL;
  if (rounds_known && rounds_known->count == 1 && dp_dim_is_symbolic(rounds_known->numbers[0].i)) {
    DP_TRY(decide(reader, condition, "its condition", &goes_on));
    if (!goes_on) return dp_fail(EX_UNAVAILABLE, "it has zero rounds, which is not supported");
    *done = true;
    return dp_onnx_rounds_run(reader, scope, m, r.body, rounds_known->numbers[0].i);
  }
  DP_TRY(decide(reader, count, "the count of its rounds", &most));
  DP_TRY(decide(reader, condition, "its condition", &goes_on));
  for (int64_t i = 0; i < most && goes_on; i++) {
    r.inputs[0] = make_number(reader, "round", DP_INT64, i);
    r.inputs[1] = make_number(reader, "condition", DP_BOOL, goes_on);
    if (!r.inputs[0] || !r.inputs[1]) return dp_fail(EX_DATAERR, "it has too many rounds");
    DP_TRY(run_round(&r, i, 1));
    DP_TRY(decide(reader, r.results[0], "the condition that a round gives", &goes_on));
  }
  *done = true;
  return finish(&r);
}

// ---- Scan -----------------------------------------------------------------------------------------------------------

static int64_t list_at(const Dp__Onnx__Node *m, const char *name, size_t i) {
  const Dp__Onnx__Attribute *a = dp_onnx_attr_find(m, name);
  return a && i < a->n_ints ? a->ints[i] : 0;
}

// Slice `at` of operand x along `axis`, which is dropped.
static dp_status take_slice(rounds *r, dp_onnx_binding *x, int64_t axis, int64_t at, dp_onnx_binding **slice) {
  dp_onnx_binding *index = make_number(r->reader, "index", DP_INT64, at);
  dp_value *operands[2];
  if (!index) return dp_fail(EX_DATAERR, "it has too many rounds");
  DP_TRY(dp_onnx_scope_value(r->reader, x, &operands[0]));
  DP_TRY(dp_onnx_scope_value(r->reader, index, &operands[1]));
  dp_builder builder = {.graph = r->reader->graph, .prefix = dp_onnx_name(r->reader, r->scope, r->m)};
  dp_attr attr = dp_attr_int("axis", axis);
  dp_onnx_binding binding = {.name = x->name, .value = dp_build(&builder, "Gather", 2, operands, 1, 1, &attr)};
  DP_TRY(builder.status);
  *slice = dp_memdup(r->reader->arena, &binding, sizeof binding);
  return DP_OK;
}

static dp_status scan_rounds(rounds *r, size_t n_scanned) {
  dp_onnx_binding **scanned = dp_alloc_n(r->reader->arena, n_scanned, sizeof *scanned);
  int64_t n = -1, *axes = dp_alloc_n(r->reader->arena, n_scanned, sizeof *axes);
  for (size_t k = 0; k < n_scanned; k++) {
    DP_TRY(dp_onnx_scope_find_tensor(r->scope, r->m->input[r->n_states + k], &scanned[k]));
    if (!scanned[k]) return dp_fail(EX_DATAERR, "operand %zu is missing", r->n_states + k + 1);
    const dp_shape shape = dp_onnx_scope_type(scanned[k]).shape;
    axes[k] = list_at(r->m, "scan_input_axes", k);
    if (axes[k] < 0) axes[k] += shape.rank;
    if (axes[k] < 0 || axes[k] >= shape.rank)
      return dp_fail(EX_DATAERR, "operand '%s' has no axis to scan", scanned[k]->name);
    dp_dim extent = shape.dims[axes[k]];
    if (dp_dim_is_symbolic(extent))
      return dp_fail(EX_UNAVAILABLE, "it scans '%s' along the batch, which is not supported", scanned[k]->name);
    if (n >= 0 && n != extent.offset)
      return dp_fail(EX_DATAERR, "it scans %lld and %lld rounds at once", (long long)n, (long long)extent.offset);
    n = extent.offset;
  }
  for (int64_t i = 0; i < n; i++) {
    for (size_t k = 0; k < n_scanned; k++) {
      int64_t at = list_at(r->m, "scan_input_directions", k) ? n - 1 - i : i;
      DP_TRY(take_slice(r, scanned[k], axes[k], at, &r->inputs[r->n_states + k]));
    }
    DP_TRY(run_round(r, i, 0));
  }
  return DP_OK;
}

dp_status dp_onnx_control_scan(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  rounds r = {.reader = reader, .scope = scope, .m = m};
  int64_t scanned = dp_onnx_attr_int(m, "num_scan_inputs", 0);
  if (scope->opset < 9) return dp_fail(EX_UNAVAILABLE, "Scan before opset 9 is not supported");
  DP_TRY(dp_onnx_control_graph(m, "body", &r.body));
  if (scanned < 1 || (uint64_t)scanned > m->n_input || r.body->n_input != m->n_input)
    return dp_fail(EX_DATAERR, "num_scan_inputs is %lld, with %zu operands and %zu inputs of its graph",
                   (long long)scanned, m->n_input, r.body->n_input);
  r.n_states = m->n_input - (size_t)scanned;
  DP_TRY(begin_rounds(&r, 0));
  DP_TRY(begin_states(&r, 0));
  for (size_t i = 0; i < r.n_stacks; i++) {
    r.stacks[i].axis = list_at(m, "scan_output_axes", i);
    r.stacks[i].backwards = list_at(m, "scan_output_directions", i);
  }
  DP_TRY(scan_rounds(&r, (size_t)scanned));
  *done = true;
  return finish(&r);
}
