// What the bytes hold. Instructions are visited in an order that happens-before allows, with a map from bytes to
// content. Each operand must be there exactly as its tensor claims, and each result replaces what was there.
// Conflicting accesses are ordered (order.c), so every such order gives the same result. The result of an operator that
// changes the shape alone, if it lies where its operand lies, changes no byte: these hold the operand too.
#include <string.h>

#include "ir/base/limits.h"
#include "ir/plan/layout.h"
#include "ir/verify/checker.h"

// A content is a tensor of the program (index plus 1) or, above those, a variable as the program finds it.
static uint32_t entry_content(const dp_checker *c, int32_t variable) { return c->n_tensors + 1 + (uint32_t)variable; }

static int32_t entry_variable(const dp_checker *c, uint32_t content) {
  return content > c->n_tensors ? (int32_t)(content - c->n_tensors - 1) : -1;
}

static void set_content(dp_checker *c, Dp__Space space, uint64_t begin, uint64_t end, uint32_t content) {
  dp_span span = {.begin = begin, .end = end, .content = content};
  if (begin < end) dp_spans_put(c->spans[space], &span);
}

// Storage at the start: every variable that has a value, whether the program uses it or not.
static void set_stored_variables(dp_checker *c) {
  bool init = !strcmp(c->program->name, "init");
  for (const int32_t *p = dp_checker_storages(c); p < dp_checker_storages_end(c); p++) {
    const dp_variable *storage = &c->model->variables[*p];
    bool defined = !init || storage->init.kind == DP_INIT_TENSOR;
    set_content(c, dp_checker_storage_space(storage), storage->offset, storage->offset + storage->bytes,
                defined ? entry_content(c, *p) : 0);
  }
}

// What a message calls a tensor: an operand by its number, an output of the program by its name.
typedef struct {
  const char *output;  // NULL: an operand
  size_t operand;
} named;

static char *named_print(named what, char *text, size_t bytes) {
  if (what.output)
    snprintf(text, bytes, "output '%.100s'", what.output);
  else
    snprintf(text, bytes, "operand %zu", what.operand);
  return text;
}

// ---- looking up -----------------------------------------------------------------------------------------------------

static bool is_content(const dp_checker *c, uint32_t content, const dp_checker_tensor *t) {
  int32_t p = entry_variable(c, content);
  if (p >= 0)
    return t->value->kind == DP_VALUE_VARIABLE && t->value->variable == p && !t->claim->version &&
           t->claim->layout == dp_plan_layout_of(c->model->variables[p].layout) &&
           dp_checker_placed_alike(c, t->at, c->model->variables[p].placements);
  const dp_checker_tensor *is = &c->tensors[content - 1];
  return is == t ||
         (is->value == t->value && is->claim->version == t->claim->version && is->claim->layout == t->claim->layout &&
          is->first == t->first && is->count == t->count && dp_checker_placed_alike(c, is->at, t->at));
}

// The variable that the tensor is a version of; -1: none.
static int32_t variable_of(const dp_checker_tensor *t) {
  return t->value->kind == DP_VALUE_VARIABLE ? t->value->variable : t->exit;
}

static dp_status fail_content(dp_checker *c, dp_checker_location where, named called, uint32_t content,
                              const dp_checker_tensor *t) {
  char text[128], a[256], b[256];
  const char *what = named_print(called, text, sizeof text);
  int32_t p = entry_variable(c, content);
  const dp_checker_tensor *is = p < 0 ? &c->tensors[content - 1] : NULL;
  const char *name = is ? is->value->name : c->model->variables[p].name;
  const dp_placement *at = is ? is->at : c->model->variables[p].placements;
  const Dp__Layout layout = is ? is->claim->layout : dp_plan_layout_of(c->model->variables[p].layout);
  int32_t has = is ? variable_of(is) : p;
  if (has >= 0 && has == variable_of(t) && layout == t->claim->layout && dp_checker_placed_alike(c, at, t->at))
    return dp_checker_fail(c, where, DP_RULE_MEANING_STALE, "%s is '%s' as it %s; its bytes hold it as it %s", what,
                           c->model->variables[has].name, t->exit >= 0 ? "is left" : "was found",
                           t->exit >= 0 ? "was found" : "is left");
  return dp_checker_fail(
      c, where, DP_RULE_MEANING_CONTENT, "%s is said to be '%s' placed %s; its bytes hold '%s' placed %s", what,
      t->value->name, dp_checker_tensor_print(c, t, a, sizeof a), name,
      is ? dp_checker_tensor_print(c, is, b, sizeof b) : dp_checker_placements_print(c, at, b, sizeof b));
}

static dp_status fail_missing(dp_checker *c, dp_checker_location where, named called, const dp_span *span,
                              const dp_checker_tensor *t) {
  char text[128];
  const char *what = named_print(called, text, sizeof text);
  const Dp__DeviceTensor *m = t->claim;
  unsigned long long begin = m->offset, end = m->offset + m->bytes;
  const char *space = dp_plan_form_space(m->space);
  if (!span || span->begin >= m->offset + m->bytes)
    return dp_checker_fail(c, where, DP_RULE_MEANING_UNDEFINED,
                           "%s, '%s': nothing was written to bytes [%llu,%llu) of %s memory", what, t->value->name,
                           begin, end, space);
  return dp_checker_fail(
      c, where, DP_RULE_MEANING_UNDEFINED,
      "%s, '%s': bytes [%llu,%llu) of %s memory hold no whole value: they were overwritten or not written "
      "whole",
      what, t->value->name, begin, end, space);
}

// What is there too where a content is; 0: nothing.
static uint32_t beside(const dp_checker *c, uint32_t content) {
  return content <= c->n_tensors ? c->also[content - 1] : 0;
}

static dp_status check_content(dp_checker *c, dp_checker_location where, named what, const dp_checker_tensor *t) {
  const Dp__DeviceTensor *m = t->claim;
  if (!m->bytes) return DP_OK;
  const dp_span *span = dp_spans_get(c->spans[m->space], dp_spans_find(c->spans[m->space], m->offset));
  bool exact = span && span->begin == m->offset && span->end == m->offset + m->bytes;
  if (!exact || !span->content) return fail_missing(c, where, what, span, t);
  uint32_t content = span->content;
  for (int i = 0; i < DP_LIMIT_VIEWS && content && !is_content(c, content, t); i++) content = beside(c, content);
  if (!content || !is_content(c, content, t)) return fail_content(c, where, what, span->content, t);
  c->report->operands++;
  return DP_OK;
}

// ---- instructions ---------------------------------------------------------------------------------------------------

static dp_status read_operands(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  for (size_t k = 0; k < in->n_inputs; k++) {
    const dp_checker_tensor *t = dp_checker_input(c, in, k);
    if (!t) continue;
    DP_TRY(check_content(c, dp_checker_at_instruction(c, instruction), (named){.operand = k}, t));
    if (t->value->kind == DP_VALUE_VARIABLE && c->entry[t->value->variable] < 0 &&
        t->claim->space == dp_checker_storage_space(&c->model->variables[t->value->variable]))
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_STORAGE,
                             "operand %zu is '%s', which the program does not say that it finds", k, t->value->name);
  }
  return DP_OK;
}

// The content that stays beside the result, which is there in the operand's place; 0: none, or the result was among it.
static uint32_t stays(const dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  if (in->n_members || !dp_op_is(c->instructions[instruction].op, DP_OP_VIEW)) return 0;
  const Dp__DeviceTensor *x = dp_checker_input(c, in, 0)->claim, *y = dp_checker_output(c, in, 0)->claim;
  if (x->space != y->space || x->offset != y->offset || x->bytes != y->bytes || x->layout != y->layout) return 0;
  if (x->layout != DP__LAYOUT__PLAIN && !dp_shape_equal(&dp_checker_input(c, in, 0)->value->type->shape,
                                                        &dp_checker_output(c, in, 0)->value->type->shape))
    return 0;
  const dp_span *span = dp_spans_get(c->spans[x->space], dp_spans_find(c->spans[x->space], x->offset));
  const uint32_t first = span ? span->content : 0;
  uint32_t content = first;
  for (int i = 0; i < DP_LIMIT_VIEWS && content; i++, content = beside(c, content))
    if (content == in->outputs[0]) return 0;
  return first;
}

static dp_status write_results(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  if (in->scratch)
    set_content(c, DP__SPACE__TRANSIENT, in->scratch->offset, in->scratch->offset + in->scratch->bytes, 0);
  for (size_t k = 0; k < in->n_outputs; k++) {
    const dp_checker_tensor *t = dp_checker_output(c, in, k);
    if (!t) continue;
    if (t->claim->space == DP__SPACE__PERSISTENT && t->exit < 0)
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_STORAGE,
                             "it writes '%s' to persistent memory, where only updates are written", t->value->name);
    if (t->exit >= 0 && c->writes[t->exit]++)
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_UPDATE,
                             "it updates '%s' a second time", c->model->variables[t->exit].name);
    c->also[in->outputs[k] - 1] = stays(c, instruction);
    set_content(c, t->claim->space, t->claim->offset, t->claim->offset + t->claim->bytes, in->outputs[k]);
  }
  return DP_OK;
}

static dp_status check_end(dp_checker *c) {
  for (size_t i = 0; i < c->program->n_outputs; i++) {
    const Dp__Binding *output = c->program->outputs[i];
    DP_TRY(check_content(c, dp_checker_at_whole(c), (named){.output = output->name}, &c->tensors[output->tensor]));
  }
  for (const int32_t *at = dp_checker_storages(c); at < dp_checker_storages_end(c); at++) {
    const int32_t p = *at;
    const dp_variable *storage = &c->model->variables[p];
    if (c->exit[p] >= 0 && !c->writes[p])
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_UPDATE, "no instruction updates '%s'",
                             storage->name);
    uint32_t expected = c->exit[p] >= 0 ? (uint32_t)c->exit[p] + 1 : entry_content(c, p);
    dp_spans *spans = c->spans[dp_checker_storage_space(storage)];
    const dp_span *span = dp_spans_get(spans, dp_spans_find(spans, storage->offset));
    if (storage->bytes && (!span || span->begin != storage->offset || span->end != storage->offset + storage->bytes ||
                           span->content != expected))
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_STORAGE,
                             "the storage of '%s' does not end with its value", storage->name);
  }
  return DP_OK;
}

dp_status dp_checker_meaning(dp_checker *c) {
  c->also = dp_alloc_n(c->arena, c->n_tensors, sizeof *c->also);
  set_stored_variables(c);
  for (uint32_t i = 0; i < c->n_instructions; i++) {
    DP_TRY(read_operands(c, c->order[i]));
    DP_TRY(write_results(c, c->order[i]));
  }
  return check_end(c);
}
