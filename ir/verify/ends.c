// The ends of a program: what it finds in the storage of variables and leaves there, what the host gives and gets.
//
// Between two runs of programs every stream of every device is drained. So a run finds the storage as the last one left
// it; the host writes inputs into the copy that no run uses, and reads outputs after the drain.
#include <string.h>

#include "ir/plan/layout.h"
#include "ir/verify/checker.h"

// ---- storage --------------------------------------------------------------------------------------------------------

static bool is_storage(const dp_checker *c, const dp_checker_tensor *t, const dp_variable *p) {
  return t->claim->space == dp_checker_storage_space(p) && t->claim->offset == p->offset &&
         t->claim->bytes == p->bytes && dp_checker_placed_alike(c, t->at, p->placements);
}

static dp_status check_storage(dp_checker *c, const Dp__Update *entry, const char *verb) {
  const dp_variable *p = &c->model->variables[entry->variable];
  if (c->tensors[entry->value].claim->layout != dp_plan_layout_of(p->layout))
    return dp_checker_fail(c, dp_checker_at_tensor(c, entry->value), DP_RULE_TENSOR_LAYOUT,
                           "it %s '%s' in another layout than that of its storage", verb, p->name);
  if (is_storage(c, &c->tensors[entry->value], p)) return DP_OK;
  return dp_checker_fail(
      c, dp_checker_at_tensor(c, entry->value), DP_RULE_MEANING_STORAGE,
      "it %s '%s' as tensor %u, whose memory, offset, bytes or placements are not those of its storage", verb, p->name,
      entry->value);
}

// Whether this role stores the variable, whose stages are in rising order.
static bool is_stored_here(const dp_checker *c, const dp_variable *p) {
  int low = 0, high = p->n_stages;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if ((uint32_t)p->stages[middle] < c->role_index)
      low = middle + 1;
    else
      high = middle;
  }
  return !p->n_stages || (low < p->n_stages && (uint32_t)p->stages[low] == c->role_index);
}

// A logical graph may have several values for one variable.
static dp_status check_entry(dp_checker *c, const Dp__Update *entry) {
  const dp_value *value = c->tensors[entry->value].value;
  if (value->kind != DP_VALUE_VARIABLE || value->variable != (int32_t)entry->variable)
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_STORAGE,
                           "it finds '%s' as '%s', which is something else", c->model->variables[entry->variable].name,
                           value->name);
  if (!is_stored_here(c, &c->model->variables[entry->variable]))
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_STORAGE,
                           "it finds '%s', which is not on this stage", c->model->variables[entry->variable].name);
  c->entry[entry->variable] = (int32_t)entry->value;
  return check_storage(c, entry, "finds");
}

static dp_status check_exit(dp_checker *c) {
  for (size_t i = 0; i < c->program->n_exit; i++) {
    const Dp__Update *entry = c->program->exit[i];
    if (!is_stored_here(c, &c->model->variables[entry->variable]))
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_STORAGE,
                             "it leaves '%s', which is not on this stage", c->model->variables[entry->variable].name);
    if (c->exit[entry->variable] >= 0)
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_UPDATE, "it leaves '%s' twice",
                             c->model->variables[entry->variable].name);
    DP_TRY(check_storage(c, entry, "leaves"));
    c->exit[entry->variable] = (int32_t)entry->value;
    c->tensors[entry->value].exit = (int32_t)entry->variable;
  }
  uint64_t updates = 0;
  for (int u = 0; u < c->graph->n_updates; u++) {
    const dp_update *update = &c->graph->updates[u];
    const dp_variable *p = &c->model->variables[update->variable];
    int32_t t = c->exit[update->variable];
    if (!is_stored_here(c, p)) continue;
    if (t < 0)
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_UPDATE,
                             "the logical graph updates '%s'; the program does not say where it leaves it", p->name);
    if (c->tensors[t].value != update->value || update->value->kind != DP_VALUE_RESULT)
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_UPDATE,
                             "it leaves '%s' as '%s'; the logical graph updates it to '%s', a node's result", p->name,
                             c->tensors[t].value->name, update->value->name);
    if (p->frozen || p->kind == DP_STORED_CONSTANT)
      if (strcmp(c->program->name, "init"))
        return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_UPDATE, "it updates '%s', which is %s",
                               p->name, p->frozen ? "frozen" : "a constant");
    updates++;
  }
  if (c->program->n_exit > updates)
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_UPDATE,
                           "it leaves %zu variables changed; its logical graph updates %llu of those on this stage",
                           c->program->n_exit, (unsigned long long)updates);
  c->report->updates += updates;
  return DP_OK;
}

static dp_status check_versions(dp_checker *c) {
  for (uint32_t i = 0; i < c->n_tensors; i++) {
    uint32_t version = c->tensors[i].exit >= 0;
    if (c->tensors[i].claim->version != version)
      return dp_checker_fail(
          c, dp_checker_at_tensor(c, i), DP_RULE_TENSOR_VERSION,
          "tensor %u ('%s') has version %u where %u is expected: 1 for a variable that is left updated, else 0", i,
          c->tensors[i].value->name, c->tensors[i].claim->version, version);
  }
  return DP_OK;
}

// ---- host -----------------------------------------------------------------------------------------------------------

// The tensor of a binding is whole, on the host.
static dp_status check_host(dp_checker *c, const Dp__Binding *binding, Dp__Space space, dp_rule rule) {
  const dp_checker_tensor *t = &c->tensors[binding->tensor];
  char text[256];
  if (t->claim->space == space && dp_checker_is_whole(c, t->at)) return DP_OK;
  return dp_checker_fail(c, dp_checker_at_tensor(c, binding->tensor), rule,
                         "'%s' is in %s memory, placed %s; it must be whole in %s memory", binding->name,
                         dp_plan_form_space(t->claim->space), dp_checker_placements_print(c, t->at, text, sizeof text),
                         dp_plan_form_space(space));
}

static dp_status check_inputs(dp_checker *c) {
  dp_spans *spans = dp_spans_create(c->arena);
  for (size_t i = 0; i < c->program->n_inputs; i++) {
    const Dp__Binding *b = c->program->inputs[i];
    const dp_checker_tensor *t = &c->tensors[b->tensor];
    bool fed = t->value->kind == DP_VALUE_INPUT || t->value->kind == DP_VALUE_SCALAR;
    if (!fed || strcmp(b->name, t->value->name))
      return dp_checker_fail(c, dp_checker_at_tensor(c, b->tensor), DP_RULE_MEANING_INPUT,
                             "input '%s' is bound to '%s', which is %s", b->name, t->value->name,
                             fed ? "another input" : "no input");
    if (t->value->kind == DP_VALUE_INPUT && !strcmp(c->program->name, "init"))
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_INPUT, "input '%s': init is fed no data",
                             b->name);
    DP_TRY(check_host(c, b, DP__SPACE__HOST_INPUT, DP_RULE_MEANING_INPUT));
    if (!t->claim->bytes) continue;
    dp_span span = {.begin = t->claim->offset, .end = t->claim->offset + t->claim->bytes, .content = b->tensor + 1};
    const dp_span *other = dp_spans_get(spans, dp_spans_find(spans, span.begin));
    if (other && other->begin < span.end)
      return dp_checker_fail(c, dp_checker_at_tensor(c, b->tensor), DP_RULE_MEANING_INPUT,
                             "inputs '%s' and '%s' overlap", b->name, c->tensors[other->content - 1].value->name);
    dp_spans_put(spans, &span);
  }
  c->spans[DP__SPACE__HOST_INPUT] = spans;
  c->report->inputs += c->program->n_inputs;
  return DP_OK;
}

// Each output is written by one role. host.c checks that none is missing, once all roles are done.
static dp_status check_outputs(dp_checker *c) {
  for (size_t i = 0; i < c->program->n_outputs; i++) {
    const Dp__Binding *b = c->program->outputs[i];
    int o = 0;
    while (o < c->graph->n_outputs && strcmp(b->name, c->graph->outputs[o].name)) o++;
    if (o == c->graph->n_outputs)
      return dp_checker_fail(c, dp_checker_at_tensor(c, b->tensor), DP_RULE_MEANING_OUTPUT,
                             "it gives output '%s', which its logical graph does not have", b->name);
    if (c->tensors[b->tensor].value != c->graph->outputs[o].value)
      return dp_checker_fail(c, dp_checker_at_tensor(c, b->tensor), DP_RULE_MEANING_OUTPUT,
                             "it gives '%s' as output '%s', which is '%s'", c->tensors[b->tensor].value->name, b->name,
                             c->graph->outputs[o].value->name);
    if (c->shared.given[o])
      return dp_checker_fail(c, dp_checker_at_tensor(c, b->tensor), DP_RULE_MEANING_OUTPUT,
                             "it gives output '%s', as role %s does", b->name,
                             c->plan->roles[c->shared.given[o] - 1]->name);
    c->shared.given[o] = c->role_index + 1;
    DP_TRY(check_host(c, b, DP__SPACE__HOST_OUTPUT, DP_RULE_MEANING_OUTPUT));
  }
  c->report->outputs += c->program->n_outputs;
  return DP_OK;
}

dp_status dp_checker_ends(dp_checker *c) {
  for (int s = 0; s < DP_CHECKER_SPACES; s++) c->spans[s] = dp_spans_create(c->arena);
  for (const int32_t *p = dp_checker_storages(c); p < dp_checker_storages_end(c); p++) {
    c->entry[*p] = c->exit[*p] = -1;
    c->writes[*p] = 0;
  }
  for (size_t i = 0; i < c->program->n_entry; i++) DP_TRY(check_entry(c, c->program->entry[i]));
  DP_TRY(check_exit(c));
  DP_TRY(check_versions(c));
  DP_TRY(check_inputs(c));
  return check_outputs(c);
}
