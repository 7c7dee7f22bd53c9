// The driver's stand-in with several devices: what belongs to one of them, what each reaches, and what is refused when
// another one's context is current.
#include <cstring>

#include "tests/cuda/standin_calls.h"

namespace dp_test {
namespace {

struct Arguments {
  int *out;
  const int *in;
};
const std::string kCopy =
    "typedef struct { int *out; const int *in; } operands;\n#define NAME f\nDP_KERNEL(operands) {\n"
    "  a.out[dp_index()] = a.in[dp_index()] + 1;\n}\n#undef NAME\n";

class Devices : public StandinTest {
 protected:
  static constexpr int kCount = 3, kNumbers = 64;

  void SetUp() override {
    StandinTest::SetUp();
    Have("all");
    for (int d = 0; d < kCount; d++) {
      Try(cu.cuDevicePrimaryCtxRetain(&contexts_[d], d));
      Use(d);
      streams_[d] = Stream();
      numbers_[d] = Device(kNumbers * sizeof(int));
      Try(cu.cuMemsetD8_v2(numbers_[d], static_cast<unsigned char>(d), kNumbers * sizeof(int)));
      Try(cu.cuCtxSynchronize());
      functions_[d] = Load(kCopy, "f", &modules_[d]);
    }
    Use(0);
  }
  void TearDown() override {
    cu.dp_standin_reset();
    for (int d = 0; d < kCount; d++) {
      Use(d);
      Try(cu.cuModuleUnload(modules_[d]));
      Try(cu.cuMemFree_v2(numbers_[d]));
      Try(cu.cuStreamDestroy_v2(streams_[d]));
      Try(cu.cuDevicePrimaryCtxRelease_v2(d));
    }
    Use(0);
    cu.dp_standin_devices(1, "all");
    StandinTest::TearDown();
  }
  void Have(const char *peers) { cu.dp_standin_devices(kCount, peers); }
  void Use(int device) { Try(cu.cuCtxSetCurrent(contexts_[device])); }
  int First(int device) {
    Use(device);
    int number = 0;
    Try(cu.cuMemcpyDtoH_v2(&number, numbers_[device], sizeof number));
    return number;
  }
  // A function on `device` that reads memory of one device and writes that of another.
  CUresult Copy(int device, int to, int from) {
    Use(device);
    CUresult result = Launch(functions_[device], 1, kNumbers, streams_[device],
                             Arguments{At<int>(numbers_[to]), At<int>(numbers_[from])});
    return result ? result : cu.cuStreamSynchronize(streams_[device]);
  }

  CUcontext contexts_[kCount] = {};
  CUstream streams_[kCount] = {};
  CUdeviceptr numbers_[kCount] = {};
  CUmodule modules_[kCount] = {};
  CUfunction functions_[kCount] = {};
};

constexpr int kOnes = 0x01010101;

TEST_F(Devices, AreDescribed) {
  int count = 0, can = -1;
  CUuuid uuids[kCount];
  Try(cu.cuDeviceGetCount(&count));
  EXPECT_EQ(count, kCount);
  for (int d = 0; d < kCount; d++) Try(cu.cuDeviceGetUuid_v2(&uuids[d], d));
  EXPECT_NE(memcmp(&uuids[0], &uuids[1], sizeof uuids[0]), 0);
  EXPECT_NE(memcmp(&uuids[1], &uuids[2], sizeof uuids[0]), 0);
  Have("0-2");
  Try(cu.cuDeviceCanAccessPeer(&can, 0, 2));
  EXPECT_EQ(can, 1);
  Try(cu.cuDeviceCanAccessPeer(&can, 2, 0));
  EXPECT_EQ(can, 1);
  Try(cu.cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cu.cuDeviceCanAccessPeer(&can, 0, kCount), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Devices, ReachOthersOnceThatIsEnabled) {
  Use(0);
  Try(cu.cuCtxEnablePeerAccess(contexts_[1], 0));
  EXPECT_EQ(cu.cuCtxEnablePeerAccess(contexts_[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(Copy(0, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(First(0), kOnes + 1);
  EXPECT_EQ(Copy(0, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(First(1), kOnes + 2);
  // That is for one direction.
  const std::string said = Said([&] { EXPECT_EQ(Copy(1, 1, 0), CUDA_ERROR_ILLEGAL_ADDRESS); });
  EXPECT_NE(said.find("of device 0, which device 1 cannot access"), std::string::npos) << said;
}

TEST_F(Devices, DoNotReachOthersOtherwise) {
  const std::string said = Said([&] { EXPECT_EQ(Copy(2, 2, 0), CUDA_ERROR_ILLEGAL_ADDRESS); });
  EXPECT_NE(said.find("of device 0, which device 2 cannot access"), std::string::npos) << said;
}

TEST_F(Devices, DoNotWriteToOthersOtherwise) {
  Said([&] { EXPECT_EQ(Copy(2, 0, 2), CUDA_ERROR_ILLEGAL_ADDRESS); });
}

TEST_F(Devices, RefuseAccessThatTheMachineLacks) {
  Have("0-2");
  Use(0);
  EXPECT_EQ(cu.cuCtxEnablePeerAccess(contexts_[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  Try(cu.cuCtxEnablePeerAccess(contexts_[2], 0));
  EXPECT_NE(cu.cuCtxEnablePeerAccess(contexts_[0], 0), CUDA_SUCCESS);
}

TEST_F(Devices, CopyToOthersWithoutAccess) {
  Have("none");
  Use(2);
  Try(cu.cuMemcpyPeerAsync(numbers_[0], contexts_[0], numbers_[1], contexts_[1], kNumbers * sizeof(int), streams_[2]));
  Try(cu.cuStreamSynchronize(streams_[2]));
  EXPECT_EQ(First(0), kOnes);
  Use(2);
  // The contexts must be those of the memory, and only this call copies between devices.
  EXPECT_EQ(cu.cuMemcpyPeerAsync(numbers_[0], contexts_[1], numbers_[1], contexts_[1], 4, streams_[2]),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemcpyAsync(numbers_[0], numbers_[1], 4, streams_[2]), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Devices, RefuseWhatIsOfAnotherContext) {
  Use(1);
  const Arguments arguments{At<int>(numbers_[0]), At<int>(numbers_[0])};
  EXPECT_NE(Launch(functions_[0], 1, 1, streams_[0], arguments), CUDA_SUCCESS);  // neither is current
  EXPECT_NE(Launch(functions_[1], 1, 1, streams_[0], arguments), CUDA_SUCCESS);
  EXPECT_NE(Launch(functions_[0], 1, 1, streams_[1], arguments), CUDA_SUCCESS);
  CUfunction function = nullptr;
  EXPECT_NE(cu.cuModuleGetFunction(&function, modules_[0], "f"), CUDA_SUCCESS);
  int number = 0;
  EXPECT_NE(cu.cuMemcpyHtoD_v2(numbers_[0], &number, sizeof number), CUDA_SUCCESS);
  EXPECT_NE(cu.cuMemcpyDtoH_v2(&number, numbers_[0], sizeof number), CUDA_SUCCESS);
  Try(cu.cuCtxSetCurrent(nullptr));
  EXPECT_NE(Launch(functions_[1], 1, 1, streams_[1], arguments), CUDA_SUCCESS);
}

// Recording takes an event of the stream's device; waiting takes any, whatever is current.
TEST_F(Devices, WaitForEventsOfOthers) {
  Use(0);
  CUevent event = Event(), other = nullptr;
  Use(1);
  other = Event();
  EXPECT_NE(cu.cuEventRecord(event, streams_[1]), CUDA_SUCCESS);
  Use(2);
  for (uint64_t seed = 0; seed < 10; seed++) {
    cu.dp_standin_seed(seed);
    Use(0);
    Try(cu.cuMemsetD8Async(numbers_[0], static_cast<unsigned char>(seed + 3), kNumbers * sizeof(int), streams_[0]));
    Use(2);
    Try(cu.cuEventRecord(event, streams_[0]));
    Try(cu.cuStreamWaitEvent(streams_[1], event, 0));
    Try(cu.cuMemcpyPeerAsync(numbers_[1], contexts_[1], numbers_[0], contexts_[0], kNumbers * sizeof(int),
                             streams_[1]));
    Try(cu.cuStreamSynchronize(streams_[1]));
    EXPECT_EQ(First(1), (static_cast<int>(seed) + 3) * kOnes);
    Use(2);
    Try(cu.cuEventRecord(other, streams_[1]));
    Try(cu.cuEventSynchronize(other));
  }
  Try(cu.cuEventDestroy_v2(event));
  Try(cu.cuEventDestroy_v2(other));
}

TEST_F(Devices, HaveNoClockInCommon) {
  CUevent events[2];
  for (int d = 0; d < 2; d++) {
    Use(d);
    events[d] = Event(CU_EVENT_DEFAULT);
    Try(cu.cuEventRecord(events[d], streams_[d]));
    Try(cu.cuStreamSynchronize(streams_[d]));
  }
  float ms;
  EXPECT_NE(cu.cuEventElapsedTime(&ms, events[0], events[1]), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuEventElapsedTime(&ms, events[0], events[0]), CUDA_SUCCESS);
  for (CUevent event : events) Try(cu.cuEventDestroy_v2(event));
}

TEST_F(Devices, HaveMemoryEach) {
  cu.dp_standin_memory(1 << 20);
  size_t room = 0, total = 0;
  Use(1);
  const CUdeviceptr most = Device((1 << 20) - kNumbers * sizeof(int));
  Try(cu.cuMemGetInfo_v2(&room, &total));
  EXPECT_EQ(room, 0u);
  CUdeviceptr more = 0;
  EXPECT_EQ(cu.cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
  Use(2);
  Try(cu.cuMemGetInfo_v2(&room, &total));
  EXPECT_EQ(room, total - kNumbers * sizeof(int));
  unsigned kind = 0;
  int ordinal = -1;
  Try(cu.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, most));
  Try(cu.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, most));
  EXPECT_EQ(kind, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(ordinal, 1);
  Try(cu.cuMemFree_v2(most));
}

// Synchronizing a context runs what is on its device, and nothing that nobody waits for.
TEST_F(Devices, AreWaitedForEach) {
  cu.dp_standin_seed(0);
  for (int d = 0; d < 2; d++) {
    Use(d);
    Try(cu.cuMemsetD8Async(numbers_[d], 9, 4, streams_[d]));
  }
  const int64_t pending = cu.dp_standin_count().pending;
  Try(cu.cuCtxSynchronize());
  EXPECT_EQ(cu.dp_standin_count().pending, pending - 1);
  Use(0);
  Try(cu.cuCtxSynchronize());
  EXPECT_EQ(cu.dp_standin_count().pending, 0);
}

}  // namespace
}  // namespace dp_test
