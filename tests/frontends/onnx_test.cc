// The import of ONNX models: names, types, parameters, buffers, the batch, the differences between opsets, functions,
// and refusals of what is not supported.
#include "tests/frontends/onnx_builder.h"

namespace {

TEST(OnnxTest, ALinearLayer) {
  Onnx m;
  m.Input("x", FLOAT, {"batch", "3"});
  m.Initializer("fc.weight", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  m.Initializer("fc.bias", {2}, std::vector<float>{0.5, -0.5});
  m.Node("Gemm", {"x", "fc.weight", "fc.bias"}, {"y"}, {m.Int("transB", 1), m.Float("alpha", 0.1f)});
  m.Output("y");
  EXPECT_EQ(m.Import(),
            "symbol batch\n"
            "parameter fc.weight: float32[2,3] = tensor [1, 2, 3, 4, 5, 6]\n"
            "parameter fc.bias: float32[2] = tensor [0.5, -0.5]\n"
            "input x: float32[batch,3]\n"
            "y: float32[batch,2] = Gemm(x, fc.weight, fc.bias) {transB=1, alpha=0.1} [name=n_y]\n"
            "output y\n");
}

TEST(OnnxTest, InPlaceIsAHint) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "3"});
  m.Node("Relu", {"x"}, {"y"}, {m.Int("inplace", 1)});
  m.Node("LeakyRelu", {"y"}, {"z"}, {m.Int("inplace", 0), m.Float("alpha", 0.5f)});
  m.Output("z");
  std::string text = m.Import();
  EXPECT_NE(text.find("= Relu(x) [name"), std::string::npos) << text;
  EXPECT_NE(text.find("= LeakyRelu(y) {alpha=0.5} [name"), std::string::npos) << text;
}

// ---- the batch ------------------------------------------------------------------------------------------------------

std::string Inputs(const std::vector<Names> &shapes) {
  Onnx m;
  for (size_t i = 0; i < shapes.size(); i++) {
    m.Input("x" + std::to_string(i), FLOAT, shapes[i]);
    m.Node("Relu", {"x" + std::to_string(i)}, {"y" + std::to_string(i)});
    m.Output("y" + std::to_string(i));
  }
  std::string all = m.Import(), inputs;
  if (isdigit((unsigned char)all[0])) return all;
  for (size_t at = 0; (at = all.find(": float32[", at)) != std::string::npos && all[at - 2] == 'x'; at++)
    inputs += all.substr(at + 9, all.find('\n', at) - at - 9);
  return inputs;
}

TEST(OnnxTest, TheBatchHasManyNames) {
  EXPECT_EQ(Inputs({{"N", "3"}}), "[N,3]");
  EXPECT_EQ(Inputs({{"", "3"}}), "[N,3]");
  EXPECT_EQ(Inputs({{"unk__1/2", "3"}}), "[N,3]");
  EXPECT_EQ(Inputs({{"s0", "3"}, {"s1", "4"}}), "[s0,3][s0,4]");
  EXPECT_EQ(Inputs({{"N", "3"}, {"4", "N"}}), "[N,3][4,N]");
  EXPECT_EQ(Inputs({{"5", "B", "2"}}), "[5,B,2]");
  EXPECT_EQ(Inputs({{"5", "2"}}), "[5,2]");
  EXPECT_EQ(Inputs({{}}), "[]");
}

TEST(OnnxTest, MultiplesOfTheBatch) {
  EXPECT_EQ(Inputs({{"2*N", "3"}, {"N", "4"}}), "[2*N,3][N,4]");
  EXPECT_EQ(Inputs({{"2*B+1"}, {"5", "B"}}), "[2*B+1][5,B]");
  EXPECT_EQ(Inputs({{"99999999999*N"}}), "[N]");  // a name like any other
  EXPECT_EQ(Inputs({{"2*"}}), "[N]");
  EXPECT_EQ(Inputs({{"2*N+"}}), "[N]");
}

TEST(OnnxTest, OtherOpenExtentsAreRefused) {
  EXPECT_EQ(Inputs({{"N", "time"}}),
            "69: input 'x0': its extent along axis 1 is left open ('time'); only the batch, here N may be: say what "
            "it is with --dim time=NUMBER, or export the model with a number there");
  EXPECT_NE(Inputs({{"5", "B", "C"}}).find("69: input 'x0': its extent along axis 2"), std::string::npos);
  EXPECT_NE(Inputs({{"5", ""}}).find("69: input 'x0': its extent along axis 1"), std::string::npos);
  EXPECT_NE(Inputs({{"N", "-3"}}).find("65: input 'x0': "), std::string::npos);
  EXPECT_NE(Inputs({Names(9, "1")}).find("69: input 'x0': it has rank 9"), std::string::npos);
}

// ---- tensors --------------------------------------------------------------------------------------------------------

TEST(OnnxTest, InitializersByUse) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "3"});
  m.Input("w", FLOAT, {"3"});  // old files list initializers among the inputs
  m.Initializer("w", {3}, std::vector<float>{1, 2, 3});
  m.Initializer("unused", {1}, std::vector<float>{9});
  m.Initializer("shape", {2}, Integers{-1, 3});
  m.Initializer("ratio", {}, std::vector<float>{0.2f});
  m.Initializer("table", {2}, Integers{4, 5});
  m.Node("Mul", {"x", "w"}, {"a"});
  m.Node("Identity", {"w"}, {"tied"});
  m.Node("Add", {"a", "tied"}, {"b"});
  m.Node("Reshape", {"b", "shape"}, {"c"});
  m.Node("Dropout", {"c", "ratio"}, {"d"});
  m.Output("d");
  m.Output("table");
  EXPECT_EQ(m.Import(),
            "parameter w: float32[3] = tensor [1, 2, 3]\n"
            "input x: float32[N,3]\n"
            "constant table: int64[2] = [4, 5]\n"
            "a: float32[N,3] = Mul(x, w) [name=n_a]\n"
            "b: float32[N,3] = Add(a, w) [name=n_b]\n"
            "c: float32[N,3] = Reshape(b) {shape=[-1,3]} [name=n_c]\n"
            "d: float32[N,3] = Dropout(c) {ratio=0.2} [name=n_d]\n"
            "output d\noutput table\n");
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string s;
  for (int byte : bytes) s += (char)byte;
  return s;
}

std::string ConstantOf(Onnx &m, Dp__Onnx__Tensor *tensor) {
  m.Node("Constant", {}, {"c"}, {m.Tensor("value", tensor)});
  m.Output("c");
  return m.Import();
}

TEST(OnnxTest, DataOfEveryForm) {
  {
    Onnx m;
    EXPECT_EQ(ConstantOf(m, m.Raw("t", 10, {2}, Bytes({0, 0x3C, 0, 0x40}))).substr(0, 21), "constant c: float16[2");
  }
  {
    Onnx m;
    EXPECT_EQ(ConstantOf(m, m.Raw("t", BOOL, {2}, Bytes({0, 1}))), "constant c: bool[2] = [0, 1]\noutput c\n");
  }
  {
    Onnx m;
    EXPECT_EQ(ConstantOf(m, m.Raw("t", FLOAT, {0, 3}, "")), "constant c: float32[0,3] = []\noutput c\n");
  }
  for (int type : {2, 3, 4, 5, (int)INT32, (int)BOOL}) {  // int32_data
    Onnx m;
    int32_t numbers[] = {1, 0};
    Dp__Onnx__Tensor *t = m.Raw("t", type, {2}, "");
    t->n_int32_data = 2;
    t->int32_data = numbers;
    EXPECT_NE(ConstantOf(m, t).find("[2] = [1, 0]"), std::string::npos) << type;
  }
  for (int type : {12, 13}) {  // uint64_data
    Onnx m;
    uint64_t numbers[] = {7, 8};
    Dp__Onnx__Tensor *t = m.Raw("t", type, {2}, "");
    t->n_uint64_data = 2;
    t->uint64_data = numbers;
    EXPECT_NE(ConstantOf(m, t).find("[2] = [7, 8]"), std::string::npos) << type;
  }
  Onnx m;
  double numbers[] = {0.5, 0.25};
  Dp__Onnx__Tensor *t = m.Raw("t", DOUBLE, {2}, "");
  t->n_double_data = 2;
  t->double_data = numbers;
  EXPECT_NE(ConstantOf(m, t).find("float64[2] = [0.5, 0.25]"), std::string::npos);
}

TEST(OnnxTest, ExternalData) {
  Onnx m;
  std::string data(64, '\0');
  const float numbers[] = {1, 2, 3};
  data.replace(16, sizeof numbers, (const char *)numbers, sizeof numbers);
  std::string file = WriteFile("w.data", data);
  m.External("w", {3}, {{"location", "w.data"}, {"offset", "16"}, {"length", "12"}});
  m.External("again", {3}, {{"location", "w.data"}, {"offset", "16"}, {"length", "12"}});
  m.External("zeros", {4}, {{"location", "./w.data"}});
  for (const char *name : {"w", "again", "zeros"}) m.Output(name);
  EXPECT_EQ(m.Import(),
            "parameter w: float32[3] = tensor [1, 2, 3]\n"
            "parameter again: float32[3] = tensor [1, 2, 3]\n"
            "parameter zeros: float32[4] = tensor [0, 0, 0, 0]\n"
            "output w\noutput again\noutput zeros\n");
}

// ---- BatchNormalization ---------------------------------------------------------------------------------------------

std::string Normalize(int64_t opset, const Names &results, bool training, bool own) {
  Onnx m(opset);
  m.Input("x", FLOAT, {"N", "1"});
  for (const char *name : {"scale", "bias", "mean", "var"}) {
    if (own || name[0] == 's' || name[0] == 'b')
      m.Initializer(name, {1}, std::vector<float>{1});
    else
      m.Input(name, FLOAT, {"1"});
  }
  Dp__Onnx__Node *node = m.Node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, results,
                                {m.Float("momentum", 0.9f), m.Float("epsilon", 1e-5f)});
  if (training) m.Node("BatchNormalization", {}, {}, {m.Int("training_mode", 1)});
  if (training) {  // keeps the attribute
    node->n_attribute = 3;
    Dp__Onnx__Attribute *all[] = {node->attribute[0], node->attribute[1], m.graph->node[1]->attribute[0]};
    node->attribute = all;
    m.graph->n_node = 1;
    m.Output("y");
    return m.Import();
  }
  m.Output("y");
  return m.Import();
}

TEST(OnnxTest, BatchNormalizationOfSeveralTypes) {
  const auto import = [](int of_x, int of_scale, int of_statistics) {
    Onnx m(15);
    m.Input("x", of_x, {"N", "1"});
    for (const char *name : {"scale", "bias"}) m.Input(name, of_scale, {"1"});
    for (const char *name : {"mean", "var"}) m.Input(name, of_statistics, {"1"});
    m.Node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"});
    m.Output("y");
    return m.Import();
  };
  EXPECT_EQ(import(FLOAT16, FLOAT, FLOAT),
            "input x: float16[N,1]\ninput scale: float32[1]\ninput bias: float32[1]\ninput mean: float32[1]\n"
            "input var: float32[1]\ny: float16[N,1] = BatchNormalization(x, scale, bias, mean, var) [name=n_y]\n"
            "output y\n");
  EXPECT_EQ(import(FLOAT16, FLOAT16, FLOAT),
            "input x: float16[N,1]\ninput scale: float16[1]\ninput bias: float16[1]\ninput mean: float32[1]\n"
            "input var: float32[1]\nn_y/Cast: float32[1] = Cast(scale) {to=float32}\n"
            "n_y/Cast.1: float32[1] = Cast(bias) {to=float32}\n"
            "y: float16[N,1] = BatchNormalization(x, n_y/Cast, n_y/Cast.1, mean, var) [name=n_y]\noutput y\n");
}

TEST(OnnxTest, TrainingFormKeepsItsBuffers) {
  const std::string buffers =
      "parameter scale: float32[1] = tensor [1]\nparameter bias: float32[1] = tensor [1]\n"
      "buffer mean: float32[1] = tensor [1]\nbuffer var: float32[1] = tensor [1]\ninput x: float32[N,1]\n";
  EXPECT_EQ(Normalize(15, {"y", "m", "v"}, true, true),
            buffers +
                "y: float32[N,1], m: float32[1], v: float32[1] = BatchNormalization(x, scale, bias, mean, var) "
                "{momentum=0.9, epsilon=1e-05, training_mode=1, unbiased=1} [name=n_y]\noutput y\n");
  EXPECT_EQ(Normalize(15, {"y"}, false, true),
            buffers +
                "y: float32[N,1] = BatchNormalization(x, scale, bias, mean, var) {momentum=0.9, epsilon=1e-05} "
                "[name=n_y]\noutput y\n");
  // Before opset 14 the number of results shows whether it is training.
  EXPECT_EQ(Normalize(9, {"y", "m", "v", "sm", "sv"}, false, true), Normalize(15, {"y", "m", "v"}, true, true));
  // Statistics that are inputs follow ONNX: biased.
  EXPECT_EQ(Normalize(15, {"y", "m", "v"}, true, false).find("unbiased"), std::string::npos);
}

// ---- opsets ---------------------------------------------------------------------------------------------------------

std::string One(int64_t opset, const std::string &op, const std::function<Attributes(Onnx &)> &attributes,
                const Names &dims = {"N", "2", "3"}) {
  Onnx m(opset);
  m.Input("x", FLOAT, dims);
  m.Node(op, {"x"}, {"y"}, attributes(m));
  m.Output("y");
  std::string text = m.Import();
  size_t at = text.find('\n') + 1;
  return isdigit((unsigned char)text[0]) ? text : text.substr(at, text.rfind("output") - at);
}

TEST(OnnxTest, SoftmaxWasOfAMatrix) {
  auto axis = [](int64_t n) { return [n](Onnx &m) { return Attributes{m.Int("axis", n)}; }; };
  auto none = [](Onnx &) { return Attributes{}; };
  EXPECT_EQ(One(13, "Softmax", none), "y: float32[N,2,3] = Softmax(x) [name=n_y]\n");
  EXPECT_EQ(One(13, "Softmax", axis(1)), "y: float32[N,2,3] = Softmax(x) {axis=1} [name=n_y]\n");
  EXPECT_EQ(One(12, "Softmax", axis(2)), "y: float32[N,2,3] = Softmax(x) {axis=-1} [name=n_y]\n");
  EXPECT_EQ(One(12, "Softmax", none, {"N", "3"}), "y: float32[N,3] = Softmax(x) {axis=-1} [name=n_y]\n");
  EXPECT_EQ(One(12, "LogSoftmax", none),
            "n_y/Flatten: float32[N,6] = Flatten(x) {axis=1}\n"
            "n_y/LogSoftmax: float32[N,6] = LogSoftmax(n_y/Flatten) {axis=-1}\n"
            "n_y/Reshape: float32[N,2,3] = Reshape(n_y/LogSoftmax) {shape=[N,2,3]}\n");
  EXPECT_EQ(One(12, "Softmax", axis(4)).substr(0, 3), "65:");
}

TEST(OnnxTest, AttributesThatBecameOperands) {
  auto axes = [](Onnx &m) { return Attributes{m.Ints("axes", {1}), m.Int("keepdims", 0)}; };
  EXPECT_EQ(One(11, "ReduceSum", axes), "y: float32[N,3] = ReduceSum(x) {axes=[1], keepdims=0} [name=n_y]\n");
  EXPECT_EQ(One(11, "Dropout", [](Onnx &m) { return Attributes{m.Float("ratio", 0.3f)}; }),
            "y: float32[N,2,3] = Dropout(x) {ratio=0.3} [name=n_y]\n");
  EXPECT_EQ(One(12, "Unsqueeze", [](Onnx &m) { return Attributes{m.Ints("axes", {0})}; }),
            "y: float32[1,N,2,3] = Unsqueeze(x) {axes=[0]} [name=n_y]\n");
}

TEST(OnnxTest, AttributesThatSayNothingNew) {
  auto norm = [](int64_t stash_type) {
    return One(17, "ArgMax", [stash_type](Onnx &m) { return Attributes{m.Int("storage_order", stash_type)}; });
  };
  EXPECT_EQ(norm(0), "69: node 'n_y' (ArgMax): attribute 'storage_order' of ArgMax (0) is not supported");
  auto pool = [](int64_t order) {
    return One(12, "MaxPool", [order](Onnx &m) {
      return Attributes{m.Ints("kernel_shape", {1}), m.Int("storage_order", order)};
    });
  };
  EXPECT_EQ(pool(1), "y: float32[N,2,3] = MaxPool(x) {kernel_shape=[1], storage_order=1} [name=n_y]\n");
}

TEST(OnnxTest, OpsetsThatAreRead) {
  auto none = [](Onnx &) { return Attributes{}; };
  for (int64_t opset : {6, 28}) EXPECT_EQ(One(opset, "Relu", none), "y: float32[N,2,3] = Relu(x) [name=n_y]\n");
  EXPECT_EQ(One(5, "Relu", none), "69: opset 5 is not supported; 6 to 28 are");
  EXPECT_EQ(One(29, "Relu", none), "69: opset 29 is not supported; 6 to 28 are");
  EXPECT_EQ(One(0, "Relu", none), "69: opset 0 is not supported; 6 to 28 are");
}

// Before opset 7, dims lined up from `axis` on, and a PRelu's slopes along axis 1.
TEST(OnnxTest, BroadcastingWasByAxis) {
  auto two = [](const std::string &op, const Names &second, const std::function<Attributes(Onnx &)> &attributes) {
    Onnx m(6);
    m.Input("x", FLOAT, {"2", "3", "4", "5"});
    m.Input("b", FLOAT, second);
    m.Node(op, {"x", "b"}, {"y"}, attributes(m));
    m.Output("y");
    std::string text = m.Import();
    size_t at = text.find("float32", text.find("input b"));
    return isdigit((unsigned char)text[0]) ? text : text.substr(text.find('\n', at) + 1);
  };
  auto at = [](int64_t axis) {
    return [axis](Onnx &m) { return Attributes{m.Int("broadcast", 1), m.Int("axis", axis)}; };
  };
  auto none = [](Onnx &) { return Attributes{}; };
  EXPECT_EQ(two("Add", {"3", "4"}, at(1)),
            "n_y/Reshape: float32[3,4,1] = Reshape(b) {shape=[3,4,1]}\n"
            "y: float32[2,3,4,5] = Add(x, n_y/Reshape) [name=n_y]\noutput y\n");
  EXPECT_EQ(two("Mul", {"4", "5"}, [](Onnx &m) { return Attributes{m.Int("broadcast", 1)}; }),
            "y: float32[2,3,4,5] = Mul(x, b) [name=n_y]\noutput y\n");
  for (int64_t axis : {int64_t{3}, int64_t{5}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(two("Add", {"3", "4"}, at(axis)).substr(0, 3), "65:") << axis;
  EXPECT_EQ(two("PRelu", {"3"}, none),
            "n_y/Reshape: float32[3,1,1] = Reshape(b) {shape=[3,1,1]}\n"
            "y: float32[2,3,4,5] = PRelu(x, n_y/Reshape) [name=n_y]\noutput y\n");
  EXPECT_EQ(two("PRelu", {"1"}, none), "y: float32[2,3,4,5] = PRelu(x, b) [name=n_y]\noutput y\n");
}

// One operand in the file; older opsets had the other two as attributes.
TEST(OnnxTest, AttributesBecomeMoreOperandsThanThereAre) {
  EXPECT_EQ(One(6, "Pad",
                [](Onnx &m) {
                  return Attributes{m.Ints("pads", {0, 1, 0, 0, 0, 2}), m.Float("value", 2)};
                },
                {"1", "2", "3"}),
            "y: float32[1,3,5] = Pad(x) {pads=[0,1,0,0,0,2], constant_value=2.0} [name=n_y]\n");
}

TEST(OnnxTest, ResizeCountedInOneWayInOpset10) {
  Onnx m(10);
  m.Input("x", FLOAT, {"N", "3"});
  m.Initializer("scales", {2}, std::vector<float>{1, 2});
  m.Node("Resize", {"x", "scales"}, {"y"}, {m.String("mode", "linear")});
  m.Output("y");
  std::string text = m.Import();
  for (const char *part : {"y: float32[N,6] = Resize(x) {", "mode=\"linear\"", "scales=[1.0,2.0]",
                           "nearest_mode=\"floor\"", "coordinate_transformation_mode=\"asymmetric\""})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST(OnnxTest, TheTransformHadAnotherAxisBeforeOpset20) {
  auto none = [](Onnx &) { return Attributes{}; };
  EXPECT_EQ(One(19, "DFT", none, {"N", "2", "3", "1"}), "y: float32[N,2,3,2] = DFT(x) {axis=1} [name=n_y]\n");
  EXPECT_EQ(One(20, "DFT", none, {"N", "2", "3", "1"}), "y: float32[N,2,3,2] = DFT(x) [name=n_y]\n");
}

TEST(OnnxTest, WholeNumbersMayBeFloats) {
  auto depth = [](float number) {
    Onnx m;
    m.Input("x", INT64, {"3"});
    m.ConstantFloat("depth", number);
    m.Initializer("values", {2}, std::vector<float>{0, 1});
    m.Node("OneHot", {"x", "depth", "values"}, {"y"});
    m.Output("y");
    return m.Import();
  };
  EXPECT_NE(depth(4).find("y: float32[3,4] = OneHot("), std::string::npos) << depth(4);
  EXPECT_NE(depth(4.5).find("it is float32, and 4.5 where integers are expected"), std::string::npos) << depth(4.5);
}

// ---- inputs that must be known ------------------------------------------------------------------------------------

// The names of the needed inputs; or the message.
std::string Needs(const Onnx &m) {
  dp_test::Arena arena;
  std::string bytes = m.Bytes(), names;
  size_t count;
  bool *needed;
  dp_status status = dp_onnx_needs(arena, "m.onnx", bytes.data(), bytes.size(), &count, &needed);
  if (status) {
    names = std::to_string(dp_status_code(status)) + ": " + dp_status_message(status);
    dp_status_free(status);
    return names;
  }
  EXPECT_EQ(count, m.graph->n_input);
  for (size_t i = 0; i < count; i++)
    if (needed[i]) names += std::string(names.empty() ? "" : " ") + m.graph->input[i]->name;
  return names;
}

TEST(OnnxTest, InputsThatAreNeededBeforehand) {
  Onnx m;
  m.Input("x", FLOAT, {"2", "6"});
  m.Input("shape", INT64, {"1"});
  m.Input("more", INT64, {"1"});
  m.Input("start", FLOAT, {});
  m.Input("like", FLOAT, {"2", "3"});
  m.Input("weight", FLOAT, {"12"});
  m.Node("Concat", {"shape", "more"}, {"both"}, {m.Int("axis", 0)});  // part of a shape
  m.Node("Reshape", {"x", "both"}, {"r"});
  m.Node("Shape", {"like"}, {"extents"});  // its elements do not matter
  m.Node("Reshape", {"x", "extents"}, {"q"});
  m.Node("Range", {"start", "start", "start"}, {"line"});  // has no operator
  m.Node("Mul", {"r", "weight"}, {"y"});
  for (const char *name : {"y", "q", "line"}) m.Output(name);
  EXPECT_EQ(Needs(m), "shape more start");
  EXPECT_TRUE(dp_onnx_knows("ai.onnx", "Scatter", 10) && dp_onnx_knows("", "Range", 11) &&
              dp_onnx_knows("", "Conv", 9));
  EXPECT_FALSE(dp_onnx_knows("", "Frobnicate", 11) || dp_onnx_knows("elsewhere", "Conv", 11));
  Onnx other;
  other.Input("x", FLOAT, {"2"});
  other.Node("Frobnicate", {"x"}, {"y"});
  other.Output("y");
  EXPECT_EQ(Needs(other),
            "69: m.onnx: the operator Frobnicate (opset 18) is not supported; `dpc ops` lists those that are");
}

TEST(OnnxTest, OperatorsOfManyOperands) {
  Onnx m;
  Names xs;
  for (int i = 0; i < 10; i++) {
    xs.push_back("x" + std::to_string(i));
    m.Input(xs.back(), FLOAT, {"N", "1"});
  }
  m.Node("Concat", xs, {"c"}, {m.Int("axis", 1)});
  m.Node("Sum", {"x0", "x1", "x2"}, {"s"});
  m.Node("Sum", {"x0"}, {"t"});
  for (const char *name : {"c", "s", "t"}) m.Output(name);
  std::string text = m.Import();
  EXPECT_EQ(text.substr(text.find("c/1:")),
            "c/1: float32[N,8] = Concat(x0, x1, x2, x3, x4, x5, x6, x7) {axis=1} [name=n_c/1]\n"
            "c: float32[N,10] = Concat(c/1, x8, x9) {axis=1} [name=n_c]\n"
            "s/1: float32[N,1] = Add(x0, x1) [name=n_s/1]\n"
            "s: float32[N,1] = Add(s/1, x2) [name=n_s]\n"
            "output c\noutput s\noutput t = x0\n");
}

// ---- functions ------------------------------------------------------------------------------------------------------

TEST(OnnxTest, FunctionsAreInlined) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "2"});
  m.Function(
      "Twice", {"a", "b"}, {"r"},
      {m.Loose("Add", {"a", "b"}, {"sum"}), m.Loose("Softmax", {"sum"}, {"r"}, {m.Reference("axis", 2, "along")})});
  Dp__Onnx__Node *call = m.Node("Twice", {"x", "x"}, {"y"}, {m.Int("along", 0)});
  Dp__Onnx__Node *bare = m.Node("Twice", {"y", "x"}, {"z"});
  call->domain = bare->domain = const_cast<char *>("own");
  m.Output("z");
  EXPECT_EQ(m.Import(),
            "input x: float32[N,2]\n"
            "n_y/sum: float32[N,2] = Add(x, x) [name=n_y/n_sum]\n"
            "n_y/r: float32[N,2] = Softmax(n_y/sum) {axis=0} [name=n_y/n_r]\n"
            "n_z/sum: float32[N,2] = Add(n_y/r, x) [name=n_z/n_sum]\n"
            "n_z/r: float32[N,2] = Softmax(n_z/sum) [name=n_z/n_r]\n"
            "output z = n_z/r\n");
}

// ---- what is not supported ------------------------------------------------------------------------------------------

TEST(OnnxTest, WhatIsMissingIsNamed) {
  auto none = [](Onnx &) { return Attributes{}; };
  EXPECT_EQ(One(18, "NoSuchOperator", none),
            "69: node 'n_y' (NoSuchOperator): the operator NoSuchOperator (opset 18) is not supported; `dpc ops` lists "
            "those that are");
  Onnx m;
  m.Input("x", STRING_TYPE, {"N"});
  m.Output("x");
  EXPECT_EQ(m.Import(), "69: input 'x': it has element type string, which is not supported");
}

}  // namespace
