// What a process may use of its machine: processors it is bound to, and limits of control groups of both versions.
#include "ir/base/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

struct File {
  std::string path, content;
};

// The limits in a tree of these files.
dp_machine_limits Limits(const std::vector<File> &files) {
  const std::string root = std::string(getenv("TEST_TMPDIR")) + "/root";
  std::filesystem::remove_all(root);
  for (const File &file : files) {
    const std::filesystem::path path = root + "/" + file.path;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << file.content;
  }
  return dp_machine_limits_of(root.c_str());
}

void ExpectLimits(const dp_machine_limits &limits, int64_t cores, int64_t bytes) {
  EXPECT_EQ(limits.cores, cores);
  EXPECT_EQ(limits.memory_bytes, bytes);
}

TEST(Machine, WithoutGroupsThereAreNoLimits) {
  ExpectLimits(Limits({}), INT64_MAX, INT64_MAX);
  ExpectLimits(Limits({{"proc/self/cgroup", ""}}), INT64_MAX, INT64_MAX);
  ExpectLimits(Limits({{"proc/self/cgroup", "0::/\n"}}), INT64_MAX, INT64_MAX);
  ExpectLimits(Limits({{"proc/self/cgroup", "garbage\n::\n:\n0::\n"}}), INT64_MAX, INT64_MAX);
}

TEST(Machine, Version2HoldsTheGroupAndThoseAboveIt) {
  const File self = {"proc/self/cgroup", "0::/jobs/job7/step0\n"};
  ExpectLimits(Limits({self,
                       {"sys/fs/cgroup/jobs/job7/step0/cpu.max", "max 100000\n"},
                       {"sys/fs/cgroup/jobs/job7/step0/memory.max", "max\n"},
                       {"sys/fs/cgroup/jobs/job7/cpu.max", "250000 100000\n"},
                       {"sys/fs/cgroup/jobs/memory.max", "1073741824\n"}}),
               3, int64_t{1} << 30);
  ExpectLimits(Limits({self,
                       {"sys/fs/cgroup/jobs/cpu.max", "100000 100000\n"},
                       {"sys/fs/cgroup/jobs/job7/cpu.max", "800000 100000\n"}}),
               1, INT64_MAX);
}

TEST(Machine, AContainerSeesItsGroupAtTheRoot) {
  ExpectLimits(Limits({{"proc/self/cgroup", "0::/docker/0123456789\n"},
                       {"sys/fs/cgroup/cpu.max", "50000 100000\n"},
                       {"sys/fs/cgroup/memory.max", "4096\n"}}),
               1, 4096);
}

TEST(Machine, Version1HasAHierarchyForEach) {
  const File self = {"proc/self/cgroup", "9:cpuset:/a\n4:memory:/a/b\n2:cpu,cpuacct:/c\n1:name=systemd:/d\n0::/e\n"};
  ExpectLimits(Limits({self,
                       {"sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "400000\n"},
                       {"sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n"},
                       {"sys/fs/cgroup/cpu/d/cpu.cfs_quota_us", "100000\n"},
                       {"sys/fs/cgroup/cpu/d/cpu.cfs_period_us", "100000\n"},
                       {"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
                       {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "123\n"}}),
               4, 123);
  ExpectLimits(
      Limits(
          {self, {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"}, {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}),
      INT64_MAX, INT64_MAX);
  // Both versions at once.
  ExpectLimits(Limits({self,
                       {"sys/fs/cgroup/unified/e/cpu.max", "200000 100000\n"},
                       {"sys/fs/cgroup/memory/memory.limit_in_bytes", "77\n"}}),
               2, 77);
}

TEST(Machine, WhatIsNoLimitIsNone) {
  for (const char *text : {"", "x", "0 100000", "-5 100000", "100000 0", "100000", "99999999999999999999999 1"})
    EXPECT_GE(Limits({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", text}}).cores, INT64_MAX) << text;
  for (const char *text : {"", "x", "0", "-1"})
    EXPECT_EQ(Limits({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/memory.max", text}}).memory_bytes, INT64_MAX)
        << text;
}

TEST(Machine, CoresAreThoseThatOneMayRunOn) {
  const int64_t all = dp_machine_cores();
  EXPECT_GE(all, 1);
  EXPECT_LE(all, sysconf(_SC_NPROCESSORS_ONLN));
  std::thread([] {
    const int here = sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(here, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(dp_machine_cores(), 1);
  }).join();
  EXPECT_EQ(dp_machine_cores(), all);
}

TEST(Machine, MemoryIsAtMostWhatThereIs) {
  EXPECT_GT(dp_machine_memory(), 0);
  EXPECT_LE(dp_machine_memory(), sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

}  // namespace
