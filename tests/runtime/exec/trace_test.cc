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
