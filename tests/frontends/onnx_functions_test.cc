// Operators that the reader composes of others: what the graph contains, and what is refused. functions_test checks the
// numbers.
#include "tests/frontends/onnx_builder.h"

namespace {

bool Has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// The graph that the reader makes of x [N,4,2] and a scalar `size` of 5.
std::string Made(const std::function<void(Onnx &)> &build) {
  Onnx m(20);
  m.Input("x", FLOAT, {"N", "4", "2"});
  m.Node("Constant", {}, {"size"}, {m.Int("value_int", 5)});
  build(m);
  m.Output("y");
  return m.Import();
}

void Refused(const std::function<void(Onnx &)> &build, const std::string &part) {
  std::string text = Made(build);
  EXPECT_TRUE(Has(text, part)) << text;
}

// torch.hann_window(5, periodic=False), hamming_window of ONNX's coefficients, blackman_window(5).
TEST(OnnxFunctionsTest, WindowsAreConstants) {
  auto window = [](const char *op, int64_t periodic, int type = DOUBLE) {
    return Made([&](Onnx &m) {
      m.Node(op, {"size"}, {"y"}, {m.Int("periodic", periodic), m.Int("output_datatype", type)});
    });
  };
  EXPECT_TRUE(Has(window("HannWindow", 0, FLOAT), "= [0, 0.5, 1, 0.5, 0]"));
  EXPECT_TRUE(Has(window("HannWindow", 1), "= [0, 0.345491502812526")) << window("HannWindow", 1);
  EXPECT_TRUE(Has(window("HammingWindow", 0), "= [0.08695652173913")) << window("HammingWindow", 0);
  EXPECT_TRUE(Has(window("BlackmanWindow", 1), ", 0.200770143262530")) << window("BlackmanWindow", 1);
  std::string one = Made([](Onnx &m) {
    m.Node("Constant", {}, {"one"}, {m.Int("value_int", 1)});
    m.Node("HannWindow", {"one"}, {"y"}, {m.Int("periodic", 0)});
  });
  EXPECT_TRUE(Has(one, "float32[1] = [1]")) << one;
}

TEST(OnnxFunctionsTest, WindowsOfSizesThatAreNotKnownAreRefused) {
  Refused(
      [](Onnx &m) {
        m.Node("ArgMax", {"x"}, {"best"}, {m.Int("keepdims", 0)});
        m.Node("HannWindow", {"best"}, {"y"});
      },
      "69: node 'n_y' (HannWindow): operand 1 ('best') is computed from data");
  Refused(
      [](Onnx &m) {
        m.Node("Shape", {"x"}, {"n"}, {m.Int("end", 1)});
        m.Node("HannWindow", {"n"}, {"y"});
      },
      "69: node 'n_y' (HannWindow): operand 1 ('n') depends on the batch");
  Refused([](Onnx &m) { m.Node("HannWindow", {"x"}, {"y"}); }, "(HannWindow): operand 1 ('x')");
  Refused([](Onnx &m) { m.Node("HannWindow", {}, {"y"}); }, "65: node 'n_y' (HannWindow): operand 1 is missing");
  Refused([](Onnx &m) { m.Node("HannWindow", {"size"}, {"y"}, {m.Int("output_datatype", BOOL)}); },
          "output_datatype is bool");
  Refused(
      [](Onnx &m) {
        m.Node("Constant", {}, {"huge"}, {m.Int("value_int", 2000000000)});
        m.Node("HannWindow", {"huge"}, {"y"});
      },
      "65: node 'n_y' (HannWindow):");
  Refused(
      [](Onnx &m) {
        m.Node("Constant", {}, {"none"}, {m.Int("value_int", 0)});
        m.Node("BlackmanWindow", {"none"}, {"y"});
      },
      "operand 1 ('none') is 0 where 1 or more is expected");
}

TEST(OnnxFunctionsTest, MelFiltersWithinHalfOfTheRate) {
  auto mel = [](float high, int64_t length) {
    return Made([&](Onnx &m) {
      m.Node("Constant", {}, {"length"}, {m.Int("value_int", length)});
      m.Node("Constant", {}, {"rate"}, {m.Int("value_int", 16)});
      m.ConstantFloat("low", high == 8 ? 8 : 0);
      m.ConstantFloat("high", high);
      m.Node("MelWeightMatrix", {"size", "length", "rate", "low", "high"}, {"y"});
    });
  };
  // All filters at half of the rate with an odd length: one bin too many.
  EXPECT_TRUE(Has(mel(8, 7), "float32[4,5]")) << mel(8, 7);
  EXPECT_TRUE(Has(mel(7, 8), "float32[5,5]")) << mel(7, 8);
  EXPECT_TRUE(Has(mel(9, 8), "65: node 'n_y' (MelWeightMatrix): frequencies from 0 to 9")) << mel(9, 8);
}

TEST(OnnxFunctionsTest, ModOfFloatsHasTheDivisorsSign) {
  std::string text = Made([](Onnx &m) {
    m.Node("Neg", {"x"}, {"d"});
    m.Node("Mod", {"x", "d"}, {"y"});
  });
  EXPECT_TRUE(Has(text, "Mod(x, d) {fmod=1}") && Has(text, "Where(")) << text;
  text = Made([](Onnx &m) { m.Node("Mod", {"x", "x"}, {"y"}, {m.Int("fmod", 1)}); });
  EXPECT_TRUE(Has(text, "y: float32[N,4,2] = Mod(x, x) {fmod=1}")) << text;
}

TEST(OnnxFunctionsTest, OptionalsAreTheirElements) {
  std::string text = Made([](Onnx &m) {
    m.Node("Optional", {"x"}, {"o"});
    m.Node("OptionalHasElement", {"o"}, {"has"});
    m.Node("OptionalHasElement", {""}, {"has_not"});
    m.Node("Not", {"has_not"}, {"too"});
    m.Node("And", {"has", "too"}, {"both"});
    m.Node("OptionalGetElement", {"o"}, {"e"});
    m.Node("If", {"both"}, {"y"},
           {m.Graph("then_branch", {}, {"p"}, {m.Loose("Neg", {"e"}, {"p"})}),
            m.Graph("else_branch", {}, {"q"}, {m.Loose("Abs", {"e"}, {"q"})})});
  });
  EXPECT_TRUE(Has(text, "= Neg(x)")) << text;
  Refused([](Onnx &m) { m.Node("OptionalGetElement", {""}, {"y"}); }, "69: node 'n_y' (OptionalGetElement): it has no");
}

// body(a, b): a + b, and -a.
void Map(Onnx &m, const Names &operands, const Names &results) {
  m.Node("SequenceMap", operands, results,
         {m.Graph("body", {"a", "b"}, {"c", "d"}, {m.Loose("Add", {"a", "b"}, {"c"}), m.Loose("Neg", {"a"}, {"d"})})});
}

TEST(OnnxFunctionsTest, ASequenceIsMappedItemByItem) {
  std::string text = Made([](Onnx &m) {
    m.Node("SplitToSequence", {"x"}, {"s"}, {m.Int("axis", 1), m.Int("keepdims", 0)});
    m.Constant("first", {0});
    m.Node("Gather", {"x", "first"}, {"g"}, {m.Int("axis", 1)});
    m.Node("Squeeze", {"g"}, {"b"});
    Map(m, {"s", "b"}, {"t", "u"});
    m.Node("ConcatFromSequence", {"t"}, {"y"}, {m.Int("axis", 0), m.Int("new_axis", 1)});
  });
  for (const char *item : {"n_t/0/c", "n_t/3/c", "n_t/2/d"}) EXPECT_TRUE(Has(text, item)) << text;
  EXPECT_FALSE(Has(text, "n_t/4")) << text;
  Refused([](Onnx &m) { Map(m, {"x", "x"}, {"y", "u"}); }, "65: node 'n_y' (SequenceMap): operand 1 is no sequence");
  Refused(
      [](Onnx &m) {
        m.Node("SplitToSequence", {"x"}, {"s"}, {m.Int("axis", 1)});
        m.Node("SplitToSequence", {"x"}, {"t"}, {m.Int("axis", 2)});
        Map(m, {"s", "t"}, {"y", "u"});
      },
      "65: node 'n_y' (SequenceMap): its sequences have 4 and 2 tensors");
  Refused(
      [](Onnx &m) {
        m.Node("SplitToSequence", {"x"}, {"s"}, {m.Int("axis", 1)});
        Map(m, {"s", "x"}, {"y"});
      },
      "65: node 'n_y' (SequenceMap): 1 results are asked for; its graph has 2");
}

TEST(OnnxFunctionsTest, FlexAttentionRunsItsGraphsBetween) {
  auto flex = [](const Names &dims, const Names &result) {
    Onnx m(20);
    m.Input("q", FLOAT, {"N", "4", "3", "2"});
    m.Input("k", FLOAT, dims);
    m.Node("Constant", {}, {"axis"}, {m.Int("value_int", 1)});
    m.Node("FlexAttention", {"q", "k", "k"}, {"y"},
           {m.Graph("score_mod", {"s"}, result,
                    {m.Loose("Neg", {"s"}, {"t"}), m.Loose("Cast", {"t"}, {"u"}, {m.Int("to", DOUBLE)})})})
        ->domain = const_cast<char *>("ai.onnx.preview");
    m.Output("y");
    return m.Import();
  };
  std::string text = flex({"N", "2", "5", "2"}, {"t"});
  EXPECT_TRUE(Has(text, "float32[N,4,3,5] = Softmax(n_y/score_mod/t) {axis=-1}")) << text;
  EXPECT_TRUE(Has(text, "float32[N,2,2,3,5] = MatMul(")) << text;
  EXPECT_TRUE(Has(flex({"N", "3", "5", "2"}, {"t"}),
                  "65: node 'n_y' (FlexAttention): Q, K, V have shapes [N,4,3,2], [N,3,5,2]"));
  text = flex({"N", "2", "5", "2"}, {"u"});
  EXPECT_TRUE(Has(text, "its graph 'score_mod' makes float64[N,4,3,5] of float32[N,4,3,5]; type and shape must stay"))
      << text;
}

TEST(OnnxFunctionsTest, NumbersAreDrawnByOperatorsOfOurs) {
  std::string text = Made([](Onnx &m) {
    m.Node("Bernoulli", {"x"}, {"b"}, {m.Float("seed", 3), m.Int("dtype", BOOL)});
    m.Node("RandomUniformLike", {"b"}, {"u"}, {m.Int("dtype", FLOAT), m.Float("low", -1)});
    m.Node("RandomNormal", {}, {"z"}, {m.Ints("shape", {4, 2})});
    m.Node("Add", {"u", "z"}, {"y"});
  });
  EXPECT_TRUE(Has(text, "b: bool[N,4,2] = Bernoulli(x)")) << text;
  EXPECT_TRUE(Has(text, "u: float32[N,4,2] = RandomUniformLike(b)")) << text;
  EXPECT_TRUE(Has(text, "z: float32[4,2] = RandomNormal()")) << text;
}

}  // namespace
