// Micro-batches on one device: slices of its data, and sums of pieces that are all computed the same way, or not.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/ir/verify/small_plan.h"

namespace {

using dp_test::ProgramWriter;
using dp_test::SmallPlan;

// ---- Slice ----------------------------------------------------------------------------------------------------------

// y = Relu(x), computed part by part from x, which is fetched whole, then concatenated. A test may change the second
// Slice.
std::string Slices(const std::string &from, const std::string &to, uint32_t micro, const std::string &axis = "micro") {
  SmallPlan p("model m {\n graph infer {\n input x: float32[N,6]\n y = Relu(x)\n output y\n}\n}\n",
              {{"micro", 2}, {"data", 2}}, 7, 8192);
  ProgramWriter &w = *p.writer;
  w.Tensor("x@host", "x", "R,R", DP__SPACE__HOST_INPUT, 0);
  w.Tensor("x", "x", from, DP__SPACE__TRANSIENT, 0);
  w.Tensor("x#0", "x", "S(0),R", DP__SPACE__TRANSIENT, 1024).Micro(0);
  w.Tensor("x#1", "x", to, DP__SPACE__TRANSIENT, 2048);
  if (to[0] == 'S') w.Micro(micro);
  w.Tensor("y#0", "y", "S(0),R", DP__SPACE__TRANSIENT, 3072).Micro(0);
  w.Tensor("y#1", "y", "S(0),R", DP__SPACE__TRANSIENT, 4096).Micro(1);
  w.Tensor("y", "y", "R,R", DP__SPACE__TRANSIENT, 5120).Tensor("y@host", "y", "R,R", DP__SPACE__HOST_OUTPUT, 0);
  w.Add("s", from == "R,R" ? "dp.Broadcast" : "dp.Scatter", "", {"x@host"}, {"x"});
  w.AddOver("micro", "s", "dp.Slice", "x", "x#0");
  w.AddOver(axis, "s", "dp.Slice", "x", "x#1");
  w.Add("s", "Relu", "y", {"x#0"}, {"y#0"});
  w.Add("s", "Relu", "y", {"x#1"}, {"y#1"});
  w.AddAccumulate("s", "y#0", "y#1", "y");
  w.Add("s", "dp.Gather", "", {"y"}, {"y@host"});
  w.Input("x", "x@host");
  w.Output("y", "y@host");
  return p.Verify();
}

TEST(Micro, SlicesAreOfTheMicroBatchSaid) {
  EXPECT_EQ(Slices("R,R", "S(0),R", 1), "");
  EXPECT_EQ(Slices("R,R", "S(0),R", 0), "MEANING.MICRO");  // y#1 depends on it
  EXPECT_EQ(Slices("R,R", "S(0),R", 1, "data"), "MEANING.CONVERSION");
  EXPECT_EQ(Slices("R,R", "R,S(0)", 0), "MEANING.CONVERSION");
  EXPECT_EQ(Slices("R,R", "R,S(0)", 0, "data"), "MEANING.ROW");
  EXPECT_EQ(Slices("R,R", "P(sum),R", 0), "TENSOR.LAYOUT");
  // Samples that `data` has split are not those of a micro-batch.
  EXPECT_EQ(Slices("R,S(0)", "S(0),S(0)", 1), "MEANING.CONVERSION");
}

// ---- concatenated parts ---------------------------------------------------------------------------------------------

std::string Print(const std::vector<dp_placement> &at) {
  std::string text;
  for (const dp_placement &p : at) {
    char one[64];
    text += (text.empty() ? "" : ",") + std::string(dp_placement_print(p, one, sizeof one));
  }
  return text;
}

// Fetches every micro-batch's part of x, concatenates them, and outputs the whole. Returns "" or the rule.
std::string Join(const std::vector<dp_mesh_axis> &mesh, const std::vector<dp_placement> &part) {
  SmallPlan p("model m {\n graph infer {\n input x: float32[12,12]\n output y = x\n}\n}\n", mesh, 1, 1 << 15);
  ProgramWriter &w = *p.writer;
  std::vector<dp_placement> whole = part, host(mesh.size(), dp_replicate());
  whole[0] = dp_replicate();
  const uint32_t m = static_cast<uint32_t>(mesh[0].size);
  w.Tensor("host", "x", Print(host), DP__SPACE__HOST_INPUT, 0)
      .Tensor("out", "x", Print(host), DP__SPACE__HOST_OUTPUT, 0);
  for (uint32_t j = 0; j < m; j++) {
    w.Tensor("x" + std::to_string(j), "x", Print(part), DP__SPACE__TRANSIENT, 1024 * j).Micro(j);
    w.Add("s", "dp.Scatter", "", {"host"}, {"x" + std::to_string(j)});
  }
  std::string last = "x0";
  for (uint32_t j = 1; j < m; j++) {
    std::string to = "all" + std::to_string(j);
    w.Tensor(to, "x", Print(j + 1 == m ? whole : part), DP__SPACE__TRANSIENT, 8192 + 1024 * j);
    if (j + 1 < m) w.Micro(0, j + 1);
    w.AddAccumulate("s", last, "x" + std::to_string(j), to);
    last = to;
  }
  w.Add("s", "dp.Gather", "", {last}, {"out"});
  w.Input("x", "host");
  w.Output("y", "out");
  return p.Verify();
}

std::set<int64_t> Elements(const std::vector<dp_mesh_axis> &axes, const std::vector<dp_placement> &at,
                           const int64_t *coordinate) {
  dp_mesh mesh = {};
  for (const dp_mesh_axis &axis : axes) mesh.axes[mesh.n_axes++] = axis;
  dp_shape shape = {};
  shape.rank = 2;
  shape.dims[0] = shape.dims[1] = dp_dim_of(12);
  dp_local local = dp_shard_range(&shape, at.data(), &mesh, coordinate, 1);
  std::set<int64_t> result;
  for (int64_t i = 0; i < local.extents[0]; i++)
    for (int64_t j = 0; j < local.extents[1]; j++)
      result.insert(dp_local_to_whole(&local, 0, i) * 12 + dp_local_to_whole(&local, 1, j));
  return result;
}

// Whether the parts that each device gets in turn make up its share of the whole.
bool IsWhole(const std::vector<dp_mesh_axis> &axes, const std::vector<dp_placement> &part) {
  std::vector<dp_placement> whole = part;
  whole[0] = dp_replicate();
  for (int64_t b = 0; b < axes[1].size; b++)
    for (int64_t c = 0; c < axes[2].size; c++) {
      int64_t coordinate[DP_MAX_MESH] = {0, b, c};
      std::set<int64_t> expected = Elements(axes, whole, coordinate), got;
      for (coordinate[0] = 0; coordinate[0] < axes[0].size; coordinate[0]++) {
        std::set<int64_t> one = Elements(axes, part, coordinate);
        got.insert(one.begin(), one.end());
      }
      if (got != expected) return false;
    }
  return true;
}

TEST(Micro, PartsAreJoinedToWhatDevicesHave) {
  std::mt19937 random(1);
  auto shard = [&] {
    static const int64_t views[][2] = {{1, 1}, {1, 1}, {2, 1}, {1, 3}, {3, 2}};
    const int64_t *view = views[random() % 5];
    return dp_shard_in(static_cast<int>(random() % 2), view[0], view[1]);
  };
  int held = 0, impossible = 0;
  for (int i = 0; i < 1000; i++) {
    std::vector<dp_mesh_axis> mesh = {
        {"micro", 2 + static_cast<int64_t>(random() % 3)}, {"a", 2 + static_cast<int64_t>(random() % 2)}, {"b", 2}};
    std::vector<dp_placement> part = {shard(), random() % 3 ? shard() : dp_replicate(),
                                      random() % 3 ? shard() : dp_replicate()};
    std::string rule = Join(mesh, part);
    if (rule == "TENSOR.PLACEMENT") continue;
    EXPECT_TRUE(rule.empty() || rule == "MEANING.MICRO") << rule;
    EXPECT_TRUE(IsWhole(mesh, part) || !rule.empty()) << Print(part);
    held += rule.empty();
    impossible += !IsWhole(mesh, part);
  }
  EXPECT_GT(held, 100);
  EXPECT_GT(impossible, 100);
}

// ---- pieces of a sum ------------------------------------------------------------------------------------------------

// y = MatMul(s, b), where s is the sum of x over the samples. A piece of y comes from one micro-batch's sum, or from
// some elements of the whole sum and the same rows of b. Both follow a sharding rule, and two pieces of the same kind
// add up to y. Two pieces of different kinds do not.
std::string Sum(bool first_of_samples, bool second_of_samples, std::string *message) {
  SmallPlan p(R"(model m {
    parameter b: float32[4,3] = [1,2,3,4,5,6,7,8,9,10,11,12]
    graph infer {
      input x: float32[N,4]
      s = ReduceSum(x) {axes=[0], keepdims=1}
      y = MatMul(s, b)
      output y
    }
  })",
              {{"micro", 2}}, 7, 8192);
  ProgramWriter &w = *p.writer;
  const bool of_samples[] = {first_of_samples, second_of_samples};
  w.Tensor("b", "b", "R", DP__SPACE__PERSISTENT, 0);
  w.At("b")->bytes = SmallPlan::kHome;
  w.Tensor("x@host", "x", "R", DP__SPACE__HOST_INPUT, 0);
  for (uint32_t j : {0u, 1u}) {
    std::string n = std::to_string(j);
    w.Tensor("x" + n, "x", "S(0)", DP__SPACE__TRANSIENT, 256 * j).Micro(j);
    w.Tensor("s" + n, "s", "P(sum)", DP__SPACE__TRANSIENT, 512 + 64 * j).Micro(j);
    w.Tensor("part" + n, "s", "S(1)", DP__SPACE__TRANSIENT, 1024 + 64 * j).Micro(j);
    w.Tensor("b" + n, "b", "S(0)", DP__SPACE__TRANSIENT, 1280 + 64 * j).Micro(j);
    w.Tensor("y" + n, "y", "P(sum)", DP__SPACE__TRANSIENT, 1536 + 64 * j).Micro(j);
    w.Add("s", "dp.Scatter", "", {"x@host"}, {"x" + n});
    w.Add("s", "ReduceSum", "s", {"x" + n}, {"s" + n});
  }
  w.Tensor("s", "s", "R", DP__SPACE__TRANSIENT, 2048).Tensor("y", "y", "R", DP__SPACE__TRANSIENT, 2112);
  w.Tensor("y@host", "y", "R", DP__SPACE__HOST_OUTPUT, 0);
  w.AddAccumulate("s", "s0", "s1", "s");
  for (int j : {0, 1}) {
    std::string n = std::to_string(j);
    w.AddOver("micro", "s", "dp.Slice", "s", "part" + n);
    w.AddOver("micro", "s", "dp.Slice", "b", "b" + n);
    if (of_samples[j])
      w.Add("s", "MatMul", "y", {"s" + n, "b"}, {"y" + n});
    else
      w.Add("s", "MatMul", "y", {"part" + n, "b" + n}, {"y" + n});
  }
  w.AddAccumulate("s", "y0", "y1", "y");
  w.Add("s", "dp.Gather", "", {"y"}, {"y@host"});
  w.Input("x", "x@host");
  w.Output("y", "y@host");
  w.Found(0, "b");
  return p.Verify(message);
}

TEST(Micro, PiecesOfASumAreOfOneWay) {
  std::string message;
  EXPECT_EQ(Sum(true, true, &message), "") << message;
  EXPECT_EQ(Sum(false, false, &message), "") << message;
  EXPECT_EQ(Sum(true, false, &message), "MEANING.MICRO");
  EXPECT_NE(message.find("would not add up to one sum"), std::string::npos) << message;
  EXPECT_EQ(Sum(false, true, &message), "MEANING.MICRO");
}

}  // namespace
