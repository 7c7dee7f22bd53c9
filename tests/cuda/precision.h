// Training of small networks in 16 bits, and how far two runs of it are apart.
#ifndef DP_TESTS_CUDA_PRECISION_H
#define DP_TESTS_CUDA_PRECISION_H

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/training.h"

namespace dp_test {

// What training leaves.
struct Trained {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> variables;
};

// The last batches are short.
inline Trained Train(const std::string &model, const std::string &options) {
  Training training(Compile(model, "batch=8 " + options));
  Trained outcome;
  outcome.losses = training.TrainAll({8, 8, 8, 5, 8, 8});
  outcome.losses.push_back(training.Evaluate(0, 7));
  for (const auto &entry : training.State()) outcome.variables[entry.first] = training.Numbers(entry.first);
  EXPECT_EQ(training.Replicas(), "");
  return outcome;
}

// The root of the mean square difference of the network's weights, relative to that of `b` itself.
inline double Distance(const Trained &a, const Trained &b) {
  double difference = 0, whole = 0;
  for (const char *name : {"c1.w", "c2.w", "c3.w", "fc.w", "w1", "w2"}) {
    if (!b.variables.count(name)) continue;
    const std::vector<double> &p = a.variables.at(name), &q = b.variables.at(name);
    for (size_t i = 0; i < q.size(); i++) {
      difference += std::pow(p[i] - q[i], 2);
      whole += q[i] * q[i];
    }
  }
  EXPECT_GT(whole, 0);
  return std::sqrt(difference / whole);
}

inline double LossDistance(const Trained &a, const Trained &b) {
  double most = 0;
  for (size_t i = 0; i < b.losses.size(); i++) most = std::max(most, std::fabs(a.losses[i] / b.losses[i] - 1));
  return most;
}

}  // namespace dp_test

#endif
