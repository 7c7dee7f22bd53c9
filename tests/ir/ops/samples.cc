// The operators' samples as cases. See samples.h.
#include "tests/ir/ops/samples.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "ir/graph/builder.h"
#include "ir/text/text.h"

namespace dp_test {

static std::string FullName(const dp_op *op) { return (*op->domain ? std::string(op->domain) + "." : "") + op->name; }

std::string Case::Name() const {
  std::string name = FullName(op) + " " + std::to_string(index) + (float64 ? " float64" : "");
  return to ? name + " " + dp_type_name(from) + " as " + dp_type_name(to) : name;
}

std::string Case::Heading() const {
  char numbers[128];
  bool plain = sample->low == sample->high;
  std::snprintf(numbers, sizeof numbers, "|%lld|%g|%g", static_cast<long long>(sample->n), plain ? -1.0 : sample->low,
                plain ? 1.0 : sample->high);
  return FullName(op) + "|" + sample->inputs + "|" + (sample->attrs ? sample->attrs : "") + numbers;
}

void PrintTo(const Case &c, std::ostream *out) { *out << c.Heading() << (c.float64 ? " in float64" : ""); }

std::string TestName(const Case &c) {
  std::string name = c.Name();
  for (char &letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

// The type of BitCast's result depends on the size of its operand.
static bool CanReplace(const dp_op *op) { return std::string(op->name) != "BitCast"; }

std::vector<Case> AllCases(bool float64) {
  std::vector<Case> cases;
  for (const dp_op *const *op = dp_op_table; *op; op++) {
    for (int i = 0; (*op)->samples && (*op)->samples[i].inputs; i++) {
      const dp_sample *sample = &(*op)->samples[i];
      cases.push_back({*op, sample, i, false});
      if (!CanReplace(*op)) continue;
      if (float64 && std::string(sample->inputs).find("float32") != std::string::npos)
        cases.push_back({*op, sample, i, true});
    }
  }
  return cases;
}

// Programs also contain BatchNormalization, in another form, and differentiate it there. They never contain the others.
bool IsReplaced(const dp_op *op) { return op->specialize && !op->gradient; }

bool IsDrawn(const dp_op *op) {
  static const std::set<std::string> kNames = {"Dropout",      "Bernoulli",         "RandomUniform",
                                               "RandomNormal", "RandomUniformLike", "RandomNormalLike"};
  return IsReplaced(op) && kNames.count(op->name);
}

bool IsReplacedType(const Case &c, int i, dp_dtype dtype) {
  const dp_operand_schema &schema = c.op->inputs[i < c.op->n_inputs ? i : c.op->n_inputs - 1];
  return c.to && dtype == c.from && (schema.types & DP_BIT(c.to));
}

std::vector<Case> TypeCases() {
  const std::vector<std::pair<dp_dtype, uint32_t>> replaced = {{DP_FLOAT32, DP_BIT(DP_FLOAT16) | DP_BIT(DP_BFLOAT16)},
                                                               {DP_INT32, DP_INTS | DP_SMALL},
                                                               {DP_INT64, DP_INTS | DP_SMALL},
                                                               {DP_UINT8, DP_INTS | DP_SMALL}};
  std::vector<Case> cases;
  for (const Case &c : AllCases(false)) {
    if (!CanReplace(c.op)) continue;
    Built built(c);
    for (const auto &[from, types] : replaced)
      for (int to = 1; to <= DP_MAX_TYPE; to++) {
        Case variant = c;
        variant.from = from;
        variant.to = dp_dtype(to);
        bool used = false;
        for (size_t i = 0; i < built.operands.size(); i++)
          used |= built.operands[i] && IsReplacedType(variant, int(i), built.operands[i]->type->dtype);
        if (used && to != from && (types & DP_BIT(to))) cases.push_back(variant);
      }
  }
  return cases;
}

Built::Built(const Case &c) : arena(dp_arena_create(0)), n(c.sample->n) {
  dp_status status = Build(c);
  error = dp_status_message(status);
  dp_status_free(status);
}

Built::~Built() { dp_arena_destroy(arena); }

dp_status Built::Build(const Case &c) {
  int n_types, n_attrs = 0;
  dp_type *types;
  dp_attr *attrs = nullptr;
  DP_TRY(dp_text_parse_types(arena, c.sample->inputs, &n_types, &types));
  if (c.sample->attrs) DP_TRY(dp_text_parse_attrs(arena, c.sample->attrs, &n_attrs, &attrs));
  model = dp_model_create(arena, "sample");
  model->batch = dp_max_i64(c.sample->n, 1);
  dp_status status = DP_OK;
  // Some results exist only in some modes. Asks for all results, then for fewer, down to those that always exist.
  int least = 1;
  while (least < c.op->n_outputs && !c.op->outputs[least].optional) least++;
  for (int results = c.op->n_outputs; results >= least; results--) {
    graph = dp_graph_create(model, "main");
    operands.clear();
    for (int i = 0; i < n_types; i++) {
      if (c.float64 && types[i].dtype == DP_FLOAT32) types[i].dtype = DP_FLOAT64;
      if (IsReplacedType(c, i, types[i].dtype)) types[i].dtype = c.to;
      std::string name = "x" + std::to_string(i);
      operands.push_back(types[i].dtype ? dp_graph_add_value(graph, DP_VALUE_INPUT, name.c_str(), types[i]) : nullptr);
    }
    node = dp_graph_add_node(graph, c.op, "node", n_types, operands.data(), results, nullptr, n_attrs, attrs);
    dp_status_free(status);
    status = dp_op_infer(node);
    if (!status) break;
  }
  return status;
}

std::vector<dp_value *> Replace(Built *built) {
  dp_graph *graph = dp_graph_create(built->model, "replaced");
  std::vector<dp_value *> map(size_t(built->graph->n_values)), in(DP_MAX_OPERANDS), out(DP_MAX_OPERANDS);
  for (int i = 0; i < built->node->n_inputs && i < DP_MAX_OPERANDS; i++)
    if (built->node->inputs[i]) in[size_t(i)] = dp_graph_copy_value(graph, built->node->inputs[i], map.data());
  dp_builder builder{graph, DP_OK, nullptr};
  built->node->op->specialize(&builder, built->node, in.data(), true, out.data());
  dp_status status = builder.status;
  if (!status) status = dp_graph_verify(graph);
  out.resize(size_t(built->node->n_outputs));
  for (size_t i = 0; !status && i < out.size(); i++) {
    dp_type expected = *built->node->outputs[i]->type;
    if (!out[i] || out[i]->type->dtype != expected.dtype || !dp_shape_equal(&out[i]->type->shape, &expected.shape))
      status = dp_fail(EX_SOFTWARE, "result %zu is not of the type that infer gives", i);
  }
  built->error = dp_status_message(status);
  dp_status_free(status);
  built->graph = graph;
  built->operands = in;
  return out;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// FNV-1a of the text, then splitmix64: simple enough to be reimplemented in make_references.py.
static uint64_t Seed(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char letter : text) hash = (hash ^ letter) * 0x100000001b3u;
  return hash;
}

static double Uniform(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return double(z >> 11) * 0x1p-53;
}

// Limits the range to numbers that the type has. Excludes 0, which cannot be a divisor, if there are no negative
// numbers.
static void HoldToRange(dp_dtype dtype, double *low, double *high) {
  static const std::map<dp_dtype, std::pair<double, double>> ranges = {
      {DP_INT8, {-128, 127}},       {DP_UINT8, {0, 255}},     {DP_INT16, {-32768, 32767}}, {DP_UINT16, {0, 65535}},
      {DP_INT4, {-8, 7}},           {DP_UINT4, {0, 15}},      {DP_INT2, {-2, 1}},          {DP_UINT2, {0, 3}},
      {DP_UINT32, {0, 4294967295}}, {DP_UINT64, {0, 0x1p63}}, {DP_FLOAT8E8M0, {1, 100}}};
  auto range = ranges.find(dtype);
  if (range == ranges.end()) return;
  if (*low < 0 && range->second.first == 0) *low = 1;
  *low = std::fmin(std::fmax(*low, range->second.first), range->second.second);
  *high = std::fmax(std::fmin(*high, range->second.second), *low);
}

static void Draw(uint64_t seed, double low, double high, Tensor *tensor) {
  bool is_float = dp_type_is_float(tensor->dtype);
  HoldToRange(tensor->dtype, &low, &high);
  for (int64_t i = 0; i < tensor->Count(); i++) {
    double u = Uniform(seed, uint64_t(i));
    tensor->Set(i, is_float ? double(float(low + (high - low) * u))
                            : std::ceil(low) + std::floor(u * (std::floor(high) - std::ceil(low) + 1)));
  }
}

Tensor DrawOperand(const Case &c, int operand, const dp_type &type, int64_t n) {
  Tensor tensor = MakeWhole(type, n);
  bool plain = c.sample->low == c.sample->high;
  Draw(Seed(c.Heading() + "|" + std::to_string(operand)), plain ? -1 : c.sample->low, plain ? 1 : c.sample->high,
       &tensor);
  return tensor;
}

Tensor DrawNumbers(const Case &c, const std::string &what, const dp_type &type, int64_t n) {
  Tensor tensor = MakeWhole(type, n);
  Draw(Seed(c.Heading() + "|" + what), -1, 1, &tensor);
  return tensor;
}

}  // namespace dp_test
