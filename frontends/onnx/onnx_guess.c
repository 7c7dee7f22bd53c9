// Decides which float initializers are parameters if the file does not say: the weights of layers, and whatever looks
// trainable. Single numbers are not, nor operands that are constants wherever they occur.
//
// PyTorch's older exporter names what the module has as in state_dict, and numbers in its code "onnx::Mul_12". So in
// its files a name tells a learned scale from a constant, though not a parameter from a buffer.
#include <fnmatch.h>
#include <string.h>

#include "frontends/onnx/onnx_signature.h"

enum { MAX_OPERANDS = 16 };

typedef struct {
  const char *op;
  unsigned operands;  // bits
} operand_set;

#define BIT(i) (1u << (i))

// Operands that are a layer's weights.
static const operand_set weights[] = {{"Conv", BIT(1) | BIT(2)},
                                      {"ConvTranspose", BIT(1) | BIT(2)},
                                      {"DeformConv", BIT(1) | BIT(3)},
                                      {"Gemm", BIT(0) | BIT(1) | BIT(2)},
                                      {"MatMul", BIT(0) | BIT(1)},
                                      {"Einsum", BIT(0) | BIT(1) | BIT(2)},
                                      {"BatchNormalization", BIT(1) | BIT(2) | BIT(3) | BIT(4)},
                                      {"LayerNormalization", BIT(1) | BIT(2)},
                                      {"InstanceNormalization", BIT(1) | BIT(2)},
                                      {"GroupNormalization", BIT(1) | BIT(2)},
                                      {"RMSNormalization", BIT(1)},
                                      {"LSTM", BIT(1) | BIT(2) | BIT(3) | BIT(7)},
                                      {"GRU", BIT(1) | BIT(2) | BIT(3)},
                                      {"RNN", BIT(1) | BIT(2) | BIT(3)},
                                      {"PRelu", BIT(1)},
                                      {"Gather", BIT(0)},
                                      {"Transpose", BIT(0)}};

// Operands that control an operator rather than being computed with.
static const operand_set constants[] = {{"Where", BIT(1) | BIT(2)},
                                        {"Greater", BIT(0) | BIT(1)},
                                        {"GreaterOrEqual", BIT(0) | BIT(1)},
                                        {"Less", BIT(0) | BIT(1)},
                                        {"LessOrEqual", BIT(0) | BIT(1)},
                                        {"Equal", BIT(0) | BIT(1)},
                                        {"Clip", BIT(1) | BIT(2)},
                                        {"Pow", BIT(1)},
                                        {"Mod", BIT(1)},
                                        {"Range", BIT(0) | BIT(1) | BIT(2)},
                                        {"Pad", BIT(2)},
                                        {"OneHot", BIT(1) | BIT(2)},
                                        {"Dropout", BIT(1)}};

// The uses of an initializer.
typedef struct {
  bool weight, constant, other, added, exponent, statistic;
} uses;

typedef struct {
  dp_onnx_reader *reader;
  dp_onnx_scope *scope;
  uses *uses;   // by binding
  bool script;  // PyTorch's older exporter wrote the file
} guess;

static bool is_listed(const operand_set *table, size_t count, const char *op, size_t operand) {
  for (size_t i = 0; i < count; i++)
    if (operand < MAX_OPERANDS && table[i].operands & BIT(operand) && !strcmp(table[i].op, op)) return true;
  return false;
}

static dp_status look_at(guess *g, const Dp__Onnx__Graph *graph, int32_t n) {
  for (size_t i = 0; i < graph->n_node; i++) {
    const Dp__Onnx__Node *node = graph->node[i];
    DP_TRY(dp_onnx_count_work(g->reader, 1 + node->n_input));
    for (size_t k = 0; k < node->n_input; k++) {
      int32_t at = dp_names_find(g->scope->names, node->input[k]);
      if (at < 0 || at >= n) continue;
      uses *u = &g->uses[at];
      if (is_listed(weights, DP_COUNT(weights), node->op_type, k))
        u->weight = true;
      else if (is_listed(constants, DP_COUNT(constants), node->op_type, k))
        u->constant = true;
      else
        u->other = true;
      u->statistic |= dp_onnx_opset_is_state(node->op_type, (int)k);
      u->added |= !strcmp(node->op_type, "Add");
      u->exponent |= !strcmp(node->op_type, "Pow");
    }
    for (size_t a = 0; a < node->n_attribute; a++)
      if (node->attribute[a]->g) DP_TRY(look_at(g, node->attribute[a]->g, n));
  }
  return DP_OK;
}

// Adding such numbers to scores masks positions.
static bool is_mask(const dp_tensor *t) {
  for (int64_t i = 0, count = dp_tensor_count(t); i < count; i++)
    if (dp_tensor_get(t, i) <= -1e4) return true;
  return false;
}

// "fc.weight", "in_proj_bias", "weight_ih_l0"
static bool is_named_weight(const char *name) {
  const char *dot = strrchr(name, '.'), *leaf = dot ? dot + 1 : name;
  return strstr(leaf, "weight") || strstr(leaf, "bias");
}

// As layers call what they have; "final_logits_bias" is a buffer of BART.
static bool is_named_by_layer(const char *name) {
  static const char *const beginnings[] = {"weight", "bias", "in_proj_"};
  const char *dot = strrchr(name, '.'), *leaf = dot ? dot + 1 : name;
  for (size_t i = 0; i < DP_COUNT(beginnings); i++)
    if (!strncmp(leaf, beginnings[i], strlen(beginnings[i]))) return is_named_weight(name);
  return false;
}

// It calls nodes after modules, "/fc1/Gemm"; the newer one "node_linear".
static bool is_script(const dp_onnx_reader *reader) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  if (!dp_onnx_is_from_torch(reader)) return false;
  for (size_t i = 0; i < graph->n_node; i++)
    if (*graph->node[i]->name == '/') return true;
  return false;
}

// "onnx::Mul_12", before PyTorch 1.13 "12"
static bool is_of_the_code(const char *name) {
  return !strncmp(name, "onnx::", 6) || !name[strspn(name, "0123456789")];
}

static bool is_constant(const guess *g, const dp_onnx_binding *b, const uses *u) {
  if (u->weight || is_named_weight(b->name)) return false;
  if (g->script && is_of_the_code(b->name)) return true;
  if (u->constant && !u->other && !(g->script && u->exponent)) return true;
  return (!g->script && dp_tensor_count(b->tensor) == 1) || (u->added && is_mask(b->tensor));
}

// Whether its use makes it a parameter. In the older exporter's files only a weight without a name of the module does:
// a network may multiply by a buffer.
static bool is_owned(const guess *g, const dp_onnx_binding *b, const uses *u) {
  return u->statistic || (u->weight && (!g->script || is_of_the_code(b->name)));
}

static bool matches(const char *const *globs, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (!fnmatch(globs[i], name, 0)) return true;
  return false;
}

// Then no note is needed.
static bool is_chosen(const dp_onnx_options *o, const char *name) {
  return matches(o->train, o->n_train, name) || matches(o->freeze, o->n_freeze, name);
}

static void note(dp_onnx_reader *reader, const dp_onnx_list *list, const char *what) {
  if (!list->count) return;
  const char *text = dp_printf(reader->arena, "%s: %s", what, dp_onnx_list_print(reader->arena, list));
  DP_PUSH(reader->arena, reader->model->notes, reader->model->n_notes, text);
}

dp_status dp_onnx_guess(dp_onnx_reader *reader, dp_onnx_scope *scope) {
  guess g = {.reader = reader, .scope = scope, .script = is_script(reader)};
  dp_onnx_list trained = {0}, fixed = {0};
  g.uses = dp_alloc_n(reader->arena, (size_t)scope->count, sizeof *g.uses);
  DP_TRY(look_at(&g, reader->message->graph, scope->count));
  for (int32_t i = 0; i < scope->count; i++) {
    dp_onnx_binding *b = scope->bindings[i];
    const uses *u = &g.uses[i];
    if (!b->initializer || !dp_type_is_float(b->tensor->dtype) || !(u->weight || u->constant || u->other)) continue;
    const bool constant = is_constant(&g, b, u), chosen = is_chosen(reader->options, b->name);
    if (constant) b->role = DP_ONNX_FIXED;
    if (constant && !chosen) dp_onnx_list_add(reader->arena, &fixed, b->name);
    if (!constant && !chosen && !is_named_by_layer(b->name) && !is_owned(&g, b, u))
      dp_onnx_list_add(reader->arena, &trained, b->name);
  }
  note(reader, &trained,
       "the file does not say which initializers are parameters; trained, but not named as layers name theirs "
       "(--freeze=NAME for buffers)");
  note(reader, &fixed, "taken for constants by their shape or use (--train=NAME if they are not)");
  return g.script ? dp_onnx_padding(reader, scope) : DP_OK;
}
