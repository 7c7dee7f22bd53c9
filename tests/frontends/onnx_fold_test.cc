// Shape arithmetic is evaluated at import, with the batch as a symbol.
#include "tests/frontends/onnx_builder.h"

namespace {

// The Reshape of x [N,6,4] (or [6,4]) to the shape "s" that `build` computes: its line, or the error.
std::string Shape(const std::function<void(Onnx &)> &build, const Names &dims = {"N", "6", "4"}, int64_t opset = 18) {
  Onnx m(opset);
  m.Input("x", FLOAT, dims);
  build(m);
  m.Node("Reshape", {"x", "s"}, {"y"});
  m.Output("y");
  std::string text = m.Import();
  size_t at = text.find("{shape=");
  return at == std::string::npos ? text : text.substr(at + 7, text.find('}', at) - at - 7);
}

// The elements of "s", as a constant with its type.
std::string Known(const std::function<void(Onnx &)> &build, int64_t opset = 18) {
  Onnx m(opset);
  m.Input("x", FLOAT, {"N", "6", "4"});
  build(m);
  m.Output("s");
  std::string text = m.Import();
  size_t at = text.find("constant s: ");
  return at == std::string::npos ? text : text.substr(at + 12, text.find('\n', at) - at - 12);
}

TEST(OnnxFoldTest, TheViewOfPyTorch) {
  EXPECT_EQ(Shape([](Onnx &m) {
              m.Node("Shape", {"x"}, {"shape"});
              m.Constant("zero", {0});
              m.Node("Gather", {"shape", "zero"}, {"n"}, {m.Int("axis", 0)});
              m.Node("Squeeze", {"n", "zero"}, {"scalar"});
              m.Node("Unsqueeze", {"scalar", "zero"}, {"again"});
              m.Constant("rest", {-1});
              m.Node("Concat", {"again", "rest"}, {"s"}, {m.Int("axis", 0)});
            }),
            "[N,-1]");
}

TEST(OnnxFoldTest, ShapesArePartsOfShapes) {
  EXPECT_EQ(Shape([](Onnx &m) {
              m.Node("Shape", {"x"}, {"a"}, {m.Int("end", 1)});
              m.Node("Shape", {"x"}, {"b"}, {m.Int("start", -1)});
              m.Node("Shape", {"x"}, {"c"}, {m.Int("start", 1), m.Int("end", 2)});
              m.Node("Concat", {"b", "a", "c"}, {"s"}, {m.Int("axis", 0)});
            }),
            "[4,N,6]");
  EXPECT_EQ(Shape([](Onnx &m) {
              m.Node("Shape", {"x"}, {"shape"});
              m.Constant("starts", {INT64_MAX});
              m.Constant("ends", {INT64_MIN});
              m.Constant("axes", {0});
              m.Constant("steps", {-1});
              m.Node("Slice", {"shape", "starts", "ends", "axes", "steps"}, {"s"});
            }),
            "[4,6,N]");
  EXPECT_EQ(Shape(
                [](Onnx &m) {
                  m.Node("Shape", {"x"}, {"shape"});
                  m.Node("Slice", {"shape"}, {"b"}, {m.Ints("starts", {1}), m.Ints("ends", {3})});
                  m.Node("Slice", {"shape"}, {"a"}, {m.Ints("starts", {0}), m.Ints("ends", {-2}), m.Ints("axes", {0})});
                  m.Node("Concat", {"b", "a"}, {"s"}, {m.Int("axis", 0)});
                },
                {"N", "6", "4"}, 9),
            "[6,4,N]");
  EXPECT_EQ(Shape([](Onnx &m) {
              m.Node("Shape", {"x"}, {"shape"});
              m.Node("Split", {"shape"}, {"a", "b", "c"}, {m.Int("num_outputs", 3)});
              m.Node("Concat", {"c", "b", "a"}, {"s"}, {m.Int("axis", 0)});
            }),
            "[4,6,N]");
}

TEST(OnnxFoldTest, ArithmeticWithTheBatch) {
  auto with = [](const std::string &op, int64_t by) {
    return Shape([&](Onnx &m) {
      m.Node("Size", {"x"}, {"size"});  // 24 N
      m.Constant("by", {by});
      m.Node(op, {"size", "by"}, {"s"});
    });
  };
  EXPECT_EQ(with("Mul", 1), "[24*N]");
  EXPECT_EQ(with("Div", -1).substr(0, 3), "65:");  // -24 N is no extent
  EXPECT_EQ(Shape([](Onnx &m) {
              m.Node("Shape", {"x"}, {"shape"});
              m.Constant("by", {2, 3, 1});
              m.Constant("plus", {0, 22, 0});
              m.Constant("minus", {0, 0, 2});
              m.Constant("over", {1, 20, 1});
              m.Node("Mul", {"shape", "by"}, {"a"});  // 2N 18 4
              m.Node("Add", {"a", "plus"}, {"b"});    // 2N 40 4
              m.Node("Sub", {"b", "minus"}, {"c"});   // 2N 40 2
              m.Node("Div", {"c", "over"}, {"d"});    // 2N 2 2
              m.Constant("three", {3});
              m.Node("Concat", {"d", "three"}, {"s"}, {m.Int("axis", 0)});
            }),
            "[2*N,2,2,3]");
  EXPECT_EQ(Shape([](Onnx &m) {
              m.Node("Shape", {"x"}, {"shape"});
              m.Node("ReduceProd", {"shape"}, {"all"}, {m.Int("keepdims", 1)});
              m.Constant("four", {4});
              m.Node("Div", {"all", "four"}, {"left"});
              m.Node("Mod", {"all", "four"}, {"none"});
              m.Node("Add", {"left", "none"}, {"sum"});
              m.Node("Concat", {"sum", "four"}, {"s"}, {m.Int("axis", 0)});
            }),
            "[6*N,4]");
}

// expand(-1, 6, 4), as PyTorch exports it: -1 is replaced by 1.
TEST(OnnxFoldTest, WhereAndEqualOnShapes) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "1", "4"});
  m.Node("Shape", {"x"}, {"shape"}, {m.Int("end", 1)});
  m.Constant("others", {6, -1});
  m.Node("Concat", {"shape", "others"}, {"wish"}, {m.Int("axis", 0)});
  m.Constant("minus", {-1});
  m.Constant("three", {3});
  m.Node("ConstantOfShape", {"three"}, {"ones"},
         {m.Tensor("value", m.Raw("t", INT64, {1}, std::string("\1\0\0\0\0\0\0\0", 8)))});
  m.Node("Mul", {"ones", "minus"}, {"negative"});
  m.Node("Equal", {"wish", "negative"}, {"open"});
  m.Node("Where", {"open", "ones", "wish"}, {"final"});
  m.Node("Expand", {"x", "final"}, {"y"});
  m.Output("y");
  EXPECT_EQ(m.Import(),
            "input x: float32[N,1,4]\n"
            "y: float32[N,6,4] = Expand(x) {shape=[N,6,1]} [name=n_y]\n"
            "output y\n");
}

TEST(OnnxFoldTest, WhatDependsOnTheBatchIsNotGuessed) {
  auto compare = [](const std::string &op, int64_t with) {
    return Known([&](Onnx &m) {
      m.Node("Shape", {"x"}, {"shape"}, {m.Int("end", 1)});
      m.Constant("with", {with});
      m.Node(op, {"shape", "with"}, {"s"});
    });
  };
  EXPECT_EQ(compare("Equal", -1), "bool[1] = [0]");  // N is never negative
  EXPECT_EQ(compare("Greater", -1), "bool[1] = [1]");
  EXPECT_EQ(compare("Less", -5), "bool[1] = [0]");
  // N may be 3: computed when the network runs.
  EXPECT_NE(compare("Equal", 3).find("s: bool[1] = Equal("), std::string::npos);
}

TEST(OnnxFoldTest, TheBatchAsANumberOfTheNetwork) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "6"});
  m.Node("Shape", {"x"}, {"shape"});
  m.Node("Cast", {"shape"}, {"s"}, {m.Int("to", FLOAT)});
  m.Output("s");
  EXPECT_EQ(m.Import(),
            "input x: float32[N,6]\n"
            "constant shape/scale: int64[2] = [1, 0]\n"
            "constant shape/offset: int64[2] = [0, 6]\n"
            "shape/Mul: int64[2] = Mul(shape/scale, dp.n)\n"
            "shape/Add: int64[2] = Add(shape/Mul, shape/offset)\n"
            "s: float32[2] = Cast(shape/Add) {to=float32} [name=n_s]\n"
            "output s\n");
}

TEST(OnnxFoldTest, MovesOfKnownElements) {
  auto grid = [](Onnx &m) {  // [[0,1,2],[3,4,5]]
    m.Constant("start", {0});
    m.Node("Constant", {}, {"zero"}, {m.Int("value_int", 0)});
    m.Node("Constant", {}, {"six"}, {m.Int("value_int", 6)});
    m.Node("Constant", {}, {"one"}, {m.Int("value_int", 1)});
    m.Node("Range", {"zero", "six", "one"}, {"line"});
    m.Constant("form", {2, -1});
    m.Node("Reshape", {"line", "form"}, {"grid"});
  };
  EXPECT_EQ(Known([&](Onnx &m) { grid(m), m.Node("Identity", {"grid"}, {"s2"}), m.Node("Transpose", {"s2"}, {"s"}); }),
            "int64[3,2] = [0, 3, 1, 4, 2, 5]");
  EXPECT_EQ(Known([&](Onnx &m) {
              grid(m);
              m.Constant("at", {-1, 0});
              m.Node("Gather", {"grid", "at"}, {"s"}, {m.Int("axis", 1)});
            }),
            "int64[2,2] = [2, 0, 5, 3]");
  EXPECT_EQ(Known([&](Onnx &m) {
              grid(m);
              m.Constant("starts", {-1, 2});
              m.Constant("ends", {-9, 9});
              m.Constant("steps", {-1, 5});
              m.Constant("axes", {0, 1});
              m.Node("Slice", {"grid", "starts", "ends", "axes", "steps"}, {"s"});
            }),
            "int64[2,1] = [5, 2]");
  EXPECT_EQ(Known([&](Onnx &m) {
              grid(m);
              m.Node("Concat", {"grid", "grid"}, {"s"}, {m.Int("axis", 1)});
            }),
            "int64[2,6] = [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]");
  EXPECT_EQ(Known([&](Onnx &m) {
              grid(m);
              m.Constant("shape", {2, 1, 3});
              m.Node("Expand", {"one", "shape"}, {"ones"});
              m.Node("Add", {"grid", "ones"}, {"s"});
            }),
            "int64[2,2,3] = [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]");
  EXPECT_EQ(Known([&](Onnx &m) {
              grid(m);
              m.Constant("axes", {-1, 0});
              m.Node("Unsqueeze", {"line", "axes"}, {"wide"});
              m.Node("Cast", {"wide"}, {"s"}, {m.Int("to", INT32)});
            }),
            "int32[1,6,1] = [0, 1, 2, 3, 4, 5]");
}

TEST(OnnxFoldTest, Numbers) {
  auto two = [](const std::string &op, int64_t a, int64_t b) {
    return Known([&](Onnx &m) {
      m.Constant("a", {a});
      m.Constant("b", {b});
      m.Node(op, {"a", "b"}, {"s"});
    });
  };
  EXPECT_EQ(two("Div", -7, 2), "int64[1] = [-3]");
  EXPECT_EQ(two("Mod", -7, 4), "int64[1] = [1]");
  EXPECT_EQ(two("Max", -7, 4), "int64[1] = [4]");
  EXPECT_EQ(two("Min", -7, 4), "int64[1] = [-7]");
  EXPECT_EQ(two("GreaterOrEqual", 4, 4), "bool[1] = [1]");
  EXPECT_EQ(two("Less", 4, 4), "bool[1] = [0]");
  // The operator computes what is undefined in C.
  for (const char *op : {"Div", "Mod"}) EXPECT_EQ(two(op, 1, 0).find("constant s"), std::string::npos);
  EXPECT_EQ(two("Div", INT64_MIN, -1).find("constant s"), std::string::npos);
  EXPECT_EQ(two("Add", INT64_MAX, 1).find("constant s"), std::string::npos);
  EXPECT_EQ(Known([](Onnx &m) {
              m.ConstantFloat("a", 2.5f);
              m.Node("Constant", {}, {"b"}, {m.Int("value_int", 3)});
              m.Node("Cast", {"b"}, {"c"}, {m.Int("to", FLOAT)});
              m.Node("Mul", {"a", "c"}, {"d"});
              m.Node("Floor", {"d"}, {"e"});
              m.Node("Cast", {"e"}, {"s"}, {m.Int("to", INT64)});
            }),
            "int64[] = 7");
}

TEST(OnnxFoldTest, WhatIsComputedFromDataIsNoShape) {
  EXPECT_EQ(
      Shape([](Onnx &m) {
        m.Input("wanted", INT64, {"2"});
        m.Node("Identity", {"wanted"}, {"s"});
      }),
      "69: node 'n_y' (Reshape): operand 2, 'shape' ('wanted'), is computed from data or very large; only what is "
      "known before the network runs is supported there");
  EXPECT_EQ(Known([](Onnx &m) {
              m.Node("Shape", {"x"}, {"shape"});
              m.Constant("at", {3});
              m.Node("Gather", {"shape", "at"}, {"s"});
            }),
            "65: node 'n_s' (Gather): index 3 is outside of extent 3");
}

// The square root of an extent is evaluated where it leads to an extent. Where it is an operand, the network computes
// it in its own precision.
TEST(OnnxFoldTest, FloatArithmeticIsNotRounded) {
  auto root = [](Onnx &m) {
    m.Constant("six", {6});
    m.Node("Cast", {"six"}, {"float"}, {m.Int("to", FLOAT)});
    m.Node("Sqrt", {"float"}, {"root"});
  };
  Onnx m;
  m.Input("x", FLOAT, {"N", "6", "4"});
  root(m);
  m.Node("Mul", {"x", "root"}, {"y"});
  m.Output("y");
  EXPECT_NE(m.Import().find("root: float32[1] = Sqrt(float)"), std::string::npos) << m.Import();
  EXPECT_EQ(Shape([&](Onnx &m) {
              root(m);
              m.Node("Floor", {"root"}, {"floor"});
              m.Node("Cast", {"floor"}, {"two"}, {m.Int("to", INT64)});
              m.Constant("rest", {-1});
              m.Node("Concat", {"two", "rest"}, {"s"}, {m.Int("axis", 0)});
            }),
            "[2,-1]");
}

// Values that are only moved are not rounded either: the angles of a rotary embedding, joined.
TEST(OnnxFoldTest, MovedFloatArithmeticIsNotRounded) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "2"});
  m.Constant("six", {6});
  m.Node("Cast", {"six"}, {"float"}, {m.Int("to", FLOAT)});
  m.Node("Sqrt", {"float"}, {"root"});
  m.Node("Concat", {"root", "root"}, {"roots"}, {m.Int("axis", 0)});
  m.Node("Mul", {"x", "roots"}, {"y"});
  m.Output("y");
  EXPECT_NE(m.Import().find("roots: float32[2] = Concat(root, root)"), std::string::npos) << m.Import();
}

TEST(OnnxFoldTest, RangesOfFloats) {
  auto range = [](float start, float limit, float delta) {
    return Known([=](Onnx &m) {
      m.ConstantFloat("start", start);
      m.ConstantFloat("limit", limit);
      m.ConstantFloat("delta", delta);
      m.Node("Range", {"start", "limit", "delta"}, {"s"});
    });
  };
  EXPECT_EQ(range(1, 2.1f, 0.5f), "float32[3] = [1, 1.5, 2]");
  EXPECT_EQ(range(3, 0, -1.5f), "float32[2] = [3, 1.5]");
  EXPECT_EQ(range(0, -1, 1), "float32[0] = []");
  EXPECT_NE(range(0, 1, 0).find("65:"), std::string::npos) << range(0, 1, 0);
  EXPECT_NE(range(0, 0, 0).find("65:"), std::string::npos) << range(0, 0, 0);
}

TEST(OnnxFoldTest, CastLikeLooksAtATypeOnly) {
  EXPECT_EQ(Known([](Onnx &m) {
              m.Constant("number", {3});
              m.Node("CastLike", {"number", "x"}, {"s"});
            }),
            "float32[1] = [3]");
}

}  // namespace
