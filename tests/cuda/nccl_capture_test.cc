// A communicator of one rank, captured and replayed: NCCL's calls may be part of a captured step where a process has
// one GPU. On the stand-ins, or on a GPU where there is NCCL. Ranks of several GPUs are not captured in one process,
// which NCCL's documentation warns of: the stand-in refuses that.
#include <dlfcn.h>

#include <cstring>

#include "backends/cuda/api/nccl.h"
#include "tests/cuda/steer.h"

namespace dp_test {
namespace {

class NcclCapture : public testing::Test {
 protected:
  NcclCapture() {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *nccl = dlopen("libnccl.so.2", RTLD_NOW);
    if (!driver || !nccl) return;
#define DP_FIND(name, parameters) name = reinterpret_cast<decltype(name)>(dlsym(driver, #name));
    DP_CUDA_DRIVER_CALLS(DP_FIND)
#undef DP_FIND
#define DP_FIND(name, parameters) name = reinterpret_cast<decltype(name)>(dlsym(nccl, #name));
    DP_CUDA_NCCL_CALLS(DP_FIND)
#undef DP_FIND
    there_ = true;
  }
  void SetUp() override {
    if (!there_) GTEST_SKIP() << "libcuda.so.1 or libnccl.so.2 is not there";
    Try(cuInit(0));
  }
  void Try(int result) { ASSERT_EQ(result, 0); }
  // Communicators of that many ranks, each on a GPU of its own, whose streams and memory they get.
  void Connect(int ranks) {
    ncclUniqueId id;
    ncclConfig_t config;
    memset(&config, 0, sizeof config);
    config.size = DP_NCCL_CONFIG_BYTES;
    config.magic = DP_NCCL_MAGIC;
    config.version = DP_NCCL_CONFIG_VERSION;
    config.cgaClusterSize = config.splitShare = DP_NCCL_UNDEFINED;
    config.blocking = 1;
    config.minCTAs = config.maxCTAs = 16;
    Try(ncclGetUniqueId(&id));
    for (int rank = 0; rank < ranks; rank++) {
      Try(cuDevicePrimaryCtxRetain(&context_[rank], rank));
      Try(cuCtxSetCurrent(context_[rank]));
      Try(cuStreamCreateWithPriority(&stream_[rank], CU_STREAM_NON_BLOCKING, 0));
      Try(cuMemAlloc_v2(&memory_[rank], 2 * kBytes));
    }
    Try(ncclGroupStart());
    for (int rank = 0; rank < ranks; rank++) {
      Try(cuCtxSetCurrent(context_[rank]));
      Try(ncclCommInitRankConfig(&comm_[rank], ranks, id, rank, &config));
    }
    Try(ncclGroupEnd());
    Try(cuCtxSetCurrent(context_[0]));
  }
  void Disconnect(int ranks) {
    for (int rank = 0; rank < ranks; rank++) {
      Try(cuCtxSetCurrent(context_[rank]));
      Try(cuStreamSynchronize(stream_[rank]));
      Try(ncclCommDestroy(comm_[rank]));
      Try(cuMemFree_v2(memory_[rank]));
      Try(cuStreamDestroy_v2(stream_[rank]));
      Try(cuDevicePrimaryCtxRelease_v2(rank));
    }
  }
  static constexpr int kMostRanks = 2, kCount = 1000;
  static constexpr size_t kBytes = kCount * sizeof(double);

#define DP_MEMBER(name, parameters) CUresult(*name) parameters = nullptr;
  DP_CUDA_DRIVER_CALLS(DP_MEMBER)
#undef DP_MEMBER
#define DP_MEMBER(name, parameters) ncclResult_t(*name) parameters = nullptr;
  DP_CUDA_NCCL_CALLS(DP_MEMBER)
#undef DP_MEMBER
  bool there_ = false;
  CUcontext context_[kMostRanks] = {};
  CUstream stream_[kMostRanks] = {};
  CUdeviceptr memory_[kMostRanks] = {};
  ncclComm_t comm_[kMostRanks] = {};
};

// Arguments are those of the capture, memory is that of each replay.
TEST_F(NcclCapture, OneRankIsReplayed) {
  Connect(1);
  auto *at = reinterpret_cast<double *>(static_cast<uintptr_t>(memory_[0]));
  CUgraph graph = nullptr;
  CUgraphExec replayed = nullptr;
  Try(cuStreamBeginCapture_v2(stream_[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  Try(ncclGroupStart());
  Try(ncclAllReduce(at, at + kCount, kCount, ncclFloat64, ncclSum, comm_[0], stream_[0]));
  Try(ncclGroupEnd());
  Try(ncclGroupStart());
  Try(ncclAllGather(at + kCount, at, kCount / 2, ncclFloat64, comm_[0], stream_[0]));
  Try(ncclGroupEnd());
  Try(cuStreamEndCapture(stream_[0], &graph));
  Try(cuGraphInstantiateWithFlags(&replayed, graph, 0));
  Try(cuGraphDestroy(graph));
  std::vector<double> numbers(2 * kCount), found(2 * kCount);
  for (int run = 0; run < 3; run++) {
    for (int i = 0; i < 2 * kCount; i++) numbers[i] = 1000.0 * run + i;
    Try(cuMemcpyHtoD_v2(memory_[0], numbers.data(), 2 * kBytes));
    Try(cuCtxSynchronize());
    Try(cuGraphLaunch(replayed, stream_[0]));
    Try(cuStreamSynchronize(stream_[0]));
    Try(cuMemcpyDtoH_v2(found.data(), memory_[0], 2 * kBytes));
    for (int i = 0; i < kCount; i++) {
      ASSERT_EQ(found[i], numbers[i]) << run;
      ASSERT_EQ(found[kCount + i], numbers[i]) << run;
    }
  }
  Try(cuGraphExecDestroy(replayed));
  Disconnect(1);
}

TEST_F(NcclCapture, SeveralRanksAreRefused) {
  if (!IsStandin()) GTEST_SKIP() << "on a GPU it may hang";
  DP_STEER(dp_standin_devices)(2, "all");
  Connect(2);
  CUgraph graph = nullptr;
  Try(cuStreamBeginCapture_v2(stream_[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  Try(ncclGroupStart());
  for (int rank = 0; rank < 2; rank++) {
    auto *at = reinterpret_cast<double *>(static_cast<uintptr_t>(memory_[rank]));
    Try(ncclAllReduce(at, at, kCount, ncclFloat64, ncclSum, comm_[rank], stream_[rank]));
  }
  EXPECT_NE(ncclGroupEnd(), ncclSuccess);
  (void)cuStreamEndCapture(stream_[0], &graph);
  if (graph) Try(cuGraphDestroy(graph));
  Disconnect(2);
  DP_STEER(dp_standin_devices)(1, "all");
}

}  // namespace
}  // namespace dp_test
