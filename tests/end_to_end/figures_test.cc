// What plans show of the strategies' properties: shares of split values, overlapping gathers, the idle time and
// micro-batches in flight of pipelines; what regions save of memory's traffic; what loops save of a file; and what is
// offloaded.
#include <algorithm>
#include <set>

#include "ir/graph/op.h"
#include "ir/plan/loops.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/gpt.h"
#include "tests/end_to_end/pipeline_walk.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const char kAdam[] = " precision=fp64 optimizer=adam(lr=1e-3) ";

// Layers of equal size, each followed by an activation; they divide into equal stages.
std::string Deep(int layers, int width) {
  const std::string w = std::to_string(width);
  std::string text = "model deep {\n  loss \"mse(y,target)\"\n  input h0: float32[N," + w + "]\n";
  for (int i = 0; i < layers; i++) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "  parameter w" + n + ": float32[" + w + "," + w + "] = kaiming_uniform()\n";
    text += "  parameter b" + n + ": float32[" + w + "] = zeros\n";
    text += "  g" + next + " = Gemm(h" + n + ", w" + n + ", b" + n + ") {transB=1}\n  h" + next + " = Tanh(g" + next +
            ")\n";
  }
  return text + "  y = Identity(h" + std::to_string(layers) +
         ")\n  each = ReduceMean(y) {axes=[1]}\n  output each\n}\n";
}

// ---- what is split --------------------------------------------------------------------------------------------------

uint64_t WholeBytes(const Dp__Variable *p) {
  uint64_t bytes = 8;
  for (size_t d = 0; d < p->type->shape->n_dims; d++) bytes *= uint64_t(p->type->shape->dims[d]->offset);
  return bytes;
}

// The largest shard of a variable: of k parts over p devices, k/p rounded up.
uint64_t HeldBytes(const Plan &plan, const Dp__Variable *p) {
  uint64_t bytes = WholeBytes(p);
  for (size_t a = 0; a < p->n_placements; a++) {
    const Dp__Placement *at = p->placements[a];
    if (at->kind != 1) continue;
    const int64_t k = p->type->shape->dims[at->dim]->offset / (at->outer * at->unit), devices = plan->mesh[a]->size;
    bytes = bytes / uint64_t(k) * uint64_t((k + devices - 1) / devices);
  }
  return bytes;
}

// Names of the split variables of a kind. Checks that a device holds exactly what their placements say, to the byte.
std::set<std::string> Split(const Plan &plan, int kind) {
  std::set<std::string> split;
  for (size_t i = 0; i < plan->n_variables; i++) {
    const Dp__Variable *p = plan->variables[i];
    if (p->kind != kind) continue;
    EXPECT_EQ(p->bytes, HeldBytes(plan, p)) << p->name;
    if (p->bytes < WholeBytes(p)) split.insert(p->name);
  }
  return split;
}

size_t Count(const Plan &plan, int kind) {
  size_t count = 0;
  for (size_t i = 0; i < plan->n_variables; i++) count += plan->variables[i]->kind == kind;
  return count;
}

TEST(Figures, ZeroHoldsItsShareOfEachTensor) {
  const std::string text = Gpt(2, 16, 4);  // extents of 97, 64, 48, 16 and 6
  for (int stage : {1, 2, 3})
    for (int devices : {2, 4, 8}) {
      SCOPED_TRACE(std::to_string(stage) + " on " + std::to_string(devices));
      const Plan plan = Compile(text, "batch=8 strategy=zero zero-stage=" + std::to_string(stage) +
                                          " devices=" + std::to_string(devices) + kAdam);
      EXPECT_EQ(Split(plan, 0).size(), stage == 3 ? Count(plan, 0) : 0);
      EXPECT_EQ(Split(plan, 2).size(), 2 * Count(plan, 0));
    }
}

TEST(Figures, TensorHoldsItsShareOfEachTensor) {
  for (int devices : {2, 4, 8}) {
    SCOPED_TRACE(devices);
    const Plan plan = Compile(Gpt(2, 96, 8), "batch=32 strategy=tensor devices=" + std::to_string(devices) + kAdam);
    const std::set<std::string> split = Split(plan, 0), state = Split(plan, 2);
    for (const char *name : {"b0.qkv.w", "b0.o.w", "b0.up.w", "b0.down.w", "b1.qkv.w", "b1.down.w"})
      EXPECT_EQ(split.count(name), 1u) << name;
    EXPECT_EQ(state.size(), 2 * split.size());
  }
}

// ---- gathers --------------------------------------------------------------------------------------------------------

// The most bytes of gathered parameters that stage 3 may hold at a time: from the moment when a gather can start, by
// its stream and waits, to the last step that uses its result.
class Gathers {
 public:
  explicit Gathers(const Plan &plan) : program_(plan->roles[0]->programs[FindProgram(plan, "train")]) {
    for (size_t s = 0; s < program_->n_streams; s++)
      for (size_t i = 0; i < program_->streams[s]->n_instructions; i++) {
        const Dp__Instruction *in = program_->streams[s]->instructions[i];
        const bool computes = std::string(program_->streams[s]->name) == "compute";
        if (in->signal) signals_[in->signal - 1] = {s, i};
        for (size_t k = 0; computes && k < in->n_inputs; k++) last_[in->inputs[k]] = int(i);
      }
    const Dp__Graph *graph = plan->graphs[program_->graph];
    for (size_t s = 0; s < program_->n_streams; s++)
      for (size_t i = 0; i < program_->streams[s]->n_instructions; i++) {
        const Dp__Instruction *in = program_->streams[s]->instructions[i];
        for (size_t o = 0; std::string(in->op) == "AllGather" && o < in->n_outputs; o++) {
          const Dp__DeviceTensor *t = program_->tensors[in->outputs[o] - 1];
          if (graph->values[t->value]->kind != 4 || !last_.count(in->outputs[o])) continue;  // persistent
          changes_.push_back({Earliest({s, i}), int64_t(t->bytes)});
          changes_.push_back({last_[in->outputs[o]] + 1, -int64_t(t->bytes)});
          count_++;
        }
      }
  }
  int Count() const { return count_; }
  int64_t Most() {
    std::sort(changes_.begin(), changes_.end());  // what ends at a step makes room for what starts there
    int64_t now = 0, most = 0;
    for (const auto &change : changes_) most = std::max(most, now += change.second);
    return most;
  }

 private:
  using At = std::pair<size_t, size_t>;  // stream, instruction

  // The first step of the compute stream that the gather can overlap.
  int Earliest(const At &at) {
    const Dp__Stream *stream = program_->streams[at.first];
    if (std::string(stream->name) == "compute") return int(at.second) + 1;
    if (auto known = earliest_.find(at); known != earliest_.end()) return known->second;
    const Dp__Instruction *in = stream->instructions[at.second];
    int most = at.second ? Earliest({at.first, at.second - 1}) : 0;
    for (size_t w = 0; w < in->n_waits; w++) most = std::max(most, Earliest(signals_.at(in->waits[w])));
    return earliest_[at] = most;
  }

  const Dp__Program *program_;
  std::map<uint32_t, At> signals_;
  std::map<uint32_t, int> last_;  // by tensor: the last step that uses it
  std::map<At, int> earliest_;
  std::vector<std::pair<int, int64_t>> changes_;
  int count_ = 0;
};

TEST(Figures, StageThreeHoldsTwoLayersGathered) {
  const int64_t layer = (64 * 64 + 64) * 8;
  for (int devices : {2, 4, 8})
    for (int layers : {4, 16}) {
      SCOPED_TRACE(std::to_string(layers) + " on " + std::to_string(devices));
      const Plan plan =
          Compile(Deep(layers, 64), "batch=16 strategy=zero zero-stage=3 devices=" + std::to_string(devices) + kAdam);
      Gathers gathers(plan);
      // Forward needs weight and bias, backward the weight (except in the first layer). Nothing stays gathered in
      // between.
      EXPECT_GE(gathers.Count(), 3 * layers - 3);
      EXPECT_LE(gathers.Most(), 2 * layer);
      EXPECT_GE(gathers.Most(), layer);
    }
}

// ---- pipelines ------------------------------------------------------------------------------------------------------

Plan Pipeline(const std::string &text, int64_t batch, int stages, int count, const std::string &schedule) {
  return Compile(text, "batch=" + std::to_string(batch) + " strategy=pipeline devices=" + std::to_string(stages) +
                           " microbatches=" + std::to_string(count) + " schedule=" + schedule + kAdam);
}

// Stages of equal size; micro-batches may be unequal, and there may be more of them than samples.
TEST(Figures, PipelinesAreIdleAsTheFormulaSays) {
  printf("idle share of a pipeline by its plan / (p-1)/(m+p-1)\n");
  for (const char *schedule : {"gpipe", "1f1b"})
    for (int p : {2, 4, 8})
      for (int m : {2, 3, 4, 7, 8, 16}) {
        SCOPED_TRACE(std::string(schedule) + " p=" + std::to_string(p) + " m=" + std::to_string(m));
        const PipelineWalk walk(Pipeline(Deep(8, 16), 13, p, m, schedule), "train");
        const double formula = (p - 1.0) / (m + p - 1.0);
        EXPECT_NEAR(walk.Idle(), formula, 1e-12);
        printf("%-5s p=%d m=%-2d  %.4f / %.4f\n", schedule, p, m, walk.Idle(), formula);
        for (int s = 0; s < p; s++) {
          SCOPED_TRACE("stage " + std::to_string(s) + ": " + walk.Tasks(s));
          const int most = schedule[0] == '1' ? std::min(m, p - s) : s < p - 1 ? m : 1;
          EXPECT_EQ(walk.Begun(s), most);
          EXPECT_LE(walk.Held(s), most);
        }
      }
}

// Skip connections over stages, an embedding that two stages use, and a vocabulary that no number of devices divides.
TEST(Figures, TransformersInStagesHoldNoMoreThanTheirPlace) {
  for (const char *schedule : {"gpipe", "1f1b"})
    for (int p : {2, 4, 8}) {
      SCOPED_TRACE(std::string(schedule) + " p=" + std::to_string(p));
      const int m = 6;
      const PipelineWalk walk(Pipeline(Gpt(4, 16, 4, 97, 6, true), 13, p, m, schedule), "train");
      EXPECT_NEAR(walk.Idle(), (p - 1.0) / (m + p - 1.0), 1e-12);
      for (int s = 0; s < p; s++) {
        SCOPED_TRACE("stage " + std::to_string(s) + ": " + walk.Tasks(s));
        const int most = schedule[0] == '1' ? std::min(m, p - s) : s < p - 1 ? m : 1;
        EXPECT_LE(walk.Begun(s), most);
        EXPECT_LE(walk.Held(s), most);
      }
    }
}

uint64_t Arena(const Dp__Role *role, Dp__Space space) {
  for (size_t i = 0; i < role->n_arenas; i++)
    if (role->arenas[i]->space == space) return role->arenas[i]->bytes;
  return 0;
}

// Doubles the number of equal micro-batches: under 1F1B a stage needs no more memory, under GPipe every stage except
// the last needs memory for its activations again. The runtime allocates what the plan says.
TEST(Figures, MoreMicroBatchesTakeNoMoreMemoryUnderOneForwardOneBackward) {
  const int p = 4;
  const std::string text = Deep(8, 64);
  for (const char *schedule : {"gpipe", "1f1b"}) {
    const Plan some = Pipeline(text, 8 * 16, p, 8, schedule), more = Pipeline(text, 16 * 16, p, 16, schedule);
    uint64_t all = 0;
    for (int s = 0; s < p; s++) {
      SCOPED_TRACE(std::string(schedule) + ", stage " + std::to_string(s));
      const uint64_t a = Arena(some->roles[s], DP__SPACE__TRANSIENT), b = Arena(more->roles[s], DP__SPACE__TRANSIENT);
      if (schedule[0] == '1') {
        EXPECT_LE(b, a + a / 20);
      } else if (s < p - 1) {
        EXPECT_GE(b, a + a / 2);
      }
      all += b;
    }
    Training run(more);
    EXPECT_EQ(run.Allocated(DP__SPACE__TRANSIENT), all);
  }
}

// A stage holds the parameters and state of its own layers only.
TEST(Figures, StagesHoldTheirOwnParameters) {
  const std::string text = Deep(8, 256);
  const uint64_t layer = 3 * (256 * 256 + 256) * 8;  // with Adam's two moments
  for (int p : {2, 4, 8}) {
    const Plan plan = Pipeline(text, 64, p, 4, "1f1b");
    uint64_t all = 0;
    for (int s = 0; s < p; s++) {
      const uint64_t bytes = Arena(plan->roles[s], DP__SPACE__PERSISTENT);
      EXPECT_GE(bytes, layer * 8 / uint64_t(p));
      EXPECT_LE(bytes, layer * 8 / uint64_t(p) + 1024) << "stage " << s << " of " << p;
      all += bytes;
    }
    EXPECT_EQ(Training(plan).Allocated(DP__SPACE__PERSISTENT), all);
  }
}

// At a cut between two blocks of a transformer, one activation crosses forward and one gradient backward for each
// micro-batch: the gradients of the skip and of the block are added before they are sent.
TEST(Figures, ATransformersStagesSendOneValueEachWay) {
  const int m = 4;
  for (int p : {2, 4}) {
    const Plan plan = Pipeline(Gpt(4, 128, 4), 16, p, m, "1f1b");
    std::map<std::pair<int, int>, uint64_t> sent;  // from, to: bytes
    for (int s = 0; s < p; s++) {
      const Dp__Program *train = plan->roles[s]->programs[FindProgram(plan, "train")];
      for (size_t k = 0; k < train->n_streams; k++)
        for (size_t i = 0; i < train->streams[k]->n_instructions; i++) {
          const Dp__Instruction *in = train->streams[k]->instructions[i];
          if (!in->communication || !in->communication->channel || !in->n_inputs || !in->inputs[0]) continue;
          const Dp__DeviceTensor *t = train->tensors[in->inputs[0] - 1];
          if (t->micro) sent[{s, (s + int(in->communication->peer[0]->offset)) % p}] += t->bytes;
        }
    }
    const uint64_t activation = 16 / m * 6 * 128 * 8;
    for (int s = 0; s + 1 < p; s++) {
      const uint64_t forward = sent[{s, s + 1}], back = sent[{s + 1, s}];
      EXPECT_EQ(forward, m * activation) << s;
      EXPECT_EQ(back, m * activation) << s;
    }
  }
}

// ---- what regions read and write ------------------------------------------------------------------------------------

// The bytes of the operands and results of a training step's instructions that are elementwise, or work on rows or
// channels.
int64_t Moved(const Plan &plan) {
  const Dp__Program *program = plan->roles[0]->programs[FindProgram(plan, "train")];
  int64_t bytes = 0;
  for (const Location &at : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, at);
    bool counts = !in->communication;
    for (size_t m = 0; m < std::max<size_t>(in->n_members, 1) && counts; m++) {
      const Dp__Instruction *one = in->n_members ? in->members[m] : in;
      const dp_op *op = dp_op_find(one->domain, one->op);
      counts = dp_op_is_pointwise(op) || op->row || dp_op_is(op, DP_OP_CHANNELS);
    }
    for (size_t i = 0; i < in->n_inputs && counts; i++)
      if (in->inputs[i]) bytes += int64_t(program->tensors[in->inputs[i] - 1]->bytes);
    for (size_t i = 0; i < in->n_outputs && counts; i++)
      if (in->outputs[i]) bytes += int64_t(program->tensors[in->outputs[i] - 1]->bytes);
  }
  return bytes;
}

TEST(Figures, RegionsReadAndWriteLess) {
  const struct {
    const char *file, *options;
    int64_t apart, together;  // at least, at most, in MB
  } examples[] = {{"examples/gpt4.dpt", "batch=8", 920, 230}, {"examples/resnet18.dpt", "batch=64", 1900, 1120}};
  for (const auto &e : examples) {
    const int64_t apart = Moved(Compile(ReadText(e.file), std::string(e.options) + " no-fuse=yes"));
    const int64_t together = Moved(Compile(ReadText(e.file), e.options));
    std::printf("%s: %lld and %lld MB\n", e.file, (long long)apart / 1000000, (long long)together / 1000000);
    EXPECT_GE(apart, e.apart * 1000000) << e.file;
    EXPECT_LE(together, e.together * 1000000) << e.file;
  }
}

// ---- what a file takes ----------------------------------------------------------------------------------------------

TEST(Figures, LoopsKeepPlansOfManyMicrobatchesSmall) {
  const struct {
    const char *options;
    double whole, folded;  // at least, at most, in KB
  } examples[] = {{"batch=32", 200, 220},
                  {"batch=32 microbatches=8", 550, 330},
                  {"batch=128 microbatches=32", 1700, 370},
                  {"batch=128 microbatches=32 strategy=pipeline mesh=pipe:4", 1800, 490}};
  for (const auto &e : examples) {
    const Plan plan = Compile(ReadText("examples/gpt4.dpt"), e.options);
    dp_arena *arena = dp_arena_create(0);
    const double whole = double(dp__plan__get_packed_size(plan.get())) / 1e3;
    const double folded = double(dp__plan__get_packed_size(dp_plan_loops_fold(arena, plan.get()))) / 1e3;
    dp_arena_destroy(arena);
    std::printf("%s: %.0f and %.0f KB\n", e.options, whole, folded);
    EXPECT_GE(whole, e.whole) << e.options;
    EXPECT_LE(folded, e.folded) << e.options;
  }
}

// ---- what a device takes --------------------------------------------------------------------------------------------

int64_t OnDevice(const Plan &plan) {
  int64_t bytes = 0;
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++) {
    const Dp__Arena *arena = plan->roles[0]->arenas[i];
    if (arena->space == DP__SPACE__PERSISTENT || arena->space == DP__SPACE__TRANSIENT) bytes += int64_t(arena->bytes);
  }
  return bytes;
}

// Gradients of 42.6 MiB are updated as they are made, unless their norm must be there first.
TEST(Figures, GradientsAreNotAllKept) {
  const std::string resnet = ReadText("examples/resnet18.dpt"), options = "batch=1 optimizer=sgd(lr=0.1,momentum=0.9";
  const int64_t plain = OnDevice(Compile(resnet, options + ")"));
  const int64_t clipped = OnDevice(Compile(resnet, options + ",clip_norm=1)"));
  std::printf("resnet18, one sample: %.1f MiB, clipped %.1f MiB\n", double(plain) / (1 << 20),
              double(clipped) / (1 << 20));
  EXPECT_LE(plain, int64_t(109) << 20);
  EXPECT_GE(clipped, int64_t(130) << 20);
}

TEST(Figures, OffloadTakesLessOfADevice) {
  const struct {
    const char *file, *options, *offload;
    int64_t kept, away;  // at least, at most, in MiB
  } examples[] = {
      {"examples/gpt4.dpt", "batch=8 optimizer=adamw(lr=1e-4)", "optimizer,activations", 155, 93},
      {"examples/resnet18.dpt", "batch=64", "activations", 400, 240},
  };
  for (const auto &e : examples) {
    const std::string options = std::string("target=cuda ") + e.options;
    const int64_t kept = OnDevice(Compile(ReadText(e.file), options));
    const int64_t away = OnDevice(Compile(ReadText(e.file), options + " offload=" + e.offload));
    std::printf("%s: %.1f and %.1f MiB\n", e.file, double(kept) / (1 << 20), double(away) / (1 << 20));
    EXPECT_GE(kept, e.kept << 20) << e.file;
    EXPECT_LE(away, e.away << 20) << e.file;
  }
}

}  // namespace
}  // namespace dp_test
