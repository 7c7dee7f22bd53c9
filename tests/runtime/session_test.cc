// Sessions on compiled plans: the same bits with any number of workers, loading and saving weights, memory as declared,
// and plans that do not suit the backend.
#include "runtime/session.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/cpu/target.h"
#include "backends/null/backend.h"
#include "tests/runtime/runtime_helper.h"

namespace {

using namespace dp_test;

TEST(Session, TheSameBitsWithAnyNumberOfWorkers) {
  CompiledPlan compiled(kNetwork, "batch=6 strategy=data devices=3 threads=2");
  std::vector<char> expected;
  std::vector<double> expected_losses;
  for (int workers : {1, 2, 5}) {
    dp_session_options options = {};
    options.workers = workers;
    options.seed = 7;
    Session session(compiled.plan, options);
    ASSERT_EQ(session.error, "");
    std::vector<double> losses = TrainNetwork(&session, 6);
    std::vector<char> weights = session.Everything();
    if (expected.empty()) {
      expected = weights;
      expected_losses = losses;
    }
    EXPECT_EQ(weights, expected) << workers << " workers";
    EXPECT_EQ(losses, expected_losses) << workers << " workers";
  }
}

TEST(Session, AnyNumberOfDevicesComputesTheSame) {
  std::vector<double> one;
  for (const char *where : {"devices=1", "devices=2", "devices=3", "devices=8"}) {
    CompiledPlan compiled(kNetwork, std::string("batch=6 precision=fp64 strategy=data ") + where);
    Session session(compiled.plan);
    ASSERT_EQ(session.error, "");
    // The inputs are float64 here.
    std::vector<double> losses;
    for (int step = 0; step < 5; step++) {
      int64_t n = step == 3 ? 1 : 6;
      std::vector<float> samples = Samples(n * 32, step);
      session.Feed("train", "x", std::vector<double>(samples.begin(), samples.end()));
      session.Feed("train", "label", Labels(n, 3, step));
      ASSERT_EQ(session.Run("train", n, step), "");
      losses.push_back(session.Number("train", "loss"));
    }
    if (one.empty()) one = losses;
    for (size_t i = 0; i < one.size(); i++) EXPECT_NEAR(losses[i], one[i], 1e-11 * std::fabs(one[i])) << where;
  }
}

TEST(Session, SeedsDiffer) {
  CompiledPlan compiled(kNetwork, "batch=6");
  dp_session_options options = {};
  Session zero(compiled.plan, options), again(compiled.plan, options);
  options.seed = uint64_t(1) << 40;
  Session other(compiled.plan, options);
  EXPECT_EQ(zero.Everything(), again.Everything());
  EXPECT_NE(zero.Everything(), other.Everything());
  // Variables with data in the model have that data.
  for (Session *s : {&zero, &other}) EXPECT_EQ(s->Floats("fc.bias"), (std::vector<float>{0.1f, -0.2f, 0.3f}));
}

// Two variables share one, which goes back to the system when both have it.
TEST(Session, FirstValuesGoBackWhenVariablesHaveThem) {
  enum { kCount = 8192, kPlace = 4 * kCount * sizeof(float) };
  std::string numbers = "0";
  for (int i = 1; i < kCount; i++) numbers += "," + std::to_string(i);
  const std::string type = ": float32[" + std::to_string(kCount) + "] = [" + numbers + "]\n";
  CompiledPlan compiled("model m {\n input x: float32[N," + std::to_string(kCount) + "]\n parameter a" + type +
                            " parameter b" + type + " parameter c" + type +
                            " s = Add(x, a)\n t = Add(s, c)\n y = Mul(t, b)\n output y\n}\n",
                        "batch=1 mode=infer");
  dp_arena *initial = dp_arena_create(0);
  float *block = static_cast<float *>(dp_alloc(initial, 4 * kPlace));
  for (size_t v = 0; v < compiled.plan->n_variables; v++) {
    Dp__Variable *variable = compiled.plan->variables[v];
    Dp__Tensor *tensor = variable->initial->tensor;
    float *values = block + (*variable->name == 'b' ? 2 : 0) * (kPlace / sizeof(float));
    ASSERT_EQ(tensor->raw.len, kCount * sizeof(float));
    for (int i = 0; i < kCount; i++) values[i] = static_cast<float>(*variable->name == 'b' ? -i : i);
    tensor->raw.data = reinterpret_cast<uint8_t *>(values);
  }
  for (dp_arena *given : {static_cast<dp_arena *>(nullptr), initial}) {
    dp_session_options options = {};
    options.initial = given;
    Session session(compiled.plan, options);
    ASSERT_EQ(session.error, "");
    for (const char *name : {"a", "b", "c"}) {
      const std::vector<float> values = session.Floats(name);
      ASSERT_EQ(values.size(), size_t{kCount});
      for (int i = 0; i < kCount; i++) ASSERT_EQ(values[static_cast<size_t>(i)], *name == 'b' ? -i : i) << name;
    }
    const int in_middle = kCount / 2;
    EXPECT_EQ(block[in_middle], given ? 0 : in_middle);
    EXPECT_EQ(block[2 * (kPlace / sizeof(float)) + in_middle], given ? 0 : -in_middle);
  }
  dp_arena_destroy(initial);
}

TEST(Session, ABatchWithoutSamples) {
  CompiledPlan compiled(kNetwork, "batch=6 strategy=data devices=2");
  Session session(compiled.plan);
  ASSERT_EQ(session.error, "");
  EXPECT_EQ(session.Run("eval", 0), "");
  EXPECT_EQ(session.Run("eval", 7).substr(0, 4), "65: ");
  EXPECT_EQ(session.Run("eval", -1).substr(0, 4), "65: ");
}

// ---- weights --------------------------------------------------------------------------------------------------------

// Split parameters: whole in, whole out, and each device's share in between.
TEST(Session, VariableValuesWholeInAndOut) {
  std::string text = kNetwork;
  const std::string weight = "parameter fc.weight: float32[3,16] = kaiming_uniform()";
  text.insert(text.find(weight) + weight.size(), " shard(tensor=0)");
  CompiledPlan compiled(text, "batch=6 strategy=data mesh=data:2,tensor:2");
  Session session(compiled.plan);
  ASSERT_EQ(session.error, "");
  const dp_model *model = dp_session_model(session.session);
  int32_t fc = dp_model_find_variable(model, "fc.weight");
  EXPECT_EQ(model->variables[fc].placements[1].kind, DP_SHARD);
  for (int32_t i = 0; i < model->n_variables; i++) {
    std::vector<char> bytes = session.Bytes(model->variables[i].name);
    for (size_t k = 0; k < bytes.size(); k++) bytes[k] = static_cast<char>(k * 7 + static_cast<size_t>(i));
    ASSERT_EQ(Failure(dp_session_variable_write(session.session, i, bytes.data())), "");
    EXPECT_EQ(session.Bytes(model->variables[i].name), bytes) << model->variables[i].name;
  }
}

// The same weights give the same losses: what one placement wrote, another reads.
TEST(Session, WeightsMoveBetweenPlans) {
  CompiledPlan one(kNetwork, "batch=6"), two(kNetwork, "batch=6 strategy=data devices=2");
  dp_session_options options = {};
  options.seed = 5;
  Session first(one.plan, options);
  ASSERT_EQ(first.error, "");
  TrainNetwork(&first, 3);
  Session second(two.plan);
  ASSERT_EQ(second.error, "");
  const dp_model *model = dp_session_model(first.session);
  for (int32_t i = 0; i < model->n_variables; i++) {
    const char *name = model->variables[i].name;
    int32_t there = dp_model_find_variable(dp_session_model(second.session), name);
    ASSERT_GE(there, 0) << name;
    ASSERT_EQ(Failure(dp_session_variable_write(second.session, there, first.Bytes(name).data())), "");
  }
  for (Session *s : {&first, &second}) {
    s->Feed("eval", "x", Samples(6 * 32, 9));
    s->Feed("eval", "label", Labels(6, 3, 9));
    ASSERT_EQ(s->Run("eval", 6), "");
  }
  EXPECT_NEAR(second.Number("eval", "loss"), first.Number("eval", "loss"), 1e-6);
}

// ---- memory and kernels ---------------------------------------------------------------------------------------------

// The allocations that the backend sees.
std::vector<uint64_t> allocated, released;
void *CountingAllocate(dp_place place, uint64_t bytes, uint64_t alignment) {
  allocated.push_back(bytes);
  return dp_backend_cpu.allocate(place, bytes, alignment);
}
void CountingRelease(dp_place place, void *memory, uint64_t bytes) {
  released.push_back(bytes);
  dp_backend_cpu.release(place, memory, bytes);
}

TEST(Session, TakesTheMemoryThatThePlanDeclares) {
  dp_backend counting = dp_backend_cpu;
  counting.allocate = CountingAllocate;
  counting.release = CountingRelease;
  for (uint64_t devices : {1, 2, 5}) {
    allocated.clear();
    released.clear();
    CompiledPlan compiled(kNetwork, "batch=6 strategy=data devices=" + std::to_string(devices));
    std::vector<uint64_t> expected;
    std::map<int, uint64_t> of_space;
    const Dp__Role *role = compiled.plan->roles[0];
    ASSERT_EQ(role->n_arenas, 4u);
    for (size_t i = 0; i < role->n_arenas; i++) {
      const Dp__Arena *arena = role->arenas[i];
      bool on_devices = arena->space == DP__SPACE__PERSISTENT || arena->space == DP__SPACE__TRANSIENT;
      uint64_t times = on_devices ? devices : arena->copies;
      expected.insert(expected.end(), times, arena->bytes);
      of_space[arena->space] = times * arena->bytes;
      EXPECT_GT(arena->bytes, 0u);
    }
    {
      Session session(compiled.plan, {}, &counting);
      ASSERT_EQ(session.error, "");
      for (const auto &[space, bytes] : of_space)
        EXPECT_EQ(dp_session_bytes(session.session, static_cast<Dp__Space>(space)), bytes);
      TrainNetwork(&session, 3);
      // Running needs no more memory; the touched part is at most what is allocated.
      uint64_t all = 0;
      for (uint64_t bytes : allocated) all += bytes;
      EXPECT_GT(dp_session_resident(session.session), 0u);
      EXPECT_LE(dp_session_resident(session.session), all);
    }
    for (std::vector<uint64_t> *list : {&expected, &allocated, &released}) std::sort(list->begin(), list->end());
    EXPECT_EQ(allocated, expected) << devices;
    EXPECT_EQ(released, expected) << devices;
  }
}

TEST(Session, ResidentIsWhatWasTouched) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), bytes = 9000 * page + 100;
  const dp_place place = {};
  char *memory = static_cast<char *>(dp_backend_cpu.allocate(place, bytes, 64));
  ASSERT_NE(memory, nullptr);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  EXPECT_EQ(dp_backend_cpu.resident(memory, bytes), 0u);
  memory[0] = memory[5000 * page + 7] = 1;
  EXPECT_EQ(dp_backend_cpu.resident(memory, bytes), 2 * page);
  memory[9000 * page] = 1;
  EXPECT_EQ(dp_backend_cpu.resident(memory, bytes), 2 * page + 100);
  dp_backend_cpu.release(place, memory, bytes);
}

std::string Error(const CompiledPlan &compiled) {
  dp_session_options options = {};
  options.unchecked = true;
  return Session(compiled.plan, options).error;
}

Dp__Instruction *FirstKernel(const CompiledPlan &compiled, const std::string &program, bool with_scratch) {
  Dp__Program *p = compiled.Program(program);
  for (size_t s = 0; s < p->n_streams; s++)
    for (size_t i = 0; i < p->streams[s]->n_instructions; i++) {
      Dp__Instruction *in = p->streams[s]->instructions[i];
      if (*in->kernel && (!with_scratch || (in->scratch && in->scratch->bytes))) return in;
    }
  return nullptr;
}

TEST(Session, KernelsThatAreNotHere) {
  CompiledPlan compiled(kNetwork, "batch=6");
  Dp__Instruction *in = FirstKernel(compiled, "init", false);
  in->kernel = dp_strdup(compiled.arena, "cpu.fancy.Conv");
  std::string error = Error(compiled);
  EXPECT_EQ(error.substr(0, 4), "69: ");
  EXPECT_NE(error.find("cpu.fancy.Conv"), std::string::npos) << error;
  in->kernel = dp_strdup(compiled.arena, "cpu.reference.Conv");
  error = Error(compiled);
  EXPECT_EQ(error.substr(0, 4), "65: ") << error;
}

TEST(Session, ScratchThatDoesNotSuffice) {
  CompiledPlan compiled(kNetwork, "batch=6");
  Dp__Instruction *in = FirstKernel(compiled, "train", true);
  ASSERT_TRUE(in);
  in->scratch->bytes = 1;
  dp_session_options options = {};
  options.unchecked = true;
  Session session(compiled.plan, options);
  ASSERT_EQ(session.error, "");  // "init" does not need it
  std::string error = Failure(dp_session_prepare(session.session, dp_session_find(session.session, "train"), 6));
  EXPECT_EQ(error.substr(0, 4), "69: ");
  EXPECT_NE(error.find("dpc compile, with --isa and --threads as wanted"), std::string::npos) << error;
  EXPECT_EQ(Failure(dp_session_prepare(session.session, dp_session_find(session.session, "eval"), 6)), "");
}

TEST(Session, PlansForSomethingElse) {
  CompiledPlan compiled(kNetwork, "batch=6");
  char *cpu = compiled.plan->target->backend;
  compiled.plan->target->backend = dp_strdup(compiled.arena, "cuda");
  EXPECT_EQ(Error(compiled).substr(0, 4), "69: ");
  compiled.plan->target->backend = cpu;
  EXPECT_EQ(Error(compiled), "");
  for (size_t i = 0; i < compiled.plan->roles[0]->n_arenas; i++)
    if (compiled.plan->roles[0]->arenas[i]->space == DP__SPACE__TRANSIENT)
      compiled.plan->roles[0]->arenas[i]->bytes = uint64_t(1) << 45;
  EXPECT_EQ(Error(compiled).substr(0, 4), "71: ");
}

TEST(Session, NullBackendRunsWhatTheCpuRuns) {
  CompiledPlan compiled(kNetwork, "batch=6 strategy=data devices=64");
  dp_backend null = dp_backend_null(&dp_target_cpu);
  dp_session_options options = {};
  options.workers = 3;
  Session session(compiled.plan, options, &null);
  ASSERT_EQ(session.error, "");
  EXPECT_EQ(session.Run("train", 6), "");
  EXPECT_EQ(session.Run("train", 1), "");
  EXPECT_EQ(session.Run("eval", 6), "");
}

}  // namespace
