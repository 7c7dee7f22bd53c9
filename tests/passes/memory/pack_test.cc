// Packing: live values do not overlap, the top is near the bound, time grows little faster than the number of values.
#include "passes/memory/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/ir/base/growth.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {
namespace {

constexpr uint32_t kAlignment = 64;

// Live on [start, end) of stream 0; the other streams write nothing.
dp_pack_block Block(uint64_t bytes, int32_t start, int32_t end) {
  dp_pack_block b{};
  b.bytes = bytes;
  b.start = start;
  for (int32_t &f : b.free) f = end;
  return b;
}

uint64_t Pack(std::vector<dp_pack_block> *blocks) {
  Arena scratch;
  return dp_pack(scratch, kAlignment, int32_t(blocks->size()), blocks->data());
}

uint64_t Bound(const std::vector<dp_pack_block> &blocks) {
  Arena scratch;
  return dp_pack_bound(scratch, int32_t(blocks.size()), blocks.data());
}

// Pair by pair, from the given lifetimes.
void ExpectNoOverlap(const std::vector<dp_pack_block> &given, const std::vector<dp_pack_block> &packed, uint64_t top) {
  for (size_t i = 0; i < given.size(); i++) {
    const dp_pack_block &a = given[i];
    ASSERT_EQ(packed[i].offset % kAlignment, 0u);
    ASSERT_LE(packed[i].offset + a.bytes, top);
    for (size_t k = 0; k < i; k++) {
      const dp_pack_block &b = given[k];
      bool apart = b.start >= a.free[b.stream] || a.start >= b.free[a.stream];
      bool overlap = packed[i].offset < packed[k].offset + b.bytes && packed[k].offset < packed[i].offset + a.bytes;
      ASSERT_TRUE(apart || !overlap) << "blocks " << k << " and " << i;
    }
  }
}

std::vector<dp_pack_block> Random(std::mt19937 *rng, int count, bool streams) {
  auto up_to = [&](int n) { return int32_t((*rng)() % uint32_t(n)); };
  std::vector<dp_pack_block> blocks;
  for (int i = 0; i < count; i++) {
    dp_pack_block b = Block(uint64_t(1 + up_to(i % 7 ? 8 : 200)) * 64, up_to(2 * count), 0);
    b.stream = streams ? up_to(3) : 0;
    for (int s = 0; s < DP_PACK_STREAMS; s++) b.free[s] = b.start + 1 + up_to(i % 5 ? 10 : count);
    if (streams && up_to(4) == 0) b.free[up_to(3)] = INT32_MAX;
    blocks.push_back(b);
  }
  return blocks;
}

TEST(Pack, Nothing) {
  std::vector<dp_pack_block> none;
  EXPECT_EQ(Pack(&none), 0u);
  EXPECT_EQ(Bound(none), 0u);
}

TEST(Pack, OneAfterTheOtherAndSideBySide) {
  std::vector<dp_pack_block> blocks = {Block(128, 0, 2), Block(64, 1, 3), Block(128, 2, 4)};
  EXPECT_EQ(Bound(blocks), 192u);
  EXPECT_EQ(Pack(&blocks), 192u);
  EXPECT_EQ(blocks[0].offset, blocks[2].offset);
}

TEST(Pack, AnotherStreamMayBeBehind) {
  // Stream 1 comes after the uses of the first only from position 5 on. It writes the second before that, and the third
  // at 6.
  std::vector<dp_pack_block> blocks = {Block(64, 0, 2), Block(64, 3, 9), Block(64, 6, 9)};
  blocks[0].free[1] = 5;
  blocks[1].stream = blocks[2].stream = 1;
  EXPECT_EQ(Bound(blocks), 128u);
  EXPECT_EQ(Pack(&blocks), 128u);
  EXPECT_EQ(blocks[0].offset, blocks[2].offset);
  EXPECT_NE(blocks[0].offset, blocks[1].offset);
}

TEST(Pack, RandomBlocksDoNotOverlap) {
  std::mt19937 rng(1);
  for (int count : {1, 2, 10, 60, 300, 5000})
    for (bool streams : {false, true}) {
      SCOPED_TRACE(count);
      std::vector<dp_pack_block> given = Random(&rng, count, streams), packed = given, again = given;
      uint64_t top = Pack(&packed), bound = Bound(given);
      ExpectNoOverlap(given, packed, top);
      if (!streams) {
        EXPECT_GE(top, bound);
        EXPECT_LE(double(top), (count < 4096 ? 1.1 : 1.3) * double(bound));
      }
      EXPECT_EQ(Pack(&again), top);
      for (int i = 0; i < count; i++) ASSERT_EQ(again[i].offset, packed[i].offset) << "a second packing differs";
    }
}

// Forward: each layer's activation, read by the next layer and again in backward. Backward: short-lived gradients.
std::vector<dp_pack_block> Training(int layers) {
  std::vector<dp_pack_block> blocks;
  for (int32_t l = 0; l < layers; l++) blocks.push_back(Block(uint64_t(1 + l % 3) * 4096, l, 3 * layers - 2 * l));
  for (int32_t l = layers; l-- > 0;) {
    int32_t at = 3 * layers - 2 * l - 2;
    blocks.push_back(Block(uint64_t(1 + l % 3) * 4096, at, at + 3));
    blocks.push_back(Block(8192, at + 1, at + 2));
  }
  return blocks;
}

TEST(Pack, TrainingTakesLittleMoreThanTheBound) {
  for (int layers : {10, 100, 1000, 20000}) {
    SCOPED_TRACE(layers);
    std::vector<dp_pack_block> blocks = Training(layers);
    uint64_t bound = Bound(blocks);
    EXPECT_LE(double(Pack(&blocks)), 1.02 * double(bound));
  }
}

// Short-lived blocks, and a stream that comes after their uses only a thousand positions later, like a transfer stream.
TEST(Pack, AStreamThatFollowsLateCostsNothing) {
  std::vector<dp_pack_block> blocks;
  for (int32_t i = 0; i < 8000; i++) {
    blocks.push_back(Block(uint64_t(1 + i % 5) * 64, i, i + 3));
    blocks.back().free[1] = (i / 1000 + 2) * 1000;
    if (i % 1000) continue;
    blocks.push_back(Block(128, i, i + 1500));
    blocks.back().stream = 1;
  }
  // Live at once: three blocks of the first stream, at most 3 + 4 + 5 times 64 bytes; and of the second stream, the
  // block in use, the one being written and the next one, which does not yet come after any of the first stream's.
  std::vector<dp_pack_block> given = blocks;
  uint64_t top = Pack(&blocks);
  EXPECT_LE(double(top), 1.15 * (12 * 64 + 3 * 128));
  ExpectNoOverlap(given, blocks, top);
}

TEST(Pack, TimeIsNearLinear) {
  auto pack = [](int layers) {
    std::vector<dp_pack_block> blocks = Training(layers);
    Pack(&blocks);
  };
  EXPECT_LT(dp_test::Growth(10000, 80000, pack), 8 * 4);
}

}  // namespace
}  // namespace dp_test
