// Transformers that take queries, keys and values out of one transposed tensor, an index each, train like those that
// divide it: on one device and by every strategy, in float64.
#include <cmath>
#include <cstring>
#include <regex>

#include "tests/end_to_end/bits.h"
#include "tests/end_to_end/drawn.h"

namespace dp_test {
namespace {

// The network with a Reshape, a Transpose and three Gathers for each Split; empty: it has none.
std::string ByIndex(const std::string &text) {
  std::smatch mask;
  const std::regex split(R"((\S+), (\S+), (\S+) = Split\((\S+)\) \{axis=2, split=\[(\d+),\d+,\d+\]\})");
  if (!std::regex_search(text, split) || !std::regex_search(text, mask, std::regex(R"(mask: float32\[(\d+),)")))
    return "";
  return std::regex_replace(text, split,
                            "$1_whole = Reshape($4) {shape=[N," + mask[1].str() +
                                ",3,$5]}\n"
                                "  $1_turned = Transpose($1_whole) {perm=[2,0,1,3]}\n"
                                "  constant $1_index: int64[] = 0\n"
                                "  constant $2_index: int64[] = 1\n"
                                "  constant $3_index: int64[] = -1\n"
                                "  $1 = Gather($1_turned, $1_index) {axis=0}\n"
                                "  $2 = Gather($1_turned, $2_index) {axis=0}\n"
                                "  $3 = Gather($1_turned, $3_index) {axis=0}");
}

int Count(const Plan &plan, const std::string &op) {
  int count = 0;
  for (size_t g = 0; g < plan->n_graphs; g++)
    for (size_t i = 0; i < plan->graphs[g]->n_nodes; i++) count += plan->graphs[g]->nodes[i]->op == op;
  return count;
}

void ExpectClose(const Bits &found, const Bits &expected) {
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (size_t i = 0; i < found.losses.size(); i++)
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-11 * (1 + std::fabs(expected.losses[i])));
  for (const auto &entry : expected.state) {
    if (entry.first.rfind("dp.constant/", 0) == 0) continue;
    ASSERT_TRUE(found.state.count(entry.first)) << entry.first;
    const Bytes &a = found.state.at(entry.first), &b = entry.second;
    ASSERT_EQ(a.size(), b.size()) << entry.first;
    if (a == b) continue;
    for (size_t i = 0; i + sizeof(double) <= a.size(); i += sizeof(double)) {
      double x, y;
      memcpy(&x, &a[i], sizeof x);
      memcpy(&y, &b[i], sizeof y);
      ASSERT_NEAR(x, y, 1e-9) << entry.first;
    }
  }
}

TEST(Unbind, TrainsLikeASplit) {
  int compared = 0;
  for (uint32_t seed = 1; seed <= 40; seed++) {
    const DrawnNetwork network = DrawNetwork(seed);
    const std::string other = ByIndex(network.text);
    if (other.empty()) continue;
    for (const char *how : {"", " strategy=data devices=2", " strategy=zero devices=3", " strategy=tensor devices=2",
                            " strategy=pipeline devices=2 microbatches=2"}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + how);
      const Plan divided = Compile(network.text, network.Options() + how),
                 taken = Compile(other, network.Options() + how);
      EXPECT_EQ(Count(taken, "Split"), Count(divided, "Split"));
      EXPECT_EQ(Count(taken, "Gather"), Count(divided, "Gather"));
      EXPECT_EQ(Count(taken, "GatherGrad"), Count(divided, "GatherGrad"));
      ExpectClose(TrainedBits(taken, network.batches, network.feed, 2),
                  TrainedBits(divided, network.batches, network.feed, 2));
      if (HasFatalFailure()) return;
      compared++;
    }
  }
  EXPECT_GE(compared, 20);
}

}  // namespace
}  // namespace dp_test
