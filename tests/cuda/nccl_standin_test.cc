// NCCL's stand-in notices what it is there to notice: calls of ranks that do not fit together, which NCCL would hang
// in, are named, and so is who uses it otherwise than its documentation has it.
#include <dlfcn.h>

#include <array>
#include <functional>

#include "backends/cuda/api/nccl.h"
#include "tests/cuda/standin_calls.h"

namespace dp_test {
namespace {

constexpr int kRanks = 3;

struct NcclCalls {
  NcclCalls() {
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *library = dlopen("libnccl.so.2", RTLD_NOW);
    EXPECT_NE(library, nullptr) << dlerror();
#define DP_FIND(name, parameters) name = reinterpret_cast<decltype(name)>(dlsym(library, #name));
    DP_CUDA_NCCL_CALLS(DP_FIND)
    DP_CUDA_NCCL_WINDOW_CALLS(DP_FIND)
#undef DP_FIND
  }
#define DP_MEMBER(name, parameters) ncclResult_t(*name) parameters;
  DP_CUDA_NCCL_CALLS(DP_MEMBER)
  DP_CUDA_NCCL_WINDOW_CALLS(DP_MEMBER)
#undef DP_MEMBER
};

class NcclStandin : public StandinTest {
 protected:
  void SetUp() override {
    StandinTest::SetUp();
    auto devices = reinterpret_cast<decltype(&dp_standin_devices)>(dlsym(RTLD_DEFAULT, "dp_standin_devices"));
    ASSERT_NE(devices, nullptr);
    devices(kRanks, "none");
    for (int rank = 0; rank < kRanks; rank++) {
      Try(cu.cuDevicePrimaryCtxRetain(&contexts_[rank], rank));
      Use(rank);
      streams_[rank] = Stream();
      memory_[rank] = Device(kRanks * sizeof(double));
    }
  }
  void TearDown() override {
    if (comms_[0]) {
      EXPECT_EQ(nccl.ncclGroupStart(), ncclSuccess);
      for (ncclComm_t comm : comms_) nccl.ncclCommFinalize(comm);
      Settle(nccl.ncclGroupEnd());
      for (ncclComm_t comm : comms_) EXPECT_EQ(nccl.ncclCommDestroy(comm), ncclSuccess);
    }
    for (int rank = 0; rank < kRanks; rank++) {
      Use(rank);
      Try(cu.cuStreamSynchronize(streams_[rank]));
      Try(cu.cuStreamDestroy_v2(streams_[rank]));
      Try(cu.cuMemFree_v2(memory_[rank]));
      Try(cu.cuDevicePrimaryCtxRelease_v2(rank));
    }
    Use(0);
    StandinTest::TearDown();
    reinterpret_cast<decltype(&dp_standin_devices)>(dlsym(RTLD_DEFAULT, "dp_standin_devices"))(1, "all");
  }
  void Use(int rank) { Try(cu.cuCtxSetCurrent(contexts_[rank])); }
  ncclConfig_t Config(int blocking) {
    ncclConfig_t config = {};
    config.size = DP_NCCL_CONFIG_BYTES;
    config.magic = DP_NCCL_MAGIC;
    config.version = DP_NCCL_CONFIG_VERSION;
    config.blocking = blocking;
    config.minCTAs = config.maxCTAs = 16;
    return config;
  }
  ncclResult_t Connect(int blocking = 1, int ranks = kRanks, std::array<int, kRanks> on = {0, 1, 2}) {
    ncclUniqueId id;
    EXPECT_EQ(nccl.ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config = Config(blocking);
    ncclResult_t result = nccl.ncclGroupStart();
    for (int rank = 0; rank < ranks; rank++) {
      Use(on[rank]);
      const ncclResult_t one = nccl.ncclCommInitRankConfig(&comms_[rank], kRanks, id, rank, &config);
      if (!result && one != ncclInProgress) result = one;
    }
    const ncclResult_t ended = Settle(nccl.ncclGroupEnd());
    return result ? result : ended;
  }
  // Asks until nothing is in progress.
  ncclResult_t Settle(ncclResult_t result) {
    for (ncclComm_t comm : comms_)
      for (ncclResult_t state = ncclInProgress; comm && result == ncclInProgress && state == ncclInProgress;)
        EXPECT_EQ(nccl.ncclCommGetAsyncError(comm, &state), ncclSuccess);
    return result == ncclInProgress ? ncclSuccess : result;
  }
  // One group call in which each rank makes calls of its own.
  ncclResult_t Group(const std::function<void(int rank, double *at, ncclComm_t comm, CUstream stream)> &calls) {
    EXPECT_EQ(nccl.ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; rank++) calls(rank, At<double>(memory_[rank]), comms_[rank], streams_[rank]);
    return Settle(nccl.ncclGroupEnd());
  }
  // Expects that the group call is refused, and that this is said.
  void Refused(const std::string &said,
               const std::function<void(int rank, double *at, ncclComm_t comm, CUstream stream)> &calls) {
    const std::string found = Said([&] { EXPECT_EQ(Group(calls), ncclInvalidUsage); });
    EXPECT_NE(found.find(said), std::string::npos) << found;
  }
  void Put(int rank, const std::vector<double> &numbers) {
    Use(rank);
    Try(cu.cuMemcpyHtoD_v2(memory_[rank], numbers.data(), numbers.size() * sizeof(double)));
    Try(cu.cuCtxSynchronize());
  }
  std::vector<double> Get(int rank) {
    std::vector<double> numbers(kRanks);
    Use(rank);
    Try(cu.cuStreamSynchronize(streams_[rank]));
    Try(cu.cuMemcpyDtoH_v2(numbers.data(), memory_[rank], numbers.size() * sizeof(double)));
    return numbers;
  }

  NcclCalls nccl;
  CUcontext contexts_[kRanks] = {};
  CUstream streams_[kRanks] = {};
  CUdeviceptr memory_[kRanks] = {};
  ncclComm_t comms_[kRanks] = {};
};

TEST_F(NcclStandin, CollectivesDoWhatTheySay) {
  for (int blocking : {1, 0}) {
    if (comms_[0])
      for (ncclComm_t &comm : comms_) nccl.ncclCommDestroy(comm);
    ASSERT_EQ(Connect(blocking), ncclSuccess);
    for (uint64_t seed : {0, 1, 2, 3}) {
      SCOPED_TRACE(seed);
      cu.dp_standin_seed(seed);
      for (int rank = 0; rank < kRanks; rank++) Put(rank, {1.0 * rank, 10.0 * rank, 100.0});
      EXPECT_EQ(Group([&](int, double *at, ncclComm_t comm, CUstream stream) {
                  nccl.ncclAllReduce(at, at, 2, ncclFloat64, ncclSum, comm, stream);
                  nccl.ncclAllReduce(at + 2, at + 2, 1, ncclFloat64, ncclMax, comm, stream);
                }),
                ncclSuccess);
      for (int rank = 0; rank < kRanks; rank++) EXPECT_EQ(Get(rank), std::vector<double>({3, 30, 100}));
      for (int rank = 0; rank < kRanks; rank++) Put(rank, {1.0 * rank, 2.0 * rank, 3.0 * rank});
      EXPECT_EQ(Group([&](int rank, double *at, ncclComm_t comm, CUstream stream) {
                  nccl.ncclReduceScatter(at, at + rank, 1, ncclFloat64, ncclSum, comm, stream);
                }),
                ncclSuccess);
      for (int rank = 0; rank < kRanks; rank++) EXPECT_EQ(Get(rank)[static_cast<size_t>(rank)], 3.0 * (rank + 1));
      EXPECT_EQ(Group([&](int rank, double *at, ncclComm_t comm, CUstream stream) {
                  nccl.ncclAllGather(at + rank, at, 1, ncclFloat64, comm, stream);
                }),
                ncclSuccess);
      for (int rank = 0; rank < kRanks; rank++) EXPECT_EQ(Get(rank), std::vector<double>({3, 6, 9}));
      EXPECT_EQ(Group([&](int rank, double *at, ncclComm_t comm, CUstream stream) {
                  nccl.ncclBroadcast(at + 1, at, 1, ncclFloat64, 2, comm, stream);
                  nccl.ncclReduce(at + 2, at + 2, 1, ncclFloat64, ncclSum, 1, comm, stream);
                  nccl.ncclSend(at + 1, 8, ncclUint8, (rank + 1) % kRanks, comm, stream);
                  nccl.ncclRecv(at + 1, 1, ncclFloat64, (rank + 2) % kRanks, comm, stream);
                }),
                ncclSuccess);
      for (int rank = 0; rank < kRanks; rank++)
        EXPECT_EQ(Get(rank), std::vector<double>({6, 6, rank == 1 ? 27.0 : 9.0}));
    }
  }
}

TEST_F(NcclStandin, AWrongCountIsNamed) {
  ASSERT_EQ(Connect(), ncclSuccess);
  Refused("rank 0 calls all-reduce of 2 float64, operation 0, and rank 1 calls all-reduce of 1 float64, operation 0",
          [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
            nccl.ncclAllReduce(at, at, rank == 1 ? 1 : 2, ncclFloat64, ncclSum, comm, stream);
          });
  Refused("rank 0 calls send of 2 float64, peer 1, and rank 1 calls receive of 1 float64, peer 0",
          [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
            if (rank == 0) nccl.ncclSend(at, 2, ncclFloat64, 1, comm, stream);
            if (rank == 1) nccl.ncclRecv(at, 1, ncclFloat64, 0, comm, stream);
          });
}

TEST_F(NcclStandin, AWrongOrderIsNamed) {
  ASSERT_EQ(Connect(), ncclSuccess);
  Refused(
      "call 1 of a group: rank 0 calls all-reduce of 1 float64, operation 0, and rank 2 calls all-gather of 1 float64",
      [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
        if (rank == 2) nccl.ncclAllGather(at, at, 1, ncclFloat64, comm, stream);
        nccl.ncclAllReduce(at, at, 1, ncclFloat64, ncclSum, comm, stream);
        if (rank != 2) nccl.ncclAllGather(at, at, 1, ncclFloat64, comm, stream);
      });
}

TEST_F(NcclStandin, AMissingRankIsNamed) {
  ASSERT_EQ(Connect(), ncclSuccess);
  Refused("rank 0 calls all-reduce of 1 float64, operation 0, and rank 1 calls nothing",
          [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
            if (rank != 1) nccl.ncclAllReduce(at, at, 1, ncclFloat64, ncclSum, comm, stream);
          });
  Refused("rank 0 calls send of 1 float64, peer 2, and rank 2 calls nothing",
          [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
            if (rank == 0) nccl.ncclSend(at, 1, ncclFloat64, 2, comm, stream);
          });
}

TEST_F(NcclStandin, WrongTypesOperationsRootsAndPeersAreNamed) {
  ASSERT_EQ(Connect(), ncclSuccess);
  Refused("rank 1 calls all-reduce of 1 int64, operation 0",
          [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
            nccl.ncclAllReduce(at, at, 1, rank == 1 ? ncclInt64 : ncclFloat64, ncclSum, comm, stream);
          });
  Refused("rank 2 calls all-reduce of 1 float64, operation 2",
          [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
            nccl.ncclAllReduce(at, at, 1, ncclFloat64, rank == 2 ? ncclMax : ncclSum, comm, stream);
          });
  Refused("rank 0 calls broadcast of 1 float64, root 0, and rank 1 calls broadcast of 1 float64, root 1",
          [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
            nccl.ncclBroadcast(at, at, 1, ncclFloat64, rank, comm, stream);
          });
  Refused("rank 0 calls send of 1 float64, peer 1, and rank 1 calls nothing",
          [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
            if (rank == 0) nccl.ncclSend(at, 1, ncclFloat64, 1, comm, stream);
            if (rank == 1) nccl.ncclRecv(at, 1, ncclFloat64, 2, comm, stream);
          });
}

TEST_F(NcclStandin, WhatItIsUsedForOtherwise) {
  double *at = At<double>(memory_[0]);
  // Two ranks on one GPU; a rank that is missing; a configuration that is none.
  EXPECT_EQ(Connect(1, kRanks, {0, 1, 1}), ncclInvalidUsage);
  for (ncclComm_t &comm : comms_) {
    if (comm) nccl.ncclCommAbort(comm);
    comm = nullptr;
  }
  EXPECT_NE(Said([&] { EXPECT_EQ(Connect(1, 2), ncclInvalidUsage); }).find("2 of 3 ranks"), std::string::npos);
  for (ncclComm_t &comm : comms_) {
    if (comm) nccl.ncclCommAbort(comm);
    comm = nullptr;
  }
  ncclConfig_t config = Config(1);
  config.magic = 0;
  ncclUniqueId id;
  EXPECT_EQ(nccl.ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t none = nullptr;
  EXPECT_EQ(nccl.ncclCommInitRankConfig(&none, 1, id, 0, &config), ncclInvalidArgument);
  ASSERT_EQ(Connect(0), ncclSuccess);
  // Without a group a single thread would wait for itself.
  EXPECT_NE(Said([&] {
              EXPECT_EQ(nccl.ncclAllReduce(at, at, 1, ncclFloat64, ncclSum, comms_[0], streams_[0]), ncclInvalidUsage);
            }).find("in a group"),
            std::string::npos);
  // Another GPU's stream, a root that is none, no element type.
  nccl.ncclGroupStart();
  EXPECT_EQ(nccl.ncclAllReduce(at, at, 1, ncclFloat64, ncclSum, comms_[0], streams_[1]), ncclInvalidArgument);
  EXPECT_EQ(nccl.ncclBroadcast(at, at, 1, ncclFloat64, 3, comms_[0], streams_[0]), ncclInvalidArgument);
  EXPECT_EQ(nccl.ncclAllReduce(at, at, 1, 77, ncclSum, comms_[0], streams_[0]), ncclInvalidArgument);
  EXPECT_EQ(nccl.ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(nccl.ncclGroupEnd(), ncclInvalidUsage);
}

// ---- memory windows -------------------------------------------------------------------------------------------------

class NcclWindows : public NcclStandin {
 protected:
  static constexpr size_t kBytes = 8192;
  void SetUp() override {
    NcclStandin::SetUp();
    for (int rank = 0; rank < kRanks; rank++) {
      Use(rank);
      EXPECT_EQ(nccl.ncclMemAlloc(&rooms_[rank], kBytes), ncclSuccess);
    }
  }
  void TearDown() override {
    for (void *room : rooms_) EXPECT_EQ(nccl.ncclMemFree(room), ncclSuccess);
    NcclStandin::TearDown();
  }
  // Each rank registers bytes[rank] of its room from `offset` on.
  ncclResult_t Register(size_t offset, const std::array<size_t, kRanks> &bytes) {
    EXPECT_EQ(nccl.ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; rank++)
      if (bytes[rank])
        nccl.ncclCommWindowRegister(comms_[rank], static_cast<char *>(rooms_[rank]) + offset, bytes[rank],
                                    &windows_[rank], NCCL_WIN_DEFAULT);
    return Settle(nccl.ncclGroupEnd());
  }
  void Deregister() {
    for (int rank = 0; rank < kRanks; rank++)
      EXPECT_EQ(nccl.ncclCommWindowDeregister(comms_[rank], windows_[rank]), ncclSuccess);
  }
  std::string SaidOf(size_t offset, const std::array<size_t, kRanks> &bytes) {
    return Said([&] { EXPECT_NE(Register(offset, bytes), ncclSuccess); });
  }
  double *Room(int rank) { return static_cast<double *>(rooms_[rank]); }

  void *rooms_[kRanks] = {};
  ncclWindow_t windows_[kRanks] = {};
};

TEST_F(NcclWindows, AreGivenToAllRanks) {
  for (int blocking : {1, 0}) {
    if (comms_[0])
      for (ncclComm_t &comm : comms_) nccl.ncclCommDestroy(comm);
    ASSERT_EQ(Connect(blocking), ncclSuccess);
    EXPECT_EQ(Register(NCCL_WIN_REQUIRED_ALIGNMENT, {8, 8, 8}), ncclSuccess);
    for (ncclWindow_t window : windows_) EXPECT_NE(window, nullptr);
    Deregister();
    EXPECT_EQ(nccl.ncclCommWindowDeregister(comms_[0], windows_[0]), ncclInvalidArgument) << "twice";
  }
}

TEST_F(NcclWindows, AreRefused) {
  ASSERT_EQ(Connect(), ncclSuccess);
  EXPECT_NE(SaidOf(256, {8, 8, 8}).find("not aligned"), std::string::npos);
  EXPECT_NE(SaidOf(0, {kBytes, kBytes, 8}).find("ranks register different memory"), std::string::npos);
  EXPECT_NE(SaidOf(0, {8, 8, 0}).find("ranks register different memory"), std::string::npos);
  EXPECT_NE(SaidOf(0, {kBytes + 1, kBytes, kBytes}).find("not of ncclMemAlloc"), std::string::npos);
  for (ncclWindow_t window : windows_) EXPECT_EQ(window, nullptr);
  void *const room = rooms_[0];
  rooms_[0] = At<void>(memory_[0]);  // the driver's memory
  EXPECT_NE(SaidOf(0, {8, 8, 8}).find("not of ncclMemAlloc"), std::string::npos);
  rooms_[0] = room;
}

TEST_F(NcclWindows, MustGoFirst) {
  ASSERT_EQ(Connect(), ncclSuccess);
  ASSERT_EQ(Register(0, {kBytes, kBytes, kBytes}), ncclSuccess);
  EXPECT_NE(Said([&] { EXPECT_EQ(nccl.ncclMemFree(rooms_[1]), ncclSuccess); }).find("freed that is registered"),
            std::string::npos);
  Use(1);
  EXPECT_EQ(nccl.ncclMemAlloc(&rooms_[1], kBytes), ncclSuccess);
  const std::string said = Said([&] { EXPECT_EQ(nccl.ncclCommDestroy(comms_[0]), ncclSuccess); });
  EXPECT_NE(said.find("destroyed while memory is registered"), std::string::npos) << said;
  // An abort may come at any time.
  for (int rank = 1; rank < kRanks; rank++)
    EXPECT_EQ(Said([&] { EXPECT_EQ(nccl.ncclCommAbort(comms_[rank]), ncclSuccess); }), "");
  for (ncclComm_t &comm : comms_) comm = nullptr;
}

TEST_F(NcclWindows, ACallUsesThemWhollyOrNot) {
  ASSERT_EQ(Connect(), ncclSuccess);
  ASSERT_EQ(Register(0, {kBytes, kBytes, kBytes}), ncclSuccess);
  Refused("some memory of a call is registered", [&](int rank, double *at, ncclComm_t comm, CUstream stream) {
    nccl.ncclAllReduce(rank ? at : Room(rank), rank ? at : Room(rank), 1, ncclFloat64, ncclSum, comm, stream);
  });
  EXPECT_EQ(Group([&](int rank, double *, ncclComm_t comm, CUstream stream) {
              nccl.ncclAllReduce(Room(rank), Room(rank), 1, ncclFloat64, ncclSum, comm, stream);
            }),
            ncclSuccess);
  for (CUstream stream : streams_) Try(cu.cuStreamSynchronize(stream));
  Deregister();
}

// What an abort breaks off gives nobody anything, and lets streams go on.
TEST_F(NcclStandin, AnAbortLetsStreamsGoOn) {
  ASSERT_EQ(Connect(), ncclSuccess);
  for (int rank = 0; rank < kRanks; rank++) Put(rank, {1, 2, 3});
  EXPECT_EQ(Group([&](int, double *at, ncclComm_t comm, CUstream stream) {
              nccl.ncclAllReduce(at, at, 3, ncclFloat64, ncclSum, comm, stream);
            }),
            ncclSuccess);
  for (ncclComm_t &comm : comms_) {
    EXPECT_EQ(nccl.ncclCommAbort(comm), ncclSuccess);
    comm = nullptr;
  }
  for (int rank = 0; rank < kRanks; rank++) EXPECT_EQ(Get(rank), std::vector<double>({1, 2, 3}));
}

// Ranks may be aborted in any order, whether a call is still in progress, on the streams, or done, and whatever is
// asked or waited for in between.
TEST_F(NcclStandin, AbortsComeInAnyOrder) {
  for (unsigned seed = 0; seed < 200; seed++) {
    SCOPED_TRACE(seed);
    unsigned drawn = seed * 2654435761u;
    const auto draw = [&](unsigned n) { return (drawn = drawn * 1664525u + 1013904223u) / 65536 % n; };
    cu.dp_standin_seed(seed % 8);
    ASSERT_EQ(Connect(static_cast<int>(draw(2))), ncclSuccess);
    for (unsigned calls = draw(3); calls; calls--) {
      nccl.ncclGroupStart();
      for (int rank = 0; rank < kRanks; rank++) {
        auto *at = At<double>(memory_[rank]);
        nccl.ncclAllReduce(at, at, 3, ncclFloat64, ncclSum, comms_[rank], streams_[rank]);
      }
      const ncclResult_t ended = nccl.ncclGroupEnd();
      if (draw(2)) Settle(ended);
    }
    for (int left = kRanks; left;) {
      const auto rank = static_cast<int>(draw(kRanks));
      ncclResult_t state;
      Use(rank);
      if (!draw(3)) (void)cu.cuStreamQuery(streams_[rank]);
      if (comms_[rank] && !draw(3)) {
        EXPECT_EQ(nccl.ncclCommGetAsyncError(comms_[rank], &state), ncclSuccess);
      }
      if (!comms_[rank] || draw(2)) continue;
      EXPECT_EQ(nccl.ncclCommAbort(comms_[rank]), ncclSuccess);
      comms_[rank] = nullptr;
      left--;
    }
    for (int rank = 0; rank < kRanks; rank++) {
      Use(rank);
      Try(cu.cuStreamSynchronize(streams_[rank]));
    }
  }
}

}  // namespace
}  // namespace dp_test
