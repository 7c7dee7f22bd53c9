// Compares `decompose` with the kernel for every operator that has it, and tests what `specialize` makes of training
// and evaluation.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backends/cpu/target.h"
#include "ir/base/philox.h"
#include "ir/graph/builder.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

Tensor Scalar(double number) { return MakeTensor(DP_INT64, {}, {number}); }

std::map<std::string, Tensor> Bindings(const Case &c, const Built &built) {
  std::map<std::string, Tensor> bindings = {
      {DP_SCALAR_N, Scalar(double(built.n))}, {DP_SCALAR_SEED, Scalar(5)}, {DP_SCALAR_STEP, Scalar(2)}};
  for (size_t i = 0; i < built.operands.size(); i++)
    if (built.operands[i])
      bindings[built.operands[i]->name] = DrawOperand(c, int(i), *built.operands[i]->type, built.n);
  return bindings;
}

class Lower : public testing::TestWithParam<Case> {};

TEST_P(Lower, EqualsKernel) {
  Case c = GetParam();
  Built built(c);
  ASSERT_EQ(built.error, "");
  std::vector<dp_value *> in = built.operands, out(size_t(built.node->n_outputs));
  in.resize(DP_MAX_OPERANDS);
  dp_builder builder{built.graph, DP_OK, "lowered"};
  int before = built.graph->n_nodes;
  c.op->decompose(&builder, built.node, in.data(), out.data());
  ASSERT_EQ(std::string(dp_status_message(builder.status)), "");
  if (!out[0]) {  // this node has no simpler form
    EXPECT_EQ(built.graph->n_nodes, before);
    return;
  }
  EXPECT_GT(built.graph->n_nodes, before);
  dp_status verified = dp_graph_verify(built.graph);
  ASSERT_EQ(std::string(dp_status_message(verified)), "");
  std::vector<Tensor> values;
  ASSERT_EQ(RunGraph(dp_target_cpu, built.graph, built.n, Bindings(c, built), &values), "");
  for (int r = 0; r < built.node->n_outputs; r++) {
    ASSERT_NE(out[size_t(r)], nullptr);
    const Tensor &whole = values[size_t(built.node->outputs[r]->id)], &pieces = values[size_t(out[size_t(r)]->id)];
    ASSERT_TRUE(dp_shape_equal(&built.node->outputs[r]->type->shape, &out[size_t(r)]->type->shape)) << "result " << r;
    for (int64_t i = 0; i < whole.Count(); i++)
      EXPECT_NEAR(pieces.Get(i), whole.Get(i), 1e-12 * (1 + std::fabs(whole.Get(i)))) << "result " << r << ", " << i;
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Case &c : AllCases(true))
    if (c.op->decompose && c.float64) cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ops, Lower, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case> &info) { return TestName(info.param); });

// ---- specialize -----------------------------------------------------------------------------------------------------

struct Special {
  Special(const char *op, const char *inputs, const char *attrs, bool training)
      : sample{inputs, attrs, 40, 0.2, 2, false}, c{dp_op_find("", op), &sample, 0, true}, built(c) {
    EXPECT_EQ(built.error, "");
    out.resize(size_t(built.node->n_outputs));
    in = built.operands;
    in.resize(DP_MAX_OPERANDS);
    dp_builder builder{built.graph, DP_OK, nullptr};
    c.op->specialize(&builder, built.node, in.data(), training, out.data());
    EXPECT_EQ(std::string(dp_status_message(builder.status)), "");
    // Dropout itself has no kernel, so only the new nodes run.
    dp_graph *alone = dp_graph_create(built.model, "special");
    std::vector<dp_value *> map(size_t(built.graph->n_values) + 1);
    for (int32_t i = 0; i < built.graph->n_nodes; i++)
      if (built.graph->nodes[i] != built.node) dp_graph_copy_node(alone, built.graph->nodes[i], map.data());
    EXPECT_EQ(RunGraph(dp_target_cpu, alone, built.n, Bindings(c, built), &values), "");
    for (dp_value *&value : out)
      if (value && map[size_t(value->id)]) value = map[size_t(value->id)];
  }
  const Tensor &Out(int r) { return values[size_t(out[size_t(r)]->id)]; }

  dp_sample sample;
  Case c;
  Built built;
  std::vector<dp_value *> in, out;
  std::vector<Tensor> values;
};

TEST(Specialize, DropoutDropsByTheNodesNameInTraining) {
  Special s("Dropout", "float32[N,5]", "ratio=0.25", true);
  Tensor x = DrawOperand(s.c, 0, *s.built.operands[0]->type, s.built.n);
  int dropped = 0;
  for (int64_t i = 0; i < x.Count(); i++) {
    // ir/base/philox.h's numbers for seed 5, step 2 and the name "node"
    double u = dp_philox_uniform(dp_philox_at(5, 2, dp_hash_name("node"), uint64_t(i)));
    EXPECT_NEAR(s.Out(0).Get(i), u >= 0.25 ? x.Get(i) / 0.75 : 0, 1e-15);
    EXPECT_EQ(s.Out(1).Get(i), u >= 0.25);
    dropped += u < 0.25;
  }
  EXPECT_GT(dropped, 25);  // of 200; 50 are expected
  EXPECT_LT(dropped, 75);
}

TEST(Specialize, DropoutIsTheIdentityInEvaluationAndWhereTrainingModeIs0) {
  for (bool training : {false, true}) {
    Special s("Dropout", "float32[N,5]", training ? "training_mode=0" : "training_mode=1, ratio=0.9", training);
    Tensor x = DrawOperand(s.c, 0, *s.built.operands[0]->type, s.built.n);
    EXPECT_EQ(Numbers(s.Out(0)), Numbers(x));
    EXPECT_EQ(Numbers(s.Out(1)), std::vector<double>(200, 1.0));
  }
}

// ir/base/philox.h's numbers for seed 5, step 2 and the name "node". They are the same in every program.
double Uniform(int64_t i) { return dp_philox_uniform(dp_philox_at(5, 2, dp_hash_name("node"), uint64_t(i))); }

double Normal(int64_t i) {
  uint32_t block[4];
  dp_philox_block(5, 2, dp_hash_name("node"), uint64_t(i) / 4, block);
  return dp_philox_normal(block, int(i % 4));
}

TEST(Specialize, BernoulliIsOneWithTheProbabilityThatItIsGiven) {
  for (bool training : {false, true}) {
    Special s("Bernoulli", "float32[N,50]", training ? "dtype=7" : "seed=3.0", training);
    Tensor p = DrawOperand(s.c, 0, *s.built.operands[0]->type, s.built.n);  // 0.2 .. 2: above 1 always drawn
    double wanted = 0, ones = 0;
    EXPECT_EQ(s.Out(0).dtype, training ? DP_INT64 : DP_FLOAT64);
    for (int64_t i = 0; i < p.Count(); i++) {
      EXPECT_EQ(s.Out(0).Get(i), Uniform(i) < p.Get(i)) << i;
      wanted += std::min(1.0, p.Get(i)), ones += s.Out(0).Get(i);
    }
    EXPECT_NEAR(ones, wanted, 80) << "of 2000; the standard deviation is below 15";
  }
}

TEST(Specialize, RandomNumbersFollowTheNodesNameAndTheStep) {
  for (bool training : {false, true}) {
    Special uniform("RandomUniform", "", "shape=[7,3], low=-1.0, high=2.0", training);
    Special normal("RandomNormal", "", "shape=[7,3], mean=-1.0, scale=2.0", training);
    Special like("RandomUniformLike", "int64[7,3]", "dtype=11, low=-1.0, high=2.0", training);
    Special normal_like("RandomNormalLike", "float32[7,3]", "mean=-1.0, scale=2.0", training);
    EXPECT_EQ(uniform.Out(0).dtype, DP_FLOAT32);
    EXPECT_EQ(like.Out(0).dtype, DP_FLOAT64);
    for (int64_t i = 0; i < 21; i++) {
      EXPECT_FLOAT_EQ(float(uniform.Out(0).Get(i)), float(-1 + 3 * Uniform(i)));
      EXPECT_DOUBLE_EQ(like.Out(0).Get(i), -1 + 3 * Uniform(i));
      EXPECT_FLOAT_EQ(float(normal.Out(0).Get(i)), float(-1 + 2 * Normal(i)));
      EXPECT_FLOAT_EQ(float(normal_like.Out(0).Get(i)), float(-1 + 2 * Normal(i)));
    }
  }
}

const char kNorm[] = "float32[N,3], float32[3], float32[3], float32[3], float32[3]";

// Statistics that the model does not keep are not running statistics. training_mode=1 then means x's own statistics in
// evaluation too.
TEST(Specialize, BatchNormalizationOfGivenStatisticsTakesItsOwnInEvaluation) {
  Special s("BatchNormalization", kNorm, "training_mode=1, epsilon=0.5", false);
  std::map<std::string, Tensor> b = Bindings(s.c, s.built);
  for (int64_t c = 0; c < 3; c++) {
    double mean = 0, var = 0;
    for (int64_t i = c; i < 120; i += 3) mean += b["x0"].Get(i) / 40;
    for (int64_t i = c; i < 120; i += 3) var += (b["x0"].Get(i) - mean) * (b["x0"].Get(i) - mean) / 40;
    for (int64_t i = c; i < 120; i += 3) {
      double y = (b["x0"].Get(i) - mean) / std::sqrt(var + 0.5) * b["x1"].Get(c) + b["x2"].Get(c);
      EXPECT_NEAR(s.Out(0).Get(i), y, 1e-12);
    }
  }
  EXPECT_EQ(s.built.graph->n_updates, 0);
}

TEST(Specialize, BatchNormalizationUpdatesItsBuffersInTraining) {
  for (int form = 0; form < 3; form++) {
    const bool frozen = form == 1, evaluated = form == 2;
    dp_sample sample{kNorm, nullptr, 4, 0, 0, false};
    Built built({dp_op_find("", "BatchNormalization"), &sample, 0, false});
    dp_graph *graph = dp_graph_create(built.model, "train");
    dp_variable buffer{};
    buffer.kind = DP_BUFFER;
    buffer.type = built.operands[3]->type;
    buffer.name = "mean";
    int32_t mean = dp_model_add_variable(built.model, &buffer);
    buffer.name = "var";
    int32_t var = dp_model_add_variable(built.model, &buffer);
    dp_value *in[5], *out[5] = {};
    for (int i = 0; i < 3; i++)
      in[i] =
          dp_graph_add_value(graph, DP_VALUE_INPUT, built.operands[size_t(i)]->name, *built.operands[size_t(i)]->type);
    in[3] = dp_graph_variable(graph, mean);
    in[4] = dp_graph_variable(graph, var);
    dp_attr mode = dp_attr_int("training_mode", !frozen);
    dp_node *node = dp_graph_add_node(graph, built.node->op, "norm", 5, in, 1, nullptr, 1, &mode);
    ASSERT_EQ(dp_op_infer(node), DP_OK);
    dp_builder builder{graph, DP_OK, nullptr};
    built.node->op->specialize(&builder, node, in, !evaluated, out);
    ASSERT_EQ(builder.status, DP_OK);
    if (frozen || evaluated) {  // keeps the statistics and normalises with them
      EXPECT_EQ(out[0]->producer->inputs[3], in[3]);
      EXPECT_EQ(graph->n_updates, 0);
      EXPECT_EQ(dp_node_int(out[0]->producer, "training_mode", 0), 0);
      continue;
    }
    ASSERT_EQ(graph->n_updates, 2);
    EXPECT_EQ(graph->updates[0].variable, mean);
    EXPECT_EQ(graph->updates[0].value, out[0]->producer->outputs[1]);
    EXPECT_EQ(graph->updates[1].variable, var);
    EXPECT_EQ(graph->updates[1].value, out[0]->producer->outputs[2]);
    EXPECT_EQ(out[0]->producer->n_outputs, 5);
  }
}

// ---- replacements with long dims ------------------------------------------------------------------------------------

// A sliding window over keys compares two ranges; it builds no table of queries times keys.
TEST(Replaced, LongAttention) {
  for (const char *attrs : {"is_causal=1", "is_causal=1, left_window_size=16"}) {
    dp_sample sample{"float32[N,1,65536,2], float32[N,1,65536,2], float32[N,1,65536,2]", attrs, 1, 0, 0, false};
    Built built({dp_op_find("", "Attention"), &sample, 0, false});
    ASSERT_EQ(built.error, "");
    Replace(&built);
    EXPECT_EQ(built.error, "");
    EXPECT_LT(dp_arena_bytes(built.arena), size_t{8} << 20);
  }
}

// The positions of blocks are a table. Like any table, it is refused if it is too large.
TEST(Replaced, BlocksOfAHugeDim) {
  dp_sample sample{"int8[1099511627776], float32[1099511627776]", "axis=0, block_size=1", 1, 0, 0, false};
  Built built({dp_op_find("", "DequantizeLinear"), &sample, 0, false});
  ASSERT_EQ(built.error, "");
  Replace(&built);
  EXPECT_NE(built.error.find("which is too large"), std::string::npos) << built.error;
}

// The points lie halfway between two elements whose positions float16 cannot tell apart.
TEST(Replaced, GridSampleOfFloat16FindsFarPlaces) {
  dp_sample sample{"float16[1,1,3000], float16[1,2,1]", "", 1, 0, 0, false};
  Built built({dp_op_find("", "GridSample"), &sample, 0, false});
  ASSERT_EQ(built.error, "");
  std::map<std::string, Tensor> bindings;
  Tensor x = MakeWhole(*built.operands[0]->type, 1), grid = MakeWhole(*built.operands[1]->type, 1);
  for (int64_t i = 0; i < x.Count(); i++) x.Set(i, double(i % 2));
  grid.Set(0, 0.5);   // 2249.5
  grid.Set(1, -0.5);  // 749.5
  bindings[built.operands[0]->name] = x;
  bindings[built.operands[1]->name] = grid;
  std::vector<dp_value *> out = Replace(&built);
  ASSERT_EQ(built.error, "");
  std::vector<Tensor> values;
  ASSERT_EQ(RunGraph(dp_target_cpu, built.graph, 1, bindings, &values), "");
  EXPECT_EQ(Numbers(values[size_t(out[0]->id)]), (std::vector<double>{0.5, 0.5}));
}

// One index is out of range even where the resulting offset would lie inside the tensor.
TEST(Replaced, IndicesOutsideAreRefused) {
  struct {
    const char *op, *inputs, *attrs;
    std::vector<double> indices;
    bool good;
  } cases[] = {
      {"GatherND", "float32[2,5], int64[1,2]", "", {0, 7}, false},
      {"GatherND", "float32[2,5], int64[1,2]", "", {1, -6}, false},
      {"GatherND", "float32[2,5], int64[1,2]", "", {-2, -5}, true},
      {"GatherND", "float32[5,2], int64[1,1]", "", {-7}, false},
      {"GatherND", "float32[5,2], int64[1,1]", "", {-5}, true},
      {"GatherND", "float32[2,2,5], int64[2,2]", "batch_dims=1", {0, 4, 0, 7}, false},
      {"ScatterND", "float32[2,5], int64[1,2], float32[1]", "", {0, 7}, false},
      {"ScatterND", "float32[2,5], int64[1,2], float32[1]", "", {1, 4}, true},
  };
  for (const auto &c : cases) {
    dp_sample sample{c.inputs, c.attrs, 1, 0, 0, false};
    Built built({dp_op_find("", c.op), &sample, 0, false});
    ASSERT_EQ(built.error, "");
    std::map<std::string, Tensor> bindings;
    for (const dp_value *x : built.operands) bindings[x->name] = MakeWhole(*x->type, 1);
    Tensor &indices = bindings[built.operands[1]->name];
    for (size_t i = 0; i < c.indices.size(); i++) indices.Set(int64_t(i), c.indices[i]);
    Replace(&built);
    ASSERT_EQ(built.error, "");
    std::vector<Tensor> values;
    EXPECT_EQ(RunGraph(dp_target_cpu, built.graph, 1, bindings, &values).empty(), c.good)
        << c.op << " " << c.indices.back();
  }
}

}  // namespace
}  // namespace dp_test
