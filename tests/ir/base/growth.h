// How a computation's time grows with its size. Tests look at growth, because absolute times depend on the machine and
// on sanitizers.
#pragma once

#include <algorithm>
#include <ctime>
#include <functional>

namespace dp_test {

// The processor time of run(large) divided by that of run(small), each the best of three.
inline double Growth(int small, int large, const std::function<void(int)> &run) {
  auto best = [&](int size) {
    double least = 1e9;
    for (int i = 0; i < 3; i++) {
      std::clock_t begin = std::clock();
      run(size);
      least = std::min(least, double(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return least;
  };
  double before = best(small);
  return best(large) / std::max(before, 1e-5);
}

}  // namespace dp_test
