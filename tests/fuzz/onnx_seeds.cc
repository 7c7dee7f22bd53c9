// Seeds of the ONNX reader: our models written as ONNX, and handmade files as other programs write them.
#include "tests/fuzz/seeds.h"

namespace seeds {
namespace {

void Models() {
  for (const std::string &text : Texts()) {
    Arena arena;
    dp_model *model = Parsed(arena, text);
    const dp_graph *graph = dp_model_find_graph(model, "main");
    std::string path = folder + "/model.onnx";
    dp_status status = graph ? dp_onnx_export(arena, model, graph, &model->mesh, false, path.c_str()) : DP_OK;
    if (graph && !status) {
      std::string bytes = ReadAll(path);
      remove(path.c_str());
      Write(bytes);
    }
    dp_status_free(status);  // models without a batch to read N from cannot be written
  }
}

void Forms() {
  Onnx m(11);
  m.Input("x", FLOAT, {"N", "3", "4"});
  m.Input("unused", INT64, {"2"});
  m.Initializer("w", {4, 2}, std::vector<float>(8, 0.5f));
  m.External("e", {4, 2}, {{"location", "data"}, {"offset", "64"}, {"length", "32"}, {"checksum", "x"}});
  m.Node("Shape", {"x"}, {"shape"});
  m.Constant("first", {0});
  m.Node("Gather", {"shape", "first"}, {"n"}, {m.Int("axis", 0)});
  m.Constant("rest", {-1});
  m.Node("Concat", {"n", "rest"}, {"flat"}, {m.Int("axis", 0)});
  m.Node("MatMul", {"x", "w"}, {"h"});
  m.Node("Dropout", {"h"}, {"d", "mask"}, {m.Float("ratio", 0.25f)});
  m.Function("twice", {"a"}, {"z"}, {m.Loose("Softmax", {"a"}, {"z"}, {m.Reference("axis", 2, "k")})});
  m.Node("twice", {"d"}, {"t"}, {m.Int("k", 1)})->domain = (char *)"own";
  m.Node("Reshape", {"t", "flat"}, {"y"});
  m.ConstantFloat("half", 0.5f);
  m.Node("Sum", {"y", "half", "y"}, {"s"});
  m.Node("Softmax", {"x"}, {"p"}, {m.Int("axis", 1)});
  m.Node("Add", {"h", "e"}, {"q"});
  m.Output("p");
  m.Output("q");
  m.Output("s");
  Write(m.Bytes());
}

// Tensors whose elements are stored in the fields for wider types.
void TypedData() {
  struct Typed {
    int type;
    Integers numbers;
  };
  for (const Typed &t : {Typed{2, {0, 255}},
                         {3, {-128, 127}},
                         {4, {65535, 0}},
                         {5, {-32768, 1}},
                         {9, {0, 1}},
                         {10, {15360, 1}},
                         {16, {16256, 2}},
                         {6, {-1, 1}}}) {
    Onnx m;
    m.Input("x", FLOAT, {"N", "2"});
    Dp__Onnx__Tensor *tensor = m.Raw("w", t.type, {2}, "");
    std::vector<int32_t> numbers(t.numbers.begin(), t.numbers.end());
    tensor->has_raw_data = false;
    tensor->n_int32_data = 2;
    tensor->int32_data = numbers.data();
    m.Node("Cast", {"w"}, {"c"}, {m.Int("to", FLOAT)});
    m.Node("Mul", {"x", "c"}, {"y"});
    m.Output("y");
    Write(m.Bytes());
  }
  for (int type : {12, 13}) {
    Onnx m;
    uint64_t numbers[] = {1, 4294967295u};
    m.Input("x", FLOAT, {"N", "2"});
    Dp__Onnx__Tensor *tensor = m.Raw("w", type, {2}, "");
    tensor->has_raw_data = false;
    tensor->n_uint64_data = 2;
    tensor->uint64_data = numbers;
    m.Node("Cast", {"w"}, {"c"}, {m.Int("to", FLOAT)});
    m.Node("Mul", {"x", "c"}, {"y"});
    m.Output("y");
    Write(m.Bytes());
  }
  Onnx m;
  double numbers[] = {1, 0.5};
  m.Input("x", DOUBLE, {"N", "2"});
  Dp__Onnx__Tensor *tensor = m.Raw("w", DOUBLE, {2}, "");
  tensor->has_raw_data = false;
  tensor->n_double_data = 2;
  tensor->double_data = numbers;
  m.Node("Mul", {"x", "w"}, {"y"});
  m.Output("y");
  Write(m.Bytes());
}

// Nodes in the form of older opsets, on x [N,3,4], with operands by name.
void Old() {
  struct Form {
    int64_t opset;
    const char *op;
    Names inputs;
    Names outputs;
    std::function<Attributes(Onnx &)> attributes;
  };
  const Form forms[] = {
      {7,
       "BatchNormalization",
       {"x", "v", "v", "v", "v"},
       {"y", "m", "s", "sm", "ss"},
       [](Onnx &m) { return Attributes{m.Int("spatial", 1)}; }},
      {15,
       "BatchNormalization",
       {"x", "v", "v", "v", "v"},
       {"y", "m", "s"},
       [](Onnx &m) { return Attributes{m.Int("training_mode", 1)}; }},
      {9,
       "Clip",
       {"x"},
       {"y"},
       [](Onnx &m) {
         return Attributes{m.Float("min", 0), m.Float("max", 6)};
       }},
      {9,
       "Pad",
       {"x"},
       {"y"},
       [](Onnx &m) {
         return Attributes{m.Ints("pads", {0, 1, 0, 0, 0, 2}), m.Float("value", 1)};
       }},
      {9,
       "Slice",
       {"x"},
       {"y"},
       [](Onnx &m) {
         return Attributes{m.Ints("starts", {0}), m.Ints("ends", {2}), m.Ints("axes", {1})};
       }},
      {11,
       "Split",
       {"x"},
       {"y", "z"},
       [](Onnx &m) {
         return Attributes{m.Ints("split", {1, 2}), m.Int("axis", 1)};
       }},
      {11,
       "ReduceSum",
       {"x"},
       {"y"},
       [](Onnx &m) {
         return Attributes{m.Ints("axes", {1}), m.Int("keepdims", 0)};
       }},
      {9, "TopK", {"x"}, {"y", "i"}, [](Onnx &m) { return Attributes{m.Int("k", 2)}; }},
      {11, "Hardmax", {"x"}, {"y"}, [](Onnx &m) { return Attributes{m.Int("axis", 0)}; }},
      {11, "LogSoftmax", {"x"}, {"y"}, [](Onnx &m) { return Attributes{m.Int("axis", -1)}; }},
      {15, "CastLike", {"x", "d"}, {"y"}, [](Onnx &) { return Attributes{}; }},
      {9,
       "ConstantOfShape",
       {"shape"},
       {"y"},
       [](Onnx &m) { return Attributes{m.Tensor("value", m.Raw("one", FLOAT, {1}, std::string(4, 'A')))}; }},
      {13, "ConstantOfShape", {"shape"}, {"y"}, [](Onnx &) { return Attributes{}; }},
      {13, "Max", {"x", "x", "x"}, {"y"}, [](Onnx &) { return Attributes{}; }},
      {13,
       "Concat",
       {"x", "x", "x", "x", "x", "x", "x", "x", "x", "x"},
       {"y"},
       [](Onnx &m) { return Attributes{m.Int("axis", 1)}; }},
      {13,
       "Loop",
       {"count", "", "x"},
       {"y", "all"},
       [](Onnx &m) {
         return Attributes{m.Graph("body", {"i", "c", "a"}, {"c", "b", "b"}, {m.Loose("Neg", {"a"}, {"b"})})};
       }},
      {13,
       "Scan",
       {"x", "x"},
       {"y", "all"},
       [](Onnx &m) {
         return Attributes{m.Int("num_scan_inputs", 1), m.Ints("scan_input_axes", {1}),
                           m.Ints("scan_output_axes", {-1}),
                           m.Graph("body", {"a", "b"}, {"a", "d"}, {m.Loose("Neg", {"b"}, {"d"})})};
       }},
      {13,
       "If",
       {"count"},
       {"y"},
       [](Onnx &m) {
         return Attributes{m.Graph("then_branch", {}, {"t"}, {m.Loose("Neg", {"x"}, {"t"})}),
                           m.Graph("else_branch", {}, {"x"}, {})};
       }},
      {13, "Scatter", {"x", "index", "x"}, {"y"}, [](Onnx &m) { return Attributes{m.Int("axis", 1)}; }},
  };
  for (const Form &f : forms) {
    Onnx m(f.opset);
    m.Input("x", FLOAT, {"N", "3", "4"});
    m.Input("d", DOUBLE, {"2"});
    m.Input("index", INT64, {"N", "3", "4"});
    m.Initializer("v", {3}, std::vector<float>{1, 2, 3});
    m.Node("Shape", {"x"}, {"shape"});
    m.Node("Constant", {}, {"count"}, {m.Int("value_int", 2)});
    m.Node(f.op, f.inputs, f.outputs, f.attributes(m));
    m.Output("y");
    Write(m.Bytes());
  }
}

// Arithmetic on shapes: a node for each operator that the reader computes itself.
void Folds() {
  struct Fold {
    const char *op;
    Names inputs;
    const char *ints;
    Integers numbers;
    int results;
  };
  const Fold folds[] = {{"Add", {"s", "i"}, nullptr, {}, 1},
                        {"Sub", {"s", "i"}, nullptr, {}, 1},
                        {"Mul", {"i", "s"}, nullptr, {}, 1},
                        {"Div", {"s", "two"}, nullptr, {}, 1},
                        {"Div", {"s", "s"}, nullptr, {}, 1},
                        {"Div", {"i", "two"}, nullptr, {}, 1},
                        {"Mod", {"i", "two"}, nullptr, {}, 1},
                        {"Equal", {"s", "i"}, nullptr, {}, 1},
                        {"Less", {"i", "two"}, nullptr, {}, 1},
                        {"Greater", {"i", "two"}, nullptr, {}, 1},
                        {"LessOrEqual", {"i", "s"}, nullptr, {}, 1},
                        {"GreaterOrEqual", {"i", "two"}, nullptr, {}, 1},
                        {"And", {"t", "f"}, nullptr, {}, 1},
                        {"Or", {"t", "f"}, nullptr, {}, 1},
                        {"Not", {"t"}, nullptr, {}, 1},
                        {"Where", {"t", "i", "s"}, nullptr, {}, 1},
                        {"Neg", {"s"}, nullptr, {}, 1},
                        {"Abs", {"i"}, nullptr, {}, 1},
                        {"Min", {"i", "two"}, nullptr, {}, 1},
                        {"Max", {"i", "two"}, nullptr, {}, 1},
                        {"Range", {"zero", "four", "one"}, nullptr, {}, 1},
                        {"Range", {"four", "zero", "minus"}, nullptr, {}, 1},
                        {"Unsqueeze", {"s"}, "axes", {0}, 1},
                        {"Squeeze", {"two"}, "axes", {0}, 1},
                        {"Slice", {"s", "first", "two"}, nullptr, {}, 1},
                        {"Expand", {"two", "i"}, nullptr, {}, 1},
                        {"Tile", {"two", "two"}, nullptr, {}, 1},
                        {"ReduceProd", {"i"}, "axes", {0}, 1},
                        {"ReduceSum", {"i"}, nullptr, {}, 1},
                        {"Gather", {"i", "first"}, nullptr, {}, 1},
                        {"Transpose", {"matrix"}, "perm", {1, 0}, 1},
                        {"ConstantOfShape", {"i"}, nullptr, {}, 1},
                        {"Size", {"x"}, nullptr, {}, 1},
                        {"Flatten", {"matrix"}, nullptr, {}, 1},
                        {"Reshape", {"matrix", "flat"}, nullptr, {}, 1},
                        {"Reshape", {"matrix", "keep"}, nullptr, {}, 1},
                        {"Split", {"i"}, "split", {1, 1}, 2},
                        {"Split", {"matrix"}, nullptr, {}, 2},
                        {"Concat", {"i", "s", "two"}, nullptr, {}, 1},
                        {"Identity", {"s"}, nullptr, {}, 1},
                        {"Floor", {"h"}, nullptr, {}, 1},
                        {"Ceil", {"h"}, nullptr, {}, 1},
                        {"Sqrt", {"h"}, nullptr, {}, 1},
                        {"Neg", {"h"}, nullptr, {}, 1},
                        {"Div", {"h", "h"}, nullptr, {}, 1},
                        {"Pow", {"h", "h"}, nullptr, {}, 1},
                        {"Cast", {"h"}, nullptr, {}, 1},
                        {"ScatterElements", {"i", "first", "two"}, nullptr, {}, 1}};
  for (const Fold &f : folds) {
    for (int64_t opset : {9, 18}) {
      Onnx m(opset);
      m.Input("x", FLOAT, {"N", "3"});
      m.Node("Shape", {"x"}, {"s"});
      m.Constant("i", {2, 3});
      m.Constant("two", {2});
      m.Constant("first", {0});
      m.Constant("flat", {-1});
      m.Constant("keep", {0, 2});
      m.Initializer("matrix", {2, 2}, Integers{1, 2, 3, 4});
      for (const auto &scalar : {std::make_pair("zero", 0), {"four", 4}, {"one", 1}, {"minus", -1}})
        m.Initializer(scalar.first, {}, Integers{scalar.second});
      m.ConstantFloat("h", 2.5f);
      m.Node("Equal", {"i", "i"}, {"t"});
      m.Node("Equal", {"i", "two"}, {"f"});
      Attributes attributes;
      if (f.ints) attributes.push_back(m.Ints(f.ints, f.numbers));
      if (f.op == std::string("Cast")) attributes.push_back(m.Int("to", BOOL));
      if (f.op == std::string("Concat")) attributes.push_back(m.Int("axis", 0));
      m.Node(f.op, f.inputs, f.results > 1 ? Names{"r", "r2"} : Names{"r"}, attributes);
      m.Node("Cast", {"r"}, {"c"}, {m.Int("to", FLOAT)});
      m.Node("Mul", {"x", "x"}, {"y"});
      m.Output("y");
      m.Output("c");
      Write(m.Bytes());
    }
  }
}

}  // namespace

void Onnxes() {
  Models();
  Forms();
  TypedData();
  Old();
  Folds();
}

}  // namespace seeds
