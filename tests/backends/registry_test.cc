// Checks the list of backends, and that each has its own kernels.
#include "backends/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backends/cpu/backend.h"
#include "tests/ir/text/text_helper.h"

extern "C" const dp_kernel *const dp_stand_in_kernels[];

namespace dp_test {
namespace {

TEST(Registry, EachBackendIsOfOneName) {
  std::set<std::string> names;
  for (const dp_backend_entry *const *e = dp_backend_entries; *e; e++) {
    EXPECT_TRUE(names.insert((*e)->name).second) << (*e)->name;
    EXPECT_STREQ((*e)->target->name, (*e)->name);
    EXPECT_EQ(dp_backend_find((*e)->name), *e);
    const std::string prefix = std::string((*e)->name) + ".";
    for (const dp_kernel *const *k = (*e)->target->kernels; *k; k++)
      EXPECT_EQ(std::string((*k)->name).substr(0, prefix.size()), prefix) << "plans name kernels by their backend";
  }
  EXPECT_EQ(names.count("cpu"), 1u);
  EXPECT_EQ(dp_backend_find("cpx"), nullptr);
  EXPECT_STREQ(dp_backend_default()->name, "cpu");
}

TEST(Registry, TheCpuOpensAsAWhole) {
  const dp_backend *backend = nullptr;
  EXPECT_EQ(Message(dp_backend_find("cpu")->open(nullptr, &backend)), "");
  EXPECT_EQ(backend, &dp_backend_cpu);
  EXPECT_EQ(backend->target, dp_backend_find("cpu")->target);
  dp_status status = dp_backend_find("cpu")->open("1", &backend);
  EXPECT_EQ(dp_status_code(status), EX_USAGE);
  EXPECT_NE(Message(status).find("--device=cpu:1"), std::string::npos);
}

TEST(Registry, TablesOfTwoBackendsStandBesideEachOther) {
  dp_target other = *dp_backend_find("cpu")->target;
  other.name = "stand_in";
  other.kernels = dp_stand_in_kernels;
  EXPECT_NE(dp_kernel_find(&other, "stand_in.plain.Relu"), nullptr);
  EXPECT_EQ(dp_kernel_find(&other, "cpu.reference.Relu"), nullptr);
  EXPECT_NE(dp_kernel_find(dp_backend_find("cpu")->target, "cpu.reference.Relu"), nullptr);
  EXPECT_EQ(dp_kernel_find(dp_backend_find("cpu")->target, "stand_in.plain.Relu"), nullptr);
}

}  // namespace
}  // namespace dp_test
