// A step allocates nothing, as counted by this program's own malloc. The plans use reference kernels, since oneDNN
// allocates internally. Sanitizers have their own malloc, so nothing is counted under them.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/runtime/runtime_helper.h"

namespace {
std::atomic<long> allocations{0};
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTED
extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) {
  allocations++;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  allocations++;
  return __libc_calloc(count, bytes);
}
void *realloc(void *block, size_t bytes) {
  allocations++;
  return __libc_realloc(block, bytes);
}
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  allocations++;
  *block = __libc_memalign(alignment, bytes);
  return *block ? 0 : 12;  // ENOMEM
}
}
#endif

namespace {

using namespace dp_test;

long AllocationsOfSteps(const std::string &options, int workers) {
  CompiledPlan compiled(kNetwork, options);
  dp_session_options session_options = {};
  session_options.workers = workers;
  session_options.trace = true;
  Session session(compiled.plan, session_options);
  EXPECT_EQ(session.error, "");
  TrainNetwork(&session, 4);  // Prepares for every later n.
  long counted = 0;
  for (const char *program : {"train", "eval"}) {
    int number = dp_session_find(session.session, program);
    for (int slot : {0, 1}) {
      session.Feed(program, "x", Samples(6 * 32, slot), slot);
      session.Feed(program, "label", Labels(6, 3, slot), slot);
    }
    long before = allocations;
    for (int step = 0; step < 20; step++) {
      dp_step scalars = {};
      scalars.step = step;
      scalars.n = step % 3 || *program == 'e' ? 6 : 4;
      scalars.lr = 0.01;
      EXPECT_EQ(dp_session_run(session.session, number, step % 2, &scalars), nullptr);
    }
    counted += allocations - before;
  }
  return counted;
}

TEST(Allocation, NoneInAStep) {
#ifndef COUNTED
  GTEST_SKIP() << "a sanitizer's malloc";
#endif
  ASSERT_GT(allocations, 0);
  for (int workers : {1, 3}) {
    EXPECT_EQ(AllocationsOfSteps("batch=6 strategy=data devices=2 precision=fp64", workers), 0);
    EXPECT_EQ(AllocationsOfSteps("batch=6 strategy=data devices=3 precision=fp64 threads=2", workers), 0);
    EXPECT_EQ(AllocationsOfSteps("batch=6 strategy=pipeline devices=2 microbatches=1 precision=fp64", workers), 0);
  }
}

}  // namespace
