// The stand-ins of NVRTC and of launches run functions as a GPU does, and show the mistakes that a GPU would punish.
#include <algorithm>
#include <numeric>
#include <set>

#include "tests/cuda/standin_calls.h"

namespace dp_test {
namespace {

constexpr int kSeeds = 20;

// The arguments of every function here.
struct Arguments {
  int *out;
  const int *in;
  int n;
};
const std::string kArguments = "typedef struct { int *out; const int *in; int n; } operands;\n";

std::string Function(const std::string &kind, const std::string &body) {
  return kArguments + "#define NAME f\n" + kind + "(operands) {\n" + body + "}\n#undef NAME\n";
}

class Functions : public StandinTest {
 protected:
  void SetUp() override {
    StandinTest::SetUp();
    stream_ = Stream();
    in_ = Pinned<int>(kRoom);
    out_ = Pinned<int>(kRoom);
    std::iota(in_, in_ + kRoom, 1);
    std::fill_n(out_, kRoom, -2);
  }
  void TearDown() override {
    if (module_) Try(cu.cuModuleUnload(module_));
    Try(cu.cuStreamDestroy_v2(stream_));
    Try(cu.cuMemFreeHost(in_));
    Try(cu.cuMemFreeHost(out_));
    StandinTest::TearDown();
  }
  void Make(const std::string &kind, const std::string &body) { function_ = Load(Function(kind, body), "f", &module_); }
  CUresult Run(unsigned blocks, unsigned threads, int n) {
    CUresult result = Launch(function_, blocks, threads, stream_, Arguments{out_, in_, n});
    return result ? result : cu.cuStreamSynchronize(stream_);
  }
  // Seeds of kSeeds under which the sum of n elements, by one block, is not what it should be.
  int WrongSums(unsigned threads, int n) {
    int wrong = 0;
    for (int seed = 0; seed < kSeeds; seed++) {
      cu.dp_standin_seed(seed);
      out_[0] = -1;
      Try(Run(3, threads, n));
      wrong += out_[0] != n * (n + 1) / 2;
    }
    return wrong;
  }
  // Runs what must fail, and gives what the stand-in says.
  std::string Failure(CUresult error, unsigned blocks = 1, unsigned threads = 32) {
    std::string said = Said([&] { EXPECT_EQ(Run(blocks, threads, 1), error); });
    EXPECT_EQ(cu.cuCtxSynchronize(), error);  // for good
    cu.dp_standin_reset();
    return said;
  }

  static constexpr int kRoom = 8192;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  int *in_ = nullptr, *out_ = nullptr;
};

TEST_F(Functions, EveryThreadRuns) {
  Make("DP_KERNEL", "for (dp_i64 i = dp_index(); i < a.n; i += dp_stride()) a.out[i] = 2 * a.in[i];\n");
  Try(Run(7, 64, 1000));
  for (int i = 0; i < kRoom; i++) ASSERT_EQ(out_[i], i < 1000 ? 2 * in_[i] : -2) << i;
}

TEST_F(Functions, OnDeviceMemory) {
  Make("DP_KERNEL", "a.out[dp_index()] = a.in[dp_index()] + dp_threads();\n");
  CUdeviceptr memory = Device(256 * sizeof(int));
  Try(cu.cuMemcpyAsync(memory, Address(in_), 256 * sizeof(int), stream_));
  Try(Launch(function_, 4, 64, stream_, Arguments{At<int>(memory), At<int>(memory), 0}));
  Try(cu.cuMemcpyAsync(Address(out_), memory, 256 * sizeof(int), stream_));
  Try(cu.cuStreamSynchronize(stream_));
  for (int i = 0; i < 256; i++) ASSERT_EQ(out_[i], in_[i] + 64);
  Try(cu.cuMemFree_v2(memory));
}

TEST_F(Functions, ArgumentsAreCopiedAtTheLaunch) {
  Make("DP_KERNEL", "a.out[0] = a.n;\n");
  Arguments arguments = {out_, in_, 1};
  void *list[] = {&arguments};
  Try(cu.cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, stream_, list, nullptr));
  arguments.n = 2;
  Try(cu.cuStreamSynchronize(stream_));
  EXPECT_EQ(out_[0], 1);
}

TEST_F(Functions, BlocksAndThreadsHaveNoOrder) {
  Make("DP_KERNEL", "if (!dp_thread()) a.out[1 + a.out[0]++] = (int)dp_block();\n");
  std::set<std::vector<int>> orders;
  for (int seed = 0; seed < kSeeds; seed++) {
    cu.dp_standin_seed(seed);
    out_[0] = 0;
    Try(Run(11, 2, 0));
    ASSERT_EQ(out_[0], 11);
    std::vector<int> order(out_ + 1, out_ + 12), sorted = order;
    orders.insert(order);
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 11; i++) ASSERT_EQ(sorted[i], i);
  }
  EXPECT_GT(orders.size(), 10u);
}

// ---- the threads of a block -----------------------------------------------------------------------------------------

// Sums by a tree. BETWEEN stands where the barrier is needed.
std::string Sum(const std::string &between) {
  return "DP_SHARED int part[1024];\n"
         "int t = dp_thread();\n"
         "part[t] = 0;\n"
         "for (int i = t; i < a.n; i += dp_threads()) part[t] += a.in[i];\n"
         "dp_barrier();\n"
         "for (int half = dp_threads() / 2; half; half /= 2) {\n"
         "  if (t < half) part[t] += part[t + half];\n" +
         between +
         "}\n"
         "if (!t) a.out[0] = part[0];\n";
}

TEST_F(Functions, ABlockWorksTogether) {
  Make("DP_BLOCK_KERNEL", Sum("dp_barrier();\n"));
  EXPECT_EQ(WrongSums(256, 1000), 0);
  EXPECT_EQ(WrongSums(1024, 5000), 0);
  EXPECT_EQ(WrongSums(1, 10), 0);
}

TEST_F(Functions, AMissingBarrierShows) {
  Make("DP_BLOCK_KERNEL", Sum(""));
  EXPECT_GT(WrongSums(256, 1000), kSeeds / 2);
}

TEST_F(Functions, ABarrierDoesNotWaitForThreadsThatReturned) {
  Make("DP_BLOCK_KERNEL",
       "DP_SHARED int seen[64];\n"
       "int t = dp_thread();\n"
       "if (t >= 40) return;\n"
       "seen[t] = t;\n"
       "dp_barrier();\n"
       "a.out[t] = seen[39 - t];\n");
  Try(Run(1, 64, 0));
  for (int t = 0; t < 64; t++) EXPECT_EQ(out_[t], t < 40 ? 39 - t : -2);
}

TEST_F(Functions, SharedMemoryBeginsUndefined) {
  Make("DP_BLOCK_KERNEL",
       "DP_SHARED int kept[32];\n"
       "a.out[dp_index()] = kept[dp_thread()];\n"
       "kept[dp_thread()] = 5;\n");
  Try(Run(4, 32, 0));
  for (int i = 0; i < 128; i++) EXPECT_EQ(out_[i], -1);
}

TEST_F(Functions, ABarrierNeedsABlockKernel) {
  Make("DP_KERNEL", "dp_barrier();\n");
  EXPECT_NE(Failure(CUDA_ERROR_LAUNCH_FAILED).find("f has a barrier"), std::string::npos);
}

TEST_F(Functions, ABarrierIsTheSameForAll) {
  for (const char *threads : {"% 2", "/ 32"}) {  // of a warp, and of warps
    Make("DP_BLOCK_KERNEL", std::string("if (dp_thread() ") + threads + ")\n  dp_barrier();\nelse\n  dp_barrier();\n");
    EXPECT_NE(Failure(CUDA_ERROR_LAUNCH_FAILED, 1, 64).find("come to different ones"), std::string::npos);
    Try(cu.cuModuleUnload(module_));
  }
  // Some go round more often.
  Make("DP_BLOCK_KERNEL",
       "for (int i = 0; i <= dp_thread() % 2; i++)\n  dp_barrier();\na.out[0] = 1;\ndp_barrier();\n");
  EXPECT_NE(Failure(CUDA_ERROR_LAUNCH_FAILED).find("come to different ones"), std::string::npos);
}

// ---- the threads of a warp ------------------------------------------------------------------------------------------

// Numbers whose sum depends on the order: the order is that of pairs 16, 8, 4, 2 and 1 apart.
TEST_F(Functions, AWarpSumsInPairs) {
  const std::string value = "(double)a.in[dp_thread()] * 1e15 + 1.0 / a.in[dp_thread()]";
  Make("DP_BLOCK_KERNEL",
       "DP_SHARED double kept[64];\n"
       "for (int i = 0; i < 5; i++) kept[dp_thread()] = dp_warp_sum(" +
           value + " + i);\n" + "((double *)(void *)a.out)[dp_thread()] = kept[dp_thread()];\n");
  for (int seed = 0; seed < kSeeds; seed++) {
    cu.dp_standin_seed(seed);
    Try(Run(1, 64, 0));
    for (int warp = 0; warp < 2; warp++) {
      double x[32];
      for (int i = 0; i < 32; i++) x[i] = in_[warp * 32 + i] * 1e15 + 1.0 / in_[warp * 32 + i] + 4;
      for (int apart = 16; apart; apart /= 2)
        for (int i = 0; i < apart; i++) x[i] += x[i + apart];
      for (int i = 0; i < 32; i++) ASSERT_EQ(reinterpret_cast<double *>(out_)[warp * 32 + i], x[0]) << seed;
    }
  }
}

// The first warp alone works, while the other is at the next barrier.
TEST_F(Functions, OneWarpWorksWhileTheOthersWait) {
  Make("DP_BLOCK_KERNEL",
       "DP_SHARED double whole;\n"
       "if (dp_thread() < 32) {\n"
       "  const double sum = dp_warp_max(dp_warp_sum(a.in[dp_thread()]) + dp_thread());\n"
       "  if (dp_thread() == 7) whole = sum;\n"
       "}\n"
       "dp_barrier();\n"
       "a.out[dp_thread()] = (int)whole;\n");
  for (int seed = 0; seed < kSeeds; seed++) {
    cu.dp_standin_seed(seed);
    Try(Run(2, 128, 0));
    for (int t = 0; t < 128; t++) ASSERT_EQ(out_[t], 32 * 33 / 2 + 31);
  }
}

TEST_F(Functions, AWarpSharesNaNAndInfinity) {
  Make("DP_BLOCK_KERNEL",
       "const double x = dp_thread() == 3 ? DP_NAN : dp_thread() == 5 ? -DP_INFINITY : dp_thread();\n"
       "const double most = dp_warp_max(x), sum = dp_warp_sum(x), none = dp_warp_max(-DP_INFINITY);\n"
       "a.out[dp_thread()] = most == 31 && sum != sum && none == -DP_INFINITY;\n");
  Try(Run(1, 32, 0));
  for (int t = 0; t < 32; t++) EXPECT_EQ(out_[t], 1);
}

TEST_F(Functions, AWarpIsWhole) {
  Make("DP_BLOCK_KERNEL", "if (dp_thread() < 20) a.out[0] = (int)dp_warp_sum(1);\n");
  EXPECT_NE(Failure(CUDA_ERROR_LAUNCH_FAILED).find("some threads of the warp do not come"), std::string::npos);
}

TEST_F(Functions, AWarpsWorkIsTheSameForAll) {
  Make("DP_BLOCK_KERNEL", "a.out[0] = (int)(dp_thread() % 2 ? dp_warp_sum(1) : dp_warp_max(1));\n");
  EXPECT_NE(Failure(CUDA_ERROR_LAUNCH_FAILED).find("come to different lines"), std::string::npos);
}

TEST_F(Functions, ABlockOfWarpsIsWhole) {
  Make("DP_BLOCK_KERNEL", "a.out[0] = (int)dp_warp_sum(1);\n");
  EXPECT_NE(Failure(CUDA_ERROR_LAUNCH_FAILED, 1, 40).find("a part of a warp"), std::string::npos);
}

TEST_F(Functions, AWarpsWorkNeedsABlockKernel) {
  Make("DP_KERNEL", "a.out[0] = (int)dp_warp_sum(1);\n");
  EXPECT_NE(Failure(CUDA_ERROR_LAUNCH_FAILED).find("f has a warp's work"), std::string::npos);
}

// ---- what a GPU would punish ----------------------------------------------------------------------------------------

TEST_F(Functions, AnAddressOfNobody) {
  Make("DP_KERNEL", "a.out[dp_index() << 40] = 1;\n");
  EXPECT_NE(Failure(CUDA_ERROR_ILLEGAL_ADDRESS).find("an operation touched"), std::string::npos);
}

TEST_F(Functions, PastTheEndInsideABlock) {
  Make("DP_BLOCK_KERNEL", "dp_barrier();\nif (dp_thread() == 20) a.out[a.n + 100000] = 1;\ndp_barrier();\n");
  EXPECT_NE(Failure(CUDA_ERROR_ILLEGAL_ADDRESS).find("an operation touched"), std::string::npos);
  Try(cu.cuModuleUnload(module_));
  Make("DP_BLOCK_KERNEL", Sum("dp_barrier();\n"));  // and afterwards the fibers are whole
  EXPECT_EQ(WrongSums(256, 1000), 0);
}

TEST_F(Functions, FreedMemory) {
  Make("DP_KERNEL", "a.out[dp_index()] = a.in[dp_index()];\n");
  CUdeviceptr memory = Device(128);
  Try(Launch(function_, 1, 32, stream_, Arguments{out_, At<int>(memory), 0}));
  Try(cu.cuMemFree_v2(memory));
  std::string said = Said([&] { EXPECT_EQ(cu.cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS); });
  EXPECT_NE(said.find("freed device memory, 128 bytes"), std::string::npos);
  cu.dp_standin_reset();
}

TEST_F(Functions, AMisalignedAddress) {
  Make("DP_KERNEL", "*(dp_i64 *)(a.out + 1) = 1;\n");
  EXPECT_NE(Failure(716).find("misaligned"), std::string::npos);
}

TEST_F(Functions, PastASharedArray) {
  Make("DP_BLOCK_KERNEL",
       "DP_SHARED int few[8];\n"
       "few[dp_thread()] = 1;\n"
       "dp_barrier();\n"
       "a.out[dp_thread()] = few[0];\n");
  EXPECT_NE(Failure(716).find("past an array's end"), std::string::npos);
}

TEST_F(Functions, LaunchesAreChecked) {
  Make("DP_KERNEL", "a.out[0] = 1;\n");
  EXPECT_EQ(Run(0, 32, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(1, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(1, 1025, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(0x80000000u, 1, 0), CUDA_ERROR_INVALID_VALUE);
  Try(Run(1, 1024, 0));
}

TEST_F(Functions, AreBounded) {
  function_ =
      Load(kArguments + "#define NAME f\nDP_BOUNDED_KERNEL(operands, 64, 2) { a.out[0] = 1; }\n", "f", &module_);
  Try(Run(1, 64, 0));
  EXPECT_EQ(Run(1, 96, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Functions, SharedMemoryAndArgumentsAreLimited) {
  const auto loads = [&](const std::string &text) {
    std::vector<char> image = Compile(text);
    CUmodule module = nullptr;
    CUfunction function;
    CUresult result = CUDA_SUCCESS;
    const std::string said = Said([&] {
      result = cu.cuModuleLoadData(&module, image.data());
      if (!result) result = cu.cuModuleGetFunction(&function, module, "f");
    });
    if (module) Try(cu.cuModuleUnload(module));
    EXPECT_EQ(result, said.empty() ? CUDA_SUCCESS : CUresult(200)) << said;
    return said.empty();
  };
  for (const bool more : {false, true}) {
    const std::string shared = std::to_string((48 << 10) + more), arguments = std::to_string(4096 + more);
    EXPECT_EQ(loads(Function("DP_BLOCK_KERNEL",
                             "DP_SHARED char x[" + shared + "];\nx[a.n] = 1;\ndp_barrier();\na.out[0] = x[0];\n")),
              !more);
    EXPECT_EQ(loads("typedef struct { char all[" + arguments + "]; } large;\n#define NAME f\nDP_KERNEL(large) {}\n"),
              !more);
  }
}

// ---- modules --------------------------------------------------------------------------------------------------------

TEST_F(Functions, OfTheNameThatIsAsked) {
  Make("DP_KERNEL", "a.out[0] = 1;\n");
  CUfunction other;
  EXPECT_EQ(cu.cuModuleGetFunction(&other, module_, "g"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(Held() - 4, 0);  // a module, a stream, two pieces of pinned memory
}

TEST_F(Functions, OfAModuleThatIsGone) {
  Make("DP_KERNEL", "a.out[0] = 1;\n");
  Try(Launch(function_, 1, 1, stream_, Arguments{out_, in_, 0}));
  Try(cu.cuModuleUnload(module_));
  module_ = nullptr;
  std::string said = Said([&] { EXPECT_EQ(cu.cuStreamSynchronize(stream_), CUDA_ERROR_LAUNCH_FAILED); });
  EXPECT_NE(said.find("unloaded"), std::string::npos);
  cu.dp_standin_reset();
  EXPECT_EQ(Run(1, 1, 0), 400);
}

// Two modules have a function of the same name, as two runs of a program may.
TEST_F(Functions, ModulesAreApart) {
  CUmodule second = nullptr;
  Make("DP_KERNEL", "a.out[0] = 1;\n");
  CUfunction other = Load(Function("DP_KERNEL", "a.out[1] = 2;\n"), "f", &second);
  Try(Run(1, 1, 0));
  Try(Launch(other, 1, 1, stream_, Arguments{out_, in_, 0}));
  Try(cu.cuStreamSynchronize(stream_));
  EXPECT_EQ(out_[0], 1);
  EXPECT_EQ(out_[1], 2);
  Try(cu.cuModuleUnload(second));
}

TEST_F(Functions, OnlyImagesOfNvrtcLoad) {
  CUmodule module;
  std::vector<char> image(4096, 'x');
  EXPECT_EQ(cu.cuModuleLoadData(&module, image.data()), 209);
  std::vector<char> initial = Compile(Function("DP_BLOCK_KERNEL", "DP_SHARED int x = 1;\na.out[0] = x++;\n"));
  std::string said = Said([&] { EXPECT_EQ(cu.cuModuleLoadData(&module, initial.data()), 200); });
  EXPECT_NE(said.find("initial values"), std::string::npos);
}

// ---- NVRTC ----------------------------------------------------------------------------------------------------------

class Nvrtc : public StandinTest {
 protected:
  // The result of compiling, and the log.
  std::pair<nvrtcResult, std::string> Result(const std::string &text, std::vector<const char *> options,
                                             size_t *image_bytes = nullptr) {
    nvrtcProgram program = nullptr;
    EXPECT_EQ(cu.nvrtcCreateProgram(&program, text.c_str(), "test.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
    EXPECT_EQ(Held(), 1);
    nvrtcResult result = cu.nvrtcCompileProgram(program, (int)options.size(), options.data());
    size_t bytes = 0;
    cu.nvrtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, 0);
    cu.nvrtcGetProgramLog(program, log.data());
    if (image_bytes) cu.nvrtcGetCUBINSize(program, image_bytes);
    EXPECT_EQ(cu.nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
    return {result, log};
  }
};

TEST_F(Nvrtc, MistakesAreInTheLog) {
  for (const char *text : {"int f(", "void f(void); void f(void) { undeclared(); }", "int f(void); int f(void) { }",
                           "int *f(void *p); int *f(void *p) { return p; }",  // C takes it, C++ does not
                           "int f(int *p); int f(int *p) { int x; return x + *p; }"}) {
    auto [result, log] = Result(text, {"--gpu-architecture=sm_90"});
    EXPECT_EQ(result, NVRTC_ERROR_COMPILATION) << text;
    EXPECT_NE(log.find("error"), std::string::npos) << log;
  }
}

TEST_F(Nvrtc, OptionsAreThoseOfNvrtc) {
  const std::string text = "int f(void); int f(void) { return VALUE; }";
  size_t bytes = 0;
  EXPECT_EQ(Result(text, {"-DVALUE=3", "--gpu-architecture=sm_90", "--fmad=false"}, &bytes).first, NVRTC_SUCCESS);
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(Result(text, {"--gpu-architecture=sm_90"}).first, NVRTC_ERROR_COMPILATION);
  EXPECT_EQ(Result(text, {"-DVALUE=3", "--gpu-architecture=compute_90"}, &bytes).first, NVRTC_SUCCESS);
  EXPECT_EQ(bytes, 0u);  // PTX only
  EXPECT_EQ(Result(text, {"-DVALUE=3", "-O2"}).first, 5);
}

TEST_F(Nvrtc, CallsCanFail) {
  cu.dp_standin_reset();
  int major, minor;
  cu.dp_standin_fail(2, 1);
  EXPECT_EQ(cu.nvrtcVersion(&major, &minor), NVRTC_SUCCESS);
  EXPECT_NE(cu.nvrtcVersion(&major, &minor), NVRTC_SUCCESS);
  EXPECT_EQ(cu.nvrtcVersion(&major, &minor), NVRTC_SUCCESS);
  EXPECT_EQ(cu.dp_standin_count().calls, 3);
}

}  // namespace
}  // namespace dp_test
