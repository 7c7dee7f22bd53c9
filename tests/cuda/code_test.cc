// Machine code made beforehand: dprun --make-code compiles what a plan needs where NVRTC is and no GPU; with
// DP_CUDA_CODE, dprun runs the plan where a GPU is and no NVRTC. Code that others may write is refused.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/tools/tool.h"

namespace {

class Code : public Tools {
 protected:
  Code() {
    setenv("DP_CUDA_CODE", "", 1);
    mkdir(File("compiler").c_str(), 0700);
    mkdir(File("gpu").c_str(), 0700);
    Link("libnvrtc.so.13", "compiler");
    for (const char *library : {"libcuda.so.1", "libcublasLt.so.13", "libcudnn.so.9"}) Link(library, "gpu");
    Must("dpc compile examples/mlp.dpt --target=cuda --strategy=data --devices=2 --batch=64 -o " + File("plan.bin"));
  }
  ~Code() override {
    for (const char *name :
         {"LD_LIBRARY_PATH", "DP_CUDA_CODE", "XDG_CACHE_HOME", "DP_STANDIN_TRACE", "DP_STANDIN_CAPABILITY"})
      unsetenv(name);
  }
  void Link(const std::string &library, const std::string &folder) {
    char here[4096];
    ASSERT_NE(getcwd(here, sizeof here), nullptr);
    ASSERT_EQ(symlink((here + ("/tests/cuda/standin/" + library)).c_str(), File(folder + "/" + library).c_str()), 0);
  }
  // The next programs find these stand-ins, and an empty cache.
  void On(const std::string &libraries) {
    setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
    setenv("XDG_CACHE_HOME", File("cache" + std::to_string(caches_++)).c_str(), 1);
  }
  void Make(const std::string &kinds) {
    On(File("compiler"));
    Must("dprun " + File("plan.bin") + " --make-code=" + File("code") + " --device=cuda:" + kinds);
    setenv("DP_CUDA_CODE", File("code").c_str(), 1);
  }
  std::string Training(int steps) const {
    return "dprun " + File("plan.bin") + " --device=cuda --quiet --steps=" + std::to_string(steps) + " " + digits +
           " --metrics=" + File("m.jsonl");
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    DIR *folder = opendir(File("code").c_str());
    for (dirent *entry; folder && (entry = readdir(folder));)
      if (entry->d_name[0] != '.') files.push_back(File("code/") + entry->d_name);
    if (folder) closedir(folder);
    return files;
  }

 private:
  int caches_ = 0;
};

// 23 steps: the last batch is short.
TEST_F(Code, RunsWithoutNvrtc) {
  On(File("compiler") + ":" + File("gpu"));
  Must(Training(23));
  const std::vector<double> losses = Losses(File("m.jsonl"));
  ASSERT_EQ(losses.size(), 23u);
  Make("sm_90");
  On(File("gpu"));
  setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
  Must(Training(23));
  EXPECT_EQ(Losses(File("m.jsonl")), losses);
  EXPECT_EQ(Read(File("trace")).find("nvrtc"), std::string::npos);
  EXPECT_FALSE(Exists(File("cache2/dp"))) << "something was compiled";
}

TEST_F(Code, FilesAreTheUsersAlone) {
  const mode_t mask = umask(002);
  Make("sm_80,sm_90");
  umask(mask);
  struct stat about;
  ASSERT_EQ(stat(File("code").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
  int of_80 = 0;
  for (const std::string &file : Files()) {
    ASSERT_EQ(stat(file.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    of_80 += file.find("-sm_80-") != std::string::npos;
  }
  EXPECT_GT(of_80, 15);
  EXPECT_EQ(Files().size(), 2u * size_t(of_80));
}

// Code of CUDA 13 is none for a driver of CUDA 12, and neither is NVRTC of CUDA 13.
TEST_F(Code, OfANewerCudaIsLeftOut) {
  Make("sm_90");
  On(File("compiler") + ":" + File("gpu"));
  setenv("DP_STANDIN_DRIVER", "12040", 1);
  Refused(Training(2), 69,
          {"NVRTC cannot be loaded (libnvrtc.so.12; this machine's driver is too old for newer ones)"});
  setenv("DP_STANDIN_DRIVER", "13000", 1);
  Must(Training(2));
  unsetenv("DP_STANDIN_DRIVER");
}

// A GPU runs code of its major number and an older minor one, and no other.
TEST_F(Code, OfOlderKinds) {
  Make("sm_80");
  On(File("compiler") + ":" + File("gpu"));
  for (const auto &[kind, compiles] : {std::pair{"86", false}, std::pair{"90", true}}) {
    setenv("DP_STANDIN_CAPABILITY", kind, 1);
    setenv("DP_STANDIN_TRACE", File(std::string("trace") + kind).c_str(), 1);
    Must(Training(2));
    EXPECT_EQ(Read(File(std::string("trace") + kind)).find("nvrtcCompileProgram") != std::string::npos, compiles);
  }
}

TEST_F(Code, ThatOthersMayWriteIsRefused) {
  Make("sm_90");
  On(File("gpu"));
  const std::string command = Training(2), folder = File("code"), file = Files().front();
  for (const mode_t mode : {0720u, 0702u}) {
    chmod(folder.c_str(), mode);
    Refused(command, 78, {folder, "others than you and root may write there"});
  }
  chmod(folder.c_str(), 0755);
  Must(command);
  for (const std::string &each : Files()) chmod(each.c_str(), 0620);
  Refused(command, 78, {folder, "may be written by others"});
  for (const std::string &each : Files()) chmod(each.c_str(), 0644);
  Must(command);
  if (geteuid()) return;  // only root may give files away
  ASSERT_EQ(chown(folder.c_str(), 4711, 4711), 0);
  Refused(command, 78, {folder, "others than you and root may write there"});
}

// A folder beside the program is taken by itself, by the same rules; an empty DP_CUDA_CODE leaves it out.
TEST_F(Code, BesideTheProgram) {
  Make("sm_90");
  unsetenv("DP_CUDA_CODE");
  mkdir(File("bin").c_str(), 0700);
  ASSERT_EQ(Shell("cp \"$(command -v dprun)\" " + File("bin/dprun")).code, 0);
  ASSERT_EQ(rename(File("code").c_str(), File("bin/cuda_code").c_str()), 0);
  const std::string command = File("bin/") + Training(3);
  // Whether the program compiles anything.
  const auto compiles = [&](const char *trace) {
    setenv("DP_STANDIN_TRACE", File(trace).c_str(), 1);
    const Result result = Shell(command);
    EXPECT_EQ(result.code, 0) << result.err;
    return Read(File(trace)).find("nvrtcCompileProgram") != std::string::npos;
  };
  On(File("compiler") + ":" + File("gpu"));
  EXPECT_FALSE(compiles("trace.beside"));
  EXPECT_EQ(Losses(File("m.jsonl")).size(), 3u);
  setenv("DP_CUDA_CODE", "", 1);
  EXPECT_TRUE(compiles("trace.left_out"));
  unsetenv("DP_CUDA_CODE");
  unsetenv("DP_STANDIN_TRACE");
  chmod(File("bin/cuda_code").c_str(), 0720);
  const Result refused = Shell(command);
  EXPECT_EQ(refused.code, 78);
  EXPECT_NE(refused.err.find(File("bin/cuda_code") + ": others than you and root may write there"), std::string::npos)
      << refused.err;
}

TEST_F(Code, DamagedOrMissing) {
  Make("sm_90");
  On(File("gpu"));
  const std::string command = Training(2), folder = File("code");
  for (const std::string &each : Files()) {
    std::fstream stream(each, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(1000);
    stream.put(char(stream.peek() ^ 1));
  }
  Refused(command, 65, {folder, "is damaged"});
  for (const std::string &each : Files()) {
    unlink(each.c_str());
    ASSERT_EQ(symlink("/dev/zero", each.c_str()), 0);
  }
  Refused(command, 66, {folder});
  setenv("DP_CUDA_CODE", File("gone").c_str(), 1);
  Refused(command, 66, {"DP_CUDA_CODE=", "gone"});
}

TEST_F(Code, WhatCannotBeMade) {
  const std::string make = "dprun " + File("plan.bin") + " --make-code=" + File("code");
  On(File("compiler"));
  Refused(make + " --device=cuda:0", 64, {"--device: cuda:0", "sm_80"});
  Refused(make + " --device=cuda:sm_70", 69, {"--device: cuda:sm_70", "sm_80"});
  Refused(make + " --device=cuda:sm_999", 64, {"--device: cuda:sm_999", "there is no sm_999"});
  Refused(make + " --device=cpu", 78, {"--make-code"});
  Refused("dprun " + File("plan.bin") + " --make-code=/proc/none", 73, {"/proc/none"});
  Must("dpc compile examples/mlp.dpt --batch=8 -o " + File("cpu.bin"));
  Refused("dprun " + File("cpu.bin") + " --make-code=" + File("code"), 78, {"'cpu'"});
  Refused("dprun " + File("cpu.bin") + " --make-code=" + File("code") + " --device=cuda", 69,
          {"the plan is for 'cpu'"});
}

}  // namespace
