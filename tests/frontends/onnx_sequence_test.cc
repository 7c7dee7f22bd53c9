// Sequences of tensors disappear at import: their users read the tensors directly.
#include "tests/frontends/onnx_builder.h"

namespace {

bool Has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// The result for x [N,6,4] and the numbers 0 to 3 and -1.
std::string Made(const std::function<void(Onnx &)> &build) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "6", "4"});
  for (int64_t i = -1; i < 4; i++) m.Node("Constant", {}, {std::to_string(i)}, {m.Int("value_int", i)});
  build(m);
  m.Output("y");
  return m.Import();
}

TEST(OnnxSequenceTest, PartsOfGivenSizes) {
  std::string text = Made([](Onnx &m) {
    m.Constant("sizes", {1, 2, 3});
    m.Node("SplitToSequence", {"x", "sizes"}, {"s"}, {m.Int("axis", 1)});
    m.Node("SequenceAt", {"s", "1"}, {"b"});
    m.Node("SequenceAt", {"s", "-1"}, {"c"});
    m.Node("Concat", {"c", "b"}, {"y"}, {m.Int("axis", 1)});
  });
  EXPECT_TRUE(Has(text,
                  "n_s/0: float32[N,1,4], n_s/1: float32[N,2,4], n_s/2: float32[N,3,4] = Split(x) {axis=1, "
                  "split=[1,2,3]}"))
      << text;
  EXPECT_TRUE(Has(text, "y: float32[N,5,4] = Concat(n_s/2, n_s/1) {axis=1}")) << text;
}

TEST(OnnxSequenceTest, PartsOfOneSize) {
  // 6 in parts of four: 4 and 2; without sizes: ones, whose dim is dropped with keepdims=0.
  std::string text = Made([](Onnx &m) {
    m.Node("Add", {"3", "1"}, {"four"});
    m.Node("SplitToSequence", {"x", "four"}, {"s"}, {m.Int("axis", -2)});
    m.Node("SequenceAt", {"s", "1"}, {"y"});
  });
  EXPECT_TRUE(Has(text, "n_s/0: float32[N,4,4], n_s/1: float32[N,2,4] = Split(x)")) << text;
  text = Made([](Onnx &m) {
    m.Node("SplitToSequence", {"x"}, {"s"}, {m.Int("axis", 2), m.Int("keepdims", 0)});
    m.Node("ConcatFromSequence", {"s"}, {"y"}, {m.Int("axis", 0), m.Int("new_axis", 1)});
  });
  EXPECT_TRUE(Has(text, "n_s/squeezed3: float32[N,6] = Squeeze(n_s/3) {axes=[2]}")) << text;
  EXPECT_TRUE(Has(text, "float32[4,N,6] = Concat(")) << text;
}

// More parts than an operator has results: a Slice for each.
TEST(OnnxSequenceTest, ManyParts) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "20"});
  m.Node("SplitToSequence", {"x"}, {"s"}, {m.Int("axis", 1)});
  m.Node("ConcatFromSequence", {"s"}, {"y"}, {m.Int("axis", 1)});
  m.Output("y");
  std::string text = m.Import();
  EXPECT_TRUE(Has(text, "n_s/19: float32[N,1] = Slice(x) {starts=[19], ends=[20], axes=[1]}")) << text;
  EXPECT_TRUE(Has(text, ": float32[N,20] = Concat(")) << text;
}

TEST(OnnxSequenceTest, ListsAreKept) {
  std::string text = Made([](Onnx &m) {
    m.Node("Neg", {"x"}, {"a"});
    m.Node("Abs", {"x"}, {"b"});
    m.Node("SequenceEmpty", {}, {"s0"});
    m.Node("SequenceInsert", {"s0", "a"}, {"s1"});
    m.Node("SequenceInsert", {"s1", "b", "0"}, {"s2"});   // b, a
    m.Node("SequenceInsert", {"s2", "x", "-1"}, {"s3"});  // b, x, a
    m.Node("SequenceErase", {"s3", "0"}, {"s4"});         // x, a
    m.Node("Identity", {"s4"}, {"s5"});
    m.Node("SequenceConstruct", {"b", "b"}, {"other"});
    m.Node("SequenceLength", {"s5"}, {"two"});  // known: used as an index below
    m.Node("Sub", {"two", "1"}, {"last"});
    m.Node("SequenceAt", {"s5", "last"}, {"p"});
    m.Node("SequenceAt", {"other", "1"}, {"q"});
    m.Node("Sub", {"p", "q"}, {"y"});
  });
  EXPECT_TRUE(Has(text, "y: float32[N,6,4] = Sub(a, b)")) << text;
}

// Extents stay known through a sequence.
TEST(OnnxSequenceTest, ShapesStayKnown) {
  std::string text = Made([](Onnx &m) {
    m.Node("Shape", {"x"}, {"shape"});
    m.Node("SplitToSequence", {"shape"}, {"s"});
    m.Node("SequenceAt", {"s", "0"}, {"n"});
    m.Node("SequenceAt", {"s", "2"}, {"four"});
    m.Constant("rest", {-1});
    m.Node("Concat", {"n", "four", "rest"}, {"wanted"}, {m.Int("axis", 0)});
    m.Node("Reshape", {"x", "wanted"}, {"y"});
  });
  EXPECT_TRUE(Has(text, "y: float32[N,4,6] = Reshape(x) {shape=[N,4,-1]}")) << text;
}

TEST(OnnxSequenceTest, WhatIsNotStaticIsRefused) {
  auto refused = [](const std::function<void(Onnx &)> &build, const std::string &part) {
    std::string text = Made(build);
    EXPECT_TRUE(Has(text, part)) << text;
  };
  refused(
      [](Onnx &m) {
        m.Node("SplitToSequence", {"x"}, {"s"}), m.Node("SequenceAt", {"s", "0"}, {"y"});
      },
      "69: node 'n_s' (SplitToSequence): it makes a sequence of 'x' along the batch");
  refused(
      [](Onnx &m) {
        m.Node("ArgMax", {"x"}, {"best"}, {m.Int("keepdims", 0)});
        m.Node("SequenceConstruct", {"x"}, {"s"});
        m.Node("SequenceAt", {"s", "best"}, {"y"});
      },
      "69: node 'n_y' (SequenceAt): the place 'best' in a sequence is computed from data");
  refused([](Onnx &m) { m.Node("SequenceConstruct", {"x"}, {"y"}); },
          "69: 'y' is a sequence of tensors, which is supported as an intermediate step only");
  refused([](Onnx &m) { m.Node("SequenceConstruct", {"x"}, {"s"}), m.Node("Relu", {"s"}, {"y"}); },
          "65: node 'n_y' (Relu): 's' is a sequence where a tensor is expected");
  refused([](Onnx &m) { m.Node("SequenceConstruct", {"x"}, {"s"}), m.Node("Shape", {"s"}, {"y"}); },
          "'s' is a sequence where a tensor is expected");
  refused(
      [](Onnx &m) {
        m.Node("SequenceConstruct", {"x"}, {"s"}), m.Node("CastLike", {"x", "s"}, {"y"});
      },
      "'s' is a sequence where a tensor is expected");
  refused(
      [](Onnx &m) {
        m.Node("SequenceAt", {"x", "0"}, {"y"});
      },
      "65: node 'n_y' (SequenceAt): operand 1 is no sequence");
  refused(
      [](Onnx &m) {
        m.Node("SequenceConstruct", {"x"}, {"s"}), m.Node("SequenceAt", {"s", "1"}, {"y"});
      },
      "65: node 'n_y' (SequenceAt): place 1 is outside of a sequence of 1");
  refused(
      [](Onnx &m) {
        m.Node("SequenceEmpty", {}, {"s"}), m.Node("ConcatFromSequence", {"s"}, {"y"}, {m.Int("axis", 0)});
      },
      "69: node 'n_y' (ConcatFromSequence): it joins the tensors of an empty sequence");
  refused([](Onnx &m) { m.Node("SequenceEmpty", {}, {"s"}), m.Node("SequenceErase", {"s"}, {"y"}); },
          "65: node 'n_y' (SequenceErase): place -1 is outside of a sequence of 0");
  refused(
      [](Onnx &m) {
        m.Constant("sizes", {1, 2});
        m.Node("SplitToSequence", {"x", "sizes"}, {"s"}, {m.Int("axis", 1)});
        m.Node("SequenceAt", {"s", "0"}, {"y"});
      },
      "65: node 'n_s' (SplitToSequence): the parts of 'x' do not make up its extent of 6");
}

// The file's size limits the number of parts, whatever length a dim claims.
TEST(OnnxSequenceTest, PartsAreInProportionToTheFile) {
  Onnx m;
  m.Input("x", FLOAT, {"2147483647"});
  m.Node("SplitToSequence", {"x"}, {"s"});
  m.Node("SequenceEmpty", {}, {"y"});
  m.Output("x");
  EXPECT_TRUE(Has(m.Import(), "is too large")) << m.Import();
}

}  // namespace
