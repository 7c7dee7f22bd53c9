// Plans over meshes of several axes: conversions, compared with what devices really hold, and large plans.
#include <gtest/gtest.h>
#include <time.h>

#include <random>
#include <set>

#include "ir/file/proto.h"
#include "ir/graph/op.h"
#include "tests/ir/verify/small_plan.h"

namespace {

using dp_test::Append;
using dp_test::Arena;
using dp_test::ProgramWriter;
using dp_test::SmallPlan;

std::string Print(const std::vector<dp_placement> &at) {
  std::string text;
  for (const dp_placement &p : at) {
    char one[64];
    text += (text.empty() ? "" : ",") + std::string(dp_placement_print(p, one, sizeof one));
  }
  return text;
}

// Scatters a value as `from` and converts it to `to` with `op` over an axis. Returns "" or the rule.
std::string Convert(const std::vector<int64_t> &mesh, const std::vector<dp_placement> &from, const std::string &op,
                    const std::string &axis, const std::vector<dp_placement> &to) {
  static const char text[] =
      "model m {\n graph infer {\n input x: float32[12,12]\n output y = x\n}\n graph other {\n input x: float32[N]\n "
      "output x\n}\n}\n";
  SmallPlan p(text, dp_test::Axes(mesh), 1, 8192);
  bool split = false;
  for (const dp_placement &one : from) split |= one.kind == DP_SHARD;
  p.writer->Tensor("host", "x", Print(std::vector<dp_placement>(mesh.size(), dp_replicate())), DP__SPACE__HOST_INPUT,
                   0);
  p.writer->Tensor("from", "x", Print(from), DP__SPACE__TRANSIENT, 0);
  p.writer->Tensor("to", "x", Print(to), DP__SPACE__TRANSIENT, 1024);
  p.writer->Tensor("out", "x", Print(std::vector<dp_placement>(mesh.size(), dp_replicate())), DP__SPACE__HOST_OUTPUT,
                   0);
  p.writer->Add("s", split ? "dp.Scatter" : "dp.Broadcast", "", {"host"}, {"from"});
  p.writer->AddOver(axis, "s", "dp." + op, "from", "to");
  p.writer->Add("s", "dp.Gather", "", {"to"}, {"out"});
  p.writer->Input("x", "host");
  p.writer->Output("y", "out");
  return p.Verify();
}

// Whether every device's part under `to` is contained in what its group (or it alone) holds under `from`.
bool IsPossible(const std::vector<int64_t> &sizes, const std::vector<dp_placement> &from, bool alone, int axis,
                const std::vector<dp_placement> &to) {
  dp_mesh mesh = {};
  mesh.n_axes = static_cast<int>(sizes.size());
  for (size_t a = 0; a < sizes.size(); a++) mesh.axes[a] = {"", sizes[a]};
  dp_shape shape = {};
  shape.rank = 2;
  shape.dims[0] = shape.dims[1] = dp_dim_of(12);
  auto elements = [&](const std::vector<dp_placement> &at, const int64_t *coordinate) {
    dp_local local = dp_shard_range(&shape, at.data(), &mesh, coordinate, 1);
    std::set<int64_t> result;
    for (int64_t i = 0; i < local.extents[0]; i++)
      for (int64_t j = 0; j < local.extents[1]; j++)
        result.insert(dp_local_to_whole(&local, 0, i) * 12 + dp_local_to_whole(&local, 1, j));
    return result;
  };
  for (int64_t d = 0; d < dp_mesh_devices(&mesh); d++) {
    int64_t coordinate[DP_MAX_MESH] = {}, other[DP_MAX_MESH];
    dp_mesh_coordinate(&mesh, d, coordinate);
    std::set<int64_t> wanted = elements(to, coordinate), held;
    for (int64_t k = 0; k < sizes[static_cast<size_t>(axis)]; k++) {
      std::copy(coordinate, coordinate + DP_MAX_MESH, other);
      if (!alone) other[axis] = k;
      std::set<int64_t> part = elements(from, other);
      held.insert(part.begin(), part.end());
    }
    if (!std::includes(held.begin(), held.end(), wanted.begin(), wanted.end())) return false;
  }
  return true;
}

TEST(Mesh, ConversionsAreThoseThatDevicesCanDo) {
  std::mt19937 random(1);
  auto placement = [&]() -> dp_placement {
    static const int64_t views[][2] = {{1, 1}, {1, 1}, {2, 1}, {1, 3}, {3, 2}};
    if (random() % 3 == 0) return dp_replicate();
    const int64_t *view = views[random() % 5];
    return dp_shard_in(static_cast<int>(random() % 2), view[0], view[1]);
  };
  int held = 0, refused = 0, impossible = 0;
  for (int i = 0; i < 6000; i++) {
    std::vector<int64_t> mesh;
    for (unsigned a = 0; a < 1 + random() % 3; a++) mesh.push_back(2 + static_cast<int64_t>(random() % 2));
    std::vector<dp_placement> from, to;
    for (size_t a = 0; a < mesh.size(); a++) from.push_back(placement());
    to = from;
    int axis = static_cast<int>(random() % mesh.size());
    to[static_cast<size_t>(axis)] = placement();
    if (random() % 20 == 0) to[0] = placement();
    static const char *const ops[] = {"Slice", "AllGather", "AllToAll"};
    std::string op = ops[random() % 3];
    std::string rule = Convert(mesh, from, op, std::string(1, static_cast<char>('a' + axis)), to);
    if (rule == "TENSOR.PLACEMENT") continue;
    bool possible = IsPossible(mesh, from, op == "Slice", axis, to);
    EXPECT_TRUE(rule.empty() || rule == "MEANING.CONVERSION") << rule;
    EXPECT_TRUE(possible || !rule.empty()) << Print(from) << " " << op << " " << axis << " " << Print(to);
    held += rule.empty();
    refused += !rule.empty();
    impossible += !possible;
  }
  EXPECT_GT(held, 300);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(impossible, 300);
}

// Nested splits are made in mesh order and undone from the last axis.
TEST(Mesh, NestedSplits) {
  dp_placement r = dp_replicate(), s = dp_shard(0), t = dp_shard(1), v = dp_shard_in(0, 2, 1);
  EXPECT_EQ(Convert({2, 2}, {s, r}, "Slice", "b", {s, s}), "");
  EXPECT_EQ(Convert({2, 2}, {v, r}, "Slice", "b", {v, v}), "");
  EXPECT_EQ(Convert({2, 2}, {v, r}, "Slice", "b", {v, s}), "TENSOR.PLACEMENT");
  EXPECT_EQ(Convert({2, 2}, {r, s}, "Slice", "a", {s, s}), "MEANING.CONVERSION");
  EXPECT_EQ(Convert({2, 2}, {s, s}, "AllGather", "b", {s, r}), "");
  EXPECT_EQ(Convert({2, 2}, {s, s}, "AllGather", "a", {r, s}), "MEANING.CONVERSION");
  EXPECT_EQ(Convert({2, 2}, {s, t}, "AllGather", "a", {r, t}), "");
  EXPECT_EQ(Convert({2, 2}, {s, r}, "AllToAll", "a", {t, r}), "");
  EXPECT_EQ(Convert({2, 2}, {s, t}, "AllToAll", "a", {t, t}), "MEANING.CONVERSION");
  EXPECT_EQ(Convert({2, 2}, {s, r}, "AllToAll", "a", {s, r}), "MEANING.CONVERSION");
  EXPECT_EQ(Convert({2, 2}, {s, r}, "AllGather", "b", {r, r}), "MEANING.CONVERSION");
  EXPECT_EQ(Convert({2, 2}, {s, t}, "AllGather", "a", {r, r}), "MEANING.CONVERSION");
  EXPECT_EQ(Convert({3}, {r}, "Slice", "a", {t}), "");
}

// Partial sums on two axes are reduced one axis at a time, and a sum is not a maximum.
TEST(Mesh, PartialOnTwoAxes) {
  static const char text[] =
      "model m {\n graph infer {\n input x: float32[N,12]\n y = ReduceSum(x) {axes=[0,1], keepdims=0}\n output y\n}\n"
      " graph other {\n input x: float32[N]\n output x\n}\n}\n";
  auto make = [&](const char *first, const char *second, int32_t reduction) {
    SmallPlan p(text, dp_test::Axes({2, 3}), 7, 4096);
    ProgramWriter &w = *p.writer;
    w.Tensor("host", "x", "R,R", DP__SPACE__HOST_INPUT, 0).Tensor("x", "x", "S(0),S(1)", DP__SPACE__TRANSIENT, 0);
    w.Tensor("part", "y", "P(sum),P(sum)", DP__SPACE__TRANSIENT, 1024);
    w.Tensor("half", "y", first, DP__SPACE__TRANSIENT, 1024).Tensor("y", "y", "R,R", DP__SPACE__TRANSIENT, 1024);
    w.Tensor("out", "y", "R,R", DP__SPACE__HOST_OUTPUT, 0);
    w.Add("s", "dp.Scatter", "", {"host"}, {"x"});
    w.Add("s", "ReduceSum", "y", {"x"}, {"part"});
    w.AddOver(second[0] == 'a' ? "b" : "a", "s", "dp.AllReduce", "part", "half")->communication->reduction = reduction;
    w.AddOver(second, "s", "dp.AllReduce", "half", "y");
    w.Add("s", "dp.Gather", "", {"y"}, {"out"});
    w.Input("x", "host");
    w.Output("y", "out");
    return p.Verify();
  };
  EXPECT_EQ(make("R,P(sum)", "b", 0), "");
  EXPECT_EQ(make("P(sum),R", "a", 0), "");
  EXPECT_EQ(make("R,P(sum)", "a", 0), "MEANING.CONVERSION");
  EXPECT_EQ(make("R,P(max)", "b", 0), "MEANING.CONVERSION");
  EXPECT_EQ(make("P(max),P(sum)", "b", 0), "TENSOR.PLACEMENT");
  EXPECT_EQ(make("R,P(sum)", "b", 1), "MEANING.CONVERSION");
}

// An elementwise result that overwrites its operand must have the same type.
TEST(InPlace, OnlyOfOneType) {
  auto make = [](const std::string &node, const char *type) {
    const std::string text = "model m {\n graph infer {\n input x: " + std::string(type) + "[N,4]\n y = " + node +
                             "\n output y\n}\n graph other {\n input x: float32[N]\n output x\n}\n}\n";
    SmallPlan p(text, dp_test::Axes({2}), 7, 4096);
    ProgramWriter &w = *p.writer;
    w.Tensor("host", "x", "R", DP__SPACE__HOST_INPUT, 0).Tensor("x", "x", "S(0)", DP__SPACE__TRANSIENT, 0);
    w.Tensor("y", "y", "S(0)", DP__SPACE__TRANSIENT, 0).Tensor("out", "y", "R", DP__SPACE__HOST_OUTPUT, 0);
    w.Add("s", "dp.Scatter", "", {"host"}, {"x"});
    w.Add("s", node.substr(0, node.find('(')), "y", {"x"}, {"y"});
    w.Add("s", "dp.Gather", "", {"y"}, {"out"});
    w.Input("x", "host");
    w.Output("y", "out");
    return p.Verify();
  };
  EXPECT_EQ(make("Relu(x)", "float64"), "");
  EXPECT_EQ(make("Cast(x) {to=\"float64\"}", "int64"), "ORDER.ALIAS");
  EXPECT_EQ(make("Cast(x) {to=\"float32\"}", "int32"), "ORDER.ALIAS");
}

// Numbers in a hostile plan must not cause overflow.
TEST(Mesh, HugeShapesAndMeshes) {
  static const char text[] =
      "model m {\n graph infer {\n input x: float32[288230376151711743]\n output x\n}\n graph other {\n input x: "
      "float32[N]\n output x\n}\n}\n";
  Arena arena;
  dp_model *model;
  ASSERT_EQ(dp_test::Parse(arena, text, &model), "");
  SmallPlan p(text, dp_test::Axes({1 << 20, 1 << 4}), 1, 4096);
  p.writer->Tensor("host", "x", "R,R", DP__SPACE__HOST_INPUT, 0);
  p.writer->At("host")->bytes = 64;
  EXPECT_EQ(p.Verify(), "TENSOR.BYTES");
  p.writer->At("host")->placements[0]->kind = DP_SHARD;
  p.writer->At("host")->placements[0]->outer = p.writer->At("host")->placements[0]->unit = 1;
  EXPECT_EQ(p.Verify(), "FORM.LIMIT");
}

// ---- large plans ----------------------------------------------------------------------------------------------------

// CPU seconds that checking takes for two chains of Relu on two streams that keep waiting for each other, with each
// result over the bytes of the result before the last.
double SecondsToCheck(int pairs) {
  std::string text = "model m {\n graph infer {\n input x: float32[N,4]\n a0 = Relu(x)\n b0 = Relu(a0)\n";
  for (int i = 1; i < pairs; i++) {
    std::string n = std::to_string(i), last = std::to_string(i - 1);
    text += "a" + n + " = Add(a" + last + ", b" + last + ")\nb" + n + " = Relu(a" + n + ")\n";
  }
  text += "output y = b" + std::to_string(pairs - 1) + "\n}\n graph other {\n input x: float32[N]\n output x\n}\n}\n";
  SmallPlan p(text, dp_test::Axes({2}), 8, 4096);
  ProgramWriter &w = *p.writer;
  w.Tensor("host", "x", "R", DP__SPACE__HOST_INPUT, 0).Tensor("x", "x", "S(0)", DP__SPACE__TRANSIENT, 256);
  w.Add("a", "dp.Scatter", "", {"host"}, {"x"});
  // Built directly, because the writer searches nodes linearly by name.
  Dp__Program *program = w.program;
  std::vector<Dp__DeviceTensor *> tensors(program->tensors, program->tensors + program->n_tensors);
  std::vector<Dp__Instruction *> streams[2];
  streams[0].push_back(program->streams[0]->instructions[0]);
  const dp_graph *graph = p.model->graphs[0];
  uint32_t last_a = 1, last_b = 0;
  for (int i = 0; i < 2 * pairs; i++) {
    const dp_node *node = graph->nodes[i];
    int s = i % 2;
    auto *t = static_cast<Dp__DeviceTensor *>(dp_memdup(p.arena, tensors[1], sizeof(Dp__DeviceTensor)));
    t->value = static_cast<uint32_t>(node->outputs[0]->id);
    t->offset = static_cast<uint64_t>(64 * (s + 2 * (i / 2 % 2)) + (i ? 512 : 0));
    tensors.push_back(t);
    auto *in = static_cast<Dp__Instruction *>(dp_alloc(p.arena, sizeof(Dp__Instruction)));
    dp__instruction__init(in);
    in->op = dp_strdup(p.arena, node->op->name);
    in->domain = dp_strdup(p.arena, "");
    in->kernel = dp_strdup(p.arena, (std::string("cpu.reference.") + node->op->name).c_str());
    Append(p.arena, &in->n_nodes, &in->nodes, static_cast<uint32_t>(i));
    Append(p.arena, &in->n_inputs, &in->inputs, last_a + 1);
    if (node->n_inputs > 1) Append(p.arena, &in->n_inputs, &in->inputs, last_b + 1);
    Append(p.arena, &in->n_outputs, &in->outputs, static_cast<uint32_t>(tensors.size()));
    if (i) Append(p.arena, &in->n_waits, &in->waits, static_cast<uint32_t>(i - 1));
    in->signal = static_cast<uint32_t>(i + 1);
    streams[s].push_back(in);
    (s ? last_b : last_a) = static_cast<uint32_t>(tensors.size() - 1);
  }
  program->tensors = tensors.data();
  program->n_tensors = tensors.size();
  program->events = 2 * pairs;
  w.Tensor("out", "b" + std::to_string(pairs - 1), "R", DP__SPACE__HOST_OUTPUT, 0);
  auto *gather = static_cast<Dp__Instruction *>(dp_memdup(p.arena, streams[0][0], sizeof(Dp__Instruction)));
  gather->op = dp_strdup(p.arena, "Gather");
  gather->inputs = gather->outputs = nullptr;
  gather->n_inputs = gather->n_outputs = 0;
  Append(p.arena, &gather->n_inputs, &gather->inputs, last_b + 1);
  Append(p.arena, &gather->n_outputs, &gather->outputs, static_cast<uint32_t>(program->n_tensors));
  streams[1].push_back(gather);
  auto *b = static_cast<Dp__Stream *>(dp_alloc(p.arena, sizeof(Dp__Stream)));
  dp__stream__init(b);
  b->name = dp_strdup(p.arena, "b");
  Append(p.arena, &program->n_streams, &program->streams, b);
  for (size_t s = 0; s < 2; s++) {
    program->streams[s]->instructions = streams[s].data();
    program->streams[s]->n_instructions = streams[s].size();
  }
  w.Input("x", "host");
  w.Output("y", "out");
  std::string message;
  dp_verify_report report;
  clock_t start = clock();  // CPU time of this process, since the machine may be busy
  EXPECT_EQ(p.Verify(&message, &report), "") << message;
  double seconds = static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
  printf("%llu instructions checked in %.3f s\n", static_cast<unsigned long long>(report.instructions), seconds);
  EXPECT_EQ(report.instructions, 2u * uint64_t(pairs) + 2);
  EXPECT_EQ(report.operands, 3u * uint64_t(pairs) + 1 + 1 - 1 + 1);
  return seconds;
}

// How long it takes is bench/compile_curve's matter. A square would take 64 times as long for 8 times as many.
TEST(Large, TakesTimeInProportion) { EXPECT_LT(SecondsToCheck(50000), 30 * SecondsToCheck(6250)); }

}  // namespace
