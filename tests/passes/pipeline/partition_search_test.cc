// The search for cuts, compared with all possible cuts.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "passes/pipeline/partition.h"
#include "tests/ir/base/growth.h"
#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;

struct Case {
  std::vector<double> time, kept, held, crossing, in_flight;
  std::vector<int32_t> lowest, highest;
  double memory = INFINITY;
  int Nodes() const { return int(time.size()); }
  int Stages() const { return int(in_flight.size()); }
};

struct Found {
  bool any = false;
  std::vector<int32_t> starts;
  dp_partition_score score{};
};

Found Search(const Case &c) {
  Arena arena;
  dp_partition_line line = {c.Nodes(), c.time.data(), c.kept.data(), c.held.data(), c.crossing.data()};
  dp_partition_task task = {c.Stages(), c.lowest.data(), c.highest.data(), c.in_flight.data(), c.memory};
  Found found;
  found.starts.resize(size_t(c.Stages()) + 1);
  found.any = dp_partition_search(arena, &line, &task, found.starts.data(), &found.score);
  return found;
}

double Sum(const std::vector<double> &of, int32_t from, int32_t to) {
  double sum = 0;
  for (int32_t i = from; i < to; i++) sum += of[size_t(i)];
  return sum;
}

dp_partition_score ScoreOf(const Case &c, const std::vector<int32_t> &starts) {
  dp_partition_score score = {};
  for (int s = 0; s < c.Stages(); s++) {
    int32_t from = starts[size_t(s)], to = starts[size_t(s) + 1];
    score.time = std::max(score.time, Sum(c.time, from, to));
    score.memory = std::max(score.memory, Sum(c.held, from, to) + c.in_flight[size_t(s)] * Sum(c.kept, from, to));
    if (s) score.bytes += c.crossing[size_t(from)];
  }
  return score;
}

// Calls `visit` with each way to cut.
void EachCut(const Case &c, const std::function<void(const dp_partition_score &)> &visit) {
  std::vector<int32_t> starts(size_t(c.Stages()) + 1, 0);
  starts.back() = c.Nodes();
  std::function<void(int)> place = [&](int s) {
    if (s == c.Stages()) return visit(ScoreOf(c, starts));
    int32_t least = std::max(starts[size_t(s) - 1] + 1, c.lowest[size_t(s)]);
    int32_t most = std::min(c.Nodes() - (c.Stages() - s), c.highest[size_t(s)]);
    for (starts[size_t(s)] = least; starts[size_t(s)] <= most; starts[size_t(s)]++) place(s + 1);
  };
  place(1);
}

Case Random(uint32_t seed) {
  std::mt19937 rng(seed);
  auto up_to = [&](int n) { return int(rng() % uint32_t(n)); };
  Case c;
  int n = 1 + up_to(11), p = 1 + up_to(std::min(n, 5));
  bool equal = !up_to(3);
  for (int i = 0; i < n; i++) {
    c.time.push_back(up_to(4) ? (equal ? 100 : 1 + up_to(200)) : 0);
    c.kept.push_back(up_to(50));
    c.held.push_back(up_to(3) ? 0 : up_to(200));
  }
  for (int i = 0; i <= n; i++) c.crossing.push_back(up_to(6) * 8);
  for (int s = 0; s < p; s++) c.in_flight.push_back(p - s);
  c.lowest.assign(size_t(p) + 1, 0);
  c.highest.assign(size_t(p) + 1, n);
  // One or two nodes that the user put on a stage.
  for (int constraints = up_to(4) ? 0 : 1 + up_to(2); constraints > 0; constraints--) {
    int node = up_to(n), stage = up_to(p);
    for (int s = 1; s < p; s++) {
      int32_t &low = c.lowest[size_t(s)], &high = c.highest[size_t(s)];
      (s > stage ? low : high) = s > stage ? std::max(low, node + 1) : std::min(high, node);
    }
  }
  if (up_to(2)) c.memory = 100 + up_to(1500);
  return c;
}

TEST(PartitionSearch, IsTheBestOfAllCuts) {
  int with_memory = 0, without = 0, impossible = 0;
  for (uint32_t seed = 0; seed < 3000; seed++) {
    Case c = Random(seed);
    double least_memory = INFINITY;
    EachCut(c, [&](const dp_partition_score &s) { least_memory = std::min(least_memory, s.memory); });
    Found found = Search(c);
    ASSERT_EQ(found.any, least_memory < INFINITY) << "seed " << seed;
    if (!found.any) {
      impossible++;
      continue;
    }
    double memory = std::max(c.memory, least_memory * (1 + 2e-6)), time = INFINITY, bytes = INFINITY,
           shortest = INFINITY;
    (least_memory > c.memory ? without : with_memory)++;
    auto each = [&](const std::function<void(const dp_partition_score &)> &visit) {
      EachCut(c, [&](const dp_partition_score &s) {
        if (s.memory <= memory) visit(s);
      });
    };
    each([&](const dp_partition_score &s) { time = std::min(time, s.time); });
    const double slack = time * DP_CUT_SLACK;
    each([&](const dp_partition_score &s) { bytes = std::min(bytes, s.time <= slack ? s.bytes : INFINITY); });
    each([&](const dp_partition_score &s) { shortest = std::min(shortest, s.bytes == bytes ? s.time : INFINITY); });
    double smallest = INFINITY;
    each([&](const dp_partition_score &s) {
      if (s.bytes == bytes && s.time <= found.score.time) smallest = std::min(smallest, s.memory);
    });
    dp_partition_score score = ScoreOf(c, found.starts);
    EXPECT_EQ(score.time, found.score.time) << "seed " << seed;
    EXPECT_EQ(score.bytes, found.score.bytes) << "seed " << seed;
    EXPECT_LE(score.memory, memory) << "seed " << seed;
    EXPECT_EQ(score.bytes, bytes) << "seed " << seed;
    EXPECT_LE(score.time, shortest + 1e-3 * (slack - time)) << "seed " << seed;
    EXPECT_LE(score.memory, smallest + std::max(1.0, 2e-3 * smallest)) << "seed " << seed;
  }
  EXPECT_GT(with_memory, 1500);
  EXPECT_GT(without, 100);
  EXPECT_GT(impossible, 50);
}

// Random nodes on 64 stages.
Case Large(int n) {
  std::mt19937 rng(1);
  Case c;
  const int p = 64;
  for (int i = 0; i < n; i++) {
    c.time.push_back(double(rng() % 1000));
    c.kept.push_back(double(rng() % 1000));
    c.held.push_back(double(rng() % 1000));
    c.crossing.push_back(double(rng() % 1000));
  }
  c.crossing.push_back(0);
  for (int s = 0; s < p; s++) c.in_flight.push_back(p - s);
  c.lowest.assign(p + 1, 0);
  c.highest.assign(p + 1, n);
  c.memory = 64.0 * 1000 * n / p;
  return c;
}

TEST(PartitionSearch, ManyNodesArePartitionedEvenly) {
  Case c = Large(100000);
  Found found = Search(c);
  ASSERT_TRUE(found.any);
  EXPECT_LE(found.score.time, 1.06 * Sum(c.time, 0, c.Nodes()) / c.Stages());
  EXPECT_LE(found.score.memory, c.memory);
}

TEST(PartitionSearch, TimeIsNearLinear) {
  EXPECT_LT(dp_test::Growth(6250, 100000, [](int n) { Search(Large(n)); }), 16 * 4);
}

}  // namespace
