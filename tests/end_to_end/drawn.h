// Training runs drawn by seed: a network of some kind with its optimizer and batches, and the strategies to train it under.
// The same seed gives the same run everywhere. Networks may have kinks; what they are fed lies on none.
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

// How a network is trained on several devices.
struct DrawnStrategy {
  std::string name;     // what the tables call it
  std::string options;  // in dp_test::Options' words
  std::string text;     // the network, with annotations where the strategy takes them
};

// One for so many devices: 2, 4 or 8.
DrawnStrategy DrawStrategy(Draw &draw, const DrawnNetwork &network, int devices);

}  // namespace dp_test

#endif
