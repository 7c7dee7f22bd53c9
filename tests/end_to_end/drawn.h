// Random training runs: a network with its optimizer and batches, and the strategies to train it with. The same seed
// gives the same run everywhere. Networks may have kinks, but no input lies on one.
#ifndef DP_TESTS_END_TO_END_DRAWN_H
#define DP_TESTS_END_TO_END_DRAWN_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/end_to_end/training.h"

namespace dp_test {

class Draw {
 public:
  explicit Draw(uint32_t seed) : rng_(seed) {}
  int UpTo(int n) { return int(rng_() % uint32_t(n)); }  // 0 to n - 1
  bool OneIn(int n) { return UpTo(n) == 0; }
  template <typename T>
  T Of(const std::vector<T> &these) {
    return these[size_t(UpTo(int(these.size())))];
  }

 private:
  std::mt19937 rng_;
};

struct DrawnNetwork {
  std::string kind;  // mlp, cnn, gpt
  std::string text, optimizer;
  std::vector<int64_t> batches;  // ten; the first is the largest
  Feed feed;
  std::string Options() const;  // batch, optimizer, float64
};

DrawnNetwork DrawNetwork(uint32_t seed);

// A way to train a network on several devices.
struct DrawnStrategy {
  std::string name;     // its name in tables
  std::string options;  // words for dp_test::Options
  std::string text;     // the network, with the annotations that the strategy needs
};

// Draws a strategy for 2, 4 or 8 devices.
DrawnStrategy DrawStrategy(Draw &draw, const DrawnNetwork &network, int devices);

}  // namespace dp_test

#endif
