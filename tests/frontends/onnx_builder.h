// Builds small ONNX models through the structs of our own schema, and shows what the reader makes of them as text.
#ifndef DP_TESTS_FRONTENDS_ONNX_BUILDER_H
#define DP_TESTS_FRONTENDS_ONNX_BUILDER_H

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "frontends/onnx/onnx.h"
#include "frontends/onnx/onnx.pb-c.h"
#include "tests/ir/text/text_helper.h"

using Names = std::vector<std::string>;
using Integers = std::vector<int64_t>;
using Attributes = std::vector<Dp__Onnx__Attribute *>;

class Onnx {
  dp_test::Arena arena_;  // holds all messages, so it is made first

 public:
  explicit Onnx(int64_t opset = 18);

  // A dim is a number, a word for a symbolic one, or "" for an open one.
  void Input(const std::string &name, int type, const Names &dims);
  void Output(const std::string &name);
  void Initializer(const std::string &name, const Integers &dims, const std::vector<float> &numbers);
  void Initializer(const std::string &name, const Integers &dims, const Integers &numbers);
  Dp__Onnx__Tensor *Raw(const std::string &name, int type, const Integers &dims, const std::string &bytes);
  Dp__Onnx__Tensor *External(const std::string &name, const Integers &dims,
                             const std::vector<std::pair<std::string, std::string>> &entries);
  // Metadata of an initializer (in value_info), a node, the graph.
  void About(const std::string &value, const std::string &key, const std::string &text);
  void About(Dp__Onnx__Node *node, const std::string &key, const std::string &text);
  void About(const std::string &key, const std::string &text);
  // A node named after its first result: "y" is made by node "n_y".
  Dp__Onnx__Node *Node(const std::string &op, const Names &inputs, const Names &outputs,
                       const Attributes &attributes = {});
  void Constant(const std::string &name, const Integers &numbers);  // of rank 1
  void ConstantFloat(const std::string &name, float number);        // of rank 0
  Dp__Onnx__Function *Function(const std::string &name, const Names &inputs, const Names &outputs,
                               const std::vector<Dp__Onnx__Node *> &nodes);

  Dp__Onnx__Attribute *Int(const char *name, int64_t number);
  Dp__Onnx__Attribute *Float(const char *name, float number);
  Dp__Onnx__Attribute *String(const char *name, const std::string &text);
  Dp__Onnx__Attribute *Ints(const char *name, const Integers &numbers);
  Dp__Onnx__Attribute *Floats(const char *name, const std::vector<float> &numbers);
  Dp__Onnx__Attribute *Tensor(const char *name, Dp__Onnx__Tensor *tensor);
  Dp__Onnx__Attribute *Graph(const char *name, const Names &inputs, const Names &outputs,
                             const std::vector<Dp__Onnx__Node *> &nodes);
  Dp__Onnx__Attribute *Reference(const char *name, int type, const char *of);

  std::string Bytes() const;
  // The model as text without its first line, "opset" and the last "}", with lines not indented; or the refusal, "CODE:
  // " and the message without the path.
  std::string Import() const;

  Dp__Onnx__Model *model;
  Dp__Onnx__Graph *graph;

 private:
  Dp__Onnx__Node *MakeNode(const std::string &op, const Names &inputs, const Names &outputs,
                           const Attributes &attributes);
  Dp__Onnx__StringStringEntry *Entry(const std::string &key, const std::string &text) const;
  char *Copy(const std::string &text) const { return dp_strdup(arena_, text.c_str()); }

 public:
  // A node outside the graph, for functions.
  Dp__Onnx__Node *Loose(const std::string &op, const Names &inputs, const Names &outputs,
                        const Attributes &attributes = {}) {
    return MakeNode(op, inputs, outputs, attributes);
  }
};

// Writes a file in the test's own folder; returns its path.
std::string WriteFile(const std::string &name, const std::string &bytes);
// The same as Import, for a file with these bytes.
std::string ImportBytes(const std::string &bytes);
// The same for a file at `path`.
std::string ImportFile(const std::string &path);

enum { FLOAT = 1, INT32 = 6, INT64 = 7, STRING_TYPE = 8, BOOL = 9, FLOAT16 = 10, DOUBLE = 11 };

#endif
