// Every device does its part: with the checker switched off, a plan that lacks any one of its collectives computes other
// losses, and so does one device's shard when it is spoilt. (With the checker on such a plan does not load.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "backends/cpu/backend.h"
#include "backends/cpu/target.h"
#include "ir/model_file.h"
#include "ir/verify/verify.h"
#include "passes/passes.h"
#include "runtime/session.h"

namespace {

constexpr int64_t kBatch = 20, kSteps = 3;
constexpr int kDevices = 3;

std::string Content(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

class Parts : public testing::Test {
 protected:
  ~Parts() override { dp_arena_destroy(arena_); }

  // A plan of its own each time.
  Dp__Plan *Compile(const char *path) {
    dp_arena_destroy(arena_);
    arena_ = dp_arena_create(0);
    dp_model *model = nullptr;
    Check(dp_model_file_read(arena_, path, &model));
    dp_options options = {};
    options.strategy = "data";
    options.devices = kDevices;
    options.batch = kBatch;
    options.optimizer = "sgd(lr=0.05,momentum=0.9)";
    options.precision = DP_FLOAT64;
    options.target = &dp_target_cpu;
    Dp__Plan *plan = nullptr;
    Check(dp_pipeline_run(model, &options, &plan));
    return plan;
  }

  static void Check(dp_status status) {
    ASSERT_EQ(status, DP_OK) << dp_status_message(status);
    dp_status_free(status);
  }

  static Dp__Program *Train(Dp__Plan *plan) {
    for (size_t i = 0; i < plan->roles[0]->n_programs; i++)
      if (!strcmp(plan->roles[0]->programs[i]->name, "train")) return plan->roles[0]->programs[i];
    return nullptr;
  }

  // Losses of the first steps on the digits.
  static std::vector<double> Losses(const Dp__Plan *plan) {
    static const std::string images = Content("examples/data/digits/train-images-idx3-ubyte").substr(16),
                             labels = Content("examples/data/digits/train-labels-idx1-ubyte").substr(8);
    dp_session_options options = {};
    options.workers = 2;
    options.unchecked = true;
    options.seed = 3;
    dp_session *session = nullptr;
    std::vector<double> losses;
    dp_status status = dp_session_create(plan, &dp_backend_cpu, &options, &session);
    EXPECT_EQ(status, DP_OK) << dp_status_message(status);
    if (status) return losses;
    int train = dp_session_find(session, "train");
    for (int64_t s = 0; s < kSteps; s++) {
      int slot = static_cast<int>(s % 2);
      memcpy(dp_session_input(session, train, "image", slot), images.data() + s * kBatch * 64, kBatch * 64);
      auto *label = static_cast<int64_t *>(dp_session_input(session, train, "label", slot));
      for (int64_t i = 0; i < kBatch; i++) label[i] = labels[static_cast<size_t>(s * kBatch + i)];
      dp_step step = {s, kBatch, 0.05};
      Check(dp_session_run(session, train, slot, &step));
      losses.push_back(dp_session_number(session, train, "loss"));
    }
    dp_session_destroy(session);
    return losses;
  }

  static bool Differ(const std::vector<double> &a, const std::vector<double> &b) {
    for (size_t i = 0; i < a.size(); i++)
      if (!(std::fabs(a[i] - b[i]) <= 1e-9 * std::fabs(a[i]))) return true;
    return false;
  }

  // Takes an instruction out of its stream. Who waited for it waits for what it waited for and for what came before it.
  void Remove(Dp__Program *program, Dp__Stream *stream, size_t at) {
    Dp__Instruction *gone = stream->instructions[at];
    std::vector<uint32_t> before(gone->waits, gone->waits + gone->n_waits);
    std::vector<uint32_t> heirs = before;
    if (at > 0) {
      Dp__Instruction *previous = stream->instructions[at - 1];
      if (!previous->signal) previous->signal = ++program->events;
      heirs.push_back(previous->signal - 1);
    }
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
        Dp__Instruction *in = program->streams[s]->instructions[i];
        bool follows = program->streams[s] == stream && i == at + 1;
        SetWaits(in, gone->signal, heirs, follows ? before : std::vector<uint32_t>());
      }
    memmove(stream->instructions + at, stream->instructions + at + 1,
            (stream->n_instructions - at - 1) * sizeof *stream->instructions);
    stream->n_instructions--;
  }

  // signal: event plus 1, whose place the heirs take; 0: none.
  void SetWaits(Dp__Instruction *in, uint32_t signal, const std::vector<uint32_t> &heirs,
                const std::vector<uint32_t> &more) {
    std::vector<uint32_t> waits = more;
    for (size_t w = 0; w < in->n_waits; w++) {
      if (in->waits[w] + 1 == signal)
        waits.insert(waits.end(), heirs.begin(), heirs.end());
      else
        waits.push_back(in->waits[w]);
    }
    in->waits = static_cast<uint32_t *>(dp_alloc_n(arena_, waits.size() + 1, sizeof(uint32_t)));
    std::copy(waits.begin(), waits.end(), in->waits);
    in->n_waits = waits.size();
  }

  dp_arena *arena_ = nullptr;
};

const char model[] = "tests/tools/reference.dpt";

TEST_F(Parts, AnyCollectiveThatIsMissingChangesTheLosses) {
  std::ofstream(std::string(getenv("TEST_TMPDIR")) + "/model.dpt") << [] {
    // Random weights in place of the zeros that reference.safetensors would overwrite.
    std::string text = Content(model);
    for (size_t at; (at = text.find("= zeros")) != std::string::npos;) text.replace(at, 7, "= normal(0, 0.3)");
    for (const char *buffer : {"bn1.running_mean: float32[4]", "bn2.running_mean: float32[8]"})
      text.replace(text.find(buffer) + strlen(buffer), strlen(" = normal(0, 0.3)"), " = zeros");
    return text;
  }();
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/model.dpt";
  Dp__Plan *whole = Compile(path.c_str());
  Check(dp_verify_plan(whole, nullptr));
  const std::vector<double> expected = Losses(whole);
  ASSERT_EQ(expected.size(), static_cast<size_t>(kSteps));
  EXPECT_FALSE(Differ(Losses(Compile(path.c_str())), expected));
  const size_t streams = Train(Compile(path.c_str()))->n_streams;
  int removed = 0;
  for (size_t s = 0; s < streams; s++)
    for (size_t i = 0;; i++) {
      Dp__Plan *plan = Compile(path.c_str());
      Dp__Program *program = Train(plan);
      Dp__Stream *stream = program->streams[s];
      if (i >= stream->n_instructions) break;
      const std::string op = stream->instructions[i]->op;
      if (op.substr(0, 3) != "All" && op != "ReduceScatter") continue;
      SCOPED_TRACE(op + " " + std::to_string(i) + " of stream " + stream->name);
      Remove(program, stream, i);
      dp_status status = dp_verify_plan(plan, nullptr);
      EXPECT_EQ(dp_status_code(status), EX_DATAERR);
      dp_status_free(status);
      EXPECT_TRUE(Differ(Losses(plan), expected));
      removed++;
    }
  // 10 gradients, 2 statistics forward and 2 sums backward for each of 2 normalizations, the loss; some may be joined.
  EXPECT_GE(removed, 10);
}

TEST_F(Parts, ASpoiltShardOfAnyDeviceSpoilsTheLoss) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/line.dpt";
  std::ofstream(path) << R"dpt(model line {
  opset 18
  loss "mse(y,target)"
  input x: float32[N,3]
  parameter w: float32[2,3] = normal(0, 1)
  y = Gemm(x, w) {transB=1}
  output y
})dpt";
  Dp__Plan *plan = Compile(path.c_str());
  dp_session_options options = {};
  options.workers = 2;
  for (int64_t row = 0; row < kBatch; row++) {  // of device row * 3 / 20, about
    dp_session *session = nullptr;
    Check(dp_session_create(plan, &dp_backend_cpu, &options, &session));
    int train = dp_session_find(session, "train");
    std::vector<double> losses;
    for (int slot = 0; slot < 2; slot++) {
      auto *x = static_cast<double *>(dp_session_input(session, train, "x", slot));
      auto *target = static_cast<double *>(dp_session_input(session, train, "target", slot));
      for (int64_t i = 0; i < kBatch * 3; i++) x[i] = 0.1 * static_cast<double>(i % 7);
      for (int64_t i = 0; i < kBatch * 2; i++) target[i] = 1;
    }
    for (int64_t s = 0; s < 4; s++) {  // the second step alone has the spoilt sample
      int slot = static_cast<int>(s % 2);
      auto *x = static_cast<double *>(dp_session_input(session, train, "x", slot));
      x[row * 3] = s == 1 ? NAN : 0.5;
      dp_step step = {s, kBatch, 0.01};
      Check(dp_session_run(session, train, slot, &step));
      losses.push_back(dp_session_number(session, train, "loss"));
    }
    dp_session_destroy(session);
    EXPECT_TRUE(std::isfinite(losses[0])) << row;
    for (size_t s = 1; s < 4; s++) EXPECT_TRUE(std::isnan(losses[s])) << "row " << row << ", step " << s;
  }
}

}  // namespace
