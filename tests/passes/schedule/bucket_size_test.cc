// The sizes of buckets, compared with all possible divisions.
#include "passes/schedule/bucket_size.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;
using Members = std::vector<dp_bucket_member>;

const dp_target_costs kCosts = {1e3, 20, 10, 20e3, 0.5};

// The time when the last bucket is done; the link is free from 0 on.
double End(const Members &members, const std::vector<int32_t> &ends) {
  double free_ns = 0;
  for (size_t b = 0; b < ends.size(); b++) {
    double bytes = 0;
    for (int32_t i = b ? ends[b - 1] : 0; i < ends[b]; i++) bytes += members[size_t(i)].bytes;
    free_ns = std::max(free_ns, members[size_t(ends[b]) - 1].ready_ns) + 20e3 + 2 * bytes;
  }
  return free_ns;
}

std::vector<int32_t> Divide(const Members &members, int32_t most, double most_bytes = INFINITY) {
  Arena arena;
  std::vector<int32_t> ends(members.size());
  int32_t n = dp_bucket_size(arena, &kCosts, int32_t(members.size()), members.data(), most, most_bytes, ends.data());
  ends.resize(size_t(n));
  return ends;
}

bool Allowed(const Members &members, const std::vector<int32_t> &ends, int32_t most, double most_bytes) {
  for (size_t b = 0; b < ends.size(); b++) {
    int32_t from = b ? ends[b - 1] : 0;
    double bytes = 0;
    for (int32_t i = from; i < ends[b]; i++) bytes += members[size_t(i)].bytes;
    if (ends[b] - from > most || (ends[b] - from > 1 && bytes > most_bytes)) return false;
  }
  return true;
}

TEST(BucketSize, EndsWithinAMeetingOfTheBestOfAllDivisions) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 400; trial++) {
    Members members(1 + random() % 11);
    double ready = 0;
    for (dp_bucket_member &m : members) {
      ready += double(random() % (trial % 2 ? 20000 : 200000));
      m = {ready, double(1 + random() % 60000)};
    }
    int32_t most = int32_t(1 + random() % 5);
    double most_bytes = trial % 3 ? INFINITY : 50000, best = INFINITY;
    for (uint32_t partitions = 0; partitions < 1u << (members.size() - 1); partitions++) {
      std::vector<int32_t> ends;
      for (size_t i = 1; i < members.size(); i++)
        if (partitions >> (i - 1) & 1) ends.push_back(int32_t(i));
      ends.push_back(int32_t(members.size()));
      if (Allowed(members, ends, most, most_bytes)) best = std::min(best, End(members, ends));
    }
    std::vector<int32_t> ends = Divide(members, most, most_bytes);
    ASSERT_EQ(ends.back(), int32_t(members.size()));
    EXPECT_TRUE(Allowed(members, ends, most, most_bytes));
    EXPECT_LE(End(members, ends), best + 20e3 * 1.0001);
  }
}

TEST(BucketSize, ReadyAtOnceIsOneBucket) {
  EXPECT_EQ(Divide(Members(5, {1e6, 1000}), 8), (std::vector<int32_t>{5}));
  EXPECT_EQ(Divide(Members(5, {1e6, 1000}), 2).size(), 3u);
}

// Gradients come 1 ms apart and take 20 + 100 us each. Everything except the last is hidden, so the last goes alone and
// there are few buckets before it.
TEST(BucketSize, LongComputationMakesFewBucketsAndASmallFirst) {
  Members members;
  for (int i = 0; i < 10; i++) members.push_back({1e6 * (i + 1), 50000});
  EXPECT_EQ(Divide(members, 16), (std::vector<int32_t>{1, 9, 10}));
}

// Gradients come 10 us apart and take 20 us + 1 ms each. The link is the bottleneck, so it starts with the first.
TEST(BucketSize, ASlowLinkBeginsEarly) {
  Members members;
  for (int i = 0; i < 10; i++) members.push_back({1e4 * (i + 1), 500000});
  std::vector<int32_t> ends = Divide(members, 16);
  EXPECT_EQ(ends[0], 1);
  EXPECT_LE(ends.size(), 3u);
}

}  // namespace
