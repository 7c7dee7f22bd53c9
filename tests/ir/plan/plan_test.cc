// Plans as files: written and read back, and everything else refused.
#include "ir/plan/plan.h"
#include "ir/plan/report/print.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "ir/plan/form.h"
#include "tests/ir/base/files.h"
#include "tests/ir/verify/hand_plan.h"

namespace {

using dp_test::Arena;
using dp_test::HandPlan;

class PlanFile : public dp_test::FolderTest {
 protected:
  void Write(const Dp__Plan *plan, const std::string &name) {
    ASSERT_EQ(dp_test::Message(dp_plan_write(plan, Path(name).c_str())), "");
  }
  // The message without the folder; "" for success.
  std::string Read(const std::string &name, int *code = nullptr) {
    Arena arena;
    Dp__Plan *plan;
    dp_status status = dp_plan_read(arena, Path(name).c_str(), &plan);
    if (code) *code = dp_status_code(status);
    return WithoutFolder(dp_test::Message(status));
  }
  // A header that matches the payload.
  static std::string Seal(const std::string &payload, uint32_t version = 1, uint32_t flags = 0) {
    std::string file("DPPLAN\r\n", 8);
    uint64_t length = payload.size(), hash = dp_hash64(payload.data(), payload.size());
    file.append(reinterpret_cast<char *>(&version), 4).append(reinterpret_cast<char *>(&flags), 4);
    file.append(reinterpret_cast<char *>(&length), 8).append(reinterpret_cast<char *>(&hash), 8);
    return file + payload;
  }
  static std::string Pack(const Dp__Plan *plan) {
    std::string payload(dp__plan__get_packed_size(plan), 0);
    dp__plan__pack(plan, reinterpret_cast<uint8_t *>(&payload[0]));
    return payload;
  }
};

TEST_F(PlanFile, HeaderAsDocumented) {
  HandPlan hand;
  Write(hand.plan, "a.bin");
  EXPECT_EQ(Get("a.bin"), Seal(Pack(hand.plan)));
}

TEST_F(PlanFile, ReadsBackTheSame) {
  HandPlan hand;
  Write(hand.plan, "a.bin");
  Arena arena;
  Dp__Plan *plan;
  ASSERT_EQ(dp_test::Message(dp_plan_read(arena, Path("a.bin").c_str(), &plan)), "");
  EXPECT_EQ(Pack(plan), Pack(hand.plan));
  EXPECT_EQ(dp_test::Message(dp_verify_plan(plan, nullptr)), "");
}

TEST_F(PlanFile, LargeTensorsLieBeside) {
  HandPlan hand;
  // An initial value of 2 MiB; the form of the plan does not depend on it.
  std::string data(2 << 20, 'x');
  Dp__Tensor *tensor = hand.plan->variables[0]->initial->tensor;
  int64_t extents[] = {1024, 512};
  tensor->n_extents = 2;
  tensor->extents = extents;
  tensor->raw = {data.size(), reinterpret_cast<uint8_t *>(&data[0])};
  Write(hand.plan, "a.bin");
  EXPECT_EQ(tensor->raw.len, data.size()) << "writing a plan must leave it unchanged";
  EXPECT_LT(Get("a.bin").size(), 16384u);
  EXPECT_GT(Get("a.bin.safetensors").size(), data.size());
  Arena arena;
  Dp__Plan *plan;
  ASSERT_EQ(dp_test::Message(dp_plan_read(arena, Path("a.bin").c_str(), &plan)), "");
  EXPECT_EQ(Pack(plan), Pack(hand.plan));
  unlink(Path("a.bin.safetensors").c_str());
  int code;
  Read("a.bin", &code);
  EXPECT_EQ(code, 66);
}

// What a graph has too stays when the first values of variables go.
TEST_F(PlanFile, FirstValuesInAnArenaOfTheirOwn) {
  HandPlan hand;
  std::string data(2 << 20, 'x'), other(2 << 20, 'y');
  int64_t extents[] = {1024, 512};
  Dp__Tensor *first = hand.plan->variables[0]->initial->tensor, second = *first;
  for (Dp__Tensor *tensor : {first, &second}) {
    std::string *bytes = tensor == first ? &data : &other;
    tensor->n_extents = 2;
    tensor->extents = extents;
    tensor->raw = {bytes->size(), reinterpret_cast<uint8_t *>(&(*bytes)[0])};
  }
  Dp__Graph *graph = hand.plan->graphs[0];
  ASSERT_GE(graph->n_values, 2u);
  graph->values[0]->constant = first;
  graph->values[1]->constant = &second;
  Write(hand.plan, "a.bin");
  Arena arena;
  dp_arena *initial = dp_arena_create_within(arena);
  Dp__Plan *plan;
  ASSERT_EQ(dp_test::Message(dp_plan_read_apart(arena, initial, Path("a.bin").c_str(), &plan)), "");
  EXPECT_EQ(Pack(plan), Pack(hand.plan));
  dp_arena_destroy(initial);
  plan->n_variables = hand.plan->n_variables = 0;
  EXPECT_EQ(Pack(plan), Pack(hand.plan));
}

TEST_F(PlanFile, CutAnywhere) {
  HandPlan hand;
  std::string whole = Seal(Pack(hand.plan));
  for (size_t bytes = 0; bytes < whole.size(); bytes += bytes < 64 ? 1 : 61) {
    Put("cut", whole.substr(0, bytes));
    int code;
    EXPECT_NE(Read("cut", &code), "") << bytes;
    EXPECT_EQ(code, 65) << bytes;
  }
  Put("more", whole + '\0');
  EXPECT_EQ(Read("more"), "more: " + std::to_string(whole.size() - 31) + " bytes follow the header, which announces " +
                              std::to_string(whole.size() - 32) + ": the file was truncated or appended to");
}

// With a valid checksum too, no prefix of a payload makes a plan or does harm.
TEST_F(PlanFile, CutPayload) {
  HandPlan hand;
  std::string payload = Pack(hand.plan);
  for (size_t bytes = 0; bytes < payload.size(); bytes += 37) {
    Put("cut", Seal(payload.substr(0, bytes)));
    EXPECT_NE(Read("cut"), "") << bytes;
  }
}

TEST_F(PlanFile, AnyBitFlipped) {
  HandPlan hand;
  std::string whole = Seal(Pack(hand.plan));
  for (size_t i = 0; i < whole.size(); i += i < 64 ? 1 : 67) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    Put("bad", bad);
    int code;
    EXPECT_NE(Read("bad", &code), "") << i;
    EXPECT_EQ(code, 65) << i;
  }
}

// Damage under a valid checksum: whatever can be read can be checked and printed without harm.
TEST_F(PlanFile, DamagedAndSealed) {
  HandPlan hand;
  std::string payload = Pack(hand.plan);
  uint64_t random = 88172645463325252u;
  auto next = [&random] {
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
  };
  FILE *nowhere = fopen("/dev/null", "w");
  int readable = 0, holding = 0;
  for (int i = 0; i < 1200; i++) {
    std::string bad = payload;
    for (uint64_t n = next() % 3 + 1; n; n--)
      bad[next() % bad.size()] = static_cast<char>(next() % 4 ? next() % 8 : next());
    Put("bad", Seal(bad));
    Arena arena;
    Dp__Plan *plan;
    dp_status status = dp_plan_read(arena, Path("bad").c_str(), &plan);
    if (!status) {
      readable++;
      dp_plan_print(plan, nullptr, nowhere);
      status = dp_verify_plan(plan, nullptr);
      holding += !status;
    }
    EXPECT_TRUE(!status || dp_status_code(status) == 65 || dp_status_code(status) == 66) << dp_status_message(status);
    dp_status_free(status);
  }
  fclose(nowhere);
  EXPECT_GT(readable, 100);
  EXPECT_LT(holding, readable);
}

TEST_F(PlanFile, Messages) {
  HandPlan hand;
  std::string payload = Pack(hand.plan), whole = Seal(payload);
  Put("future", Seal(payload, 2));
  Put("old", Seal(payload, 0));
  Put("flags", Seal(payload, 1, 4));
  Put("model.pb", "\x08\x01");
  Put("unix", "DPPLAN\n" + whole.substr(8));
  Put("empty", "");
  std::string flipped = whole;
  flipped[100] ^= 1;
  Put("flipped", flipped);
  Put("field", Seal(payload + std::string("\xfa\x07\x00", 3)));
  EXPECT_EQ(
      Read("future"),
      "future: plan format version 2; this program reads version 1: it was made by a newer dpc, use the dprun that "
      "came with it");
  EXPECT_EQ(Read("old"), "old: plan format version 0; this program reads version 1: compile the model again");
  EXPECT_EQ(Read("flags"), "flags: flags 0x4 are not known to this version");
  EXPECT_EQ(
      Read("model.pb"),
      "model.pb: expected a plan, which dpc compile makes, but this is a model (.pb); dpc compile makes a plan of it");
  EXPECT_EQ(Read("unix"), "unix: this plan was truncated, or its line ends were converted: copy it as a binary file");
  EXPECT_EQ(Read("empty"), "empty: expected a plan, which dpc compile makes, but the file is empty");
  EXPECT_EQ(Read("flipped"), "flipped: the checksum differs: the file is damaged");
  EXPECT_NE(Read("field").find("unknown field 127"), std::string::npos) << Read("field");
  int code;
  Read("missing", &code);
  EXPECT_EQ(code, 66);
  Read(".", &code);
  EXPECT_EQ(code, 65);
}

TEST_F(PlanFile, CannotWrite) {
  HandPlan hand;
  dp_status status = dp_plan_write(hand.plan, Path("no/such/folder").c_str());
  EXPECT_EQ(dp_status_code(status), 73);
  dp_status_free(status);
}

TEST_F(PlanFile, Listing) {
  HandPlan hand;
  char *text = nullptr;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  dp_plan_print(hand.plan, nullptr, out);
  fclose(out);
  std::string listing(text, bytes);
  free(text);
  for (const char *line : {
           "plan model: batch 8, mesh data=2 (2 devices)\n",
           "  parameter w: float32[3,4] [R] persistent +0, 48 bytes\n",
           "  arena host input: 256 bytes, aligned to 64, 2 copies\n",
           "  program train: graph 'train', 23 tensors, 4 streams, 9 events\n",
           "    input x: float32[N,4] host input +0, 128 bytes\n",
           "    stream comm\n"
           "         0 dp.AllReduce {axis=\"data\"}, over data, waits for 3 8, signals 6\n"
           "           <- loss: float32[] [P(sum)] transient +320, 4 bytes\n"
           "           -> loss: float32[] [R] transient +384, 4 bytes\n",
           "         5 dp.SGD {momentum=0.9} node w1, kernel cpu.reference.dp.SGD, waits for 5\n"
           "           <- w: float32[3,4] [R] persistent +0, 48 bytes\n",
           "           -> w1'1: float32[3,4] [R] persistent +0, 48 bytes\n",
           "    leaves w as w1\n",
       })
    EXPECT_NE(listing.find(line), std::string::npos) << line << " is not in\n" << listing;
}

}  // namespace
