// dprun on several GPUs, on the driver's stand-in: which GPUs it takes, how it shares them, what it refuses, what it
// says of them, and that its losses are those of one GPU.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cuda/injected.h"

namespace {

class CudaMany : public Tools {
 protected:
  CudaMany() {
    setenv("XDG_CACHE_HOME", File("").c_str(), 1);
    setenv("DP_STANDIN_DEVICES", "4", 1);
    Must("dpc compile examples/mlp.dpt --target=cuda --strategy=data --devices=4 --batch=8 --reproducible -o " +
         File("plan.bin"));
  }
  ~CudaMany() override {
    for (const char *name : {"DP_STANDIN_DEVICES", "DP_STANDIN_PEERS", "DP_STANDIN_MEMORY", "DP_STANDIN_CAPABILITY",
                             "DP_STANDIN_TRACE", "XDG_CACHE_HOME"})
      unsetenv(name);
  }
  // The first lines of --explain: what it says of the GPUs.
  std::string Described(const std::string &options) {
    const std::string text = Must("dprun " + File("plan.bin") + " --explain " + options).out;
    const std::string listing = Must("dprun " + File("plan.bin") + " --explain").out;
    return text.substr(0, text.find(listing.substr(0, listing.find('\n'))));
  }
  std::string Train(const std::string &options) {
    Must("dprun " + File("plan.bin") + " --steps=4 --quiet " + digits + " --save=" + File("out.safetensors") + " " +
         options);
    return Read(File("out.safetensors"));
  }
  void Refuses(const std::string &options, int code, const std::vector<std::string> &words) {
    SCOPED_TRACE(options);
    const Result result = Run("dprun " + File("plan.bin") + " --explain " + options);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.out, "");
    for (const std::string &word : words) EXPECT_NE(result.err.find(word), std::string::npos) << word << result.err;
  }
};

std::string Uuid(int device) { return "GPU-5" + std::to_string(device) + "1a9c3e"; }

// "GPU 0: 0-1;": which devices are on which GPU.
std::string Placed(const std::string &described) {
  static const std::regex line("GPU ([0-9]+) \\(stand-in.*\\): devices (.*)");
  std::istringstream lines(described);
  std::string placed;
  for (std::string text; std::getline(lines, text);) {
    std::smatch match;
    if (std::regex_match(text, match, line)) placed += match[1].str() + ": " + match[2].str() + "; ";
  }
  return placed;
}

TEST_F(CudaMany, SharesGpusEvenly) {
  EXPECT_EQ(Placed(Described("--device=cuda")), "0: 0; 1: 1; 2: 2; 3: 3; ");
  EXPECT_EQ(Placed(Described("--device=cuda:1")), "1: 0-3; ");
  EXPECT_EQ(Placed(Described("--device=cuda:2,0")), "2: 0-1; 0: 2-3; ");
  EXPECT_EQ(Placed(Described("--device=cuda:0,1,2")), "0: 0-1; 1: 2; 2: 3; ");
  EXPECT_EQ(Placed(Described("--device=cuda:0,3 --map=0,1,1,0")), "0: 0, 3; 3: 1-2; ");
  EXPECT_EQ(Placed(Described("--device=cuda --map=3,3,1,1")), "1: 2-3; 3: 0-1; ");
  EXPECT_EQ(Placed(Described("--device=cuda:" + Uuid(3) + ",1")), "3: 0-1; 1: 2-3; ");
  // No more GPUs than devices.
  setenv("DP_STANDIN_DEVICES", "8", 1);
  EXPECT_EQ(Placed(Described("--device=cuda")), "0: 0; 1: 1; 2: 2; 3: 3; ");
}

TEST_F(CudaMany, SaysWhatGpusReach) {
  const std::string uncaptured = "steps are issued one instruction at a time";
  const std::string one = Described("--device=cuda:0");
  EXPECT_EQ(one.find("reach"), std::string::npos) << one;
  EXPECT_EQ(one.find(uncaptured), std::string::npos) << one;
  const std::string all = Described("--device=cuda");
  EXPECT_NE(all.find("each GPU reaches the memory of the others\n"), std::string::npos) << all;
  EXPECT_NE(all.find(uncaptured), std::string::npos) << all;
  EXPECT_EQ(all.find("different kinds"), std::string::npos) << all;
  setenv("DP_STANDIN_PEERS", "0-1,1-2,2-3,0-2,1-3", 1);
  const std::string some = Described("--device=cuda");
  EXPECT_NE(some.find("GPU 0 does not reach the memory of GPU 3: "), std::string::npos) << some;
  EXPECT_NE(some.find("GPU 3 does not reach the memory of GPU 0: "), std::string::npos) << some;
  EXPECT_EQ(some.find("GPU 1 does not"), std::string::npos) << some;
  EXPECT_EQ(some.find("the others"), std::string::npos) << some;
}

TEST_F(CudaMany, TakesGpusOfDifferentKinds) {
  const std::string expected = Train("--device=cuda:0");
  setenv("DP_STANDIN_CAPABILITY", "90,80,75,80", 1);
  const std::string described = Described("--device=cuda");
  EXPECT_NE(described.find("different kinds"), std::string::npos) << described;
  EXPECT_EQ(Placed(described), "0: 0-1; 1: 2; 3: 3; ") << "one that is too old is left out";
  EXPECT_TRUE(Train("--device=cuda") == expected);
  Refuses("--device=cuda:0,2", 69, {"GPU 2", "7.5", "8.0"});
}

// A GPU is the same one under all its names. Before any of several runs starts, it is looked up in a process of its
// own, so that the runs open their GPUs as they do alone.
TEST_F(CudaMany, RunsSideBySideHaveGpusOfTheirOwn) {
  const auto run = [&](const std::string &device, const std::string &more) {
    return " --run '" + File("plan.bin") + " --device=cuda:" + device + " " + digits + " --steps=4 --quiet " + more +
           "'";
  };
  const auto refused = [&](const std::string &a, const std::string &b, int code, const std::string &says) {
    const Result result = Shell("dprun" + run(a, "") + run(b, ""));
    EXPECT_EQ(result.code, code) << a << " " << b << "\n" << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << a << " " << b << "\n" << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find("\nrun "), std::string::npos) << "a run was started\n" << result.err;
  };
  for (const auto &pair : std::vector<std::vector<std::string>>{
           {"0", "00"}, {"1", Uuid(1)}, {"0,1", "2," + Uuid(1) + "-47b2"}, {"GPU-53", "gpu-531"}})
    refused(pair[0], pair[1], 78, "run 1 and run 2 would both use --device=cuda:GPU-5");
  refused("0", "4", 69, "run 2: ");
  refused("0", "GPU-61", 69, "run 2: no GPU");
  refused("1", "x", 64, "run 2: --device=cuda:x");
  const std::string expected = Train("--device=cuda:0");
  const Result both = Shell("dprun" + run("0," + Uuid(2), "--save=" + File("a.safetensors")) +
                            run("1", "--save=" + File("b.safetensors")));
  ASSERT_EQ(both.code, 0) << both.err;
  EXPECT_TRUE(Read(File("a.safetensors")) == expected);
  EXPECT_TRUE(Read(File("b.safetensors")) == expected);
}

TEST_F(CudaMany, RefusesWhatCannotBe) {
  Refuses("--device=cuda:0,0", 64, {"GPU 0", "twice"});
  Refuses("--device=cuda:1," + Uuid(1), 64, {"GPU 1", "twice"});
  Refuses("--device=cuda:4", 69, {"4 GPUs", "GPU 4"});
  for (const char *list : {"-1", "0,", ",", "x", "0;1", "GPU-", "0x1", "99999999999999999999", "0 1"})
    if (!strchr(list, ' ')) Refuses("--device=cuda:" + std::string(list), 64, {"--device=cuda:"});
  Refuses("--device=cuda:GPU-61", 69, {"no GPU", "GPU-61", Uuid(0), Uuid(3)});
  Refuses("--device=cuda:GPU-5", 69, {"more than one", Uuid(0)});
  for (const char *map : {"0,", "x,0,0,0", "0,0,0,-1", ","})
    Refuses("--device=cuda --map=" + std::string(map), 64, {"--map=", "0,0,1,1"});
  Refuses("--device=cuda:0,1 --map=0,0,1,2", 64, {"--map=", "no place 2"});
  Refuses("--device=cuda --map=0,0,1", 78, {"3 devices", "4"});
  Refuses("--device=cuda:0,1,2 --map=0,0,1,1", 78, {"idle", "GPU 2 (stand-in)", "--map"});
  Refuses("--device=cpu --map=0,0,0,0", 64, {"--map", "cpu"});
  setenv("DP_STANDIN_DEVICES", "8", 1);
  Refuses("--device=cuda:0,1,2,3,6,7", 78, {"2 of the 6", "idle", "GPU 6", "GPU 7", "--devices"});
}

TEST_F(CudaMany, TrainsAsOnOne) {
  const std::string expected = Train("--device=cuda:0");
  EXPECT_TRUE(Train("--device=cuda") == expected);
  EXPECT_TRUE(Train("--device=cuda:3,1 --map=1,0,0,1") == expected);
  setenv("DP_STANDIN_PEERS", "none", 1);
  EXPECT_TRUE(Train("--device=cuda") == expected);
}

// Nothing is captured, and nobody is told so as of a failure.
TEST_F(CudaMany, RunsUncaptured) {
  setenv("DP_STANDIN_TRACE", File("trace").c_str(), 1);
  const std::string options = " --steps=6 " + std::string(digits);
  const Result one = Must("dprun " + File("plan.bin") + " --device=cuda:0" + options);
  EXPECT_NE(Read(File("trace")).find("cuStreamBeginCapture_v2"), std::string::npos);
  const Result many = Must("dprun " + File("plan.bin") + " --device=cuda" + options);
  EXPECT_EQ(Read(File("trace")).find("cuStreamBeginCapture_v2"), std::string::npos);
  EXPECT_EQ(many.err.find("note:"), std::string::npos) << many.err;
}

// What each GPU holds counts for it alone.
TEST_F(CudaMany, ChecksTheMemoryOfEach) {
  Must("dpc compile examples/mlp.dpt --target=cuda --strategy=data --devices=4 --batch=8 --reproducible -o " +
       File("plan.bin"));
  const Event memory = [&] {
    Must("dprun " + File("plan.bin") + " --device=cuda --steps=1 --quiet " + digits + " --metrics=" + File("m.jsonl"));
    return Memory(File("m.jsonl"));
  }();
  const int64_t device =
      static_cast<int64_t>(memory["persistent_bytes"] + memory["transient_bytes"] + 2 * memory["device_input_bytes"]);
  ASSERT_GT(device, 1000);
  const int64_t reserve = 256 << 20, several = reserve + (768 << 20), staging = 32 << 20;
  const auto fits = [&](int64_t bytes, const std::string &options) {
    setenv("DP_STANDIN_MEMORY", std::to_string(bytes).c_str(), 1);
    const Result result = Run("dprun " + File("plan.bin") + " --explain " + options);
    if (!result.code) return std::string();
    EXPECT_EQ(result.code, 71) << result.err;
    return result.err;
  };
  EXPECT_EQ(fits(reserve + 4 * device + (1 << 20), "--device=cuda:0"), "");
  std::string refused = fits(reserve + 4 * device - 1, "--device=cuda:0");
  EXPECT_NE(refused.find("GPU 0 (stand-in)"), std::string::npos) << refused;
  EXPECT_NE(refused.find(std::to_string(4 * device) + " bytes for 4 devices"), std::string::npos) << refused;
  EXPECT_NE(refused.find("only " + std::to_string(4 * device - 1)), std::string::npos) << refused;
  EXPECT_EQ(fits(several + 4 * device - 1, "--device=cuda:0,1"), "");
  EXPECT_EQ(fits(several + 2 * device + (1 << 20), "--device=cuda:0,1"), "");
  refused = fits(several + 3 * device - 1, "--device=cuda:0,1 --map=0,1,1,1");
  EXPECT_NE(refused.find("GPU 1 (stand-in)"), std::string::npos) << refused;
  EXPECT_NE(refused.find(std::to_string(3 * device) + " bytes for 3 devices"), std::string::npos) << refused;
  refused = fits(several + device - 1, "--device=cuda:0,1,2,3");
  EXPECT_NE(refused.find(std::to_string(device) + " bytes for 1 device (up"), std::string::npos) << refused;
  setenv("DP_STANDIN_PEERS", "none", 1);
  refused = fits(several + staging + 2 * device - 1, "--device=cuda:0,1");
  EXPECT_NE(refused.find(std::to_string(several + staging) + " bytes kept for"), std::string::npos) << refused;
  EXPECT_EQ(fits(several + staging + 2 * device + (1 << 20), "--device=cuda:0,1"), "");
}

// Steps of every GPU are timed by its own clock.
TEST_F(CudaMany, TracesEachGpu) {
  const std::string trace = File("trace.json");
  Must("dprun " + File("plan.bin") + " --device=cuda --steps=3 --quiet " + digits + " --trace=" + trace);
  const std::string text = Read(trace);
  std::set<std::string> devices;
  static const std::regex slice("\"ph\":\"X\",\"pid\":([0-9]+),\"tid\":[0-9]+,\"ts\":([-0-9.]+),\"dur\":([-0-9.]+)");
  double latest = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), slice); at != std::sregex_iterator(); ++at) {
    devices.insert((*at)[1]);
    EXPECT_GE(atof((*at)[2].str().c_str()), 0);
    EXPECT_GE(atof((*at)[3].str().c_str()), 0);
    latest = std::max(latest, atof((*at)[2].str().c_str()));
  }
  EXPECT_EQ(devices.size(), 4u);
  EXPECT_GT(latest, 0);
  // Each has 2 of 8 samples. The gradient of 64x64 weights is a product of two arrays of 2x64.
  const int flops = 2 * 2 * 64 * 64, bytes = 4 * (2 * 64 + 2 * 64 + 64 * 64);
  const std::regex hidden("\"name\":\"Gemm h/grad/Gemm.1\"[^}]*\"flops\":" + std::to_string(flops) +
                          ",\"bytes\":" + std::to_string(bytes) + ",");
  EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), hidden), std::sregex_iterator()), 3 * 4)
      << text.substr(text.find("Gemm h"), 200);
}

// Each track is named by the plan's device, the GPU that it is on, and the stream; so it is in the report.
TEST_F(CudaMany, TracesNameTheGpu) {
  const std::string run = File("run");
  Must("dprun " + File("plan.bin") + " --device=cuda:3,1 --map=1,0,0,1 --steps=3 --quiet " + digits + " --save=" + run +
       "/ --trace=" + run + "/trace.json");
  Must("dprun report " + run + " --plan=" + File("plan.bin"));
  const std::string trace = Read(run + "/trace.json"), page = Read(run + "/report.html");
  const char *const gpus[] = {"GPU 1", "GPU 3", "GPU 3", "GPU 1"};
  for (int device = 0; device < 4; device++) {
    const std::string number = std::to_string(device), name = "device " + number + ", " + gpus[device];
    EXPECT_NE(trace.find("{\"ph\":\"M\",\"pid\":" + number + ",\"name\":\"process_name\",\"args\":{\"name\":\"" + name +
                         "\"}}"),
              std::string::npos)
        << name;
    EXPECT_NE(page.find(name + " compute"), std::string::npos) << name;
  }
  // So are the GPUs recorded, and how they communicate.
  const std::string runs = Read(run + "/runs.jsonl");
  for (const char *said : {"): devices 1-2; ", "NCCL 2.28.9, Ring, Simple, 16 channels"}) {
    EXPECT_NE(runs.find(said), std::string::npos) << runs;
    EXPECT_NE(page.find(said), std::string::npos) << said;
  }
  EXPECT_NE(page.find("in rank order, on any devices"), std::string::npos);
}

// Calls to fail in the usual run: some of all, and each after which memory would be of another GPU.
bool IsTried(const std::vector<std::string> &names, size_t call) {
  const bool chooses = names[call] == "cuCtxSetCurrent" && call + 1 < names.size();
  return call % 17 == 0 || (chooses && names[call + 1].rfind("cuMemAlloc", 0) == 0);
}

// A call that fails, each in turn, on two GPUs that do not reach each other: one message, and nothing is left.
class CudaManyFaults : public Injected {
 protected:
  ~CudaManyFaults() override {
    for (const char *name : {"DP_STANDIN_DEVICES", "DP_STANDIN_PEERS"}) unsetenv(name);
  }
};

TEST_F(CudaManyFaults, EachCallInTurn) {
  setenv("DP_STANDIN_DEVICES", "2", 1);
  setenv("DP_STANDIN_PEERS", "none", 1);
  Must("dpc compile examples/mlp.dpt --target=cuda --strategy=data --devices=4 --batch=8 --reproducible -o " +
       File("plan.bin"));
  RunWell("dprun " + File("plan.bin") + " --device=cuda --steps=1 --quiet " + digits + " --save=" + Saved());
  ASSERT_GT(good_calls_.size(), 200u);
  int refused = 0;
  for (size_t k = 1; k <= good_calls_.size(); k++)
    for (int error : {kLost, kNoMemory})
      if (getenv("DP_FULL") || (IsTried(good_calls_, k - 1) && (k % 2 ? kLost : kNoMemory) == error))
        refused += FailsWell(k, error);
  EXPECT_GT(refused, 20);
}

}  // namespace
