// The changes between opsets 6 and 28, as tables. Operators here have the newest meaning. An attribute that became an
// operand later stays an attribute if our schema has it, and becomes an operand otherwise (onnx_node.c). What needs
// more than a table (Softmax before 13, BatchNormalization before 14, broadcasting before 7) is in onnx_special.c.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

// Before opset `before`, the operator `now` was called `op`.
static const struct {
  const char *op;
  int64_t before;
  const char *now;
} renamed[] = {
    {"Scatter", DP_ONNX_MAX_OPSET + 1, "ScatterElements"},
};

// Before opset `before`, operand `operand` was this attribute.
static const struct {
  const char *op;
  int64_t before;
  const char *attribute;
  int operand;
} moved[] = {
    {"Clip", 11, "min", 1},        {"Clip", 11, "max", 2},          {"Dropout", 12, "ratio", 1},
    {"Pad", 11, "pads", 1},        {"Pad", 11, "value", 2},         {"ReduceL1", 18, "axes", 1},
    {"ReduceL2", 18, "axes", 1},   {"ReduceLogSum", 18, "axes", 1}, {"ReduceLogSumExp", 18, "axes", 1},
    {"ReduceMax", 18, "axes", 1},  {"ReduceMean", 18, "axes", 1},   {"ReduceMin", 18, "axes", 1},
    {"ReduceProd", 18, "axes", 1}, {"ReduceSum", 13, "axes", 1},    {"ReduceSumSquare", 18, "axes", 1},
    {"Slice", 10, "starts", 1},    {"Slice", 10, "ends", 2},        {"Slice", 10, "axes", 3},
    {"Split", 13, "split", 1},     {"Squeeze", 13, "axes", 1},      {"TopK", 10, "k", 1},
    {"Unsqueeze", 13, "axes", 1},
};

// With this value, the attribute asks for what our operator always does.
static const struct {
  const char *op, *attribute;
  dp_attr_kind kind;
  int64_t number;
  const char *string;
} plain[] = {
    {"BatchNormalization", "spatial", DP_ATTR_INT, 1, NULL},
    {"GroupNormalization", "stash_type", DP_ATTR_INT, 1, NULL},
    {"LayerNormalization", "stash_type", DP_ATTR_INT, 1, NULL},
    {"RMSNormalization", "stash_type", DP_ATTR_INT, 1, NULL},
    {"ArgMax", "select_last_index", DP_ATTR_INT, 0, NULL},
    {"ArgMin", "select_last_index", DP_ATTR_INT, 0, NULL},
};

// Operators had these before opset `before`. An `axis` that is not ours belongs to `broadcast`.
static const struct {
  const char *attribute;
  int64_t before;
} gone[] = {{"broadcast", 7}, {"axis", 7}, {"is_test", 7}};

// Operands that a node in training updates itself.
static const struct {
  const char *op;
  int operand;
} states[] = {{"BatchNormalization", 3}, {"BatchNormalization", 4}};

// op(a, b, c) = as(as(a, b), c)
static const struct {
  const char *op, *as;
} chains[] = {{"Concat", "Concat"}, {"Max", "Max"}, {"Min", "Min"}, {"Sum", "Add"}};

const char *dp_onnx_opset_name(const char *op, int64_t opset) {
  for (size_t i = 0; i < DP_COUNT(renamed); i++)
    if (opset < renamed[i].before && !strcmp(op, renamed[i].op)) return renamed[i].now;
  return op;
}

int dp_onnx_opset_operand(const char *op, int64_t opset, const char *attribute) {
  for (size_t i = 0; i < DP_COUNT(moved); i++)
    if (opset < moved[i].before && !strcmp(op, moved[i].op) && !strcmp(attribute, moved[i].attribute))
      return moved[i].operand;
  return -1;
}

bool dp_onnx_opset_ignores(const char *op, int64_t opset, const dp_attr *attr) {
  for (size_t i = 0; i < DP_COUNT(gone); i++)
    if (opset < gone[i].before && attr->kind == DP_ATTR_INT && !strcmp(attr->name, gone[i].attribute)) return true;
  for (size_t i = 0; i < DP_COUNT(plain); i++) {
    if (strcmp(op, plain[i].op) || strcmp(attr->name, plain[i].attribute) || attr->kind != plain[i].kind) continue;
    return attr->kind == DP_ATTR_INT ? attr->i == plain[i].number : !strcmp(attr->s, plain[i].string);
  }
  return false;
}

bool dp_onnx_opset_is_state(const char *op, int i) {
  for (size_t k = 0; k < DP_COUNT(states); k++)
    if (states[k].operand == i && !strcmp(op, states[k].op)) return true;
  return false;
}

const char *dp_onnx_opset_chain(const char *op) {
  for (size_t i = 0; i < DP_COUNT(chains); i++)
    if (!strcmp(op, chains[i].op)) return chains[i].as;
  return NULL;
}
