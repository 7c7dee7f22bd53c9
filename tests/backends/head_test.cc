// Heads of networks in chunks of rows, against the reference of regions: any members, any number of rows and threads.
// The scratch must be as large as declared, and enough for fewer rows too.
#include <gtest/gtest.h>

#include <thread>

#include "backends/base/head.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/target.h"
#include "tests/backends/drawn_head.h"

namespace dp_test {
namespace {

constexpr size_t kGuard = 64;

const dp_kernel *Reference() { return dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"); }

struct Computed {
  std::vector<Tensor> results;
  std::string error;
};

// Every thread is one.
Computed Compute(DrawnHead *head, const std::vector<Tensor> &in, int threads, uint64_t scratch_bytes = 0) {
  head->spec.threads = threads;
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cpu, &head->spec, false);
  EXPECT_NE(std::string(kernel->name).find("head.dp.Region"), std::string::npos) << kernel->name;
  const size_t bytes = scratch_bytes ? scratch_bytes : kernel->scratch_bytes(&head->spec);
  EXPECT_GE(bytes, kernel->scratch_bytes(&head->spec));
  std::vector<uint8_t> room(bytes + kGuard + 64, 0xa5);
  auto *scratch = reinterpret_cast<uint8_t *>(dp_align_up(reinterpret_cast<uintptr_t>(room.data()), 64));
  Computed c = {head->Tensors(head->n_inputs, head->n_outputs), ""};
  std::vector<const void *> from;
  std::vector<void *> to;
  for (const Tensor &tensor : in) from.push_back(tensor.bytes.data());
  for (Tensor &tensor : c.results) {
    std::fill(tensor.bytes.begin(), tensor.bytes.end(), 0xff);
    to.push_back(tensor.bytes.data());
  }
  void *state = nullptr;
  EXPECT_EQ(kernel->prepare(&head->spec, &state), nullptr);
  for (int round = 0; round < 2; round++) {
    std::vector<std::thread> running;
    std::vector<dp_status> ended(static_cast<size_t>(threads));
    for (int part = 0; part < threads; part++)
      running.emplace_back([&, part] {
        ended[size_t(part)] = kernel->run(&head->spec, state, from.data(), to.data(), scratch, part, threads);
      });
    for (std::thread &thread : running) thread.join();
    for (dp_status status : ended) {
      if (status) c.error = dp_status_message(status);
      dp_status_free(status);
    }
  }
  kernel->release(state);
  for (size_t i = 0; i < kGuard; i++) EXPECT_EQ(scratch[bytes + i], 0xa5) << "behind its scratch";
  return c;
}

void EqualsTheReference(uint32_t seed, int64_t rows) {
  DrawnHead head(seed, rows);
  const std::vector<Tensor> in = head.Tensors(0, head.n_inputs), expected = ReferenceOf(Reference(), &head, in);
  for (int threads : {1, 2 + int(seed % 3), 11}) {
    SCOPED_TRACE(threads);
    const Computed found = Compute(&head, in, threads);
    ASSERT_EQ(found.error, "");
    for (size_t k = 0; k < expected.size(); k++) ExpectCloseHeads(head, expected[k], found.results[k]);
  }
}

TEST(Head, EqualsTheReference) {
  for (uint32_t seed = 0; seed < 56; seed++) {
    SCOPED_TRACE(seed);
    EqualsTheReference(seed, -1);
  }
}

// Plans for the instruction for bfloat16 have another kernel than those for AVX-512 alone.
TEST(Head, OfBfloat16ByEitherKernel) {
  for (uint32_t seed = 0; seed < 14; seed++)
    for (const char *isa : {"avx512", static_cast<const char *>(nullptr)}) {
      SCOPED_TRACE(seed);
      DrawnHead head(seed, -1, DP_BFLOAT16);
      head.spec.isa = isa;
      const bool native = dp_isa_allows_bf16(isa);
      EXPECT_STREQ(dp_kernel_select(&dp_target_cpu, &head.spec, false)->name,
                   native ? "cpu.bf16_head.dp.Region" : "cpu.head.dp.Region");
      const std::vector<Tensor> in = head.Tensors(0, head.n_inputs), expected = ReferenceOf(Reference(), &head, in);
      for (int threads : {1, 3}) {
        const Computed found = Compute(&head, in, threads);
        ASSERT_EQ(found.error, "");
        for (size_t k = 0; k < expected.size(); k++) ExpectCloseHeads(head, expected[k], found.results[k]);
      }
    }
}

// A device may have no rows: sums are 0 then.
TEST(Head, OfNoRows) {
  for (uint32_t seed = 0; seed < 16; seed++) {
    SCOPED_TRACE(seed);
    EqualsTheReference(seed, 0);
  }
}

TEST(Head, IsTheSameInEveryRun) {
  for (uint32_t seed = 0; seed < 28; seed += 3) {
    SCOPED_TRACE(seed);
    DrawnHead head(seed);
    const std::vector<Tensor> in = head.Tensors(0, head.n_inputs);
    const Computed one = Compute(&head, in, 3), two = Compute(&head, in, 3);
    for (size_t k = 0; k < one.results.size(); k++) EXPECT_EQ(one.results[k].bytes, two.results[k].bytes);
  }
}

TEST(Head, FewerRowsNeedNoMoreScratch) {
  for (uint32_t seed = 0; seed < 16; seed++)
    for (int threads : {1, 4}) {
      uint64_t most = 0;
      for (int64_t rows : {0, 2, 4, 18, 64, 254, 256, 258, 510, 512, 514, 1000, 1024, 2046, 2048, 2050, 4096, 5000}) {
        DrawnHead head(seed, rows);
        head.spec.threads = threads;
        const dp_kernel *kernel = dp_kernel_select(&dp_target_cpu, &head.spec, false);
        const uint64_t bytes = kernel->scratch_bytes(&head.spec);
        EXPECT_GE(bytes, most) << "seed " << seed << ", " << rows << " rows, " << threads << " threads";
        most = bytes;
      }
    }
}

// Eighths of many rows.
TEST(Head, ScoresOfAllRowsAreNowhere) {
  DrawnHead head(0, 4096, DP_FLOAT32);
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cpu, &head.spec, false);
  const uint64_t scores = uint64_t(4096 * head.classes) * sizeof(float);
  EXPECT_GE(Reference()->scratch_bytes(&head.spec), scores);
  EXPECT_LE(kernel->scratch_bytes(&head.spec), 2 * scores / 8 + 4096);
}

// A refused label is named by its place in the batch, whatever chunk it is in.
TEST(Head, NamesTheLabelThatIsRefused) {
  int checked = 0;
  for (uint32_t seed = 0; seed < 6; seed++) {
    DrawnHead head(seed, 3000);
    std::vector<Tensor> in = head.Tensors(0, head.n_inputs);
    for (size_t i = 0; i < in.size(); i++)
      if (int(head.value_at[i]) == head.labels) in[i].Set(2345, double(head.classes));
    const std::string wanted = "label " + std::to_string(head.classes) + " at index 2345 of the batch";
    for (int threads : {1, 3}) {
      const std::string error = Compute(&head, in, threads).error;
      EXPECT_NE(error.find(wanted), std::string::npos) << error;
      checked++;
    }
  }
  EXPECT_EQ(checked, 12);
}

// What a chunk cannot compute without the others is no head.
TEST(Head, TakesNoOtherRegions) {
  dp_head found;
  for (uint32_t seed = 0; seed < 40; seed++) {
    Drawn rows(seed);
    rows.spec.threads = 1;
    EXPECT_FALSE(dp_head_of(&rows.spec, 512, &found)) << seed;
  }
  DrawnHead mean(2, 300, DP_FLOAT32);
  for (dp_kernel_member &member : mean.members) {  // over weighted labels
    if (!dp_head_is_loss(member.op)) continue;
    auto *node = const_cast<dp_node *>(member.node);
    static dp_attr ignored[] = {RegionBuilder::Int("ignore_index", 1)};
    node->n_attrs = 1;
    node->attrs = ignored;
  }
  EXPECT_FALSE(dp_head_of(&mean.spec, 512, &found));
}

}  // namespace
}  // namespace dp_test
