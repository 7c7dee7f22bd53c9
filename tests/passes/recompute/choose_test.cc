// What --recompute=auto chooses, held against the best of all choices there are in small networks.
#include "passes/recompute/choose.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

// A program of one device whose forward and backward passes are in order, with its work.
struct Program {
  std::unique_ptr<CompiledModel> compiled;
  Arena scratch;
  dp_recompute_work work;
  std::vector<int32_t> candidates;  // whose results the backward pass reads, or what it then reads

  explicit Program(const std::string &text) {
    compiled = std::make_unique<CompiledModel>(text, "batch=512 stop-after=roles optimizer=sgd(lr=0.1)");
    EXPECT_EQ(compiled->failure, "");
    dp_graph *train = compiled->model->graphs[0];
    EXPECT_STREQ(train->name, "train");
    work = dp_recompute_begin(train, scratch, &compiled->options.options.target->costs);
    for (int32_t i = 0; i < train->n_nodes; i++)
      if (work.candidate[i]) candidates.push_back(i);
  }
  size_t Nodes() const { return size_t(work.graph->n_nodes); }
  dp_recompute_estimate Weigh(const std::vector<int32_t> &dropped) const {
    std::unique_ptr<bool[]> drop(new bool[Nodes() + 1]());
    for (int32_t node : dropped) drop[size_t(node)] = true;
    return dp_recompute_weigh(&work, drop.get());
  }
  dp_recompute_estimate Chosen(double bytes) const {
    std::unique_ptr<bool[]> drop(new bool[Nodes() + 1]());
    dp_recompute_choose(&work, bytes, drop.get());
    return dp_recompute_weigh(&work, drop.get());
  }
};

// A chain of layers of different widths, some with two activations, and a residual connection.
std::string Chain(const std::vector<int> &widths, bool residual) {
  std::string text = "model m {\n  loss \"mse(y,t)\"\n  input x: float32[N," + std::to_string(widths[0]) + "]\n";
  std::string last = "x";
  for (size_t i = 1; i < widths.size(); i++) {
    const std::string n = std::to_string(i);
    text += "  parameter w" + n + ": float32[" + std::to_string(widths[i - 1]) + "," + std::to_string(widths[i]) +
            "] = kaiming_uniform()\n  h" + n + " = MatMul(" + last + ", w" + n + ")\n  a" + n + " = Tanh(h" + n + ")\n";
    last = "a" + n;
    if (residual && i > 1 && widths[i] == widths[i - 1]) {
      text += "  r" + n + " = Add(a" + n + ", a" + std::to_string(i - 1) + ")\n";
      last = "r" + n;
    }
  }
  return text + "  y = Exp(" + last + ")\n  output y\n}\n";
}

void HoldAgainstAll(const std::string &text) {
  const Program program(text);
  ASSERT_LE(program.candidates.size(), 16u);
  std::vector<dp_recompute_estimate> all;
  for (uint32_t set = 0; set < 1u << program.candidates.size(); set++) {
    std::vector<int32_t> dropped;
    for (size_t k = 0; k < program.candidates.size(); k++)
      if (set >> k & 1) dropped.push_back(program.candidates[k]);
    all.push_back(program.Weigh(dropped));
  }
  const double most = all[0].bytes;
  const double least =
      std::min_element(all.begin(), all.end(), [](auto a, auto b) { return a.bytes < b.bytes; })->bytes;
  ASSERT_LT(least, most);
  double step = 0;  // what the whole step takes, so that the time of a step is compared
  for (size_t i = 0; i < program.Nodes(); i++) step += program.work.ns[i];
  for (int k = 0; k <= 20; k++) {
    const double bytes = least + (most - least) * k / 20;
    double best = INFINITY;
    for (const dp_recompute_estimate &one : all)
      if (one.bytes <= bytes) best = std::min(best, one.ns);
    const dp_recompute_estimate chosen = program.Chosen(bytes);
    EXPECT_LE(chosen.bytes, bytes) << k;
    EXPECT_LE(step + chosen.ns, 1.05 * (step + best)) << k << " of 20: " << chosen.ns << " ns, the best is " << best;
  }
  EXPECT_EQ(program.Chosen(most).ns, 0);
}

TEST(Choose, OfAChain) { HoldAgainstAll(Chain({64, 64, 64, 64, 64, 64}, false)); }
TEST(Choose, OfAChainOfManyWidths) { HoldAgainstAll(Chain({16, 256, 32, 512, 64, 128}, false)); }
TEST(Choose, OfResiduals) { HoldAgainstAll(Chain({64, 128, 128, 128, 32}, true)); }

// Every micro-batch does the same.
TEST(Choose, TreatsMicroBatchesAlike) {
  CompiledModel c(Chain({64, 64, 64, 64}, false), "batch=64 microbatches=4 stop-after=roles optimizer=sgd(lr=0.1)");
  ASSERT_EQ(c.failure, "");
  Arena scratch;
  const dp_recompute_work work = dp_recompute_begin(c.model->graphs[0], scratch, &c.options.options.target->costs);
  const size_t nodes = size_t(work.graph->n_nodes);
  std::unique_ptr<bool[]> drop(new bool[nodes + 1]());
  dp_recompute_choose(&work, 1, drop.get());
  std::map<const dp_node *, bool> of;
  size_t dropped = 0;
  for (size_t i = 0; i < nodes; i++) {
    const dp_node *logical = work.graph->nodes[i]->logical;
    if (!logical) continue;
    dropped += drop[i];
    EXPECT_EQ(of.emplace(logical, drop[i]).first->second, drop[i]) << work.graph->nodes[i]->name;
  }
  EXPECT_GE(dropped, 4u);
}

}  // namespace
}  // namespace dp_test
