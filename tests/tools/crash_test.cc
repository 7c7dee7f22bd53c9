// What is saved survives whatever happens while something is saved: a process that is killed at any call or moment, a
// disk that is full or fails at any call. A recorder of the calls (faults.c) shows that everything reaches the disk
// before it gets its name, and nothing that it replaces goes before.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <random>
#include <set>
#include <sstream>

#include "tests/tools/checkpoints.h"

namespace {

// A call that faults.c recorded.
struct Call {
  std::string what, path, to;
};

std::string FolderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// What a crash of the machine could take away, after some calls.
class Disk {
 public:
  void Follow(const Call &call) {
    SCOPED_TRACE(call.what + " " + call.path + " " + call.to);
    if (call.what == "create" || call.what == "write") unsynced_.insert(call.path);
    if (call.what == "mkdir") unnamed_.insert(call.path);  // or it was there, but maybe not on the disk
    if (call.what == "rename") Rename(call.path, call.to);
    if (call.what == "unlink") {
      unsynced_.erase(call.path);
      unnamed_.erase(call.path);
      EXPECT_FALSE(IsKept(call.path)) << "deleted in place";
    }
    if (call.what != "fsync") return;
    unsynced_.erase(call.path);
    for (auto at = unnamed_.begin(); at != unnamed_.end();) at = FolderOf(*at) == call.path ? unnamed_.erase(at) : ++at;
  }
  void ExpectSafe() const {
    for (const std::string &path : unnamed_) EXPECT_FALSE(IsKept(path)) << "the folder of " << path << " is not synced";
    for (const std::string &path : unsynced_) EXPECT_FALSE(IsKept(path)) << path << " is not synced";
  }
  int renamed() const { return renamed_; }

 private:
  static bool IsHidden(const std::string &path) { return path[0] == '.' || path.find("/.") != std::string::npos; }
  // Whether a reader would take it for something whole. Files get six random characters until they are.
  static bool IsKept(const std::string &path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return path != "." && !IsHidden(path) && !(name.size() > 7 && name[name.size() - 7] == '.');
  }
  void Rename(const std::string &from, const std::string &to) {
    if (IsHidden(to) && !IsHidden(from)) {  // an old checkpoint goes
      for (const std::string &path : unnamed_) EXPECT_FALSE(IsKept(path)) << path << " is not there for sure";
      return;
    }
    EXPECT_EQ(unsynced_.count(from), 0u) << "renamed before it was synced";
    for (const std::string &path : unnamed_) EXPECT_NE(FolderOf(path), from) << "renamed before it was synced";
    unsynced_.erase(from);
    unnamed_.erase(from);
    unnamed_.insert(to);
    renamed_++;
  }
  std::set<std::string> unsynced_;  // files with content in memory alone
  std::set<std::string> unnamed_;   // files and folders whose folder has not been synced since they got their name
  int renamed_ = 0;
};

class Crash : public Checkpoints {
 protected:
  void SetUp() override {
    Checkpoints::SetUp();
    ASSERT_EQ(Shell("mkdir " + File("area")).code, 0);
    char real[PATH_MAX];
    ASSERT_NE(realpath(File("area").c_str(), real), nullptr);
    area_ = real;
    const char *options = getenv("ASAN_OPTIONS");  // the library is not the sanitizer's, and comes first
    faults_ = "ASAN_OPTIONS=" + std::string(options ? options : "") + ":verify_asan_link_order=0 LD_PRELOAD=" + Here() +
              "/tests/tools/libfaults.so FAULTS_UNDER=" + area_ + " FAULTS_LOG=" + File("calls") + " ";
  }
  static std::string Here() {
    char here[PATH_MAX];
    EXPECT_NE(getcwd(here, sizeof here), nullptr);
    return here;
  }
  std::string Area(const std::string &name) const { return area_ + "/" + name; }
  // Runs a command with faults.c. at: the call that fails, 0 for none.
  Result Faulty(const std::string &command, int at = 0, const std::string &how = "") {
    unlink(File("calls").c_str());
    return Shell(faults_ + "FAULTS_AT=" + std::to_string(at) + " FAULTS_WITH=" + how + " " + command);
  }
  std::vector<Call> Calls() const {
    std::vector<Call> calls;
    std::istringstream lines(Read(File("calls")));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      Call call;
      words >> call.what >> call.path >> call.to;
      calls.push_back(call);
    }
    return calls;
  }
  // Everything that the command kept was safe when it ended, and before anything was deleted for it.
  void Recorded(const std::string &command, int renamed) {
    SCOPED_TRACE(command);
    const Result result = Faulty(command);
    EXPECT_EQ(result.code, 0) << result.err;
    Disk disk;
    for (const Call &call : Calls()) disk.Follow(call);
    disk.ExpectSafe();
    EXPECT_EQ(disk.renamed(), renamed) << Read(File("calls"));
  }
  // The newest checkpoint's step; 0: none.
  int Newest() const {
    int newest = 0;
    for (const std::string &name : Names("area/run")) newest = std::max(newest, std::stoi(name.substr(5)));
    return newest;
  }
  std::string area_, faults_;
};

TEST_F(Crash, WhatIsKeptIsSyncedThenNamedThenSyncedByName) {
  const std::string save = " --save=" + Area("run"), images = "examples/data/digits/test-images-idx3-ubyte";
  Recorded(Train("--steps=6 --save-every=2 --keep=1" + save), 9);
  Recorded(Train("--steps=8 --save-every=1 --keep=2 --resume" + save), 6);
  Recorded(Train("--steps=9 --save-sync --resume --keep=1" + save), 3);
  EXPECT_EQ(Names("area/run"), Strings{"step-9"});
  Recorded(Train("--steps=1 --save=" + Area("w.safetensors")), 1);
  Recorded("dprun " + File("plan.bin") + " --infer --data image=" + images + " --output logits=" + Area("y.npy"), 1);
  Recorded("dpc compile " + File("m.dpt") + " --batch=64 -o " + Area("p.bin"), 1);
}

// Training does not go on for hours until the next checkpoint is due.
TEST_F(Crash, AFailureEndsTrainingSoon) {
  const Result result = Faulty(Train("--epochs=1000000 --save-every=1000 --save=" + Area("run")), 10, "ENOSPC");
  EXPECT_EQ(result.code, 74) << result.err;
  EXPECT_NE(result.err.find("No space left"), std::string::npos) << result.err;
  EXPECT_LT(Losses(File("metrics")).size(), 2000u);
}

// A run that has a checkpoint of step 2 goes on to step 4, and something happens at one of its calls.
class CrashAtEachCall : public Crash {
 protected:
  void SetUp() override {
    Crash::SetUp();
    command_ = Train("--steps=4 --save-every=2 --keep=1 --resume --save=" + Area("run"));
    Must(Train(Save("whole") + "--steps=4"));
    Must(Train(Save("good") + "--steps=2"));
    Fresh();
    EXPECT_EQ(Faulty(command_).code, 0);
    calls_ = Calls();
    EXPECT_GE(calls_.size(), 15u);
  }
  void Fresh() { ASSERT_EQ(Shell("rm -rf " + Area("run") + "; cp -r " + File("good") + " " + Area("run")).code, 0); }
  // Whatever happened: the checkpoint of step 2 or that of step 4 is there, all that is there is whole, and training
  // goes on from it to the same end.
  void ExpectNothingLost() {
    const Strings names = Names("area/run");
    EXPECT_FALSE(names.empty());
    for (const std::string &name : names) {
      EXPECT_TRUE(name == "step-2" || name == "step-4") << name;
      EXPECT_TRUE(Weights(name[5] - '0', "area/run") == Weights(name[5] - '0', name == "step-2" ? "good" : "whole"));
      EXPECT_EQ(Names("area/run/" + name), (Strings{"checkpoint.json", "weights.safetensors"}));
    }
    const Result result = Must(command_);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(Names("area/run"), Strings{"step-4"});
    EXPECT_EQ(Names("area/run", true), Strings{});
    EXPECT_TRUE(Weights(4, "area/run") == Weights(4, "whole"));
  }
  std::string command_;
  std::vector<Call> calls_;
};

// A full or broken disk fails when something is written or synced, a folder that became read-only when names change;
// DP_FULL: any call fails with each error.
TEST_F(CrashAtEachCall, TheDiskFails) {
  for (const std::string how : {"ENOSPC", "EIO", "EROFS"})
    for (size_t i = 0; i < calls_.size(); i++) {
      const std::string &what = calls_[i].what;
      const bool data = what == "write" || what == "fsync";
      if (!getenv("DP_FULL") && data != (how != "EROFS") && !(what == "create" && how == "ENOSPC")) continue;
      SCOPED_TRACE(how + " at " + what + " " + calls_[i].path);
      Fresh();
      const Result result = Faulty(command_, static_cast<int>(i) + 1, how);
      // What cannot be deleted now is deleted later. The folder of run/ is synced only for the case that nobody did.
      if (what == "unlink" || (what == "fsync" && calls_[i].path == ".")) {
        EXPECT_EQ(result.code, 0) << result.err;
      } else {
        EXPECT_TRUE(result.code == 73 || result.code == 74) << result.code << result.err;
        EXPECT_NE(result.err.find("run"), std::string::npos) << result.err;
      }
      ExpectNothingLost();
    }
}

TEST_F(CrashAtEachCall, WritesAreShortOrInterrupted) {
  for (const std::string how : {"short", "EINTR"})
    for (size_t i = 0; i < calls_.size(); i++) {
      const std::string &what = calls_[i].what;
      if (what != "write" && !(what == "fsync" && how == "EINTR")) continue;
      SCOPED_TRACE(how + " at " + what + " " + calls_[i].path);
      Fresh();
      const Result result = Faulty(command_, static_cast<int>(i) + 1, how);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_TRUE(Weights(4, "area/run") == Weights(4, "whole"));
      ExpectNothingLost();
    }
}

TEST_F(CrashAtEachCall, TheProcessIsKilled) {
  for (size_t i = 0; i < calls_.size(); i++) {
    SCOPED_TRACE("before " + calls_[i].what + " " + calls_[i].path);
    Fresh();
    EXPECT_EQ(Faulty(command_, static_cast<int>(i) + 1, "kill").code, 128 + SIGKILL);
    ExpectNothingLost();
  }
}

// Kills at random moments; DP_FULL: a thousand.
TEST_F(Crash, KilledAtRandom) {
  const int kills = getenv("DP_FULL") ? 1000 : 30;
  std::minstd_rand random(1);
  int newest = 0;
  for (int i = 0; i < kills; i++) {
    Start(Train("--epochs=1000000 --save-every=1 --keep=2 --resume --save=" + Area("run")));
    // At any moment from its start, or once it has saved something.
    for (int t = 0; i % 2 && t < 5000 && Newest() == newest; t++) usleep(1000);
    usleep(random() % 200000);
    Signal(SIGKILL);
    const Result result = Wait();
    ASSERT_EQ(result.code, 128 + SIGKILL) << result.err;
    ASSERT_EQ(result.err, "");  // such as a checkpoint that is passed over
    ASSERT_GE(Newest(), newest);
    ASSERT_LE(Names("area/run").size(), 3u);
    newest = Newest();
  }
  EXPECT_GE(newest, kills / 2);
  // The same bytes as never stopped.
  Must(Train(Save("whole") + "--steps=" + std::to_string(newest)));
  EXPECT_TRUE(Weights(newest, "area/run") == Weights(newest, "whole")) << newest;
}

}  // namespace
