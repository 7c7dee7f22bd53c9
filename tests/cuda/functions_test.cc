// Functions of our own become machine code: what is in the cache is not compiled again, and nothing is taken from it
// that the user alone did not write, whole, for that function.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "backends/cuda/gpu/compile.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/gpus.h"
#include "tests/cuda/steer.h"

namespace dp_test {
namespace {

constexpr int kCallsOfHit = 1;   // of NVRTC: its version
constexpr int kCallsOfMiss = 6;  // and create, compile, size, code, destroy

std::string Read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void Write(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

struct Compiled {
  std::string error, code;
  int64_t calls;
};

Compiled Compile(const std::string &program, int kind = 90) {
  char *code = nullptr;
  size_t bytes = 0;
  const int64_t before = DP_STEER(dp_standin_count)().calls;
  dp_status status = dp_cuda_compile(program.c_str(), kind / 10, kind % 10, &code, &bytes);
  Compiled compiled = {dp_status_message(status), status ? "" : std::string(code, bytes),
                       DP_STEER(dp_standin_count)().calls - before};
  dp_status_free(status);
  if (compiled.error.empty()) free(code);
  return compiled;
}

std::string Program(int number) {
  const std::string name = "value_" + std::to_string(number);
  return "extern const int " + name + ";\nconst int " + name + " = " + std::to_string(number) + ";\n";
}

// A cache of its own for each test.
class Cache : public testing::Test {
 protected:
  Cache() {
    EXPECT_TRUE(IsStandin());
    std::string folder = testing::TempDir() + "/cache.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~Cache() override { unsetenv("XDG_CACHE_HOME"); }

  std::vector<std::string> Files(const std::string &below = "/dp") const {
    std::vector<std::string> files;
    DIR *folder = opendir((folder_ + below).c_str());
    while (dirent *entry = folder ? readdir(folder) : nullptr)
      if (entry->d_name[0] != '.') files.push_back(folder_ + below + "/" + entry->d_name);
    if (folder) closedir(folder);
    return files;
  }
  std::string OnlyFile() const {
    const std::vector<std::string> files = Files();
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? "" : files[0];
  }
  // Whether the next compilation of `program` calls the compiler, gives code, and leaves a file that is taken.
  void ExpectMissThenHit(const std::string &program, const std::string &what) {
    const Compiled again = Compile(program);
    EXPECT_EQ(again.error, "") << what;
    EXPECT_EQ(again.calls, kCallsOfMiss) << what;
    const Compiled hit = Compile(program);
    EXPECT_EQ(hit.calls, kCallsOfHit) << what;
    EXPECT_EQ(hit.code, again.code) << what;
  }
  static mode_t Mode(const std::string &path) {
    struct stat about {};
    EXPECT_EQ(lstat(path.c_str(), &about), 0) << path;
    return about.st_mode & 07777;
  }

  std::string folder_;
};

TEST_F(Cache, WhatWasCompiledIsNotCompiledAgain) {
  const Compiled first = Compile(Program(1)), again = Compile(Program(1));
  EXPECT_EQ(first.error, "");
  EXPECT_EQ(first.calls, kCallsOfMiss);
  EXPECT_EQ(again.calls, kCallsOfHit);
  EXPECT_EQ(again.code, first.code);
  EXPECT_GT(first.code.size(), 1000u);
}

TEST_F(Cache, OtherTextsAndKindsOfGpusAreOthers) {
  Compile(Program(1));
  EXPECT_EQ(Compile(Program(2)).calls, kCallsOfMiss);
  EXPECT_EQ(Compile(Program(1), 80).calls, kCallsOfMiss);
  EXPECT_EQ(Files().size(), 3u);
  EXPECT_EQ(Compile(Program(1)).calls, kCallsOfHit);
  EXPECT_EQ(Compile(Program(1), 80).calls, kCallsOfHit);
}

TEST_F(Cache, WhatIsRefusedIsNotKept) {
  EXPECT_NE(Compile("no C").error.find("NVRTC refuses"), std::string::npos);
  EXPECT_TRUE(Files().empty());
}

TEST_F(Cache, DamagedFilesAreNotUsed) {
  Compile(Program(1));
  const std::string path = OnlyFile(), good = Read(path);
  std::vector<std::pair<std::string, std::string>> damaged = {{"empty", ""},
                                                              {"longer", good + "x"},
                                                              {"zeros", std::string(good.size(), 0)},
                                                              {"a header alone", good.substr(0, 32)}};
  for (size_t at : {size_t{0}, size_t{8}, size_t{16}, size_t{24}, size_t{32}, good.size() / 2, good.size() - 1}) {
    damaged.push_back({"byte " + std::to_string(at), good});
    damaged.back().second[at] ^= 1;
    damaged.push_back({"cut at " + std::to_string(at), good.substr(0, at)});
  }
  for (const auto &[what, content] : damaged) {
    Write(path, content);
    ExpectMissThenHit(Program(1), what);
  }
}

TEST_F(Cache, AnotherFunctionsFileIsNotUsed) {
  Compile(Program(1));
  const std::string first = OnlyFile();
  Compile(Program(2));
  for (const std::string &path : Files())
    if (path != first) Write(path, Read(first));
  ExpectMissThenHit(Program(2), "the first function's");
}

TEST_F(Cache, FilesThatOthersMayWriteAreNotUsed) {
  Compile(Program(1));
  const std::string path = OnlyFile();
  for (mode_t mode : {0620, 0602, 0666, 0660}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    ExpectMissThenHit(Program(1), "mode " + std::to_string(mode));
  }
  for (mode_t mode : {0600, 0644, 0400}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(Compile(Program(1)).calls, kCallsOfHit) << mode;
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  ExpectMissThenHit(Program(1), "another user's");
}

TEST_F(Cache, WhatIsNoFileIsNotUsed) {
  Compile(Program(1));
  const std::string path = OnlyFile(), elsewhere = folder_ + "/elsewhere";
  ASSERT_EQ(rename(path.c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), path.c_str()), 0);
  ExpectMissThenHit(Program(1), "a link");
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ExpectMissThenHit(Program(1), "a pipe");
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  EXPECT_EQ(Compile(Program(1)).calls, kCallsOfMiss);  // a folder stays, so nothing can be kept
  EXPECT_EQ(Compile(Program(1)).error, "");
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(Cache, FilesAreTheUsersAloneWhateverTheUmask) {
  const std::string home = folder_;
  for (mode_t mask : {0000, 0002, 0022, 0077, 0277}) {
    folder_ = home + "/" + std::to_string(mask);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    const mode_t before = umask(mask);
    ExpectMissThenHit(Program(1), "umask " + std::to_string(mask));
    umask(before);
    EXPECT_EQ(Mode(OnlyFile()), mode_t{0600}) << mask;
    EXPECT_EQ(Mode(folder_ + "/dp"), mode_t{0700}) << mask;
    EXPECT_EQ(Mode(folder_), mode_t{0700}) << mask;
  }
}

TEST_F(Cache, IsBelowTheHomeOrNowhere) {
  unsetenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  const std::string before = home ? home : "";
  setenv("HOME", folder_.c_str(), 1);
  ExpectMissThenHit(Program(1), "HOME");
  EXPECT_EQ(Files("/.cache/dp").size(), 1u);
  for (const char *nowhere : {"/proc/nowhere", "relative", ""}) {
    setenv("HOME", nowhere, 1);
    for (int i = 0; i < 2; i++) {
      const Compiled compiled = Compile(Program(1));
      EXPECT_EQ(compiled.error, "") << nowhere;
      EXPECT_EQ(compiled.calls, kCallsOfMiss) << nowhere;
    }
  }
  if (home)
    setenv("HOME", before.c_str(), 1);
  else
    unsetenv("HOME");
}

// Processes that compile the same functions at once, while somebody damages the files.
TEST_F(Cache, ProcessesShareIt) {
  constexpr int kProcesses = 3, kPrograms = 4, kRounds = 3;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; p++) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child) {
      children.push_back(child);
      continue;
    }
    bool good = true;
    for (int round = 0; round < kRounds; round++)
      for (int i = 0; i < kPrograms; i++) {
        const Compiled compiled = Compile(Program((i + p) % kPrograms));
        // What the compiler makes names the function, so code of another one would show.
        good &= compiled.error.empty() &&
                compiled.code.find("value_" + std::to_string((i + p) % kPrograms)) != std::string::npos;
        if (p == 0)
          for (const std::string &path : Files()) (void)!truncate(path.c_str(), 40 + round);
      }
    _exit(good ? 0 : 1);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (int i = 0; i < kPrograms; i++) Compile(Program(i));
  EXPECT_EQ(Files().size(), size_t{kPrograms});  // and nothing that was written aside
  for (int i = 0; i < kPrograms; i++) EXPECT_EQ(Compile(Program(i)).calls, kCallsOfHit);
}

// ---- functions ------------------------------------------------------------------------------------------------------

std::string Add(const std::string &source) {
  const dp_cuda_function *function = nullptr;
  dp_status status = dp_cuda_function_add("test", "#define T float\n", source.c_str(), &function);
  const std::string error = dp_status_message(status);
  dp_status_free(status);
  return error;
}

std::string Load() {
  dp_status status = dp_cuda_functions_load();
  const std::string error = dp_status_message(status);
  dp_status_free(status);
  return error;
}

std::string Source(int number) {
  return "typedef struct { T *x; } LOCAL(arguments);\nDP_KERNEL(LOCAL(arguments)) { a.x[dp_index()] = " +
         std::to_string(number) + "; }\n";
}

TEST_F(Cache, AChangeOfOneFunctionLeavesTheOthers) {
  ASSERT_EQ(dp_cuda_gpus_attach(1), DP_OK);
  for (int i = 0; i < 12; i++) EXPECT_EQ(Add(Source(i)), "");
  EXPECT_EQ(Load(), "");
  const std::vector<std::string> before = Files();
  EXPECT_EQ(before.size(), 12u);
  for (const std::string &path : before) ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  EXPECT_EQ(Add(Source(12)), "");
  EXPECT_EQ(Add(Source(3)), "");  // was there
  EXPECT_EQ(Load(), "");
  EXPECT_EQ(Files().size(), 13u);
  for (const std::string &path : before) EXPECT_EQ(Mode(path), mode_t{0400}) << "was written again";
}

// In a process of its own: the function stays.
TEST_F(Cache, AFunctionThatIsRefusedIsNamedEachTime) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        bool good = !dp_cuda_gpus_attach(1) && Add(Source(1)).empty() && Add("no C\n").empty();
        for (int i = 0; i < 2; i++) good &= Load().find("NVRTC refuses") != std::string::npos;
        exit(good ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Cache, AProcessMayEndWhileFunctionsAreCompiled) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        bool good = !dp_cuda_gpus_attach(1);
        for (int i = 0; i < 40; i++) good &= Add(Source(100 + i)).empty();
        exit(good ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_LT(Files().size(), 40u);  // what nobody had begun is left
}

}  // namespace
}  // namespace dp_test
