// Printing the text form: a graph's statements, in the order in which they read back. See text.h.
#include <string.h>

#include "ir/text/syntax.h"
#include "ir/text/text.h"

typedef struct {
  FILE *out;
  const dp_graph *graph;
  const char *indent;
  const dp_text_held *held;
  int notes;  // printed so far in the open bracket
} printer;

// ---- notes ----------------------------------------------------------------------------------------------------------

static FILE *begin_note(printer *p, const char *key) {
  fprintf(p->out, "%s%s=", p->notes++ ? ", " : " [", key);
  return p->out;
}

static void close_notes(printer *p) {
  if (p->notes) fputc(']', p->out);
  p->notes = 0;
}

static void note_bytes(printer *p, const char *key, uint64_t bytes) {
  if (bytes) fprintf(begin_note(p, key), "%llu", (unsigned long long)bytes);
}

static bool has_notes(const printer *p, const dp_value *v) {
  return (v->logical && p->graph->logical) || v->space || v->layout || v->offset || v->bytes || v->micro_count ||
         dp_text_print_are_placed(v->placements, p->graph->model->mesh.n_axes);
}

static void print_value_notes(printer *p, const dp_value *v) {
  int n_axes = p->graph->model->mesh.n_axes;
  if (n_axes && ((v->logical && p->graph->logical) || dp_text_print_are_placed(v->placements, n_axes)))
    dp_text_print_placements(begin_note(p, "at"), v->placements, n_axes);
  if (v->micro_count) fprintf(begin_note(p, "micro"), "[%d,%d]", v->micro_first, v->micro_count);
  if (v->space) fputs(dp_text_spaces[v->space], begin_note(p, "space"));
  if (v->layout) fputs(dp_text_layouts[v->layout], begin_note(p, "layout"));
  note_bytes(p, "offset", v->offset);
  note_bytes(p, "bytes", v->bytes);
  if (v->logical && p->graph->logical) dp_text_print_name(begin_note(p, "logical"), v->logical->name);
  close_notes(p);
}

static void print_node_notes(printer *p, const dp_node *n, const char *default_name) {
  if (!default_name || strcmp(n->name, default_name)) dp_text_print_name(begin_note(p, "name"), n->name);
  if (n->device >= 0) fprintf(begin_note(p, "device"), "%d", n->device);
  if (n->stage >= 0) fprintf(begin_note(p, "stage"), "%d", n->stage);
  if (n->n_constraints) dp_text_constraints_print(begin_note(p, "shard"), n->n_constraints, n->constraints);
  if (n->stream < p->graph->n_streams) dp_text_print_name(begin_note(p, "stream"), p->graph->streams[n->stream]);
  if (n->kernel) dp_text_print_name(begin_note(p, "kernel"), n->kernel);
  if (n->threads) fprintf(begin_note(p, "threads"), "%d", n->threads);
  note_bytes(p, "scratch_offset", n->scratch_offset);
  note_bytes(p, "scratch_bytes", n->scratch_bytes);
  note_bytes(p, "packed_offset", n->packed_offset);
  note_bytes(p, "packed_bytes", n->packed_bytes);
  if (n->n_waits) {
    begin_note(p, "waits");
    for (int i = 0; i < n->n_waits; i++) fprintf(p->out, "%s%d", i ? "," : "[", n->waits[i]);
    fputc(']', p->out);
  }
  if (n->signal >= 0) fprintf(begin_note(p, "signal"), "%d", n->signal);
  if (n->logical && p->graph->logical) dp_text_print_name(begin_note(p, "logical"), n->logical->name);
  close_notes(p);
}

// ---- statements -----------------------------------------------------------------------------------------------------

static void mark_used(const dp_graph *graph, bool *used) {
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) used[graph->nodes[i]->inputs[k]->id] = true;
  for (int i = 0; i < graph->n_outputs; i++) used[graph->outputs[i].value->id] = true;
  for (int i = 0; i < graph->n_updates; i++) used[graph->updates[i].value->id] = true;
}

// Variables and per-step scalars are added to a graph when they are named, so most need no line.
static bool needs_line(const printer *p, const dp_value *v, bool used) {
  if (v->kind == DP_VALUE_RESULT) return false;
  if (v->kind == DP_VALUE_VARIABLE)
    return !used || has_notes(p, v) || strcmp(v->name, p->graph->model->variables[v->variable].name);
  return v->kind != DP_VALUE_SCALAR || !used || has_notes(p, v) ||
         dp_model_find_variable(p->graph->model, v->name) >= 0;
}

static void print_value(printer *p, const dp_value *v) {
  static const char *const words[] = {"", "input", "scalar", "constant", "persistent"};
  const dp_model *model = p->graph->model;
  fprintf(p->out, "%s%s ", p->indent, words[v->kind]);
  dp_text_print_name(p->out, v->name);
  if (v->kind == DP_VALUE_VARIABLE) {
    fputs(" = ", p->out);
    dp_text_print_name(p->out, model->variables[v->variable].name);
  } else {
    fputs(": ", p->out);
    dp_text_print_type(p->out, v->type, model->symbol);
  }
  if (v->kind == DP_VALUE_CONSTANT) {
    fputs(" = ", p->out);
    dp_text_data_print(p->out, v->constant, p->held);
  }
  print_value_notes(p, v);
  fputc('\n', p->out);
}

static void print_operand(FILE *out, const dp_value *v) {
  if (v)
    dp_text_print_name(out, v->name);
  else
    fputc('_', out);
}

static void print_statements(printer *p);

// The body of a region. It is of its graph's logical graph, which is not said again.
static void print_body(const printer *p, const dp_node *n) {
  dp_arena *scratch = dp_arena_create(0);
  printer inner = {p->out, n->body, dp_printf(scratch, "%s  ", p->indent), p->held, 0};
  fputs(" body {\n", p->out);
  print_statements(&inner);
  fprintf(p->out, "%s}", p->indent);
  dp_arena_destroy(scratch);
}

static void print_node(printer *p, const dp_node *n) {
  FILE *out = p->out;
  const char *default_name = NULL;
  fputs(p->indent, out);
  for (int i = 0; i < n->n_outputs; i++) {
    const dp_value *v = n->outputs[i];
    if (i) fputs(", ", out);
    print_operand(out, v);
    if (!v) continue;
    if (!default_name) default_name = v->name;
    fputs(": ", out);
    dp_text_print_type(out, v->type, p->graph->model->symbol);
    print_value_notes(p, v);
  }
  fprintf(out, " = %s%s%s(", n->op->domain, *n->op->domain ? "." : "", n->op->name);
  for (int i = 0; i < n->n_inputs; i++) {
    if (i) fputs(", ", out);
    print_operand(out, n->inputs[i]);
  }
  fputc(')', out);
  for (int i = 0; i < n->n_attrs; i++) {
    fputs(i ? ", " : " {", out);
    dp_text_print_attr(out, &n->attrs[i], p->graph->model->symbol);
  }
  if (n->n_attrs) fputc('}', out);
  if (n->body) print_body(p, n);
  print_node_notes(p, n, default_name);
  fputc('\n', out);
}

static void print_ends(printer *p) {
  const dp_graph *graph = p->graph;
  for (int i = 0; i < graph->n_outputs; i++) {
    const dp_output *o = &graph->outputs[i];
    fprintf(p->out, "%soutput ", p->indent);
    dp_text_print_name(p->out, o->name);
    if (strcmp(o->name, o->value->name)) {
      fputs(" = ", p->out);
      dp_text_print_name(p->out, o->value->name);
    }
    fputc('\n', p->out);
  }
  for (int i = 0; i < graph->n_updates; i++) {
    fprintf(p->out, "%supdate ", p->indent);
    dp_text_print_name(p->out, graph->model->variables[graph->updates[i].variable].name);
    fputs(" = ", p->out);
    dp_text_print_name(p->out, graph->updates[i].value->name);
    fputc('\n', p->out);
  }
}

static void print_statements(printer *p) {
  const dp_graph *graph = p->graph;
  dp_arena *scratch = dp_arena_create(0);
  bool *used = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *used);
  mark_used(graph, used);
  for (int32_t i = 0; i < graph->n_values; i++)
    if (needs_line(p, graph->values[i], used[i])) print_value(p, graph->values[i]);
  for (int32_t i = 0; i < graph->n_nodes; i++) print_node(p, graph->nodes[i]);
  print_ends(p);
  dp_arena_destroy(scratch);
}

void dp_text_print_graph(FILE *out, const dp_graph *graph, const char *indent, const dp_text_held *held) {
  printer p = {out, graph, indent, held, 0};
  if (graph->logical) {
    dp_arena *scratch = dp_arena_create(0);
    fprintf(out, "%slogical ", indent);
    dp_text_print_name(out, graph->logical->name);
    fputs(" {\n", out);
    dp_graph inner = *graph->logical;
    inner.logical = NULL;  // one level shows what a graph was made from
    dp_text_print_graph(out, &inner, dp_printf(scratch, "%s  ", indent), held);
    fprintf(out, "%s}\n", indent);
    dp_arena_destroy(scratch);
  }
  if (graph->stage >= 0) fprintf(out, "%sstage %d\n", indent, graph->stage);
  for (int i = 0; i < graph->n_streams; i++) {
    fputs(i ? ", " : indent, out);
    if (!i) fputs("streams ", out);
    dp_text_print_name(out, graph->streams[i]);
  }
  if (graph->n_streams) fputc('\n', out);
  if (graph->n_events) fprintf(out, "%sevents %d\n", indent, graph->n_events);
  print_statements(&p);
}
