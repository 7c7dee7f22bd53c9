// Gradient buckets overlap the backward pass. The plan's order does not separate them, and in the trace of three
// devices they overlap in time. They do not change any bit.
#include <gtest/gtest.h>
#include <jansson.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/exec/trace_share.h"
#include "tests/runtime/plan_order.h"
#include "tests/runtime/runtime_helper.h"

namespace {

using namespace dp_test;

constexpr int kDevices = 3, kLayers = 6, kWidth = 384, kBatch = 480, kSteps = 6;

std::string Wide() {
  std::string width = std::to_string(kWidth),
              text = "model wide {\n  loss \"mse(y,target)\"\n  optimizer \"adam(lr=1e-3)\"\n";
  text += "  input x: float32[N," + width + "]\n";
  std::string x = "x";
  for (int i = 0; i < kLayers; i++) {
    std::string n = std::to_string(i), y = i == kLayers - 1 ? "y" : "h" + n;
    text += "  parameter w" + n + ": float32[" + width + "," + width + "] = uniform(-0.05,0.05)\n";
    text += "  parameter b" + n + ": float32[" + width + "] = zeros\n";
    text += "  g" + n + " = Gemm(" + x + ", w" + n + ", b" + n + ")\n  " + y + " = Tanh(g" + n + ")\n";
    x = y;
  }
  return text + "  output y\n}\n";
}

std::string Options() {
  return "batch=" + std::to_string(kBatch) + " strategy=data threads=1 devices=" + std::to_string(kDevices);
}

std::string Step(Session *session, int step) {
  session->Feed("train", "x", Samples(kBatch * kWidth, step), step % 2);
  session->Feed("train", "target", Samples(kBatch * kWidth, step + 100), step % 2);
  return session->Run("train", kBatch, step, 1e-3, step % 2);
}

size_t StreamOf(const Dp__Program *program, const std::string &name) {
  for (size_t s = 0; s < program->n_streams; s++)
    if (name == program->streams[s]->name) return s;
  throw std::runtime_error("no stream " + name);
}

// ---- by the plan ----------------------------------------------------------------------------------------------------

// The first bucket with a weight, and the products that the plan does not order before or after it.
struct Beside {
  Location bucket;
  std::set<Location> products;
};

Beside FindBeside(const Dp__Program *train) {
  std::map<Location, std::set<Location>> before = Before(train);
  size_t comm = StreamOf(train, "comm"), compute = StreamOf(train, "compute");
  Beside found = {{comm, 0}, {}};
  const Dp__Stream *stream = train->streams[comm];
  auto has_weight = [&](const Dp__Instruction *in) {
    for (size_t k = 0; k < in->n_inputs; k++)
      if (train->tensors[in->inputs[k] - 1]->bytes >= kWidth * kWidth * sizeof(float)) return true;
    return false;
  };
  while (found.bucket.second < stream->n_instructions && !has_weight(stream->instructions[found.bucket.second]))
    found.bucket.second++;
  for (size_t i = 0; i < train->streams[compute]->n_instructions; i++) {
    Location location = {compute, i};
    if (std::string(train->streams[compute]->instructions[i]->op) != "Gemm") continue;
    if (!before[found.bucket].count(location) && !before[location].count(found.bucket)) found.products.insert(location);
  }
  return found;
}

TEST(Overlap, NothingOrdersTheFirstBucketAndEarlierLayers) {
  CompiledPlan compiled(Wide(), Options());
  const Dp__Program *train = compiled.Program("train");
  Beside beside = FindBeside(train);
  // At least the gradients of two layers' operands and weights.
  EXPECT_GE(beside.products.size(), 4u);
  // The first is small, later ones hold several layers' gradients, and the last is done early.
  std::vector<size_t> weights;
  for (size_t i = beside.bucket.second; i < train->streams[beside.bucket.first]->n_instructions; i++) {
    const Dp__Instruction *in = train->streams[beside.bucket.first]->instructions[i];
    weights.push_back(0);
    for (size_t k = 0; k < in->n_inputs; k++)
      weights.back() += train->tensors[in->inputs[k] - 1]->bytes >= kWidth * kWidth * sizeof(float);
  }
  EXPECT_EQ(weights.front(), 1u);
  EXPECT_GT(*std::max_element(weights.begin(), weights.end()), 1u);
  EXPECT_LT(weights.size(), size_t(kLayers));
}

// ---- in the trace ---------------------------------------------------------------------------------------------------

struct Slice {
  double begin, end;
};

// By device, stream and run: a slice for each instruction, in order.
using Trace = std::map<std::tuple<int, size_t, int>, std::vector<Slice>>;

Trace ReadTrace(const std::string &path) {
  Trace trace;
  json_t *root = json_load_file(path.c_str(), 0, nullptr), *event;
  size_t index;
  json_array_foreach(json_object_get(root, "traceEvents"), index, event) {
    auto text = [&](const char *key) { return std::string(json_string_value(json_object_get(event, key))); };
    auto number = [&](const char *key) { return json_number_value(json_object_get(event, key)); };
    if (text("ph") != "X" || text("name") == "wait" || text("cat") != "train") continue;
    int run = static_cast<int>(json_integer_value(json_object_get(json_object_get(event, "args"), "run")));
    trace[{static_cast<int>(number("pid")), static_cast<size_t>(number("tid")), run}].push_back(
        {number("ts"), number("ts") + number("dur")});
  }
  json_decref(root);
  return trace;
}

double Common(const Slice &a, const Slice &b) {
  return std::max(0.0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

TEST(Overlap, TheFirstBucketLiesBesideEarlierLayersInTheTrace) {
  CompiledPlan compiled(Wide(), Options());
  const Dp__Program *train = compiled.Program("train");
  Beside beside = FindBeside(train);
  dp_session_options options = {};
  options.trace = true;
  options.workers = 2;
  Session session(compiled.plan, options);
  ASSERT_EQ(session.error, "");
  for (int step = 0; step < kSteps; step++) ASSERT_EQ(Step(&session, step), "");
  std::string path = testing::TempDir() + "/overlap.json";
  ASSERT_EQ(Failure(dp_session_trace_write(session.session, path.c_str())), "");
  Trace trace = ReadTrace(path);

  size_t comm = StreamOf(train, "comm"), compute = StreamOf(train, "compute");
  int overlapped = 0;
  for (const auto &track : trace) {
    int run = std::get<2>(track.first);
    if (std::get<0>(track.first) || std::get<1>(track.first) != comm) continue;  // all devices have the same slices
    const Slice &bucket = track.second.at(beside.bucket.second);
    double common = 0;
    for (int device = 0; device < kDevices; device++)
      for (const Location &product : beside.products)
        common += Common(bucket, trace[{device, compute, run}].at(product.second));
    overlapped += common > 0;
  }
  dp_trace_shares shares;
  ASSERT_EQ(Failure(dp_session_trace_share(session.session, &shares)), "");
  EXPECT_GT(shares.hidden_ns, 0);
  EXPECT_LE(shares.hidden_ns, shares.collectives_ns);
  double percent = 100 * double(shares.hidden_ns) / double(shares.collectives_ns);
  printf(
      "the first bucket lay beside earlier layers in %d of %d steps; %.0f %% of all work on collectives was hidden\n",
      overlapped, kSteps, percent);
  RecordProperty("hidden_percent", std::to_string(percent));
  EXPECT_GT(overlapped, 0);
}

TEST(Overlap, SharesCountEachPartOfACollectiveBesideAnyComputation) {
  dp_kernel kernel = {};
  dp_transfer transfer = {};
  dp_unit compute = {}, meeting = {}, alone = {};
  compute.kernel = &kernel;
  compute.n_devices = alone.n_devices = 1;
  meeting.transfer = alone.transfer = &transfer;
  meeting.n_devices = 3;
  // Computation in [0,10), [5,20), [30,40); collectives in [8,12), [15,35), [38,50), [60,61); a copy in [0,90).
  dp_slice slices[] = {{&meeting, 1, 0, 15, 35}, {&compute, 1, 0, 30, 40}, {&compute, 1, 0, 0, 10},
                       {&meeting, 1, 0, 8, 12},  {&alone, 1, 0, 0, 90},    {&compute, 1, 0, 5, 20},
                       {&meeting, 1, 0, 38, 50}, {&meeting, 1, 0, 60, 61}};
  dp_trace_shares shares;
  ASSERT_EQ(Failure(dp_trace_share(slices, 8, &shares)), "");
  EXPECT_EQ(shares.collectives_ns, 4 + 20 + 12 + 1);
  EXPECT_EQ(shares.hidden_ns, 4 + (5 + 5) + 2);
}

// ---- bit for bit ----------------------------------------------------------------------------------------------------

// Splits each all-reduce of several operands into single ones: the first waits, the last signals.
int TakeApart(dp_arena *arena, Dp__Stream *stream) {
  std::vector<Dp__Instruction *> all;
  int taken_apart = 0;
  for (size_t i = 0; i < stream->n_instructions; i++) {
    Dp__Instruction *in = stream->instructions[i];
    size_t count = in->n_inputs;
    taken_apart += count > 1;
    for (size_t k = 0; k < count; k++) {
      Dp__Instruction *one = static_cast<Dp__Instruction *>(dp_memdup(arena, in, sizeof *in));
      one->inputs += k;
      one->outputs += k;
      one->n_inputs = one->n_outputs = 1;
      if (k) one->n_waits = 0;
      if (k + 1 < count) one->signal = 0;
      all.push_back(one);
    }
  }
  stream->n_instructions = all.size();
  stream->instructions =
      static_cast<Dp__Instruction **>(dp_memdup(arena, all.data(), all.size() * sizeof(Dp__Instruction *)));
  return taken_apart;
}

TEST(Overlap, BucketsGiveTheBitsOfTheirMembersOneByOne) {
  for (const char *options : {"batch=6 strategy=data devices=3 threads=1", "batch=6 strategy=data devices=2 threads=2"})
    for (int workers : {1, 3}) {
      CompiledPlan joined(kNetwork, options), apart(kNetwork, options);
      Dp__Program *train = apart.Program("train");
      EXPECT_GT(TakeApart(apart.arena, train->streams[StreamOf(train, "comm")]), 1);
      dp_session_options run = {};
      run.seed = 5;
      run.workers = workers;
      Session a(joined.plan, run), b(apart.plan, run);
      ASSERT_EQ(a.error, "");
      ASSERT_EQ(b.error, "");
      EXPECT_EQ(TrainNetwork(&a, 5), TrainNetwork(&b, 5));
      EXPECT_EQ(a.Everything(), b.Everything());
    }
}

}  // namespace
