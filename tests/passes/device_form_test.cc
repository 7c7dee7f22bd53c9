// From source models to plans, on various meshes. The checker accepts each plan. Brute force over all paths of streams
// and events shows that operands are available, that no bytes have two uses at once, and that no wait is redundant.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "tests/passes/passes_helper.h"
#include "tests/passes/random_network.h"

namespace dp_test {
namespace {

// ---- happens-before, by brute force ---------------------------------------------------------------------------------

class Reach {
 public:
  explicit Reach(const dp_graph *graph) : graph_(graph), n_(size_t(graph->n_nodes)), reach_(n_, std::vector<bool>(n_)) {
    std::map<int, const dp_node *> last;
    std::map<int, int32_t> signaller;
    for (int32_t i = 0; i < graph->n_nodes; i++)
      if (graph->nodes[i]->signal >= 0) {
        EXPECT_EQ(signaller.count(graph->nodes[i]->signal), 0u) << "signalled twice";
        signaller[graph->nodes[i]->signal] = i;
      }
    EXPECT_EQ(int(signaller.size()), graph->n_events);
    before_.resize(n_);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
      const dp_node *node = graph->nodes[i];
      if (last.count(node->stream)) before_[size_t(i)].push_back(last[node->stream]->id);
      last[node->stream] = node;
      for (int w = 0; w < node->n_waits; w++) before_[size_t(i)].push_back(signaller.at(node->waits[w]));
      for (int32_t b : before_[size_t(i)]) {
        EXPECT_LT(b, i) << "the streams and events contradict the order of nodes";
        reach_[size_t(b)][size_t(i)] = true;
        for (size_t k = 0; k < n_; k++)
          if (reach_[k][size_t(b)]) reach_[k][size_t(i)] = true;
      }
    }
  }
  bool Before(int32_t a, int32_t b) const { return reach_[size_t(a)][size_t(b)]; }
  // Whether a is before b even without a direct edge from a to b.
  bool BeforeOtherwise(int32_t a, int32_t b) const {
    for (int32_t by : before_[size_t(b)])
      if (by != a && Before(a, by)) return true;
    return false;
  }

 private:
  const dp_graph *graph_;
  size_t n_;
  std::vector<std::vector<bool>> reach_;
  std::vector<std::vector<int32_t>> before_;
};

void ExpectOrder(const dp_graph *graph, const Reach &reach) {
  std::map<int32_t, std::vector<int32_t>> readers;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *x = node->inputs[k];
      if (x && x->producer) {
        EXPECT_TRUE(reach.Before(x->producer->id, i)) << node->name << " before " << x->name;
      }
      if (x && x->kind == DP_VALUE_VARIABLE) readers[x->variable].push_back(i);
    }
    std::vector<int> waits(node->waits, node->waits + node->n_waits);
    for (int32_t k = 0; k < i; k++)
      for (int w : waits)
        if (graph->nodes[k]->signal == w) {
          EXPECT_FALSE(reach.BeforeOtherwise(k, i)) << node->name << " has a redundant wait";
        }
  }
  for (int u = 0; u < graph->n_updates; u++)
    for (int32_t r : readers[graph->updates[u].variable]) {
      int32_t writer = graph->updates[u].value->producer->id;
      if (r != writer) {
        EXPECT_TRUE(reach.Before(r, writer)) << graph->nodes[r]->name << " reads what was overwritten";
      }
    }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

struct Range {
  std::string name;
  uint64_t offset, bytes;
  const dp_node *first;
  std::vector<int32_t> uses;  // including the first write
  const dp_value *value;
  size_t group;  // of those that overwrite each other
};

std::vector<Range> Transients(const dp_graph *graph) {
  std::vector<Range> ranges;
  std::map<const dp_value *, size_t> of;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k] && of.count(node->inputs[k])) ranges[of[node->inputs[k]]].uses.push_back(i);
    for (int k = 0; k < node->n_outputs; k++) {
      const dp_value *y = node->outputs[k];
      if (!y || y->space != DP_SPACE_TRANSIENT) continue;
      of[y] = ranges.size();
      ranges.push_back({y->name, y->offset, y->bytes, node, {i}, y, ranges.size()});
      const dp_value *x = k < node->n_inputs ? node->inputs[k] : nullptr;
      if (of.count(x) && x->offset == y->offset && x->bytes == y->bytes) ranges.back().group = ranges[of[x]].group;
    }
    if (node->scratch_bytes)
      ranges.push_back({node->name + std::string(" scratch"),
                        node->scratch_offset,
                        node->scratch_bytes,
                        node,
                        {i},
                        nullptr,
                        ranges.size()});
  }
  return ranges;
}

bool IsAllReduce(const dp_node *node) { return std::string(node->op->name) == "AllReduce"; }

uint64_t Padded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// The bucket of each group that is reduced together with others. The members are one value from the first write to any
// of them.
std::map<size_t, const dp_node *> Buckets(const dp_graph *graph, const std::vector<Range> &ranges) {
  std::map<size_t, const dp_node *> buckets;
  for (const Range &r : ranges) {
    const dp_node *by = nullptr;
    for (int32_t use : r.uses)
      if (IsAllReduce(graph->nodes[use]) && graph->nodes[use]->n_inputs > 1) by = graph->nodes[use];
    if (by && !buckets.count(r.group)) buckets[r.group] = by;
  }
  return buckets;
}

// Checked on one axis only: what another axis has made whole stays in that axis's bucket.
void ExpectFlat(const dp_graph *graph) {
  if (graph->model->mesh.n_axes > 1) return;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    std::map<uint64_t, const dp_value *> by_offset;
    for (int k = 0; IsAllReduce(graph->nodes[i]) && k < graph->nodes[i]->n_inputs; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      by_offset[x->offset] = x;
    }
    uint64_t end = by_offset.empty() ? 0 : by_offset.begin()->first;
    for (const auto &entry : by_offset) {
      EXPECT_EQ(entry.first, end) << entry.second->name;
      end = entry.first + Padded(entry.second->bytes);
    }
  }
}

bool Takes(const dp_node *node, const dp_value *value) {
  return std::find(node->inputs, node->inputs + node->n_inputs, value) != node->inputs + node->n_inputs;
}

// All uses of a precede the write of b, except the node that overwrites a with b.
bool Done(const Reach &reach, const Range &a, const Range &b) {
  for (int32_t use : a.uses) {
    if (reach.Before(use, b.first->id)) continue;
    const dp_node *over = b.first;
    if (use != over->id || !a.value || !b.value || a.offset != b.offset || a.bytes != b.bytes) return false;
    const int k = b.value->result;
    const bool same = k < over->n_inputs && over->inputs[k] == a.value;
    const bool in_place = over->body ? Takes(over, a.value)
                                     : same && ((dp_op_is(over->op, DP_OP_ELEMENTWISE) && !k) || IsAllReduce(over));
    if (!in_place) return false;
  }
  return true;
}

// The value that this one is a view of, in the same bytes.
const dp_value *Viewed(const dp_value *v) {
  while (v && v->producer && dp_op_is(v->producer->op, DP_OP_VIEW) && v->producer->inputs[0]->space == v->space &&
         v->producer->inputs[0]->offset == v->offset)
    v = v->producer->inputs[0];
  return v;
}

void ExpectRoom(const dp_graph *graph, const Reach &reach) {
  std::vector<Range> ranges = Transients(graph);
  uint64_t top = 0, bound = 0;
  for (const Range &a : ranges) {
    EXPECT_EQ(a.offset % 64, 0u);
    top = std::max(top, a.offset + a.bytes);
    for (const Range &b : ranges) {
      if (&a >= &b || a.offset >= b.offset + b.bytes || b.offset >= a.offset + a.bytes) continue;
      if (a.value && b.value && Viewed(a.value) == Viewed(b.value)) continue;
      EXPECT_TRUE(Done(reach, a, b) || Done(reach, b, a)) << a.name << " and " << b.name;
    }
  }
  std::map<size_t, const dp_node *> buckets = Buckets(graph, ranges);
  auto bytes_of = [](const dp_node *bucket) {
    uint64_t bytes = 0;
    for (int k = 0; k < bucket->n_inputs; k++) bytes += Padded(bucket->inputs[k]->bytes);
    return bytes;
  };
  // The most live bytes at any write.
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    std::map<size_t, uint64_t> alive;
    std::map<const dp_node *, uint64_t> joined;
    bool writes = false;
    for (const Range &a : ranges) {
      if (a.first->id > i) continue;
      writes |= a.first->id == i;
      bool done = true;
      for (int32_t use : a.uses) done &= reach.Before(use, i);
      if (!done && buckets.count(a.group))
        joined[buckets[a.group]] = bytes_of(buckets[a.group]);
      else if (!done)
        alive[a.group] = Padded(a.bytes);
    }
    uint64_t sum = 0;
    for (const auto &group : alive) sum += group.second;
    for (const auto &bucket : joined) sum += bucket.second;
    if (writes) bound = std::max(bound, sum);
  }
  EXPECT_LE(double(top), 1.05 * double(bound) + 1024) << graph->name;  // some blocks of 64 bytes may be lost
}

void ExpectSound(const CompiledModel &c) {
  ASSERT_EQ(c.failure, "");
  EXPECT_EQ(Message(dp_verify_plan(c.plan, nullptr)), "");
  for (int g = 0; g < c.model->n_graphs; g++) {
    SCOPED_TRACE(c.model->graphs[g]->name);
    Reach reach(c.model->graphs[g]);
    ExpectOrder(c.model->graphs[g], reach);
    ExpectRoom(c.model->graphs[g], reach);
    ExpectFlat(c.model->graphs[g]);
  }
}

// ---- networks -------------------------------------------------------------------------------------------------------

// Communicated values, by operator.
std::map<std::string, int> CountOperators(const dp_graph *graph) {
  std::map<std::string, int> counts;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (dp_op_is(graph->nodes[i]->op, DP_OP_COMMUNICATION))
      counts[graph->nodes[i]->op->name] += graph->nodes[i]->n_inputs;
  return counts;
}

using Counts = std::map<std::string, int>;

TEST(DeviceForm, OneDeviceTalksToTheHostOnly) {
  for (const char *example : {"examples/mlp.dpt", "examples/digits_cnn.dpt"}) {
    CompiledModel c(ReadText(example), "batch=64 strategy=data devices=1");
    ExpectSound(c);
    for (const auto &count : CountOperators(dp_model_find_graph(c.model, "train")))
      EXPECT_TRUE(count.first == "Broadcast" || count.first == "Gather") << count.first;
  }
}

TEST(DeviceForm, DataParallelReducesEachGradientOnce) {
  for (const char *devices : {"2", "3", "8"}) {
    SCOPED_TRACE(devices);
    CompiledModel mlp(ReadText("examples/mlp.dpt"), std::string("batch=64 strategy=data devices=") + devices);
    ExpectSound(mlp);
    // All-reduces: 4 gradients, the loss, the counts of refused labels and of those that are not ignored. Scatters:
    // image and label. Broadcast: the learning rate. Gathers: the loss and the count of labels. Evaluation: the loss,
    // the counts of labels and of correct ones.
    EXPECT_EQ(CountOperators(dp_model_find_graph(mlp.model, "train")),
              (Counts{{"AllReduce", 7}, {"Scatter", 2}, {"Broadcast", 1}, {"Gather", 2}}));
    EXPECT_EQ(CountOperators(dp_model_find_graph(mlp.model, "eval")),
              (Counts{{"AllReduce", 3}, {"Scatter", 2}, {"Gather", 3}}));
    EXPECT_EQ(CountOperators(dp_model_find_graph(mlp.model, "init")), (Counts{{"Broadcast", 1}}));
  }
}

TEST(DeviceForm, NormalizationOverTheWholeBatchAddsTwoReductionsALayer) {
  CompiledModel c(ReadText("examples/digits_cnn.dpt"), "batch=64 strategy=data devices=2");
  ExpectSound(c);
  // 14 gradients (those of scale and bias also serve the input's gradient), mean and variance of 3 layers, the loss,
  // and the counts of labels, of refused ones and of those that are not ignored.
  EXPECT_EQ(CountOperators(dp_model_find_graph(c.model, "train")),
            (Counts{{"AllReduce", 14 + 6 + 3}, {"Scatter", 2}, {"Broadcast", 4}, {"Gather", 2}}));
}

TEST(DeviceForm, MoreDevicesThanSamples) {
  ExpectSound(CompiledModel(ReadText("examples/digits_cnn.dpt"), "batch=3 strategy=data devices=8"));
}

TEST(DeviceForm, RandomNetworksOnRandomMeshes) {
  for (uint32_t seed = 1; seed <= 60; seed++) {
    RandomNetwork network(seed);
    SCOPED_TRACE(network.Describe());
    CompiledModel c(network.text, "batch=8 threads=1 strategy=data mesh=" + network.mesh);
    ExpectSound(c);
    if (HasFailure()) break;
  }
}

// ---- the plan -------------------------------------------------------------------------------------------------------

TEST(DeviceForm, ThePlanSaysWhatWasAskedFor) {
  CompiledModel c(ReadText("examples/mlp.dpt"), "batch=48 strategy=data devices=2 precision=fp64 threads=1");
  ExpectSound(c);
  const Dp__Plan *plan = c.plan;
  EXPECT_STREQ(plan->name, "mlp");
  EXPECT_EQ(plan->batch, 48);
  ASSERT_EQ(plan->n_mesh, 1u);
  EXPECT_STREQ(plan->mesh[0]->name, "data");
  EXPECT_EQ(plan->mesh[0]->size, 2);
  EXPECT_STREQ(plan->target->backend, "cpu");
  EXPECT_STREQ(plan->target->isa, "") << "float64 is computed by reference kernels";
  EXPECT_EQ(plan->target->threads, 1u);
  EXPECT_STREQ(plan->schedule->kind, "constant");
  EXPECT_EQ(plan->schedule->lr, 0.1);
  EXPECT_EQ(plan->precision, DP_FLOAT64);
  EXPECT_TRUE(plan->classes);
  EXPECT_STREQ(plan->strategy, "data");
  ASSERT_EQ(plan->n_roles, 1u);
  for (size_t i = 0; i < plan->roles[0]->n_programs; i++) {
    const Dp__Program *p = plan->roles[0]->programs[i];
    EXPECT_STREQ(plan->graphs[p->graph]->name, p->name);
    for (size_t s = 0; s < p->n_streams; s++)
      for (size_t k = 0; k < p->streams[s]->n_instructions; k++) {
        const Dp__Instruction *in = p->streams[s]->instructions[k];
        EXPECT_EQ(in->n_nodes == 0, !*in->kernel) << "a kernel computes nodes, communication none";
        EXPECT_EQ(in->communication != nullptr, in->n_nodes == 0);
      }
  }
  // The arenas are exactly as large as needed.
  std::map<int, uint64_t> tops;
  for (size_t i = 0; i < plan->roles[0]->n_programs; i++)
    for (size_t t = 0; t < plan->roles[0]->programs[i]->n_tensors; t++) {
      const Dp__DeviceTensor *tensor = plan->roles[0]->programs[i]->tensors[t];
      tops[tensor->space] = std::max(tops[tensor->space], (tensor->offset + tensor->bytes + 63) / 64 * 64);
    }
  for (size_t a = 0; a < plan->roles[0]->n_arenas; a++) {
    const Dp__Arena *arena = plan->roles[0]->arenas[a];
    EXPECT_EQ(arena->copies, arena->space == DP__SPACE__HOST_INPUT ? 2u : 1u);
    EXPECT_EQ(arena->bytes, tops[arena->space]) << "space " << arena->space;
  }
}

TEST(DeviceForm, ThreadsGoWhereTheyAreWorthIt) {
  CompiledModel c(ReadText("examples/digits_cnn.dpt"), "batch=64 strategy=data devices=1 threads=4 no-fuse=yes");
  ASSERT_EQ(c.failure, "");
  const dp_graph *train = dp_model_find_graph(c.model, "train");
  std::map<std::string, int> threads;
  for (int32_t i = 0; i < train->n_nodes; i++) threads[train->nodes[i]->name] = train->nodes[i]->threads;
  EXPECT_EQ(threads["c2"], 4) << "a convolution of some million operations";
  EXPECT_EQ(threads["optimizer/bn1.bias/SGD"], 1) << "32 numbers";
}

}  // namespace
}  // namespace dp_test
