// Compiled pipelines: they give the same bits with any number of workers and the losses of one device. Arenas are exact
// to the byte on every device. The null backend finds no hazard, and transfers overlap computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "backends/cpu/target.h"
#include "backends/null/backend.h"
#include "tests/runtime/plan_order.h"
#include "tests/runtime/runtime_helper.h"

namespace {

using namespace dp_test;

// Layers of tanh with Dropout between them; w0 is used first and last, and the first layer's result also goes to the
// last.
std::string Deep(int layers, int width) {
  const std::string w = std::to_string(width), square = "float32[" + w + "," + w + "] = uniform(-0.2,0.2)\n";
  std::string text = "model deep {\n  opset 18\n  loss \"mse(y,target)\"\n  optimizer \"adam(lr=1e-3)\"\n";
  text += "  input x: float32[N," + w + "]\n  parameter w0: " + square;
  std::string x = "x";
  for (int i = 0; i < layers; i++) {
    std::string n = std::to_string(i);
    if (i) text += "  parameter w" + n + ": " + square;
    text += "  parameter b" + n + ": float32[" + w + "] = zeros\n";
    text += "  g" + n + " = Gemm(" + x + ", w" + n + ", b" + n + ")\n  h" + n + " = Tanh(g" + n + ")\n";
    x = "h" + n;
    if (i == layers / 2) {
      text += "  d = Dropout(" + x + ") {ratio=0.1, training_mode=1}\n";
      x = "d";
    }
  }
  return text + "  s = Add(" + x + ", h0)\n  y = Gemm(s, w0) {transB=1}\n  output y\n}\n";
}

constexpr int kWidth = 6, kBatch = 8;
const char *const kPlans[] = {
    "devices=1 microbatches=4",
    "strategy=pipeline devices=2 microbatches=1",
    "strategy=pipeline devices=2 microbatches=2",
    "strategy=pipeline devices=4 microbatches=8 schedule=gpipe",
    "strategy=pipeline devices=3 microbatches=5",
    "mesh=data:2,pipe:2 microbatches=3",
    "mesh=data:2,pipe:2,tensor:2 microbatches=2 threads=2",
    "strategy=zero zero-stage=3 mesh=data:2,pipe:2 microbatches=2",
};
const int kSamples[] = {8, 5, 1, 0};

std::string Words(const std::string &words) { return words + " batch=" + std::to_string(kBatch); }

std::string Step(Session *session, const char *program, int n, int step, int width = kWidth) {
  session->Feed(program, "x", Samples(n * width, step), step % 2);
  session->Feed(program, "target", Samples(n * width, step + 100), step % 2);
  return session->Run(program, n, step, 1e-3, step % 2);
}

// Compiled once for all tests.
const Dp__Plan *PlanOf(const char *words) {
  static std::map<std::string, std::unique_ptr<CompiledPlan>> plans;
  std::unique_ptr<CompiledPlan> &compiled = plans[words];
  if (!compiled) compiled.reset(new CompiledPlan(Deep(5, kWidth), Words(words)));
  return compiled->plan;
}

// The losses of the steps of kSamples and of an evaluation.
std::vector<double> Train(Session *session) {
  std::vector<double> losses;
  int step = 0;
  for (int n : kSamples) {
    EXPECT_EQ(Step(session, "train", n, step++), "");
    losses.push_back(n ? session->Number("train", "loss") : 0);
    EXPECT_EQ(session->Number("train", "count"), n * kWidth);
  }
  EXPECT_EQ(Step(session, "eval", kBatch, 0), "");
  losses.push_back(session->Number("eval", "loss"));
  EXPECT_EQ(session->Number("eval", "count"), kBatch * kWidth);
  return losses;
}

TEST(Stages, TheSameBitsWithAnyNumberOfWorkersAndOneDevicesLosses) {
  dp_session_options options = {};
  options.seed = 3;
  CompiledPlan single(Deep(5, kWidth), Words("devices=1"));
  Session one(single.plan, options);
  const std::vector<double> expected = Train(&one);
  for (const char *words : kPlans) {
    SCOPED_TRACE(words);
    std::vector<char> bits;
    for (int workers : {1, 2, 3, 4}) {
      options.workers = workers;
      options.unchecked = workers > 1;  // it was checked before
      Session session(PlanOf(words), options);
      ASSERT_EQ(session.error, "");
      std::vector<double> losses = Train(&session);
      for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(losses[i], expected[i], 2e-5) << i;
      std::vector<char> found = session.Everything();
      const char *first = reinterpret_cast<const char *>(losses.data());
      found.insert(found.end(), first, first + losses.size() * sizeof(double));
      if (bits.empty()) bits = found;
      EXPECT_EQ(found, bits) << workers << " workers";
    }
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

std::vector<uint64_t> allocated, released;
void *CountingAllocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  allocated.push_back(bytes);
  return dp_backend_cpu.allocate(place, bytes, alignment);
}
void CountingRelease(dp_place place, void *memory, uint64_t bytes) {
  released.push_back(bytes);
  dp_backend_cpu.release(place, memory, bytes);
}

size_t DevicesOf(const Dp__Role *role, const Dp__Plan *plan) {
  size_t count = 1;
  for (size_t a = 0; a < role->n_devices; a++)
    if (std::string(plan->mesh[a]->name) != DP_MESH_MICRO) count *= static_cast<size_t>(role->devices[a]->count);
  return count;
}

TEST(Stages, TakeTheMemoryThatThePlanDeclares) {
  dp_backend counting = dp_backend_cpu;
  counting.allocate = CountingAllocate;
  counting.release = CountingRelease;
  for (const char *words : kPlans) {
    SCOPED_TRACE(words);
    allocated.clear();
    released.clear();
    const Dp__Plan *plan = PlanOf(words);
    std::vector<uint64_t> expected;
    std::map<Dp__Space, uint64_t> of_space;
    for (size_t r = 0; r < plan->n_roles; r++) {
      const Dp__Role *role = plan->roles[r];
      for (size_t i = 0; i < role->n_arenas; i++) {
        const Dp__Arena *arena = role->arenas[i];
        bool on_devices = arena->space == DP__SPACE__PERSISTENT || arena->space == DP__SPACE__TRANSIENT;
        size_t times = on_devices ? DevicesOf(role, plan) : r ? 0 : arena->copies;  // all share the host memory
        expected.insert(expected.end(), times, arena->bytes);
        of_space[arena->space] += times * arena->bytes;
      }
    }
    {
      Session session(plan, {}, &counting);
      ASSERT_EQ(session.error, "");
      for (const auto &[space, bytes] : of_space) EXPECT_EQ(dp_session_bytes(session.session, space), bytes);
      Train(&session);
      EXPECT_LE(dp_session_resident(session.session), std::accumulate(expected.begin(), expected.end(), uint64_t{0}));
    }
    expected.erase(std::remove(expected.begin(), expected.end(), 0), expected.end());
    for (std::vector<uint64_t> *list : {&expected, &allocated, &released}) std::sort(list->begin(), list->end());
    EXPECT_EQ(allocated, expected);
    EXPECT_EQ(released, expected);
  }
}

// ---- hazards --------------------------------------------------------------------------------------------------------

TEST(Stages, TheNullBackendSeesNoHazard) {
  dp_backend null = dp_backend_null(&dp_target_cpu);
  dp_session_options options = {};
  options.workers = 4;
  for (const char *words : kPlans) {
    SCOPED_TRACE(words);
    Session session(PlanOf(words), options, &null);
    ASSERT_EQ(session.error, "");
    for (int step = 0; step < 2; step++) {
      EXPECT_EQ(session.Run("train", kSamples[step], step), "");
      EXPECT_EQ(session.Run("eval", kBatch, step), "");
    }
  }
}

// ---- transfers that overlap computation -----------------------------------------------------------------------------

const Dp__Program *Find(const Dp__Role *role, const std::string &program) {
  for (size_t p = 0; p < role->n_programs; p++)
    if (program == role->programs[p]->name) return role->programs[p];
  throw std::runtime_error("no program " + program);
}

// Transfers of a stage that may run at the same time as one of its products.
int Free(const Dp__Program *program, const char *transfer) {
  std::map<Location, std::set<Location>> before = Before(program);
  std::vector<Location> transfers, products;
  for (const auto &entry : before) {
    const std::string op = program->streams[entry.first.first]->instructions[entry.first.second]->op;
    if (op == transfer) transfers.push_back(entry.first);
    if (op == "Gemm") products.push_back(entry.first);
  }
  return static_cast<int>(std::count_if(transfers.begin(), transfers.end(), [&](const Location &t) {
    return std::any_of(products.begin(), products.end(),
                       [&](const Location &p) { return !before[t].count(p) && !before[p].count(t); });
  }));
}

// A stage's work on a micro-batch is not ordered with the arrival of the next one's operands or the departure of the
// previous one's results.
TEST(Stages, NothingOrdersTransfersOfOtherMicroBatchesAndComputation) {
  const int micro = 8;
  for (const char *schedule : {"gpipe", "1f1b"}) {
    SCOPED_TRACE(schedule);
    CompiledPlan compiled(Deep(4, kWidth),
                          Words("strategy=pipeline devices=2 microbatches=8 schedule=" + std::string(schedule)));
    for (size_t stage = 0; stage < 2; stage++)
      for (const char *transfer : {"Send", "Recv"})
        EXPECT_GE(Free(Find(compiled.plan->roles[stage], "train"), transfer), micro - 1)
            << transfer << " of stage " << stage;
  }
}

TEST(Stages, TransfersLieBesideComputationInTheTrace) {
  const int width = 192, batch = 512, steps = 4;
  CompiledPlan compiled(Deep(6, width), "batch=512 strategy=pipeline devices=2 microbatches=4 threads=1");
  dp_session_options options = {};
  options.trace = true;
  Session session(compiled.plan, options);
  ASSERT_EQ(session.error, "");
  for (int step = 0; step < steps; step++) ASSERT_EQ(Step(&session, "train", batch, step, width), "");
  dp_trace_shares shares;
  ASSERT_EQ(Failure(dp_session_trace_share(session.session, &shares)), "");
  double percent = 100 * double(shares.hidden_ns) / double(shares.collectives_ns);
  printf("%.2f ms of transfers in %d steps, %.0f %% of it during computation\n", double(shares.collectives_ns) * 1e-6,
         steps, percent);
  RecordProperty("hidden_percent", std::to_string(percent));
  EXPECT_GT(shares.hidden_ns, 0);
  EXPECT_LE(shares.hidden_ns, shares.collectives_ns);
}

}  // namespace
