// CUDA's libraries are found where they may be, loaded beside other work, and missed in one sentence.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "backends/cuda/api/library.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/gpu/background.h"
#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"
#include "tests/cuda/steer.h"
#include "tests/tools/tool.h"

namespace dp_test {
namespace {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// ---- finding --------------------------------------------------------------------------------------------------------

// A library that only this test has: the stand-in of NVRTC under a name of its own.
class Finding : public testing::Test {
 protected:
  static constexpr const char *kSonames[] = {"libdp_made_up.so.8", "libdp_made_up.so.7", nullptr};

  Finding() {
    std::string folder = testing::TempDir() + "/finding.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    setenv("CUDA_HOME", (folder_ + "/home").c_str(), 1);
    setenv("VIRTUAL_ENV", (folder_ + "/env").c_str(), 1);
  }
  ~Finding() override {
    unsetenv("CUDA_HOME");
    unsetenv("VIRTUAL_ENV");
  }
  void Put(const std::string &below, const std::string &soname) const {
    std::filesystem::create_directories(folder_ + "/" + below);
    std::filesystem::copy_file("tests/cuda/standin/libnvrtc.so.13", folder_ + "/" + below + "/" + soname);
  }
  std::string Load(const char *call = "nvrtcCreateProgram", const char *below = "nvidia/{made,up}/lib",
                   bool of_toolkit = false) {
    const char *const calls[] = {"nvrtcDestroyProgram", call, nullptr};
    std::fill(std::begin(table), std::end(table), nullptr);
    dp_cuda_library library = {"Made-up", kSonames, below,     calls, table, PTHREAD_MUTEX_INITIALIZER,
                               false,     nullptr,  of_toolkit};
    dp_status status = dp_cuda_library_load(&library);
    EXPECT_EQ(dp_status_code(status), status ? EX_UNAVAILABLE : 0);
    const std::string error = dp_status_message(status);
    dp_status_free(status);
    return error;
  }

  std::string folder_;
  void *table[2] = {};
};

TEST_F(Finding, WhatIsNowhereIsMissedInASentence) {
  const std::string error = Load();
  EXPECT_NE(error.find("Made-up cannot be loaded (libdp_made_up.so.8)"), std::string::npos) << error;
  EXPECT_NE(error.find("CUDA_HOME"), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST_F(Finding, ADriverThatIsMissingIsSaidSo) {
  const std::string error = Load("nvrtcCreateProgram", nullptr);
  EXPECT_NE(error.find("no driver of NVIDIA's (libdp_made_up.so.8"), std::string::npos) << error;
}

TEST_F(Finding, InCudaHome) {
  Put("home/lib64", kSonames[1]);
  EXPECT_EQ(Load(), "");
  EXPECT_NE(table[0], nullptr);
  EXPECT_NE(table[1], nullptr);
  EXPECT_NE(table[0], table[1]);
}

TEST_F(Finding, InAPythonWheel) {
  Put("env/lib/python3.11/site-packages/nvidia/up/lib", kSonames[0]);
  EXPECT_EQ(Load(), "");
}

TEST_F(Finding, WhatLacksACallIsTooOld) {
  Put("home/lib64", kSonames[0]);
  EXPECT_EQ(Load("nvrtcNoSuchCall"), "Made-up on this machine is too old: it lacks nvrtcNoSuchCall");
}

// A library of CUDA 8 needs a driver for CUDA 8, wherever it lies; other libraries count their versions in their own
// way.
TEST_F(Finding, NotNewerThanTheDriver) {
  const auto load = [this](int driver, bool of_toolkit) {
    dp_cuda_library_limit(driver);
    const std::string error = Load("nvrtcCreateProgram", "nvidia/{made,up}/lib", of_toolkit);
    dp_cuda_library_limit(INT_MAX);
    return error;
  };
  Put("home/lib64", kSonames[0]);
  EXPECT_EQ(load(8, true), "");
  EXPECT_EQ(load(7, false), "");
  const std::string error = load(7, true);
  EXPECT_NE(error.find("cannot be loaded (libdp_made_up.so.7; this machine's driver is too old for newer ones)"),
            std::string::npos)
      << error;
  Put("env/lib/python3.11/site-packages/nvidia/up/lib", kSonames[1]);
  EXPECT_EQ(load(7, true), "");
}

TEST_F(Finding, ByManyThreadsAtOnce) {
  Put("home/lib64", kSonames[0]);
  const char *const calls[] = {"nvrtcCreateProgram", nullptr};
  dp_cuda_library library = {"Made-up", kSonames, "made/up", calls, table, PTHREAD_MUTEX_INITIALIZER,
                             false,     nullptr,  false};
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&] { good += dp_cuda_library_load(&library) == DP_OK && table[0] != nullptr; });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(good, 8);
}

// ---- jobs -----------------------------------------------------------------------------------------------------------

struct Counted {
  dp_cuda_job job;
  int runs;
  double seconds;
};

void Count(dp_cuda_job *job) {
  Counted *counted = reinterpret_cast<Counted *>(job);
  if (counted->seconds > 0) Sleep(counted->seconds);
  counted->runs++;
}

Counted Make(double seconds = 0) {
  Counted counted = {};
  counted.job.work = Count;
  counted.seconds = seconds;
  return counted;
}

TEST(Background, EachJobIsDoneOnce) {
  for (int round = 0; round < 20; round++) {
    std::vector<Counted> jobs(100, Make());
    for (Counted &c : jobs) dp_cuda_job_start(&c.job);
    for (Counted &c : jobs) dp_cuda_job_start(&c.job);
    for (size_t i = jobs.size(); i-- > 0;) dp_cuda_job_wait(&jobs[i].job);
    for (Counted &c : jobs) dp_cuda_job_wait(&c.job);
    for (const Counted &c : jobs) ASSERT_EQ(c.runs, 1);
  }
}

TEST(Background, WhoWaitsForAJobThatWasNotStartedDoesIt) {
  Counted job = Make();
  dp_cuda_job_wait(&job.job);
  EXPECT_EQ(job.runs, 1);
}

TEST(Background, StartingReturnsAtOnce) {
  Counted slow = Make(1.5);
  const double begin = Now();
  dp_cuda_job_start(&slow.job);
  EXPECT_LT(Now() - begin, 1);
  dp_cuda_job_wait(&slow.job);
  EXPECT_GE(Now() - begin, 1.4);
  EXPECT_EQ(slow.runs, 1);
}

TEST(Background, ThreadsMayStartAndWait) {
  std::vector<Counted> jobs(200, Make());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&jobs, t] {
      for (size_t i = 0; i < jobs.size(); i++) dp_cuda_job_start(&jobs[(i + 50 * size_t(t)) % jobs.size()].job);
      for (Counted &c : jobs) dp_cuda_job_wait(&c.job);
    });
  for (std::thread &thread : threads) thread.join();
  for (const Counted &c : jobs) EXPECT_EQ(c.runs, 1);
}

TEST(BackgroundDeathTest, TheEndWaitsForWhatRunsAndDropsTheRest) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const double begin = Now();
  EXPECT_EXIT(
      {
        static Counted jobs[100];
        for (Counted &c : jobs) {
          c = Make(0.5);
          dp_cuda_job_start(&c.job);
        }
        exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_LT(Now() - begin, 6);  // of 50 s in all
}

std::atomic<bool> begun = false;
void Speak(dp_cuda_job *) {
  begun = true;
  Sleep(0.5);
  fprintf(stderr, "the job has ended\n");
}

TEST(BackgroundDeathTest, NoJobIsBrokenOff) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        static dp_cuda_job job = {};
        job.work = Speak;
        dp_cuda_job_start(&job);
        while (!begun) Sleep(0.01);
        exit(0);
      },
      testing::ExitedWithCode(0), "the job has ended");
}

// ---- beside other work ----------------------------------------------------------------------------------------------

constexpr double kLate = 1.5;  // seconds that each library takes

// Runs in a process of its own, since a library is loaded once.
int LoadBeside(bool expected, double sleep, double *prepared) {
  setenv("DP_STANDIN_LATE_MS", std::to_string(int(kLate * 1000)).c_str(), 1);
  if (!OpenDevice().empty()) return 2;
  const dp_kernel *gemm = dp_kernel_find(&dp_target_cuda, "cuda.blaslt.Gemm");
  const double begin = Now();
  for (int i = 0; expected && i < 3; i++) dp_backend_cuda.expect(gemm);
  if (Now() - begin > 0.5 * kLate) return 3;
  Sleep(sleep);
  Ready ready = Draw({"Gemm", "", "float32[N,4], float32[4,3]", "", 2, 4});
  const Spec spec(ready.built->node, ready.in, ready.out);
  void *state = nullptr;
  const double need = Now();
  dp_status status = gemm->prepare(&spec, &state);
  *prepared = Now() - need;
  if (status) return 4;
  gemm->release(state);
  return 0;
}

TEST(LoadingDeathTest, AnExpectedLibraryIsThereWhenItIsNeeded) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        double prepared;
        const int error = LoadBeside(true, 2.5 * kLate, &prepared);
        exit(error ? error : prepared < 0.5 * kLate ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(LoadingDeathTest, WhoNeedsItBeforeWaits) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        double prepared;
        exit(LoadBeside(true, 0, &prepared));
      },
      testing::ExitedWithCode(0), "");
}

TEST(LoadingDeathTest, WhatNobodyExpectedIsLoadedWhenItIsNeeded) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        double prepared;
        const int error = LoadBeside(false, 0, &prepared);
        exit(error ? error : prepared >= 0.9 * kLate ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(LoadingDeathTest, AProcessMayEndWhileALibraryLoads) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("DP_STANDIN_LATE_MS", "700", 1);
        const std::string error = OpenDevice();
        dp_backend_cuda.expect(dp_kernel_find(&dp_target_cuda, "cuda.blaslt.Gemm"));
        dp_backend_cuda.expect(dp_kernel_find(&dp_target_cuda, "cuda.cudnn.Conv"));
        exit(error.empty() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// ---- dprun ----------------------------------------------------------------------------------------------------------

class LoadingByDprun : public Tools {
 protected:
  LoadingByDprun() : path_(getenv("LD_LIBRARY_PATH")) {
    setenv("XDG_CACHE_HOME", File("").c_str(), 1);
    Must("dpc compile examples/mlp.dpt --target=cuda --batch=8 -o " + File("plan.bin"));
  }
  ~LoadingByDprun() override {
    setenv("LD_LIBRARY_PATH", path_.c_str(), 1);
    for (const char *name : {"DP_STANDIN_NCCL", "DP_STANDIN_DRIVER", "DP_STANDIN_CAPABILITY", "DP_STANDIN_DEVICES",
                             "DP_STANDIN_LATE_MS", "XDG_CACHE_HOME"})
      unsetenv(name);
  }
  std::string Command(const std::string &data = digits) const {
    return "dprun " + File("plan.bin") + " --device=cuda --steps=2 --quiet " + data;
  }
  const std::string missing_data_ = "--data image=nowhere/images --data label=nowhere/labels";
  std::string path_;
};

TEST_F(LoadingByDprun, DriversAndGpusThatAreTooOld) {
  setenv("DP_STANDIN_DRIVER", "11040", 1);
  Refused(Command(), 69, {"driver on this machine is made for CUDA 11.4", "12.0"});
  unsetenv("DP_STANDIN_DRIVER");
  setenv("DP_STANDIN_CAPABILITY", "75", 1);
  Refused(Command(), 69, {"GPU 0 (stand-in) has compute capability 7.5", "8.0"});
  setenv("DP_STANDIN_DEVICES", "4", 1);  // of several, the first is named
  Refused(Command(), 69, {"GPU 0 (stand-in) has compute capability 7.5", "8.0"});
  unsetenv("DP_STANDIN_CAPABILITY");
  setenv("DP_STANDIN_DEVICES", "0", 1);
  Refused(Command(), 69, {"dprun: NVIDIA's driver finds no GPU on this machine\n"});
}

// cuBLASLt is there, but has nothing of what is called in it.
TEST_F(LoadingByDprun, ALibraryIsMissedOnlyWhereItIsNeeded) {
  namespace fs = std::filesystem;
  const fs::path standins = fs::absolute("tests/cuda/standin"), folder = File("libraries");
  fs::create_directories(folder);
  for (const char *soname : {"libcuda.so.1", "libnvrtc.so.13", "libcudnn.so.9"})
    fs::create_symlink(standins / soname, folder / soname);
  fs::create_symlink(standins / "libcudnn.so.9", folder / "libcublasLt.so.13");
  setenv("LD_LIBRARY_PATH", folder.c_str(), 1);
  Refused(Command(), 69, {"cuBLASLt on this machine is too old: it lacks"});
  Refused(Command(missing_data_), 66, {"nowhere/images"});
}

// One dprun runs everywhere: it names no library of CUDA's that the loader would miss.
TEST_F(LoadingByDprun, NothingOfCudaIsLinked) {
  for (const char *program : {"dprun", "dpc"}) {
    const std::string needed = Shell(std::string("readelf -d \"$(command -v ") + program + ")\" | grep NEEDED").out;
    EXPECT_NE(needed.find("libc.so"), std::string::npos) << needed;
    for (const char *library : {"cuda", "cublas", "cudnn", "nvrtc", "nccl", "nvidia"})
      EXPECT_EQ(needed.find(library), std::string::npos) << needed;
  }
}

// NCCL is needed where devices of one plan are on several GPUs, and add in any order.
TEST_F(LoadingByDprun, NcclIsMissedOnlyWhereItIsNeeded) {
  namespace fs = std::filesystem;
  const fs::path standins = fs::absolute("tests/cuda/standin"), folder = File("libraries");
  fs::create_directories(folder);
  for (const char *soname : {"libcuda.so.1", "libnvrtc.so.13", "libcudnn.so.9", "libcublasLt.so.13"})
    fs::create_symlink(standins / soname, folder / soname);
  fs::create_symlink(standins / "libcudnn.so.9", folder / "libnccl.so.2");
  setenv("DP_STANDIN_DEVICES", "2", 1);
  const std::string compile = "dpc compile examples/mlp.dpt --target=cuda --batch=8 --strategy=data --devices=2 -o ";
  Must(compile + File("plan.bin"));
  setenv("DP_STANDIN_NCCL", "21705", 1);
  Refused(Command(), 69, {"NCCL on this machine is 2.17", "2.18"});
  setenv("DP_STANDIN_NCCL", "2708", 1);
  Refused(Command(), 69, {"NCCL on this machine is 2.7", "2.18"});
  setenv("DP_STANDIN_NCCL", "21800", 1);
  Must(Command());
  setenv("LD_LIBRARY_PATH", folder.c_str(), 1);
  Refused(Command(), 69, {"NCCL on this machine is too old: it lacks ncclGetVersion"});
  setenv("DP_STANDIN_DEVICES", "1", 1);
  Must(Command());
}

TEST_F(LoadingByDprun, ARunThatEndsEarlyEndsWell) {
  setenv("DP_STANDIN_LATE_MS", "1000", 1);
  const double begin = Now();
  Refused(Command(missing_data_), 66, {"nowhere/images"});
  EXPECT_LT(Now() - begin, 30);
  Must(Command());
}

}  // namespace
}  // namespace dp_test
