// A plan that lacks one of its waits has a race. The checker reports it. Executors tell TSan what they read and write,
// so a TSan build also reports it when the plan runs unchecked.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Result {
  int exit;
  std::string text;
};

Result Train(const std::string &what) {
  const char *options = getenv("TSAN_OPTIONS");
  std::string command = "TSAN_OPTIONS='" + std::string(options ? options : "") +
                        ":exitcode=66:halt_on_error=1' tests/end_to_end/dropped_wait " + what + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  Result result = {-1, ""};
  char text[4096];
  for (size_t got; (got = fread(text, 1, sizeof text, pipe)) > 0;) result.text.append(text, got);
  int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit = WEXITSTATUS(status);
  return result;
}

class Tsan : public testing::TestWithParam<const char *> {};

INSTANTIATE_TEST_SUITE_P(Threads, Tsan, testing::Values("1", "2"));

TEST_P(Tsan, APlanWithItsWaitsRunsClean) {
  Result kept = Train(std::string("keep ") + GetParam());
  EXPECT_EQ(kept.exit, 0) << kept.text;
  EXPECT_EQ(kept.text, "checker: \ndone\n");
}

TEST_P(Tsan, ReportsADroppedWait) {
  Result dropped = Train(std::string("drop ") + GetParam());
  EXPECT_NE(dropped.text.find("checker: 65: "), std::string::npos) << dropped.text;
  EXPECT_NE(dropped.text.find("rule ORDER.CONFLICT"), std::string::npos) << dropped.text;
#if defined(__SANITIZE_THREAD__)
  EXPECT_EQ(dropped.exit, 66) << dropped.text;
  EXPECT_NE(dropped.text.find("WARNING: ThreadSanitizer: data race"), std::string::npos) << dropped.text;
  EXPECT_EQ(dropped.text.find("\ndone\n"), std::string::npos) << dropped.text;
#endif
}

}  // namespace
