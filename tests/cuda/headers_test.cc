// What backends/cuda/api declares of CUDA's libraries is what the toolkit's headers say. Calls and constants are
// compared when headers_toolkit.c is compiled; this compares the sizes of types. It says what there was no header for.
#include "tests/cuda/headers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

TEST(Headers, TypesHaveTheToolkitsSizes) {
  std::set<std::string> compared, missing;
  for (const dp_declared_type *ours = dp_types_ours; ours->type; ours++) {
    const dp_declared_type *other = dp_types_toolkit;
    while (other->type && std::string(other->type) != ours->type) other++;
    (other->type ? compared : missing).insert(ours->library);
    if (other->type) {
      EXPECT_EQ(ours->bytes, other->bytes) << ours->type;
    }
  }
  for (const std::string &library : compared) printf("compared with the toolkit's headers: %s\n", library.c_str());
  for (const std::string &library : missing) printf("left out, since there is no header of it: %s\n", library.c_str());
  if (compared.empty()) GTEST_SKIP() << "neither CUDA_HOME nor /usr/local/cuda has a CUDA toolkit";
}

TEST(Headers, ConfigurationsOfNcclBeginAlike) {
  if (!dp_nccl_magic_toolkit()) GTEST_SKIP() << "there is no header of NCCL";
  EXPECT_EQ(dp_nccl_magic_ours(), dp_nccl_magic_toolkit());
}

}  // namespace
