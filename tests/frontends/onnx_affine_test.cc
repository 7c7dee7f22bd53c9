// What depends on the batch size: ranges up to N, N repeats, a Loop of N iterations; and open dims that are given a
// number.
#include <tuple>

#include "tests/frontends/onnx_builder.h"

namespace {

bool Has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// y, which `build` computes from x [N,7]. "n" is N (a scalar); "size" is 7 * N.
std::string Made(const std::function<void(Onnx &)> &build) {
  Onnx m;
  m.Input("x", INT64, {"N", "7"});
  m.Node("Shape", {"x"}, {"n1"}, {m.Int("end", 1)});
  m.Node("Squeeze", {"n1"}, {"n"});
  m.Node("Size", {"x"}, {"size"});
  for (int64_t i : {0, 1, 2, 3, 7}) m.Node("Constant", {}, {std::to_string(i)}, {m.Int("value_int", i)});
  build(m);
  m.Output("y");
  return m.Import();
}

std::string Range(const std::string &start, const std::string &limit, const std::string &delta) {
  return Made([&](Onnx &m) { m.Node("Range", {start, limit, delta}, {"y"}); });
}

TEST(OnnxAffineTest, RangesUpToTheBatch) {
  EXPECT_TRUE(Has(Range("0", "n", "1"), "y: int64[N] = Range() {start=0, limit=[N], delta=1, dtype=int64} [name=n_y]"))
      << Range("0", "n", "1");
  EXPECT_TRUE(Has(Range("0", "size", "7"), "y: int64[N] = Range() {start=0, limit=[7*N], delta=7"))
      << Range("0", "size", "7");
  EXPECT_TRUE(Has(Range("3", "size", "7"), "y: int64[N] = Range() {start=3")) << Range("3", "size", "7");
  // Counts up from N: the counter, shifted by N.
  std::string shifted = Range("n", "size", "3");
  EXPECT_TRUE(Has(shifted, "n_y/Range: int64[2*N] = Range() {start=0, limit=[6*N], delta=3")) << shifted;
  EXPECT_TRUE(Has(shifted, "n_y/Add: int64[2*N] = Add(n_y/Range, ")) << shifted;
}

// Rows [start, end) of x with `other` below it.
std::string Cut(const std::string &other, const std::string &start, const std::string &end) {
  return Made([&](Onnx &m) {
    m.Constant("shape", {1, 7});
    m.Node("ConstantOfShape", {"shape"}, {"row"}, {m.Tensor("value", m.Raw("", INT64, {1}, std::string(8, 1)))});
    m.Node("Concat", {"x", other}, {"rows"}, {m.Int("axis", 0)});
    m.Node("Neg", {"n1"}, {"-n"});
    for (int64_t i : {0, 1}) m.Constant("at" + std::to_string(i), {i});
    m.Constant("far", {INT64_MAX});
    m.Node("Slice", {"rows", start, end, "at0"}, {"y"});
  });
}

// Halves of [2*N,7].
TEST(OnnxAffineTest, SlicesOfEqualParts) {
  for (const auto &[start, end, part] :
       {std::tuple("at0", "n1", "0"), {"at0", "-n", "0"}, {"n1", "far", "1"}, {"-n", "far", "1"}}) {
    std::string text = Cut("x", start, end);
    EXPECT_TRUE(Has(text, "n_y/Split: int64[N,7], ")) << text;
    EXPECT_TRUE(Has(text, " = Split(rows) {axis=0}")) << text;
    EXPECT_TRUE(Has(text, *part == '0' ? "output y = n_y/Split\n" : "output y = \"n_y/Split:1\"")) << text;
  }
}

// Of [N+1,7].
TEST(OnnxAffineTest, SlicesByTheirPlaces) {
  std::string all = Cut("row", "at0", "n1"), last = Cut("row", "n1", "far");
  EXPECT_TRUE(Has(all, "int64[N,7] = Gather(rows, n_y/Range) {axis=0}")) << all;
  EXPECT_TRUE(Has(last, "int64[1,7] = Gather(rows, n_y/Add) {axis=0}")) << last;
}

TEST(OnnxAffineTest, SlicesThatMayNotFit) {
  EXPECT_TRUE(Has(Cut("x", "at1", "n1"), "69: node 'n_y' (Slice)")) << Cut("x", "at1", "n1");
  EXPECT_TRUE(Has(Cut("row", "n1", "size"), "69: node 'n_y' (Slice)")) << Cut("row", "n1", "size");
}

TEST(OnnxAffineTest, RangesOfFloatsUpToTheBatch) {
  std::string text = Made([](Onnx &m) {
    for (const char *name : {"0", "n", "2"}) m.Node("Cast", {name}, {std::string("f") + name}, {m.Int("to", FLOAT)});
    m.Node("Add", {"n", "n"}, {"nn"});
    m.Node("Cast", {"nn"}, {"fnn"}, {m.Int("to", FLOAT)});
    m.Node("Range", {"f0", "fnn", "f2"}, {"y"});
  });
  EXPECT_TRUE(Has(text, "y: float32[N] = Range() {start=0, limit=[2*N], delta=2, dtype=float32}")) << text;
}

TEST(OnnxAffineTest, RangesThatCannotBe) {
  EXPECT_TRUE(Has(Range("0", "n", "7"), "69: node 'n_y' (Range): its steps of 7 do not go into the 1 numbers"))
      << Range("0", "n", "7");
  EXPECT_TRUE(Has(Range("0", "size", "n"), "69: node 'n_y' (Range): its step, 'n', depends on the batch"))
      << Range("0", "size", "n");
  EXPECT_TRUE(Has(Range("n", "0", "1"), "the limit lies behind the start for some numbers of samples"))
      << Range("n", "0", "1");
  std::string data = Made([](Onnx &m) {
    m.Node("ReduceMax", {"x"}, {"most"}, {m.Int("keepdims", 0)});
    m.Node("Range", {"0", "most", "1"}, {"y"});
  });
  EXPECT_TRUE(
      Has(data,
          "69: node 'n_y' (Range): operand 2, 'limit' ('most'), is computed from data; how many numbers a range "
          "has must be known before the network runs, or follow from the size of the batch"))
      << data;
}

// A tensor that joins a fraction with a number of the batch keeps both values.
TEST(OnnxAffineTest, FloatsBesideTheBatchKeepTheirFractions) {
  std::string text = Made([](Onnx &m) {
    m.Node("Cast", {"n1"}, {"f"}, {m.Int("to", FLOAT)});
    m.Node("Constant", {}, {"half"}, {m.Floats("value_floats", {0.5f})});
    m.Node("Concat", {"f", "half"}, {"y"}, {m.Int("axis", 0)});
  });
  EXPECT_TRUE(Has(text, "constant y/scale: float64[2] = [1, 0]")) << text;
  EXPECT_TRUE(Has(text, "constant y/offset: float64[2] = [0, 0.5]")) << text;
}

TEST(OnnxAffineTest, TilesOfAsManyAsTheBatch) {
  auto tile = [](const Names &dims, const std::function<void(Onnx &)> &repeats) {
    Onnx m;
    m.Input("x", FLOAT, {"N", "3"});
    m.Input("t", FLOAT, dims);
    m.Node("Shape", {"x"}, {"n1"}, {m.Int("end", 1)});
    m.Constant("one", {1});
    m.Constant("two", {2});
    repeats(m);
    m.Node("Tile", {"t", "r"}, {"y"});
    m.Output("y");
    return m.Import();
  };
  auto n_one = [](Onnx &m) { m.Node("Concat", {"n1", "one"}, {"r"}, {m.Int("axis", 0)}); };
  auto n_two = [](Onnx &m) { m.Node("Concat", {"n1", "two"}, {"r"}, {m.Int("axis", 0)}); };
  std::string text = tile({"1", "5"}, n_one);
  EXPECT_TRUE(Has(text, "float32[N,5] = Expand(t) {shape=[N,5]}")) << text;
  text = tile({"2", "5"}, n_two);
  EXPECT_TRUE(Has(text, "float32[N,2,5] = Expand(")) << text;
  EXPECT_TRUE(Has(text, "float32[2*N,5] = Reshape(")) << text;
  EXPECT_TRUE(Has(text, "float32[2*N,10] = Reshape(")) << text;
  text = tile({"N", "5"}, n_one);
  EXPECT_TRUE(Has(text, "69: node 'n_y' (Tile): dim 0 is that of the samples already")) << text;
  text = tile({"5"}, n_one);
  EXPECT_TRUE(Has(text, "65: node 'n_y' (Tile): repeats has 2 numbers where the operand has 1 dims")) << text;
}

// ---- a Loop of N rounds ---------------------------------------------------------------------------------------------

// EmbeddingBag as TorchScript writes it; reduce: the operator that reduces each bag. `body` can replace the body.
std::string Bags(const std::function<std::vector<Dp__Onnx__Node *>(Onnx &)> &body, const std::string &step = "7") {
  return Made([&](Onnx &m) {
    m.Initializer("weight", {10, 4}, std::vector<float>(40, 0.5f));
    m.Constant("all", {-1});
    m.Constant("zero", {0});
    m.Constant("second", {1});
    m.Constant("end", {INT64_MAX});
    m.Node("Range", {"0", "size", step}, {"starts"});
    m.Node("Reshape", {"x", "all"}, {"flat"});
    m.Node("Shape", {"flat"}, {"count"});
    m.Node("Concat", {"starts", "count"}, {"offsets"}, {m.Int("axis", 0)});
    m.Node("Slice", {"offsets", "second", "end", "zero"}, {"ends"});
    m.Node("Shape", {"ends"}, {"rounds1"});
    m.Node("Squeeze", {"rounds1"}, {"rounds"});
    m.Node("Cast", {"1"}, {"on"}, {m.Int("to", BOOL)});
    m.Node("Loop", {"rounds", "on"}, {"y"}, {m.Graph("body", {"i", "c"}, {"on2", "bag"}, body(m))});
  });
}

std::vector<Dp__Onnx__Node *> Bag(Onnx &m, const std::string &reduce) {
  return {m.Loose("Gather", {"offsets", "i"}, {"s"}),
          m.Loose("Gather", {"ends", "i"}, {"e"}),
          m.Loose("Unsqueeze", {"s", "zero"}, {"s1"}),
          m.Loose("Unsqueeze", {"e", "zero"}, {"e1"}),
          m.Loose("Slice", {"flat", "s1", "e1", "zero"}, {"indices"}),
          m.Loose("Gather", {"weight", "indices"}, {"rows"}),
          m.Loose(reduce, {"rows", "zero"}, {"bag"}, {m.Int("keepdims", 0)}),
          m.Loose("Cast", {"on"}, {"on2"}, {m.Int("to", BOOL)})};
}

TEST(OnnxAffineTest, ALoopOfARoundForEachSample) {
  for (const char *reduce : {"ReduceSum", "ReduceMean", "ReduceMax"}) {
    std::string text = Bags([&](Onnx &m) { return Bag(m, reduce); });
    EXPECT_TRUE(Has(text, "n_y/indices: int64[N,7] = Reshape(") || Has(text, "int64[N,7] = Reshape(flat)")) << text;
    EXPECT_TRUE(Has(text, "n_y/rows: float32[N,7,4] = Gather(weight, ")) << text;
    EXPECT_TRUE(Has(text, std::string("n_y/bag: float32[N,4] = ") + reduce + "(n_y/rows) {keepdims=0, axes=[1]}"))
        << text;
    EXPECT_TRUE(Has(text, "output y = n_y/bag")) << text;
  }
}

TEST(OnnxAffineTest, LoopsOfARoundForEachSampleThatAreRefused) {
  const char other[] = "69: node 'n_y' (Loop): ";
  // Another operator; overlapping parts; the iteration number among the data; a computed condition.
  EXPECT_TRUE(Has(Bags([](Onnx &m) { return Bag(m, "ArgMax"); }), other));
  EXPECT_TRUE(Has(Bags([](Onnx &m) {
                    auto nodes = Bag(m, "ReduceSum");
                    nodes[1] = m.Loose("Gather", {"offsets", "i"}, {"e"});
                    return nodes;
                  }),
                  "operator Slice in a Loop of a round for each sample is not supported in this form"));
  EXPECT_TRUE(Has(Bags([](Onnx &m) {
                    auto nodes = Bag(m, "ReduceSum");
                    nodes[5] = m.Loose("Gather", {"weight", "i"}, {"rows"});
                    return nodes;
                  }),
                  "operator Gather in a Loop"));
  EXPECT_TRUE(Has(Bags([](Onnx &m) {
                    auto nodes = Bag(m, "ReduceSum");
                    nodes[7] = m.Loose("Less", {"i", "n"}, {"on2"});
                    return nodes;
                  }),
                  "operator Less in a Loop"));
  EXPECT_TRUE(Has(Bags([](Onnx &m) {
                    auto nodes = Bag(m, "ReduceSum");
                    nodes.pop_back();
                    nodes.push_back(m.Loose("Not", {"on"}, {"on2"}));
                    return nodes;
                  }),
                  "also a condition"));
}

// ---- --dim ----------------------------------------------------------------------------------------------------------

std::string Dims(const Names &dims, const std::vector<dp_onnx_dim> &given) {
  Onnx m;
  m.Input("x", FLOAT, dims);
  m.Node("Relu", {"x"}, {"y"});
  m.Output("y");
  std::string path = WriteFile("dims.onnx", m.Bytes());
  dp_test::Arena arena;
  dp_model *model = nullptr;
  dp_onnx_options options = {};
  options.n_dims = (int)given.size();
  options.dims = given.data();
  std::string message = dp_test::Message(dp_onnx_import_with(arena, path.c_str(), &options, &model));
  char text[256];
  return message.empty() ? dp_shape_print(&model->graphs[0]->outputs[0].value->type->shape, text, sizeof text)
                         : message;
}

TEST(OnnxAffineTest, OpenDimsAreGivenANumber) {
  EXPECT_EQ(Dims({"batch", "seq", "8"}, {{"seq", 128}}), "[N,128,8]");
  EXPECT_EQ(Dims({"batch", "2*seq+1"}, {{"seq", 5}}), "[N,11]");
  EXPECT_EQ(Dims({"batch", "seq", "width"}, {{"width", 3}, {"seq", 2}}), "[N,2,3]");
  EXPECT_EQ(Dims({"batch", "4"}, {{"batch", 6}}), "[6,4]");
  EXPECT_EQ(Dims({"5", "a", "b"}, {{"a", 6}}), "[5,6,N]");  // so b is the batch
  EXPECT_TRUE(Has(Dims({"batch", "seq"}, {{"sequ", 1}}), "--dim sequ=1: no input has an open dim of that name"));
  EXPECT_TRUE(Has(Dims({"batch", "seq"}, {{"sequ", 1}}), "seq"));
  EXPECT_TRUE(Has(Dims({"batch", "99*seq"}, {{"seq", INT64_MAX}}), "is left open"));
}

}  // namespace
