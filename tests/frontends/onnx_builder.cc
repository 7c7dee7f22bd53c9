// See onnx_builder.h.
#include "tests/frontends/onnx_builder.h"

#include <sys/stat.h>

#include <cstring>
#include <fstream>

namespace {

template <typename T>
void Push(dp_arena *arena, T **&array, size_t &count, T *item) {
  T **longer = (T **)dp_alloc_n(arena, count + 1, sizeof *longer);
  if (count) memcpy(longer, array, count * sizeof *longer);
  longer[count++] = item;
  array = longer;
}

template <typename T>
T *New(dp_arena *arena, void (*init)(T *)) {
  T *message = (T *)dp_alloc(arena, sizeof *message);
  init(message);
  return message;
}

template <typename T>
T *CopyOf(dp_arena *arena, const std::vector<T> &numbers) {
  return (T *)dp_memdup(arena, numbers.data(), numbers.size() * sizeof(T));
}

std::string Tidy(const std::string &text) {
  std::string tidy;
  size_t line = 0;
  for (size_t at = 0; at < text.size(); line++) {
    size_t end = text.find('\n', at);
    std::string one = text.substr(at, end - at);
    at = end + 1;
    size_t first = one.find_first_not_of(' ');
    if (line > 1 && one != "}") tidy += one.substr(first == std::string::npos ? 0 : first) + "\n";
  }
  return tidy;
}

}  // namespace

Onnx::Onnx(int64_t opset) : model(New(arena_, dp__onnx__model__init)), graph(New(arena_, dp__onnx__graph__init)) {
  Dp__Onnx__OperatorSetId *id = New(arena_, dp__onnx__operator_set_id__init);
  id->has_version = true;
  id->version = opset;
  Push(arena_, model->opset_import, model->n_opset_import, id);
  model->has_ir_version = true;
  model->ir_version = 8;
  model->graph = graph;
  graph->name = Copy("g");
}

void Onnx::Input(const std::string &name, int type, const Names &dims) {
  Dp__Onnx__ValueInfo *info = New(arena_, dp__onnx__value_info__init);
  info->name = Copy(name);
  info->type = New(arena_, dp__onnx__type__init);
  info->type->tensor_type = New(arena_, dp__onnx__tensor_type__init);
  info->type->tensor_type->has_elem_type = true;
  info->type->tensor_type->elem_type = type;
  Dp__Onnx__TensorShape *shape = info->type->tensor_type->shape = New(arena_, dp__onnx__tensor_shape__init);
  for (const std::string &text : dims) {
    Dp__Onnx__Dimension *dim = New(arena_, dp__onnx__dimension__init);
    dim->has_dim_value = !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
    if (dim->has_dim_value)
      dim->dim_value = atoll(text.c_str());
    else if (!text.empty())
      dim->dim_param = Copy(text);
    Push(arena_, shape->dim, shape->n_dim, dim);
  }
  Push(arena_, graph->input, graph->n_input, info);
}

void Onnx::Output(const std::string &name) {
  Dp__Onnx__ValueInfo *info = New(arena_, dp__onnx__value_info__init);
  info->name = Copy(name);
  Push(arena_, graph->output, graph->n_output, info);
}

Dp__Onnx__Tensor *Onnx::Raw(const std::string &name, int type, const Integers &dims, const std::string &bytes) {
  Dp__Onnx__Tensor *tensor = New(arena_, dp__onnx__tensor__init);
  tensor->name = Copy(name);
  tensor->has_data_type = true;
  tensor->data_type = type;
  tensor->n_dims = dims.size();
  tensor->dims = CopyOf(arena_, dims);
  tensor->has_raw_data = !bytes.empty();
  tensor->raw_data = {bytes.size(), (uint8_t *)dp_memdup(arena_, bytes.data(), bytes.size())};
  return tensor;
}

void Onnx::Initializer(const std::string &name, const Integers &dims, const std::vector<float> &numbers) {
  Dp__Onnx__Tensor *tensor = Raw(name, FLOAT, dims, "");
  tensor->n_float_data = numbers.size();
  tensor->float_data = CopyOf(arena_, numbers);
  Push(arena_, graph->initializer, graph->n_initializer, tensor);
}

void Onnx::Initializer(const std::string &name, const Integers &dims, const Integers &numbers) {
  Dp__Onnx__Tensor *tensor =
      Raw(name, INT64, dims, std::string((const char *)numbers.data(), numbers.size() * sizeof(int64_t)));
  Push(arena_, graph->initializer, graph->n_initializer, tensor);
}

Dp__Onnx__Tensor *Onnx::External(const std::string &name, const Integers &dims,
                                 const std::vector<std::pair<std::string, std::string>> &entries) {
  Dp__Onnx__Tensor *tensor = Raw(name, FLOAT, dims, "");
  tensor->has_data_location = true;
  tensor->data_location = 1;
  for (const auto &[key, value] : entries) {
    Dp__Onnx__StringStringEntry *entry = New(arena_, dp__onnx__string_string_entry__init);
    entry->key = Copy(key);
    entry->value = Copy(value);
    Push(arena_, tensor->external_data, tensor->n_external_data, entry);
  }
  Push(arena_, graph->initializer, graph->n_initializer, tensor);
  return tensor;
}

Dp__Onnx__StringStringEntry *Onnx::Entry(const std::string &key, const std::string &text) const {
  Dp__Onnx__StringStringEntry *entry = New(arena_, dp__onnx__string_string_entry__init);
  entry->key = Copy(key);
  entry->value = Copy(text);
  return entry;
}

void Onnx::About(const std::string &value, const std::string &key, const std::string &text) {
  Dp__Onnx__ValueInfo *info = nullptr;
  for (size_t i = 0; i < graph->n_value_info; i++)
    if (graph->value_info[i]->name == value) info = graph->value_info[i];
  if (!info) {
    info = New(arena_, dp__onnx__value_info__init);
    info->name = Copy(value);
    Push(arena_, graph->value_info, graph->n_value_info, info);
  }
  Push(arena_, info->metadata_props, info->n_metadata_props, Entry(key, text));
}

void Onnx::About(Dp__Onnx__Node *node, const std::string &key, const std::string &text) {
  Push(arena_, node->metadata_props, node->n_metadata_props, Entry(key, text));
}

void Onnx::About(const std::string &key, const std::string &text) {
  Push(arena_, graph->metadata_props, graph->n_metadata_props, Entry(key, text));
}

Dp__Onnx__Node *Onnx::MakeNode(const std::string &op, const Names &inputs, const Names &outputs,
                               const Attributes &attributes) {
  Dp__Onnx__Node *node = New(arena_, dp__onnx__node__init);
  node->op_type = Copy(op);
  node->name = Copy("n_" + (outputs.empty() ? op : outputs[0]));
  for (const std::string &name : inputs) Push(arena_, node->input, node->n_input, Copy(name));
  for (const std::string &name : outputs) Push(arena_, node->output, node->n_output, Copy(name));
  for (Dp__Onnx__Attribute *attribute : attributes) Push(arena_, node->attribute, node->n_attribute, attribute);
  return node;
}

Dp__Onnx__Node *Onnx::Node(const std::string &op, const Names &inputs, const Names &outputs,
                           const Attributes &attributes) {
  Dp__Onnx__Node *node = MakeNode(op, inputs, outputs, attributes);
  Push(arena_, graph->node, graph->n_node, node);
  return node;
}

void Onnx::Constant(const std::string &name, const Integers &numbers) {
  Node("Constant", {}, {name}, {Ints("value_ints", numbers)});
}

void Onnx::ConstantFloat(const std::string &name, float number) {
  Node("Constant", {}, {name}, {Float("value_float", number)});
}

Dp__Onnx__Function *Onnx::Function(const std::string &name, const Names &inputs, const Names &outputs,
                                   const std::vector<Dp__Onnx__Node *> &nodes) {
  Dp__Onnx__Function *function = New(arena_, dp__onnx__function__init);
  function->name = Copy(name);
  function->domain = Copy("own");
  for (const std::string &input : inputs) Push(arena_, function->input, function->n_input, Copy(input));
  for (const std::string &output : outputs) Push(arena_, function->output, function->n_output, Copy(output));
  for (Dp__Onnx__Node *node : nodes) Push(arena_, function->node, function->n_node, node);
  Push(arena_, model->functions, model->n_functions, function);
  return function;
}

// ---- attributes -----------------------------------------------------------------------------------------------------

Dp__Onnx__Attribute *Onnx::Int(const char *name, int64_t number) {
  Dp__Onnx__Attribute *a = New(arena_, dp__onnx__attribute__init);
  a->name = Copy(name);
  a->has_type = a->has_i = true;
  a->type = 2;
  a->i = number;
  return a;
}

Dp__Onnx__Attribute *Onnx::Float(const char *name, float number) {
  Dp__Onnx__Attribute *a = Int(name, 0);
  a->type = 1;
  a->has_i = false;
  a->has_f = true;
  a->f = number;
  return a;
}

Dp__Onnx__Attribute *Onnx::String(const char *name, const std::string &text) {
  Dp__Onnx__Attribute *a = Int(name, 0);
  a->type = 3;
  a->has_i = false;
  a->has_s = true;
  a->s = {text.size(), (uint8_t *)dp_memdup(arena_, text.data(), text.size())};
  return a;
}

Dp__Onnx__Attribute *Onnx::Ints(const char *name, const Integers &numbers) {
  Dp__Onnx__Attribute *a = Int(name, 0);
  a->type = 7;
  a->has_i = false;
  a->n_ints = numbers.size();
  a->ints = CopyOf(arena_, numbers);
  return a;
}

Dp__Onnx__Attribute *Onnx::Floats(const char *name, const std::vector<float> &numbers) {
  Dp__Onnx__Attribute *a = Int(name, 0);
  a->type = 6;
  a->has_i = false;
  a->n_floats = numbers.size();
  a->floats = CopyOf(arena_, numbers);
  return a;
}

Dp__Onnx__Attribute *Onnx::Tensor(const char *name, Dp__Onnx__Tensor *tensor) {
  Dp__Onnx__Attribute *a = Int(name, 0);
  a->type = 4;
  a->has_i = false;
  a->t = tensor;
  return a;
}

Dp__Onnx__Attribute *Onnx::Graph(const char *name, const Names &inputs, const Names &outputs,
                                 const std::vector<Dp__Onnx__Node *> &nodes) {
  Dp__Onnx__Attribute *a = Int(name, 0);
  a->type = 5;
  a->has_i = false;
  Dp__Onnx__Graph *body = a->g = New(arena_, dp__onnx__graph__init);
  for (const std::string &input : inputs) {
    Dp__Onnx__ValueInfo *info = New(arena_, dp__onnx__value_info__init);
    info->name = Copy(input);
    Push(arena_, body->input, body->n_input, info);
  }
  for (const std::string &output : outputs) {
    Dp__Onnx__ValueInfo *info = New(arena_, dp__onnx__value_info__init);
    info->name = Copy(output);
    Push(arena_, body->output, body->n_output, info);
  }
  for (Dp__Onnx__Node *node : nodes) Push(arena_, body->node, body->n_node, node);
  return a;
}

Dp__Onnx__Attribute *Onnx::Reference(const char *name, int type, const char *of) {
  Dp__Onnx__Attribute *a = Int(name, 0);
  a->type = type;
  a->has_i = false;
  a->ref_attr_name = Copy(of);
  return a;
}

// ---- reading --------------------------------------------------------------------------------------------------------

std::string Onnx::Bytes() const {
  std::string bytes(protobuf_c_message_get_packed_size(&model->base), '\0');
  protobuf_c_message_pack(&model->base, (uint8_t *)bytes.data());
  return bytes;
}

std::string WriteFile(const std::string &name, const std::string &bytes) {
  std::string folder =
      std::string(getenv("TEST_TMPDIR")) + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
  mkdir(folder.c_str(), 0700);
  std::string path = folder + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

namespace {

struct Reading {
  dp_arena *arena;
  const char *path;
  dp_model *model;
};

dp_status Read(void *arg) {
  Reading *reading = (Reading *)arg;
  return dp_onnx_import(reading->arena, reading->path, &reading->model);
}

}  // namespace

std::string ImportFile(const std::string &path) {
  dp_test::Arena arena;
  Reading reading = {arena, path.c_str(), nullptr};
  dp_status status = dp_arena_run(arena, Read, &reading);
  if (!status) return Tidy(dp_test::Print(reading.model));
  std::string code = std::to_string(dp_status_code(status)), message = dp_test::Message(status);
  size_t at = message.find(path + ": ");
  return code + ": " + (at == std::string::npos ? message : message.erase(at, path.size() + 2));
}

std::string ImportBytes(const std::string &bytes) { return ImportFile(WriteFile("m.onnx", bytes)); }

std::string Onnx::Import() const { return ImportBytes(Bytes()); }
