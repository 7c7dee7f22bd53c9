// Compares the graphs of a pipeline's stages with the properties of the schedules, using the graphs alone: streams,
// events and pairs of Send and Recv. Stages do not wait in a cycle, idle time follows the formula, and a stage has no
// more unfinished micro-batches, and no more memory, than its schedule says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/verify/verify.h"
#include "passes/cost/cost_model.h"
#include "passes/pipeline.h"
#include "tests/end_to_end/gpt.h"
#include "tests/ir/base/growth.h"
#include "tests/passes/passes_helper.h"
#include "tests/passes/random_network.h"

namespace dp_test {
namespace {

bool Is(const dp_node *node, const char *op) { return !strcmp(node->op->name, op); }
int64_t Channel(const dp_node *node) { return dp_node_int(node, "channel", 0); }

// ---- running all stages ---------------------------------------------------------------------------------------------

// All nodes of all stages, with a Send and its Recv as one unit, and the predecessors of each.
struct Merged {
  struct Unit {
    std::vector<const dp_node *> nodes;
    std::vector<size_t> before;
  };
  std::vector<Unit> units;
  std::map<const dp_node *, size_t> unit_of;
  std::vector<size_t> order;  // shorter than units if there is a cycle

  explicit Merged(const std::vector<const dp_graph *> &stages) {
    std::map<int64_t, size_t> channels;
    for (const dp_graph *graph : stages)
      for (int32_t i = 0; i < graph->n_nodes; i++) {
        const dp_node *node = graph->nodes[i];
        bool transfer = Is(node, "Send") || Is(node, "Recv");
        size_t unit = transfer && channels.count(Channel(node)) ? channels[Channel(node)] : units.size();
        if (unit == units.size()) units.emplace_back();
        if (transfer) channels[Channel(node)] = unit;
        units[unit].nodes.push_back(node);
        unit_of[node] = unit;
      }
    for (const dp_graph *graph : stages) {
      std::map<int, const dp_node *> last, signaller;
      for (int32_t i = 0; i < graph->n_nodes; i++) {
        const dp_node *node = graph->nodes[i];
        Unit &unit = units[unit_of[node]];
        if (last[node->stream]) unit.before.push_back(unit_of[last[node->stream]]);
        last[node->stream] = node;
        for (int w = 0; w < node->n_waits; w++) {
          EXPECT_TRUE(signaller.count(node->waits[w])) << node->name << " waits for what comes later";
          if (signaller.count(node->waits[w])) unit.before.push_back(unit_of[signaller[node->waits[w]]]);
        }
        if (node->signal >= 0) signaller[node->signal] = node;
      }
    }
    Sort();
  }

  // The end of the last unit; cost: of a node.
  double Span(const std::map<const dp_node *, double> &cost) const {
    std::vector<double> end(units.size());
    double last = 0;
    for (size_t u : order) {
      for (size_t b : units[u].before) end[u] = std::max(end[u], end[b]);
      for (const dp_node *node : units[u].nodes) end[u] += cost.count(node) ? cost.at(node) : 0;
      last = std::max(last, end[u]);
    }
    return last;
  }

 private:
  void Sort() {
    std::vector<std::vector<size_t>> after(units.size());
    std::vector<size_t> missing(units.size());
    for (size_t u = 0; u < units.size(); u++)
      for (size_t b : units[u].before) after[b].push_back(u), missing[u]++;
    for (size_t u = 0; u < units.size(); u++)
      if (!missing[u]) order.push_back(u);
    for (size_t at = 0; at < order.size(); at++)
      for (size_t next : after[order[at]])
        if (!--missing[next]) order.push_back(next);
  }
};

void ExpectSound(const CompiledModel &c) {
  ASSERT_EQ(c.failure, "");
  dp_verify_report report;
  EXPECT_EQ(Message(dp_verify_plan(c.plan, &report)), "");
  for (const char *program : {"init", "train", "eval", "infer"}) {
    SCOPED_TRACE(program);
    std::vector<const dp_graph *> stages = c.Stages(program);
    Merged merged(stages);
    EXPECT_EQ(merged.order.size(), merged.units.size()) << "stages wait in a cycle";
    for (const Merged::Unit &unit : merged.units)
      if (Is(unit.nodes[0], "Send") || Is(unit.nodes[0], "Recv")) {
        EXPECT_EQ(unit.nodes.size(), 2u) << unit.nodes[0]->name;
      }
  }
}

// ---- networks -------------------------------------------------------------------------------------------------------

// p equal layers, one for each stage, or as many as fit for each of `stages`. skip: each layer's input also goes to the
// layer after the next. tied: the last layer has the first one's weights.
std::string Layers(int p, bool skip = false, bool tied = false, int stages = 0) {
  const int width = 8;
  std::string text =
      "model m {\n  loss \"mse(y,target)\"\n  optimizer \"sgd(lr=0.1,momentum=0.9,clip_norm=1)\"\n  input x0: "
      "float32[N," +
      std::to_string(width) + "]\n";
  for (int i = 0; i < p; i++) {
    const std::string stage = " [stage=" + std::to_string(stages ? i * stages / p : i) + "]\n";
    const std::string n = std::to_string(i), w = "w" + (tied && i == p - 1 ? "0" : n);
    const std::string extents = std::to_string(width) + "," + std::to_string(width);
    if (w == "w" + n) text += "  parameter " + w + ": float32[" + extents + "] = uniform(-0.3,0.3)\n";
    text += "  f" + n + " = Gemm(x" + n + ", " + w + ")" + stage;
    text += "  g" + n + " = Tanh(f" + n + ")" + stage;
    const std::string next = i == p - 1 ? "y" : "x" + std::to_string(i + 1);
    const std::string from = skip && i > 0 ? "x" + std::to_string(i - 1) : "x" + n;
    text += "  " + next + " = Add(g" + n + ", " + from + ")" + stage;
  }
  return text + "  output y\n}\n";
}

// A region is computed where its last member is.
bool IsForward(const dp_node *node) {
  static const std::string letters = "fgxy";
  if (node->body) node = node->body->nodes[node->body->n_nodes - 1];
  std::string name = node->logical ? node->logical->name : "";
  return name.size() && letters.find(name[0]) != std::string::npos &&
         name.find_first_not_of("0123456789", 1) == std::string::npos;
}

// The micro-batch of a node's results, or -1. If there is only one, it is that of values with samples.
int Micro(const dp_node *node) {
  bool whole = dp_mesh_microbatches(&node->graph->model->mesh) == 1;
  for (int k = 0; k < node->n_outputs; k++) {
    const dp_value *y = node->outputs[k];
    if (y && y->micro_count) return y->micro_first;
    if (y && whole && y->type->shape.rank && dp_dim_is_symbolic(y->type->shape.dims[0])) return 0;
  }
  return -1;
}

struct Case {
  int p, m;
  bool gpipe;
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.p << " stages, " << c.m << ", " << (c.gpipe ? "gpipe" : "1f1b");
}

std::string Words(const Case &c, int batch) {
  return "strategy=pipeline threads=1 devices=" + std::to_string(c.p) + " microbatches=" + std::to_string(c.m) +
         " batch=" + std::to_string(batch) + (c.gpipe ? " schedule=gpipe" : " schedule=1f1b");
}

// ---- the schedule ---------------------------------------------------------------------------------------------------

class Schedule : public testing::TestWithParam<Case> {};

// Forward takes 1 and backward 2 in each stage, at its first node; transfers take nothing.
std::map<const dp_node *, double> Costs(const std::vector<const dp_graph *> &stages) {
  std::map<const dp_node *, double> cost;
  for (const dp_graph *graph : stages) {
    std::set<std::pair<int, bool>> seen;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
      const dp_node *node = graph->nodes[i];
      if (dp_op_is(node->op, DP_OP_COMMUNICATION) || Micro(node) < 0) continue;
      if (seen.insert({Micro(node), IsForward(node)}).second) cost[node] = IsForward(node) ? 1 : 2;
    }
  }
  return cost;
}

TEST_P(Schedule, StandsIdleAsTheFormulaSays) {
  const auto [p, m, gpipe] = GetParam();
  CompiledModel c(Layers(p), Words(GetParam(), 2 * m));
  ExpectSound(c);
  std::vector<const dp_graph *> stages = c.Stages("train");
  ASSERT_EQ(stages.size(), size_t(p));
  std::map<const dp_node *, double> costs = Costs(stages);
  double work = 0;
  for (const auto &[node, cost] : costs) work += cost;
  EXPECT_EQ(work, 3.0 * m * p);
  double span = Merged(stages).Span(costs), idle = 1 - work / (span * p);
  EXPECT_NEAR(idle, double(p - 1) / (m + p - 1), 1e-9);
}

// Forward and backward are spread over their nodes, and a transfer takes time.
double SpanWithTransfers(const std::vector<const dp_graph *> &stages, double transfer) {
  std::map<const dp_node *, double> cost;
  for (const dp_graph *graph : stages) {
    std::map<std::pair<int, bool>, std::vector<const dp_node *>> tasks;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
      const dp_node *node = graph->nodes[i];
      if (Is(node, "Send")) cost[node] = transfer;
      if (!dp_op_is(node->op, DP_OP_COMMUNICATION) && Micro(node) >= 0)
        tasks[{Micro(node), IsForward(node)}].push_back(node);
    }
    for (const auto &[task, nodes] : tasks)
      for (const dp_node *node : nodes) cost[node] = (task.second ? 1.0 : 2.0) / double(nodes.size());
  }
  return Merged(stages).Span(cost);
}

// Filling and draining take a transfer for each stage passed, and so does the norm of gradients. All other transfers
// overlap computation. 1f1b has too few micro-batches in flight for that: with p of them around p stages, each round of
// 3p has 2(p-1) transfers.
TEST(Transfers, LieBesideComputation) {
  const int p = 4;
  for (int m : {8, 32})
    for (double transfer : {0.1, 0.3})
      for (bool gpipe : {false, true}) {
        CompiledModel c(Layers(4 * p, false, false, p), Words({p, m, gpipe}, 2 * m));
        ExpectSound(c);
        double fill = 4 * (p - 1) * transfer, round = gpipe ? 0 : 2.0 * (p - 1) / p * transfer;
        EXPECT_LE(SpanWithTransfers(c.Stages("train"), transfer), 3 * (m + p - 1) + fill + m * round) << m << gpipe;
      }
}

// The largest number of micro-batches whose forward pass the stage has started and whose backward pass is unfinished,
// by the lifetimes of its own forward results.
int Held(const dp_graph *graph) {
  std::map<int, std::pair<int32_t, int32_t>> lives;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *x = node->inputs[k];
      if (x && x->producer && IsForward(x->producer)) lives[x->micro_first].second = i;
    }
    if (!IsForward(node)) continue;
    if (!lives.count(Micro(node))) lives[Micro(node)].first = i;
    lives[Micro(node)].second = i;
  }
  int most = 0;
  for (const auto &[j, life] : lives) {
    int beside = 0;
    for (const auto &[k, other] : lives) beside += other.first <= life.first && life.first <= other.second;
    most = std::max(most, beside);
  }
  return most;
}

TEST_P(Schedule, HoldsNoMoreMicroBatchesThanItSays) {
  const auto [p, m, gpipe] = GetParam();
  for (bool skip : {false, true}) {
    CompiledModel c(Layers(p, skip), Words(GetParam(), 2 * m));
    ExpectSound(c);
    if (m == 1) continue;
    for (const dp_graph *graph : c.Stages("train")) {
      bool last = graph->stage == p - 1;
      EXPECT_EQ(Held(graph), last ? 1 : gpipe ? m : std::min(m, p - graph->stage)) << graph->name << ", skip " << skip;
    }
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int p : {2, 3, 4, 8})
    for (int m : {1, 2, 3, 8, 16})
      for (bool gpipe : {false, true}) cases.push_back({p, m, gpipe});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, Schedule, testing::ValuesIn(Cases()), [](const auto &info) {
  return std::to_string(info.param.p) + "_stages_" + std::to_string(info.param.m) +
         (info.param.gpipe ? "_gpipe" : "_1f1b");
});

// ---- memory ---------------------------------------------------------------------------------------------------------

uint64_t Transients(const dp_graph *graph) {
  uint64_t top = 0;
  for (int32_t i = 0; i < graph->n_values; i++)
    if (graph->values[i]->space == DP_SPACE_TRANSIENT)
      top = std::max(top, graph->values[i]->offset + graph->values[i]->bytes);
  return top;
}

TEST(Memory, GrowsWithWhatIsHeld) {
  enum { SAMPLES = 64 };  // of a micro-batch
  const int p = 4;
  std::map<bool, std::map<int, std::vector<uint64_t>>> tops;  // by schedule and number of micro-batches
  for (bool gpipe : {false, true})
    for (int m : {4, 8, 16}) {
      // Regions have scratch, and so have products in float32.
      CompiledModel c(Layers(p), Words({p, m, gpipe}, SAMPLES * m) + " no-fuse=yes precision=fp64");
      ExpectSound(c);
      for (const dp_graph *graph : c.Stages("train")) tops[gpipe][m].push_back(Transients(graph));
    }
  const uint64_t activation = SAMPLES * 8 * 8;
  for (size_t s = 0; s < size_t(p); s++) {
    EXPECT_LE(tops[false][16][s], tops[false][4][s] + activation) << "1f1b, stage " << s;
    EXPECT_EQ(tops[false][16][s], tops[false][8][s]) << "1f1b, stage " << s;
    if (s + 1 < size_t(p)) {
      EXPECT_LT(tops[false][4][s + 1], tops[false][4][s]) << "stage " << s;
      EXPECT_GE(tops[true][16][s], tops[true][8][s] + 8 * activation) << "gpipe, stage " << s;
      EXPECT_GE(tops[true][16][s], 2 * tops[false][16][s]) << "stage " << s;
    }
  }
}

// What must be over before each node starts, on its own stage.
std::vector<std::vector<bool>> Before(const dp_graph *graph) {
  const size_t n = size_t(graph->n_nodes);
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  std::map<int, int32_t> last, signaller;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    std::vector<int32_t> edges;
    if (last.count(node->stream)) edges.push_back(last[node->stream]);
    for (int w = 0; w < node->n_waits; w++) edges.push_back(signaller.at(node->waits[w]));
    for (int32_t e : edges) {
      for (size_t k = 0; k < n; k++)
        if (before[size_t(e)][k]) before[size_t(i)][k] = true;
      before[size_t(i)][size_t(e)] = true;
    }
    last[node->stream] = i;
    if (node->signal >= 0) signaller[node->signal] = i;
  }
  return before;
}

// The number of other nodes whose gathered parameters may be present during a computing node, at most.
size_t GatheredAtOnce(const dp_graph *graph) {
  std::vector<std::vector<bool>> before = Before(graph);
  std::map<int32_t, std::vector<int32_t>> users;  // the users of each gather of a parameter
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      if (x && x->producer && Is(x->producer, "AllGather") && x->logical->kind == DP_VALUE_VARIABLE)
        users[x->producer->id].push_back(i);
    }
  EXPECT_GT(users.size(), 2u);
  size_t most = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    if (dp_op_is(graph->nodes[i]->op, DP_OP_COMMUNICATION)) continue;
    std::set<int32_t> layers;
    for (const auto &[gather, by] : users) {
      bool over = true;
      for (int32_t u : by) over &= before[size_t(i)][size_t(u)];
      if (!over && !before[size_t(gather)][size_t(i)]) layers.insert(by[0]);
    }
    most = std::max(most, layers.size());
  }
  return most;
}

TEST(Memory, OfOneStageIsThatOfOneMicroBatch) {
  std::map<int, uint64_t> tops;
  for (int m : {4, 8, 64}) {
    CompiledModel c(Layers(12, false, false, 1),
                    "strategy=single threads=1 microbatches=" + std::to_string(m) + " batch=" + std::to_string(8 * m));
    ExpectSound(c);
    tops[m] = Transients(c.Stages("train")[0]);
  }
  EXPECT_EQ(tops[8], tops[4]);
  EXPECT_LE(double(tops[64]), 1.05 * double(tops[4]));
}

TEST(Memory, HoldsGatheredParametersOfTheLayerAtWorkAndTheNext) {
  for (const std::string mesh : {"data:2", "data:2,pipe:2", "data:2,pipe:2,tensor:2"})
    for (const std::string m : {"2", "8"}) {
      SCOPED_TRACE(mesh + ", " + m);
      CompiledModel c(Layers(8, false, false, mesh == "data:2" ? 1 : 2),
                      "strategy=zero zero-stage=3 threads=1 batch=16 mesh=" + mesh + " microbatches=" + m);
      ExpectSound(c);
      for (const dp_graph *graph : c.Stages("train")) EXPECT_LE(GatheredAtOnce(graph), 2u) << graph->name;
    }
}

// ---- various networks -----------------------------------------------------------------------------------------------

TEST(Roles, TiedWeightsSkipsAndMoreMicroBatchesThanSamples) {
  for (int p : {1, 2, 3, 5})
    for (int m : {1, 2, 7})
      for (int batch : {3, 14})
        for (bool skip : {false, true}) {
          if (p == 1 && m == 1) continue;
          SCOPED_TRACE(std::to_string(p) + " stages, " + std::to_string(m) + ", batch " + std::to_string(batch));
          std::string words = Words({p, m, false}, batch);
          if (p == 1)
            words = "strategy=single threads=1 microbatches=" + std::to_string(m) + " batch=" + std::to_string(batch);
          ExpectSound(CompiledModel(Layers(p, skip, p > 2), words));
          if (testing::Test::HasFailure()) return;
        }
}

TEST(Roles, RandomNetworksOnRandomMeshes) {
  const char *meshes[] = {"data:2",          "data:2,tensor:2",        "pipe:2",       "pipe:3", "data:2,pipe:2",
                          "pipe:2,tensor:2", "data:2,pipe:2,tensor:2", "pipe:4,data:3"};
  for (uint32_t seed = 1; seed <= 60; seed++) {
    RandomNetwork network(seed);
    std::string mesh = meshes[seed % 8];
    bool data = mesh.find("data") != std::string::npos, zero = data && seed % 4 < 3;
    std::string words = "threads=1 batch=8 mesh=" + mesh + " microbatches=" + std::to_string(1 + seed / 8 % 7) +
                        (seed % 2 && mesh.find("pipe") != std::string::npos ? " schedule=gpipe" : "") +
                        (zero   ? " strategy=zero zero-stage=" + std::to_string(1 + seed % 4)
                         : data ? " strategy=data"
                                : " strategy=pipeline");
    SCOPED_TRACE(words + "\n" + network.Describe());
    ExpectSound(CompiledModel(network.text, words));
    if (HasFailure()) break;
  }
}

// Micro-batches are not devices, so the limit on devices does not apply.
TEST(Roles, ManyMicroBatchesOnManyDevices) {
  CompiledModel c(
      "model m {\n  loss \"mse(y,t)\"\n  optimizer \"sgd(lr=0.1)\"\n  input x: float32[N,4]\n"
      "  parameter w: float32[4,4] = kaiming_uniform()\n  y = MatMul(x, w)\n  output y\n}\n",
      "mesh=data:1048576 strategy=data batch=8 threads=1 microbatches=17");
  ASSERT_EQ(c.failure, "");
  EXPECT_EQ(Message(dp_verify_plan(c.plan, nullptr)), "");
}

// Each stage has its graphs, and they can be printed and read back.
TEST(Roles, ManyStagesAreReadBack) {
  std::string text =
      "model m {\n  loss \"mse(h0,t)\"\n  optimizer \"sgd(lr=0.1)\"\n  input x: float32[N,4]\n"
      "  parameter w: float32[4,4] = kaiming_uniform()\n  h40 = MatMul(x, w)\n";
  for (int i = 40; i-- > 0;) text += "  h" + std::to_string(i) + " = Tanh(h" + std::to_string(i + 1) + ")\n";
  CompiledModel c(text + "  output h0\n}\n", "strategy=pipeline devices=40 batch=8 threads=1");
  ASSERT_EQ(c.failure, "");
  const std::string printed = Print(c.model);
  dp_model *again;
  ASSERT_EQ(Parse(c.arena, printed, &again), "");
  EXPECT_TRUE(Print(again) == printed);
}

TEST(Roles, TimeGrowsAsTheNetworkDoes) {
  auto compile = [](int layers) {
    CompiledModel c(Gpt(layers, 16, 2),
                    "strategy=pipeline devices=8 microbatches=8 batch=16 threads=1 optimizer=adam(clip_norm=1)");
    EXPECT_EQ(c.failure, "");
  };
  EXPECT_LT(Growth(8, 64, compile), 8 * 3);
}

}  // namespace
}  // namespace dp_test
