// What lies beside computing, on several GPUs with NCCL: gradients are reduced while the backward pass runs, parameters
// are gathered a layer ahead, and stages send while they compute. Each shows in the plan, which leaves the order open,
// and on the stand-in's clock.
#include <algorithm>
#include <cstring>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

std::string Deep(int layers, const std::string &width) {
  std::string text = "model deep {\n  loss \"mse(y,target)\"\n  optimizer \"sgd(lr=0.01)\"\n  input x: float32[N,64]\n";
  std::string x = "x";
  for (int i = 0; i < layers; i++) {
    const std::string n = std::to_string(i), y = i == layers - 1 ? "y" : "h" + n;
    text += "  parameter w" + n + ": float32[" + (i ? width : "64") + "," + (y == "y" ? "10" : width) +
            "] = uniform(-0.05,0.05)\n";
    text += "  g" + n + " = MatMul(" + x + ", w" + n + ")\n  " + y + " = Tanh(g" + n + ")\n";
    x = y;
  }
  return text + "  output y\n}\n";
}

Plan Made(int layers, const std::string &width, const std::string &options) {
  return Compile(Deep(layers, width), "target=cuda batch=8 " + options);
}

// ---- the plan -------------------------------------------------------------------------------------------------------

const Dp__Program *Train(const Dp__Role *role) {
  for (size_t p = 0; p < role->n_programs; p++)
    if (!strcmp(role->programs[p]->name, "train")) return role->programs[p];
  throw std::runtime_error("no program train");
}

const Dp__Stream *StreamOf(const Dp__Program *program, const std::string &name) {
  for (size_t s = 0; s < program->n_streams; s++)
    if (program->streams[s]->name == name) return program->streams[s];
  throw std::runtime_error("no stream " + name);
}

bool Waits(const Dp__Instruction *in, uint32_t event) {
  return std::find(in->waits, in->waits + in->n_waits, event) != in->waits + in->n_waits;
}

// Of the instructions of a stream with that operator: how many instructions of the stream `compute` are free to run
// beside each, that is, come after those that it waits for and before those that wait for it. What comes before it on
// its own stream counts as its own, as does what comes after it.
std::vector<int> Beside(const Dp__Program *program, const std::string &stream, const std::string &op) {
  const Dp__Stream *comm = StreamOf(program, stream), *compute = StreamOf(program, "compute");
  const int n = static_cast<int>(compute->n_instructions);
  std::vector<int> beside;
  for (size_t i = 0; i < comm->n_instructions; i++) {
    if (op != comm->instructions[i]->op) continue;
    int from = 0, to = n;
    for (size_t k = 0; k <= i; k++)
      for (int c = 0; c < n; c++)
        if (compute->instructions[c]->signal && Waits(comm->instructions[k], compute->instructions[c]->signal - 1))
          from = std::max(from, c + 1);
    for (size_t k = i; k < comm->n_instructions; k++)
      for (int c = n; c-- > 0;)
        if (comm->instructions[k]->signal && Waits(compute->instructions[c], comm->instructions[k]->signal - 1))
          to = std::min(to, c);
    beside.push_back(std::max(0, to - from));
  }
  return beside;
}

// ---- the clock ------------------------------------------------------------------------------------------------------

struct Span {
  double begin_ns, end_ns;
};

std::vector<Span> Union(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) { return a.begin_ns < b.begin_ns; });
  std::vector<Span> whole;
  for (const Span &s : spans)
    if (whole.empty() || s.begin_ns > whole.back().end_ns)
      whole.push_back(s);
    else
      whole.back().end_ns = std::max(whole.back().end_ns, s.end_ns);
  return whole;
}

double Length(const std::vector<Span> &spans) {
  double ns = 0;
  for (const Span &s : spans) ns += s.end_ns - s.begin_ns;
  return ns;
}

double Common(const std::vector<Span> &a, const std::vector<Span> &b) {
  double ns = 0;
  for (const Span &x : a)
    for (const Span &y : b) ns += std::max(0.0, std::min(x.end_ns, y.end_ns) - std::max(x.begin_ns, y.begin_ns));
  return ns;
}

// Trains some steps on GPUs that take 100 times as long for everything as the stand-in's do, so that the host is the
// faster. Of a device's communication by NCCL or its computing, whichever is less: what part lies beside the other.
std::vector<double> Hidden(const Plan &plan, int devices) {
  DP_STEER(dp_standin_devices)(devices, "all");
  DP_STEER(dp_standin_seed)(0);
  std::vector<std::vector<Span>> communicating(devices), computing(devices);
  {
    Training training(plan);
    DP_STEER(dp_standin_slow)(100);
    training.TrainAll({8, 8});
    DP_STEER(dp_standin_record)();
    training.TrainAll({8, 8, 8});
    const dp_standin_slice *slices;
    const int64_t count = DP_STEER(dp_standin_slices)(&slices);
    DP_STEER(dp_standin_slow)(1);
    for (int64_t i = 0; i < count; i++) {
      const std::string what = slices[i].what;
      if (what == "upload" || what == "download" || what.find("boxes") != std::string::npos) continue;
      auto &list = what.find("nccl") == 0 ? communicating : computing;
      list[slices[i].device].push_back({slices[i].begin_ns, slices[i].end_ns});
    }
  }
  std::vector<double> hidden;
  for (int d = 0; d < devices; d++) {
    const std::vector<Span> a = Union(communicating[d]), b = Union(computing[d]);
    EXPECT_GT(Length(a), 0);
    EXPECT_GT(Length(b), 0);
    hidden.push_back(Common(a, b) / std::min(Length(a), Length(b)));
  }
  DP_STEER(dp_standin_devices)(1, "all");
  return hidden;
}

// ---- the three ------------------------------------------------------------------------------------------------------

TEST(Overlap, GradientsAreReducedDuringTheBackwardPass) {
  const Plan plan = Made(5, "1024", "strategy=data devices=4");
  const std::vector<int> beside = Beside(Train(plan->roles[0]), "comm", "AllReduce");
  EXPECT_GE(beside.size(), 2u) << "buckets";
  EXPECT_GE(beside.at(0), 5) << "what is left of the backward pass";
  for (double hidden : Hidden(plan, 4)) EXPECT_GT(hidden, 0.2);
}

TEST(Overlap, ParametersAreGatheredALayerAhead) {
  const Plan plan = Made(8, "128", "strategy=zero zero-stage=3 devices=4");
  const std::vector<int> beside = Beside(Train(plan->roles[0]), "comm", "AllGather");
  EXPECT_EQ(beside.size(), 15u) << "eight layers, and all but the first once more in the backward pass";
  for (int compute : beside) EXPECT_GE(compute, 1) << "a layer computes while the next one's parameters are gathered";
  for (double hidden : Hidden(plan, 4)) EXPECT_GT(hidden, 0.7);
}

TEST(Overlap, StagesSendWhileTheyCompute) {
  const Plan plan = Made(8, "128", "strategy=pipeline devices=4 microbatches=4");
  int beside = 0, alone = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (int compute : Beside(Train(plan->roles[r]), "send", "Send")) (compute ? beside : alone)++;
  EXPECT_GE(beside, 23);
  EXPECT_LE(alone, 1) << "the last stage's last one";
  for (double hidden : Hidden(plan, 4)) EXPECT_GT(hidden, 0.35);
}

}  // namespace
}  // namespace dp_test
