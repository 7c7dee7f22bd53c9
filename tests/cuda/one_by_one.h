// What a region's members give, each by its own kernel, launch by launch: what --no-fuse gives.
#ifndef DP_TESTS_CUDA_ONE_BY_ONE_H
#define DP_TESTS_CUDA_ONE_BY_ONE_H

#include <gtest/gtest.h>

#include "backends/cuda/target.h"
#include "tests/backends/region_builder.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {

inline std::vector<Tensor> OneByOne(RegionBuilder *g, const std::vector<Tensor> &in) {
  std::vector<Tensor> all = in, rest = g->Tensors(g->n_inputs, int(g->values.size()) - g->n_inputs);
  all.insert(all.end(), rest.begin(), rest.end());
  for (int m = 0; m < g->region.n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(&g->region, m, g->values.data(), &member);
    std::vector<Tensor> from, to;
    for (int32_t v : g->taken[size_t(m)]) from.push_back(all[size_t(v)]);
    for (int32_t v : g->given[size_t(m)]) to.push_back(all[size_t(v)]);
    const Outcome found = RunKernel(dp_kernel_select(&dp_target_cuda, &member.spec, false), member.spec, from, to, -1);
    EXPECT_EQ(found.error, "");
    for (size_t k = 0; k < to.size() && found.error.empty(); k++)
      all[size_t(g->given[size_t(m)][k])] = found.results[k];
  }
  return std::vector<Tensor>(all.begin() + g->n_inputs, all.begin() + g->n_inputs + g->n_outputs);
}

}  // namespace dp_test

#endif
