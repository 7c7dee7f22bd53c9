// See weights.h.
#include "tests/tools/weights.h"

#include <gtest/gtest.h>
#include <jansson.h>

#include <cstdint>
#include <cstring>

Weights SplitWeights(const std::string &content) {
  uint64_t length;
  memcpy(&length, content.data(), sizeof length);
  json_error_t error;
  json_t *header = json_loadb(content.data() + 8, length, 0, &error), *entry;
  const char *name;
  Weights weights;
  json_object_foreach(header, name, entry) {
    if (!strcmp(name, "__metadata__")) continue;
    Tensor &t = weights[name];
    json_t *shape = json_object_get(entry, "shape"), *at = json_object_get(entry, "data_offsets");
    for (size_t i = 0; i < json_array_size(shape); i++)
      t.shape.push_back(static_cast<int>(json_integer_value(json_array_get(shape, i))));
    const auto begin = static_cast<size_t>(json_integer_value(json_array_get(at, 0))),
               end = static_cast<size_t>(json_integer_value(json_array_get(at, 1)));
    t.data = content.substr(8 + length + begin, end - begin);
  }
  json_decref(header);
  return weights;
}

std::string JoinWeights(const Weights &weights) {
  std::string header, data;
  for (const auto &[tensor, t] : weights) {
    std::string shape;
    for (int extent : t.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    header += (header.empty() ? "" : ",") + ("\"" + tensor) + "\":{\"dtype\":\"F32\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(data.size()) + "," + std::to_string(data.size() + t.data.size()) +
              "]}";
    data += t.data;
  }
  header = "{" + header + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header + data;
}

namespace {

// The fields of a protobuf message (protobuf.dev/programming-guides/encoding), in order.
class Message {
 public:
  explicit Message(const std::string &bytes) : bytes_(bytes) {}
  // Goes to the next field; false at the end.
  bool Next() {
    if (at_ >= bytes_.size()) return false;
    const uint64_t tag = Varint();
    field = static_cast<int>(tag >> 3);
    text.clear();
    number = 0;
    switch (tag & 7) {
      case 0:
        number = Varint();
        break;
      case 1:
        Take(8);
        break;
      case 2:
        Take(Varint());
        break;
      case 5:
        Take(4);
        break;
      default:
        ADD_FAILURE() << "wire type " << (tag & 7);
        at_ = bytes_.size();
    }
    return true;
  }
  int field = 0;
  uint64_t number = 0;
  std::string text;

 private:
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  void Take(uint64_t length) {
    text = bytes_.substr(at_, length);
    at_ += length;
  }
  std::string bytes_;
  size_t at_ = 0;
};

// onnx.TensorProto: dims = 1, name = 8, raw_data = 9.
void ReadTensor(const std::string &bytes, Weights *weights) {
  Tensor tensor;
  std::string name;
  for (Message m(bytes); m.Next();) {
    if (m.field == 8) name = m.text;
    if (m.field == 9) tensor.data = m.text;
    if (m.field != 1) continue;
    if (m.text.empty()) tensor.shape.push_back(static_cast<int>(m.number));
    for (const char byte : m.text) tensor.shape.push_back(static_cast<unsigned char>(byte));  // packed, below 128
  }
  (*weights)[name] = tensor;
}

}  // namespace

// onnx.ModelProto: graph = 7; GraphProto: node = 1, initializer = 5; NodeProto: op_type = 4.
OnnxFile ReadOnnx(const std::string &content) {
  OnnxFile file;
  for (Message model(content); model.Next();) {
    if (model.field != 7) continue;
    for (Message graph(model.text); graph.Next();) {
      if (graph.field == 5) ReadTensor(graph.text, &file.initializers);
      if (graph.field != 1) continue;
      for (Message node(graph.text); node.Next();)
        if (node.field == 4) file.operators.insert(node.text);
    }
  }
  return file;
}
