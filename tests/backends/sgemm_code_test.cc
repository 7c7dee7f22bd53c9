// The code of matrix products, generated on another thread: whoever needs it waits, and a process may fork meanwhile.
#include "backends/cpu/onednn/sgemm_code.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/primitive.h"

namespace {

// 1 x 3 by 3 x 2.
bool Multiplies() {
  const float a[] = {1, 2, 3}, b[] = {1, 0, 0, 1, 2, 2};
  float y[2] = {-1, -1};
  dp_status status = dp_sgemm_code_prepare();
  if (!status) status = dp_primitive_sgemm(false, false, 1, 2, 3, 1, a, 3, b, 2, 0, y, 2, 1);
  const bool good = !status && y[0] == 7 && y[1] == 8;
  dp_status_free(status);
  return good;
}

TEST(SgemmCode, AForkedProcessHasItToo) {
  dp_isa_hold_default();
  dp_sgemm_code_settle();  // nothing has begun
  for (int i = 0; i < 3; i++) dp_sgemm_code_expect();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (!child) {
    alarm(60);
    dp_sgemm_code_expect();
    dp_sgemm_code_settle();
    _exit(Multiplies() ? 0 : 1);
  }
  EXPECT_TRUE(Multiplies());
  dp_sgemm_code_settle();
  dp_sgemm_code_settle();
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state) && !WEXITSTATUS(state)) << state;
}

}  // namespace
