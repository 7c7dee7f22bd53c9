// What --trace writes: every instruction of every run on the track of its device and stream, in order, without overlap,
// with waiting in between.
#include <gtest/gtest.h>
#include <jansson.h>

#include <algorithm>
#include <map>

#include "tests/ir/base/files.h"
#include "tests/runtime/runtime_helper.h"

namespace {

using namespace dp_test;

struct Slice {
  double begin, end;
  std::string name, program;
};

TEST(Trace, OneTrackADeviceAndStream) {
  CompiledPlan compiled(kNetwork, "batch=6 strategy=data devices=2 threads=2");
  dp_session_options options = {};
  options.trace = true;
  options.workers = 3;
  Session session(compiled.plan, options);
  ASSERT_EQ(session.error, "");
  TrainNetwork(&session, 3);
  std::string path = testing::TempDir() + "/trace.json";
  ASSERT_EQ(Failure(dp_session_trace_write(session.session, path.c_str())), "");

  json_t *root = json_loads(dp_test::ReadText(path).c_str(), 0, nullptr);
  ASSERT_TRUE(root);
  std::map<std::pair<int, int>, std::vector<Slice>> tracks;
  std::map<std::pair<int, int>, std::string> names;
  size_t index;
  json_t *event;
  json_array_foreach(json_object_get(root, "traceEvents"), index, event) {
    auto text = [&](const char *key) { return std::string(json_string_value(json_object_get(event, key))); };
    auto number = [&](const char *key) { return json_number_value(json_object_get(event, key)); };
    std::pair<int, int> track(static_cast<int>(number("pid")), static_cast<int>(number("tid")));
    if (text("ph") == "X")
      tracks[track].push_back({number("ts"), number("ts") + number("dur"), text("name"), text("cat")});
    else if (text("name") == "thread_name")
      names[track] = json_string_value(json_object_get(json_object_get(event, "args"), "name"));
  }
  json_decref(root);

  // Slices are named after the operator and its node, or after the operator and the communicated value.
  Dp__Program *train = compiled.Program("train");
  const Dp__Graph *graph = compiled.plan->graphs[train->graph];
  auto title = [&](const Dp__Instruction *in) {
    const char *of =
        in->n_nodes ? graph->nodes[in->nodes[0]]->name : graph->values[train->tensors[in->inputs[0] - 1]->value]->name;
    return std::string(in->op) + " " + of;
  };
  for (int device = 0; device < 2; device++)
    for (size_t s = 0; s < train->n_streams; s++) {
      const Dp__Stream *stream = train->streams[s];
      std::pair<int, int> track(device, static_cast<int>(s));
      EXPECT_EQ(names[track], stream->name);
      std::vector<std::string> expected, found;
      for (int run = 0; run < 3; run++)
        for (size_t i = 0; i < stream->n_instructions; i++) expected.push_back(title(stream->instructions[i]));
      double end = 0;
      for (const Slice &slice : tracks[track]) {
        EXPECT_LE(end, slice.begin + 0.0015);  // written with three digits
        EXPECT_LE(slice.begin, slice.end);
        end = slice.end;
        if (slice.program == "train" && slice.name != "wait") found.push_back(slice.name);
      }
      EXPECT_EQ(found, expected);
      EXPECT_TRUE(
          std::any_of(tracks[track].begin(), tracks[track].end(), [](const Slice &x) { return x.name == "wait"; }));
    }
}

// Two products and elementwise nodes between them, which make a region.
const char kProducts[] = R"dpt(model products {
  opset 18
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,5]
  parameter w: float32[7,5] = kaiming_uniform()
  parameter b: float32[7] = zeros
  parameter v: float32[3,7] = kaiming_uniform()
  h = Gemm(x, w, b) {transB=1}
  e = Exp(h)
  t = Tanh(e)
  logits = Gemm(t, v) {transB=1}
  output logits
})dpt";

struct Work {
  double flops, bytes;
  bool operator==(const Work &other) const { return flops == other.flops && bytes == other.bytes; }
  friend std::ostream &operator<<(std::ostream &out, const Work &w) { return out << w.flops << " " << w.bytes; }
};
using Works = std::vector<Work>;

class TraceWork {
 public:
  // Traces a run of `train` for each number of samples.
  TraceWork(const std::string &compile, const std::vector<int64_t> &samples) {
    CompiledPlan compiled(kProducts, compile);
    dp_session_options options = {};
    options.trace = true;
    Session session(compiled.plan, options);
    EXPECT_EQ(session.error, "");
    for (size_t i = 0; i < samples.size(); i++) {
      session.Feed("train", "x", Samples(samples[i] * 5, 1));
      session.Feed("train", "label", Labels(samples[i], 3, 2));
      EXPECT_EQ(session.Run("train", samples[i], static_cast<int64_t>(i)), "");
    }
    const std::string path = testing::TempDir() + "/work.json";
    EXPECT_EQ(Failure(dp_session_trace_write(session.session, path.c_str())), "");
    root_ = json_loads(dp_test::ReadText(path).c_str(), 0, nullptr);
    EXPECT_TRUE(root_);
  }
  ~TraceWork() { json_decref(root_); }

  // The work of the device's slices of that name in `train`, in the order of time.
  Works Of(const std::string &name, int device) const {
    Works found;
    size_t index;
    json_t *event;
    json_array_foreach(json_object_get(root_, "traceEvents"), index, event) {
      auto text = [&](const char *key) {
        const char *value = json_string_value(json_object_get(event, key));
        return std::string(value ? value : "");
      };
      if (text("name") != name || text("cat") != "train") continue;
      if (json_integer_value(json_object_get(event, "pid")) != device) continue;
      const json_t *args = json_object_get(event, "args"), *flops = json_object_get(args, "flops");
      EXPECT_EQ(flops != nullptr, name != "wait");
      found.push_back({json_number_value(flops), json_number_value(json_object_get(args, "bytes"))});
    }
    return found;
  }

 private:
  json_t *root_ = nullptr;
};

// A product of (m, k) and (k, n) is 2 m n k operations. Each operand and result is moved once, and of a region nothing
// that stays inside. Of a short batch of 3, the first of two devices has 1 sample and the second 2.
TEST(Trace, WorkIsThatOfTheDevicesPart) {
  const TraceWork two("batch=6 strategy=data devices=2", {6, 3});
  const double f = sizeof(float);
  for (int device : {0, 1}) {
    SCOPED_TRACE(device);
    const double m = device ? 2 : 1;
    auto first = [&](double rows) { return Work{2 * rows * 7 * 5, f * (rows * 5 + 7 * 5 + 7 + rows * 7)}; };
    auto second = [&](double rows) { return Work{2 * rows * 3 * 7, f * (rows * 7 + 3 * 7 + rows * 3)}; };
    // Reads h, writes e and t, which the gradients need.
    auto between = [&](double rows) { return Work{2 * rows * 7, f * 3 * rows * 7}; };
    EXPECT_EQ(two.Of("Gemm h", device), (Works{first(3), first(m)}));
    EXPECT_EQ(two.Of("Gemm logits", device), (Works{second(3), second(m)}));
    EXPECT_EQ(two.Of("Region e", device), (Works{between(3), between(m)}));
    EXPECT_EQ(two.Of("Scatter x", device), (Works{{0, f * 3 * 5}, {0, f * m * 5}}));
    EXPECT_FALSE(two.Of("wait", device).empty());
    // The loss and the gradients of all parameters: each of two devices sends and receives as much as they have.
    const Work reduced = {0, f * (1 + 7 * 5 + 7 + 3 * 7)};
    EXPECT_EQ(two.Of("AllReduce loss/Div", device), (Works{reduced, reduced}));
  }
  // Each of four devices 2 * 3 / 4 of that. The first has no sample of a short batch.
  const TraceWork four("batch=6 strategy=data devices=4", {6, 3});
  const Work reduced = {0, 1.5 * f * (1 + 7 * 5 + 7 + 3 * 7)};
  EXPECT_EQ(four.Of("AllReduce loss/Div", 3), (Works{reduced, reduced}));
  EXPECT_EQ(four.Of("Gemm logits", 0).at(1), (Work{0, f * 3 * 7}));
}

// What one stage sends and the next receives; and sums over micro-batches, which read two gradients and write one.
TEST(Trace, WorkOfAPipeline) {
  const TraceWork trace("batch=6 strategy=pipeline devices=2 microbatches=2", {6});
  const double f = sizeof(float);
  const Work crosses = {0, f * 3 * 3};
  EXPECT_EQ(trace.Of("Send logits", 0), (Works{crosses, crosses}));
  EXPECT_EQ(trace.Of("Recv logits", 1), (Works{crosses, crosses}));
  EXPECT_EQ(trace.Of("Accumulate h/grad/Gemm.1", 0), (Works{{0, f * 3 * 7 * 5}}));
}

// A plan may name its streams anything; the trace is valid JSON all the same.
TEST(Trace, NamesOfAPlanStayInTheirPlace) {
  CompiledPlan compiled(kNetwork, "batch=6");
  std::string odd = "a\"b\\c\nd\xff" + std::string(300, 'x');
  char *before = compiled.Program("init")->streams[0]->name;
  compiled.Program("init")->streams[0]->name = odd.data();
  dp_session_options options = {};
  options.trace = true;
  Session session(compiled.plan, options);
  ASSERT_EQ(session.error, "");
  TrainNetwork(&session, 1);
  std::string path = testing::TempDir() + "/odd.json";
  ASSERT_EQ(Failure(dp_session_trace_write(session.session, path.c_str())), "");
  compiled.Program("init")->streams[0]->name = before;
  std::string text = dp_test::ReadText(path);
  json_t *root = json_loads(text.c_str(), 0, nullptr);
  EXPECT_TRUE(root);
  json_decref(root);
  EXPECT_NE(text.find("\"a_b_c_d_xxx"), std::string::npos);
}

TEST(Trace, OnlyWhenAskedFor) {
  CompiledPlan compiled(kNetwork, "batch=6");
  Session session(compiled.plan);
  EXPECT_EQ(Failure(dp_session_trace_write(session.session, "/nowhere")).substr(0, 4), "70: ");
  dp_session_options options = {};
  options.trace = true;
  Session traced(compiled.plan, options);
  EXPECT_EQ(Failure(dp_session_trace_write(traced.session, "/nowhere/trace.json")).substr(0, 4), "73: ");
}

}  // namespace
