// What the operators' suite does not reach in the reference kernels: Philox's known answers, random numbers by
// position, errors in data, NaN, results in place of operands, broadcasting and reduction over random shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backends/cpu/target.h"
#include "ir/base/philox.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

// From Random123's kat_vectors, "philox4x32 10".
TEST(Philox, KnownAnswers) {
  const uint32_t vectors[][10] = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
       0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
       0x24126ea1},
  };
  for (const auto &v : vectors) {
    uint32_t out[4];
    dp_philox4x32_10(v, v + 4, out);
    EXPECT_EQ(std::vector<uint32_t>(out, out + 4), std::vector<uint32_t>(v + 6, v + 10));
  }
}

// A node whose operands the test fills.
struct Node {
  dp_sample sample{};
  Case c{};
  std::unique_ptr<Built> built;
  std::vector<Tensor> in, out;
  std::string inputs, attrs;

  Node(const char *domain, const char *op, std::string input_types, std::string attributes, int64_t n = 0)
      : inputs(std::move(input_types)), attrs(std::move(attributes)) {
    sample.inputs = inputs.c_str();
    sample.attrs = attrs.c_str();
    sample.n = n;
    c = {dp_op_find(domain, op), &sample, 0, false};
    built = std::make_unique<Built>(c);
    EXPECT_EQ(built->error, "");
    if (!built->error.empty()) return;
    for (size_t i = 0; i < built->operands.size(); i++)
      in.push_back(built->operands[i] ? DrawOperand(c, int(i), *built->operands[i]->type, n) : Tensor());
    for (int i = 0; i < built->node->n_outputs; i++) out.push_back(MakeWhole(*built->node->outputs[i]->type, n));
  }

  // Returns "" or the error message.
  std::string Run(int parts = 1) {
    std::vector<const Tensor *> from;
    std::vector<Tensor *> to;
    for (size_t i = 0; i < in.size(); i++) from.push_back(built->operands[i] ? &in[i] : nullptr);
    from.resize(size_t(built->node->n_inputs));
    for (Tensor &tensor : out) to.push_back(&tensor);
    return RunNode(dp_target_cpu, built->node, from, to, parts);
  }
};

// ir/base/philox.h's definition, written out: counter, key, lane.
double Uniform(uint64_t seed, uint32_t step, uint32_t name, uint64_t index) {
  uint32_t counter[4] = {step, name, uint32_t(index / 4), uint32_t((index / 4) >> 32)};
  uint32_t key[2] = {uint32_t(seed), uint32_t(seed >> 32)}, out[4];
  dp_philox4x32_10(counter, key, out);
  return double(out[index % 4] >> 8) / 16777216.0;
}

TEST(Reference, DropoutDropsByPlace) {
  Node node("dp", "Dropout", "float32[N,37], int64[], int64[]", "ratio=0.3, key=4000000000", 21);
  const int64_t seed = -5000000000, step = 9;
  std::memcpy(node.in[1].bytes.data(), &seed, 8);
  std::memcpy(node.in[2].bytes.data(), &step, 8);
  ASSERT_EQ(node.Run(3), "");
  int64_t kept = 0;
  for (int64_t i = 0; i < node.in[0].Count(); i++) {
    bool keep = Uniform(uint64_t(seed), 9, 4000000000u, uint64_t(i)) >= 0.3;
    kept += keep;
    ASSERT_NEAR(node.out[0].Get(i), keep ? node.in[0].Get(i) / 0.7 : 0, 1e-6) << i;
  }
  EXPECT_NEAR(double(kept) / double(node.in[0].Count()), 0.7, 0.05);
}

// Each element must keep its random number under any split, along any dim and in blocks.
TEST(Reference, NumbersDoNotDependOnTheSplit) {
  Node node("dp", "RandomUniform", "int64[]", "key=77, shape=[6,8,5], low=-2.0, high=3.0");
  ASSERT_EQ(node.Run(), "");
  for (int64_t i = 0; i < node.out[0].Count(); i++)
    ASSERT_FLOAT_EQ(float(node.out[0].Get(i)),
                    float(-2 + 5 * Uniform(uint64_t(int64_t(node.in[0].Get(0))), 0, 77, uint64_t(i))));
  dp_mesh mesh{1, {{"data", 3}}};
  for (dp_placement split :
       {dp_shard(0), dp_shard(1), dp_shard(2), dp_shard_in(0, 2, 1), dp_shard_in(1, 2, 2), dp_shard_in(1, 1, 4)})
    for (int64_t device = 0; device < 3; device++) {
      int64_t coordinate[DP_MAX_MESH] = {device};
      Tensor part = MakePart(*node.built->node->outputs[0]->type, 0, &split, mesh, coordinate), expected = part;
      Cut(node.out[0], &expected);
      ASSERT_EQ(RunNode(dp_target_cpu, node.built->node, {&node.in[0]}, {&part}, 2), "");
      EXPECT_EQ(part.bytes, expected.bytes) << "split of dim " << split.dim << ", device " << device;
    }
}

// Elements of each width, fewer and more than are written at once.
TEST(Reference, FillReachesEveryElement) {
  for (const char *dtype : {"1", "2", "11", "float16"})
    for (const char *shape : {"[0]", "[1]", "[511]", "[512]", "[513]", "[3,7,100]"}) {
      Node fill("dp", "Fill", "", std::string("shape=") + shape + ", value=3, dtype=" + dtype);
      for (int parts : {1, 3}) {
        Tensor &y = fill.out[0];
        std::fill(y.bytes.begin(), y.bytes.end(), 0x55);
        ASSERT_EQ(fill.Run(parts), "");
        for (int64_t i = 0; i < y.Count(); i++) ASSERT_EQ(y.Get(i), 3) << dtype << " " << shape << " " << parts;
      }
    }
}

TEST(Reference, NormalNumbersAreNormal) {
  Node node("dp", "RandomNormal", "int64[]", "key=3, shape=[40000], mean=1.0, scale=2.0, dtype=11");
  ASSERT_EQ(node.Run(), "");
  double sum = 0, squares = 0, within = 0;
  int64_t count = node.out[0].Count();
  for (int64_t i = 0; i < count; i++) {
    double z = (node.out[0].Get(i) - 1) / 2;
    sum += z;
    squares += z * z;
    within += std::fabs(z) < 1;
  }
  EXPECT_NEAR(sum / double(count), 0, 0.02);
  EXPECT_NEAR(squares / double(count), 1, 0.03);
  EXPECT_NEAR(within / double(count), 0.6827, 0.01);
}

TEST(Reference, NamesTheLabelThatIsNoClass) {
  Node loss("", "SoftmaxCrossEntropyLoss", "float32[N,10], int64[N]", "", 5);
  for (int64_t i = 0; i < 5; i++) loss.in[1].Set(i, i == 3 ? 12 : i);
  EXPECT_NE(loss.Run().find("label 12 at index 3 of the batch is not in 0..9"), std::string::npos);
  loss.in[1].Set(3, -1);
  EXPECT_NE(loss.Run().find("label -1 at index 3"), std::string::npos);
  loss.in[1].Set(3, 9);
  EXPECT_EQ(loss.Run(), "");
  // On the second of two devices, the index counts from the start of the whole batch.
  loss.in[1].Set(3, 10);
  dp_mesh mesh{1, {{"data", 2}}};
  int64_t coordinate[DP_MAX_MESH] = {1};
  dp_placement split = dp_shard(0);
  Tensor scores = MakePart(*loss.built->node->inputs[0]->type, 5, &split, mesh, coordinate);
  Tensor labels = MakePart(*loss.built->node->inputs[1]->type, 5, &split, mesh, coordinate);
  Cut(loss.in[0], &scores);
  Cut(loss.in[1], &labels);
  std::string message = RunNode(dp_target_cpu, loss.built->node, {&scores, &labels}, {&loss.out[0], nullptr});
  EXPECT_NE(message.find("label 10 at index 3 of the batch"), std::string::npos) << message;
}

TEST(Reference, IntegerDivision) {
  Node div("", "Div", "int32[4], int32[4]", "");
  const double a[] = {7, -7, double(INT32_MIN), 5}, b[] = {2, 2, -1, 1};
  for (int i = 0; i < 4; i++) div.in[0].Set(i, a[i]), div.in[1].Set(i, b[i]);
  ASSERT_EQ(div.Run(), "");
  EXPECT_EQ(Numbers(div.out[0]), (std::vector<double>{3, -3, double(INT32_MIN), 5}));
  div.in[1].Set(2, 0);
  EXPECT_NE(div.Run().find("division by 0 at index 2"), std::string::npos);
}

TEST(Reference, CastHoldsToTheRange) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  Node cast("", "Cast", "float32[6]", "to=7");
  const double x[] = {nan, inf, -inf, 1e30, -2.7, 3.9};
  for (int i = 0; i < 6; i++) cast.in[0].Set(i, x[i]);
  ASSERT_EQ(cast.Run(), "");
  int64_t y[6];
  std::memcpy(y, cast.out[0].bytes.data(), sizeof y);
  EXPECT_EQ(std::vector<int64_t>(y, y + 6), (std::vector<int64_t>{0, INT64_MAX, INT64_MIN, INT64_MAX, -2, 3}));
}

// NaN must reach the loss.
TEST(Reference, NaNStays) {
  const double nan = std::nan("");
  Node relu("", "Relu", "float32[3]", "");
  relu.in[0].Set(1, nan);
  ASSERT_EQ(relu.Run(), "");
  EXPECT_TRUE(std::isnan(relu.out[0].Get(1)));

  Node pool("", "MaxPool", "float32[1,1,4,4]", "kernel_shape=[2,2], strides=[2,2]");
  for (int64_t i = 0; i < 16; i++) pool.in[0].Set(i, double(i));
  pool.in[0].Set(1, nan);
  ASSERT_EQ(pool.Run(), "");
  EXPECT_TRUE(std::isnan(pool.out[0].Get(0)));
  EXPECT_EQ(pool.out[0].Get(3), 15);

  Node max("", "Max", "float32[2], float32[2]", "");
  max.in[0].Set(0, nan);
  max.in[1].Set(1, nan);
  ASSERT_EQ(max.Run(), "");
  EXPECT_TRUE(std::isnan(max.out[0].Get(0)) && std::isnan(max.out[0].Get(1)));

  Node argmax("", "ArgMax", "float32[4]", "keepdims=0");
  const double x[] = {1, nan, 5, nan};
  for (int i = 0; i < 4; i++) argmax.in[0].Set(i, x[i]);
  ASSERT_EQ(argmax.Run(), "");
  EXPECT_EQ(argmax.out[0].Get(0), 1);
}

// Windows that contain only padding, which dilation makes possible, must not read outside, and their gradient goes
// nowhere.
TEST(Reference, EmptyWindows) {
  Node pool("", "MaxPool", "float32[1,1,1]", "kernel_shape=[2], dilations=[3], pads=[2,2]");
  ASSERT_EQ(pool.Run(), "");
  EXPECT_EQ(pool.out[0].Get(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(pool.out[0].Get(1), -std::numeric_limits<double>::infinity());
}

// Kernels that claim to work in place must give the same result in operand 0's place.
TEST(Reference, InPlaceGivesTheSame) {
  int checked = 0;
  for (const Case &c : AllCases(false)) {
    Built built(c);
    if (!built.error.empty() || built.node->n_inputs == 0 || !built.node->inputs[0]) continue;
    SCOPED_TRACE(c.Name());
    const dp_node *node = built.node;
    dp_kernel_spec spec{};
    dp_kernel_operand operands[DP_MAX_OPERANDS] = {}, made[DP_MAX_OPERANDS] = {};
    spec.op = node->op;
    spec.node = node;
    spec.threads = 1;
    spec.n_inputs = node->n_inputs;
    spec.n_outputs = node->n_outputs;
    spec.inputs = operands;
    spec.outputs = made;
    std::vector<Tensor> in, out;
    const void *from[DP_MAX_OPERANDS] = {};
    void *to[DP_MAX_OPERANDS] = {};
    for (size_t i = 0; i < built.operands.size(); i++)
      in.push_back(built.operands[i] ? DrawOperand(c, int(i), *built.operands[i]->type, built.n) : Tensor());
    for (int i = 0; i < node->n_outputs; i++) out.push_back(MakeWhole(*node->outputs[i]->type, built.n));
    if (in[0].bytes.size() != out[0].bytes.size()) continue;
    for (int i = 0; i < node->n_inputs; i++)
      if (node->inputs[i])
        operands[i] = {in[size_t(i)].dtype, true, in[size_t(i)].local, DP_LAYOUT_PLAIN},
        from[i] = in[size_t(i)].bytes.data();
    for (int i = 0; i < node->n_outputs; i++)
      made[i] = {out[size_t(i)].dtype, true, out[size_t(i)].local, DP_LAYOUT_PLAIN},
      to[i] = out[size_t(i)].bytes.data();
    const dp_kernel *kernel = dp_kernel_select(&dp_target_cpu, &spec, true);
    if (!kernel || !kernel->in_place) continue;  // none: ONNX's Dropout, which programs do not contain
    std::vector<uint64_t> scratch(kernel->scratch_bytes ? kernel->scratch_bytes(&spec) / 8 + 1 : 0);
    void *state = nullptr;
    if (kernel->prepare) {
      ASSERT_EQ(kernel->prepare(&spec, &state), DP_OK);
    }
    ASSERT_EQ(kernel->run(&spec, state, from, to, scratch.data(), 0, 1), DP_OK);
    std::vector<uint8_t> apart = out[0].bytes;
    to[0] = in[0].bytes.data();
    ASSERT_EQ(kernel->run(&spec, state, from, to, scratch.data(), 0, 1), DP_OK);
    if (kernel->release) kernel->release(state);
    EXPECT_EQ(in[0].bytes, apart);
    checked++;
  }
  EXPECT_GT(checked, 40);
}

// Also where loops take several elements at once, and where what is left over is not a whole vector.
TEST(Reference, ManyElementsInPlaceGiveTheSame) {
  for (const char *op : {"Add", "Sub", "Mul", "Div", "Relu", "Neg"})
    for (const char *second : {"float32[N]", "float32[1]"})
      for (int64_t n : {0, 1, 3, 17, 1000})
        for (int parts : {1, 3}) {
          const bool unary = !std::strcmp(op, "Relu") || !std::strcmp(op, "Neg");
          SCOPED_TRACE(testing::Message() << op << " " << second << " " << n);
          Node node("", op, unary ? "float32[N]" : std::string("float32[N], ") + second, "", n);
          if (n > 1) node.in[0].Set(n / 2, std::nan(""));
          ASSERT_EQ(node.Run(), "");
          std::vector<const Tensor *> from;
          for (const Tensor &tensor : node.in) from.push_back(&tensor);
          ASSERT_EQ(RunNode(dp_target_cpu, node.built->node, from, {&node.in[0]}, parts), "");
          EXPECT_EQ(node.in[0].bytes, node.out[0].bytes);
        }
}

// Parts divide the rows of the result: fewer rows than parts, rows without elements of dY, none at all.
TEST(Reference, SliceGradientsByPartsAreTheSame) {
  const struct {
    const char *operand, *attrs;
  } cases[] = {
      {"float32[N,3]", "shape=[N,7], starts=[-1], ends=[0], axes=[1], steps=[-2]"},
      {"float32[2,N]", "shape=[9,N], starts=[7], ends=[0], axes=[0], steps=[-4]"},
      {"float64[5]", "shape=[11], starts=[3], ends=[8], axes=[0]"},
      {"float32[0,N]", "shape=[9,N], starts=[4], ends=[4], axes=[0]"},
  };
  for (const auto &c : cases)
    for (int64_t n : {0, 1, 2, 5})
      for (int parts : {2, 4}) {
        SCOPED_TRACE(testing::Message() << c.operand << " " << c.attrs << " " << n);
        Node whole("dp", "SliceGrad", c.operand, c.attrs, n), divided("dp", "SliceGrad", c.operand, c.attrs, n);
        std::fill(divided.out[0].bytes.begin(), divided.out[0].bytes.end(), uint8_t(0xff));  // NaN
        ASSERT_EQ(whole.Run(), "");
        ASSERT_EQ(divided.Run(parts), "");
        EXPECT_EQ(whole.out[0].bytes, divided.out[0].bytes);
        double sum = 0, taken = 0;
        for (int64_t i = 0; i < whole.out[0].Count(); i++) sum += whole.out[0].Get(i);
        for (int64_t i = 0; i < whole.in[0].Count(); i++) taken += whole.in[0].Get(i);
        EXPECT_NEAR(sum, taken, 1e-4);
      }
}

int64_t Draw(std::mt19937 &generator, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(generator);
}

std::string Shape(const std::vector<int64_t> &extents) {
  std::string text = "float32[";
  for (size_t i = 0; i < extents.size(); i++) text += (i ? "," : "") + std::to_string(extents[i]);
  return text + "]";
}

// a - b over random shapes that broadcast, checked element by element; in 1 and 4 parts.
TEST(Reference, BroadcastsAsDefined) {
  std::mt19937 generator(4);
  for (int round = 0; round < 200; round++) {
    int rank = int(Draw(generator, 0, 5));
    std::vector<int64_t> y, a, b;
    for (int d = 0; d < rank; d++) {
      int64_t extent = Draw(generator, 1, 4), which = Draw(generator, 0, 3);
      y.push_back(extent);
      a.push_back(which == 1 ? 1 : extent);
      b.push_back(which == 2 ? 1 : extent);
    }
    int64_t drop = rank ? Draw(generator, 0, rank - 1) : 0;  // leading dims that one operand does not have
    std::vector<int64_t> &shorter = Draw(generator, 0, 1) ? a : b;
    shorter.erase(shorter.begin(), shorter.begin() + drop);
    Node node("", "Sub", Shape(a) + ", " + Shape(b), "");
    ASSERT_EQ(node.Run(round % 2 ? 4 : 1), "");
    auto at = [&](const std::vector<int64_t> &extents, int64_t index) {
      int64_t offset = 0, step = 1;
      for (int d = int(node.out[0].local.rank) - 1, e = int(extents.size()) - 1; e >= 0; d--, e--) {
        int64_t extent = node.out[0].local.extents[d];
        offset += extents[size_t(e)] == 1 ? 0 : index % extent * step;
        step *= extents[size_t(e)];
        index /= extent;
      }
      return offset;
    };
    for (int64_t i = 0; i < node.out[0].Count(); i++)
      ASSERT_EQ(float(node.out[0].Get(i)), float(node.in[0].Get(at(a, i))) - float(node.in[1].Get(at(b, i))))
          << node.inputs << " element " << i;
  }
}

// Sums and means over random dims, checked against sums taken element by element.
TEST(Reference, ReducesAsDefined) {
  std::mt19937 generator(5);
  for (int round = 0; round < 200; round++) {
    int rank = int(Draw(generator, 1, 5));
    std::vector<int64_t> x, axes;
    std::string list;
    int64_t reduced = 1;
    for (int d = 0; d < rank; d++) {
      x.push_back(Draw(generator, round % 10 ? 1 : 0, d == rank - 1 && round % 7 == 0 ? 150 : 4));
      if (!Draw(generator, 0, 1)) continue;
      axes.push_back(d);
      list += (list.empty() ? "" : ",") + std::to_string(d);
      reduced *= x.back();
    }
    if (axes.empty()) continue;
    bool mean = round % 2;
    Node node("", mean ? "ReduceMean" : "ReduceSum", Shape(x),
              "axes=[" + list + "], keepdims=" + std::to_string(round / 2 % 2));
    ASSERT_EQ(node.Run(1 + round % 3), "");
    std::vector<double> sums(size_t(node.out[0].Count()));
    for (int64_t i = 0; i < node.in[0].Count(); i++) {
      int64_t rest = i, to = 0, step = 1;
      for (int d = rank - 1; d >= 0; d--) {
        if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
          to += rest % x[size_t(d)] * step;
          step *= x[size_t(d)];
        }
        rest /= x[size_t(d)];
      }
      sums[size_t(to)] += node.in[0].Get(i);
    }
    for (size_t i = 0; i < sums.size(); i++)
      ASSERT_NEAR(node.out[0].Get(int64_t(i)), mean && reduced ? sums[i] / double(reduced) : sums[i], 1e-5)
          << node.inputs << " {" << node.attrs << "} element " << i;
  }
}

}  // namespace
}  // namespace dp_test
