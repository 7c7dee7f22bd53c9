// The two rules for what runs beside another run, each broken alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tests/end_to_end/digit_models.h"
#include "tests/ir/verify/damaged.h"

namespace dp_test {
namespace {

const char kOptions[] = "batch=6 precision=fp64 strategy=data devices=2 uploads=yes";

Dp__Stream *StreamOf(Dp__Program *program, const char *name) {
  for (size_t s = 0; s < program->n_streams; s++)
    if (!strcmp(program->streams[s]->name, name)) return program->streams[s];
  throw std::runtime_error(std::string("no stream ") + name);
}

Verdict Check(const std::function<void(Dp__Plan *)> &damage) { return CheckDamaged(kMlp, kOptions, damage); }

TEST(Ahead, GoodPlanHasTwoCopies) {
  const Plan plan = Compile(kMlp, kOptions);
  EXPECT_EQ(ArenaOf(plan.get(), DP__SPACE__DEVICE_INPUT)->copies, 2u);
  EXPECT_EQ(ArenaOf(plan.get(), DP__SPACE__HOST_OUTPUT)->copies, 2u);
  EXPECT_TRUE(StreamOf(Train(plan.get()), "upload")->ahead);
  EXPECT_EQ(Check([](Dp__Plan *) {}).message, "");
  // Outputs in one copy: runs do not overlap, which does no harm.
  EXPECT_EQ(Check([](Dp__Plan *p) { ArenaOf(p, DP__SPACE__HOST_OUTPUT)->copies = 1; }).message, "");
}

TEST(Ahead, WaitsForNothing) {
  const Verdict v = Check([](Dp__Plan *p) {
    Dp__Stream *compute = StreamOf(Train(p), "compute");
    uint32_t event = 0;
    for (size_t i = 0; i < compute->n_instructions && !event; i++) event = compute->instructions[i]->signal;
    Dp__Stream *upload = StreamOf(Train(p), "upload");
    // The last one signals nothing that the compute stream waits for, so this is no cycle.
    Dp__Instruction *last = upload->instructions[upload->n_instructions - 1];
    last->n_waits = 1;
    last->waits = static_cast<uint32_t *>(malloc(sizeof *last->waits));  // freed with the plan
    last->waits[0] = event - 1;
  });
  EXPECT_TRUE(v.rule == "ORDER.AHEAD" || v.rule == "ORDER.CYCLE") << v.message;
}

TEST(Ahead, WritesDeviceInputAlone) {
  const Verdict v = Check([](Dp__Plan *p) {
    Dp__Program *train = Train(p);
    Dp__DeviceTensor *t = train->tensors[StreamOf(train, "upload")->instructions[0]->outputs[0] - 1];
    ToEnd(p, t, DP__SPACE__TRANSIENT);
  });
  EXPECT_EQ(v.rule, "ORDER.AHEAD") << v.message;
  EXPECT_NE(v.message.find("stream upload, instruction 0"), std::string::npos) << v.message;
  EXPECT_NE(v.message.find("it must be in device input memory"), std::string::npos) << v.message;
}

TEST(Ahead, NothingElseIsAhead) {
  EXPECT_EQ(Check([](Dp__Plan *p) { StreamOf(Train(p), "copy")->ahead = 1; }).rule, "ORDER.AHEAD");
  EXPECT_EQ(Check([](Dp__Plan *p) { StreamOf(Train(p), "compute")->ahead = 1; }).rule, "ORDER.AHEAD");
}

TEST(Ahead, NothingElseWritesDeviceInput) {
  const Verdict v = Check([](Dp__Plan *p) { StreamOf(Train(p), "upload")->ahead = 0; });
  EXPECT_EQ(v.rule, "ORDER.BESIDE") << v.message;
  // Where runs do not overlap, the host leaves its input alone; the device's is still for uploads only.
  const Verdict alone = Check([](Dp__Plan *p) {
    ArenaOf(p, DP__SPACE__HOST_OUTPUT)->copies = 1;
    StreamOf(Train(p), "upload")->ahead = 0;
  });
  EXPECT_EQ(alone.rule, "ORDER.BESIDE") << alone.message;
  EXPECT_NE(alone.message.find("to device input memory"), std::string::npos) << alone.message;
}

TEST(Ahead, NothingElseReadsHostInput) {
  const Verdict v = Check([](Dp__Plan *p) {
    Dp__Program *train = Train(p);
    Dp__Stream *upload = StreamOf(train, "upload");
    for (size_t i = 0; i < upload->n_instructions; i++) {
      Dp__DeviceTensor *t = train->tensors[upload->instructions[i]->outputs[0] - 1];
      ToEnd(p, t, DP__SPACE__TRANSIENT);
    }
    upload->ahead = 0;
  });
  EXPECT_EQ(v.rule, "ORDER.BESIDE") << v.message;
  EXPECT_NE(v.message.find("in host input memory"), std::string::npos) << v.message;
}

// What no upload of this run wrote is not there, whatever the copy held two runs ago.
TEST(Ahead, EachInputIsUploaded) {
  const Verdict v = Check([](Dp__Plan *p) {
    Dp__Program *train = Train(p);
    // The first upload goes beside what is read.
    uint32_t *made = &StreamOf(train, "upload")->instructions[0]->outputs[0];
    const Dp__DeviceTensor *t = train->tensors[*made - 1];
    std::vector<uint8_t> packed(dp__device_tensor__get_packed_size(t));
    dp__device_tensor__pack(t, packed.data());
    Dp__DeviceTensor *other = dp__device_tensor__unpack(nullptr, packed.size(), packed.data());
    ToEnd(p, other, DP__SPACE__DEVICE_INPUT);
    train->tensors = static_cast<Dp__DeviceTensor **>(
        realloc(train->tensors, (train->n_tensors + 1) * sizeof *train->tensors));  // freed with the plan
    train->tensors[train->n_tensors++] = other;
    *made = static_cast<uint32_t>(train->n_tensors);
  });
  EXPECT_EQ(v.rule, "MEANING.UNDEFINED") << v.message;
  EXPECT_NE(v.message.find("of device input memory"), std::string::npos) << v.message;
}

}  // namespace
}  // namespace dp_test
