// The stand-in of CUDA's driver does what it promises, and shows the mistakes that it is there for: streams, memory,
// errors.
#include <cstring>
#include <set>
#include <thread>

#include "tests/cuda/standin_calls.h"

namespace dp_test {
namespace {

constexpr int kSeeds = 100;

// ---- streams --------------------------------------------------------------------------------------------------------

using Streams = StandinTest;

TEST_F(Streams, NothingRunsBeforeSomebodyWaits) {
  int *from = Pinned<int>(1), *to = Pinned<int>(1);
  CUstream stream = Stream();
  *from = 1;
  *to = 0;
  Try(cu.cuMemcpyAsync(Address(to), Address(from), sizeof *to, stream));
  *from = 2;  // too early: the copy may still come
  EXPECT_EQ(*to, 0);
  EXPECT_EQ(cu.dp_standin_count().pending, 1);
  Try(cu.cuStreamSynchronize(stream));
  EXPECT_EQ(*to, 2);
  EXPECT_EQ(cu.dp_standin_count().pending, 0);
  Try(cu.cuStreamDestroy_v2(stream));
  Try(cu.cuMemFreeHost(from));
  Try(cu.cuMemFreeHost(to));
}

TEST_F(Streams, SomeSeedsRunAtOnce) {
  std::set<int> seen;
  int *from = Pinned<int>(1), *to = Pinned<int>(1);
  CUstream stream = Stream();
  for (int seed = 1; seed <= kSeeds; seed++) {
    cu.dp_standin_seed(seed);
    *from = 1;
    Try(cu.cuMemcpyAsync(Address(to), Address(from), sizeof *to, stream));
    *from = 2;
    Try(cu.cuStreamSynchronize(stream));
    seen.insert(*to);
  }
  EXPECT_EQ(seen, (std::set<int>{1, 2}));
  Try(cu.cuStreamDestroy_v2(stream));
  Try(cu.cuMemFreeHost(from));
  Try(cu.cuMemFreeHost(to));
}

// One stream fills what the other copies. How many seeds gave something else than the fill.
class Between : public StandinTest {
 protected:
  enum class Wait { kNone, kEvent, kNeverRecorded, kRecordedTooEarly };

  int WrongSeeds(Wait wait) {
    int wrong = 0;
    unsigned char *out = Pinned<unsigned char>(64);
    CUdeviceptr memory = Device(64);
    CUstream producer = Stream(), consumer = Stream();
    for (int seed = 0; seed < kSeeds; seed++) {
      CUevent event = Event();
      cu.dp_standin_seed(seed);
      Try(cu.cuMemsetD8_v2(memory, 0, 64));
      Try(cu.cuCtxSynchronize());
      Try(cu.cuMemsetD8Async(memory, 1, 64, producer));
      if (wait == Wait::kRecordedTooEarly) Try(cu.cuEventRecord(event, producer));
      Try(cu.cuMemsetD8Async(memory, 2, 64, producer));
      if (wait == Wait::kEvent) Try(cu.cuEventRecord(event, producer));
      if (wait != Wait::kNone) Try(cu.cuStreamWaitEvent(consumer, event, 0));
      if (wait == Wait::kRecordedTooEarly) Try(cu.cuEventRecord(event, producer));  // is not what is waited for
      Try(cu.cuMemcpyAsync(Address(out), memory, 64, consumer));
      Try(cu.cuStreamSynchronize(consumer));
      wrong += out[0] != 2;
      Try(cu.cuStreamSynchronize(producer));
      Try(cu.cuEventDestroy_v2(event));
    }
    Try(cu.cuStreamDestroy_v2(producer));
    Try(cu.cuStreamDestroy_v2(consumer));
    Try(cu.cuMemFree_v2(memory));
    Try(cu.cuMemFreeHost(out));
    return wrong;
  }
};

TEST_F(Between, AnEventOrders) { EXPECT_EQ(WrongSeeds(Wait::kEvent), 0); }
TEST_F(Between, AMissingWaitShows) { EXPECT_GT(WrongSeeds(Wait::kNone), kSeeds / 4); }
TEST_F(Between, AnEventThatWasNeverRecordedHoldsNothing) { EXPECT_GT(WrongSeeds(Wait::kNeverRecorded), kSeeds / 4); }
TEST_F(Between, AWaitIsForTheRecordBeforeIt) { EXPECT_GT(WrongSeeds(Wait::kRecordedTooEarly), kSeeds / 10); }

// A stream that reads what another one overwrites later, far behind it: a wait in the other direction.
TEST_F(Streams, OvertakingShows) {
  int wrong = 0;
  unsigned char *out = Pinned<unsigned char>(8);
  CUdeviceptr memory = Device(8);
  CUstream reader = Stream(), writer = Stream();
  for (int seed = 0; seed < kSeeds; seed++) {
    cu.dp_standin_seed(seed);
    Try(cu.cuMemsetD8Async(memory, 1, 8, reader));
    Try(cu.cuStreamSynchronize(reader));
    for (int i = 0; i < 30; i++) Try(cu.cuMemcpyAsync(Address(out), memory, 8, reader));
    Try(cu.cuMemsetD8Async(memory, 2, 8, writer));
    Try(cu.cuStreamSynchronize(reader));
    wrong += out[0] != 1;
    Try(cu.cuCtxSynchronize());
  }
  EXPECT_GT(wrong, kSeeds / 10);
  EXPECT_LT(wrong, kSeeds);
  Try(cu.cuStreamDestroy_v2(reader));
  Try(cu.cuStreamDestroy_v2(writer));
  Try(cu.cuMemFree_v2(memory));
  Try(cu.cuMemFreeHost(out));
}

TEST_F(Streams, WaitingForOneLeavesOthers) {
  CUdeviceptr memory = Device(2);
  CUstream a = Stream(), b = Stream();
  Try(cu.cuMemsetD8Async(memory, 1, 1, a));
  Try(cu.cuMemsetD8Async(memory + 1, 1, 1, b));
  Try(cu.cuStreamSynchronize(a));
  EXPECT_EQ(cu.dp_standin_count().pending, 1);
  Try(cu.cuCtxSynchronize());
  EXPECT_EQ(cu.dp_standin_count().pending, 0);
  Try(cu.cuStreamDestroy_v2(a));
  Try(cu.cuStreamDestroy_v2(b));
  Try(cu.cuMemFree_v2(memory));
}

// What a copy to the host waits for: blocking streams, and no others.
TEST_F(Streams, TheDefaultStreamWaitsForBlockingOnes) {
  CUdeviceptr memory = Device(2);
  CUstream blocking = Stream(0), free_running = Stream();
  Try(cu.cuMemsetD8_v2(memory, 0, 2));
  Try(cu.cuCtxSynchronize());
  Try(cu.cuMemsetD8Async(memory, 7, 1, blocking));
  Try(cu.cuMemsetD8Async(memory + 1, 7, 1, free_running));
  unsigned char out[2];
  Try(cu.cuMemcpyDtoH_v2(out, memory, 2));
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(out[1], 0);
  // And a blocking stream waits for the default stream.
  Try(cu.cuMemsetD8_v2(memory, 8, 1));
  unsigned char *pinned = Pinned<unsigned char>(1);
  Try(cu.cuMemcpyAsync(Address(pinned), memory, 1, blocking));
  Try(cu.cuStreamSynchronize(blocking));
  EXPECT_EQ(*pinned, 8);
  Try(cu.cuCtxSynchronize());
  Try(cu.cuMemFreeHost(pinned));
  Try(cu.cuStreamDestroy_v2(blocking));
  Try(cu.cuStreamDestroy_v2(free_running));
  Try(cu.cuMemFree_v2(memory));
}

// Fills and copies from pageable memory return before they have happened: a stream that does not block sees the old.
TEST_F(Streams, BlockingCallsMayReturnEarly) {
  CUdeviceptr memory = Device(2);
  unsigned char *out = Pinned<unsigned char>(2);
  CUstream stream = Stream();
  Try(cu.cuMemsetD8_v2(memory, 1, 2));
  Try(cu.cuCtxSynchronize());
  unsigned char pageable = 2;
  Try(cu.cuMemcpyHtoD_v2(memory, &pageable, 1));
  pageable = 3;  // has been read
  Try(cu.cuMemsetD8_v2(memory + 1, 2, 1));
  Try(cu.cuMemcpyAsync(Address(out), memory, 2, stream));
  Try(cu.cuStreamSynchronize(stream));
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 1);
  Try(cu.cuCtxSynchronize());
  Try(cu.cuMemcpyAsync(Address(out), memory, 2, stream));
  Try(cu.cuStreamSynchronize(stream));
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 2);
  out[0] = 4;
  Try(cu.cuMemcpyHtoD_v2(memory, out, 1));  // from pinned memory it waits
  EXPECT_EQ(cu.dp_standin_count().pending, 0);
  Try(cu.cuStreamDestroy_v2(stream));
  Try(cu.cuMemFreeHost(out));
  Try(cu.cuMemFree_v2(memory));
}

TEST_F(Streams, CopiesToPageableMemoryWait) {
  CUdeviceptr memory = Device(4);
  CUstream stream = Stream();
  int out = 0;
  Try(cu.cuMemsetD8Async(memory, 1, 4, stream));
  Try(cu.cuMemcpyAsync(Address(&out), memory, 4, stream));
  EXPECT_EQ(out, 0x01010101);
  Try(cu.cuStreamDestroy_v2(stream));
  Try(cu.cuMemFree_v2(memory));
}

TEST_F(Streams, AskingAnEventEnds) {
  CUdeviceptr memory = Device(1);
  CUstream stream = Stream();
  CUevent event = Event();
  EXPECT_EQ(cu.cuEventQuery(event), CUDA_SUCCESS);  // never recorded
  for (int i = 0; i < 20; i++) Try(cu.cuMemsetD8Async(memory, 1, 1, stream));
  Try(cu.cuEventRecord(event, stream));
  int asked = 0;
  while (cu.cuEventQuery(event) == CUDA_ERROR_NOT_READY) asked++;
  EXPECT_GE(asked, 1);
  EXPECT_EQ(cu.dp_standin_count().pending, 0);
  Try(cu.cuEventDestroy_v2(event));
  Try(cu.cuStreamDestroy_v2(stream));
  Try(cu.cuMemFree_v2(memory));
}

TEST_F(Streams, ADestroyedStreamStillRuns) {
  CUdeviceptr memory = Device(1);
  CUstream stream = Stream(), other = Stream();
  CUevent event = Event();
  unsigned char *out = Pinned<unsigned char>(1);
  Try(cu.cuMemsetD8Async(memory, 5, 1, stream));
  Try(cu.cuEventRecord(event, stream));
  Try(cu.cuStreamDestroy_v2(stream));
  EXPECT_EQ(cu.cuMemsetD8Async(memory, 6, 1, stream), 400);
  Try(cu.cuStreamWaitEvent(other, event, 0));
  Try(cu.cuEventDestroy_v2(event));
  Try(cu.cuMemcpyAsync(Address(out), memory, 1, other));
  Try(cu.cuStreamSynchronize(other));
  EXPECT_EQ(*out, 5);
  Try(cu.cuStreamDestroy_v2(other));
  Try(cu.cuMemFreeHost(out));
  Try(cu.cuMemFree_v2(memory));
}

// ---- work of libraries ----------------------------------------------------------------------------------------------

struct Note {
  std::vector<int> *order;
  int stream;
  int *released;
};

void Write(void *context) {
  Note *note = static_cast<Note *>(context);
  note->order->push_back(note->stream);
}

void Forget(void *context) {
  Note *note = static_cast<Note *>(context);
  ++*note->released;
  delete note;
}

// The order in which 3 streams of 10 operations run.
std::vector<int> Order(const StandinCalls &cu, uint64_t seed, int *released) {
  std::vector<int> order;
  CUstream streams[3];
  cu.dp_standin_seed(seed);
  for (CUstream &stream : streams) cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
  for (int i = 0; i < 30; i++)
    EXPECT_EQ(cu.dp_standin_enqueue(streams[i % 3], Write, new Note{&order, i % 3, released}, Forget, 1000), 0);
  EXPECT_EQ(cu.cuCtxSynchronize(), CUDA_SUCCESS);
  for (CUstream stream : streams) cu.cuStreamDestroy_v2(stream);
  return order;
}

TEST_F(Streams, ASeedIsAnOrder) {
  int released = 0;
  std::set<std::vector<int>> orders;
  for (int seed = 0; seed < 20; seed++) {
    std::vector<int> order = Order(cu, seed, &released);
    EXPECT_EQ(order.size(), 30u);
    EXPECT_EQ(order, Order(cu, seed, &released));
    orders.insert(order);
  }
  EXPECT_EQ(released, 2 * 20 * 30);
  EXPECT_GT(orders.size(), 8u);
}

TEST_F(Streams, WorkThatIsGivenUpIsReleased) {
  std::vector<int> order;
  int released = 0;
  CUstream stream = Stream();
  Try(cu.dp_standin_enqueue(stream, Write, new Note{&order, 0, &released}, Forget, 0));
  cu.dp_standin_reset();
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(order.empty());
  Try(cu.cuStreamDestroy_v2(stream));
  EXPECT_EQ(cu.dp_standin_enqueue(stream, Write, nullptr, Forget, 0), 400);
}

// ---- the clock ------------------------------------------------------------------------------------------------------

// Two copies of 1 MiB, on one stream or on two; what they take, in ms.
class Clock : public StandinTest {
 protected:
  float Measure(bool apart) {
    constexpr size_t kBytes = 1 << 20;
    char *host = Pinned<char>(2 * kBytes);
    CUdeviceptr memory = Device(2 * kBytes);
    CUstream a = Stream(), b = apart ? Stream() : a;
    CUevent begin = Event(CU_EVENT_DEFAULT), end = Event(CU_EVENT_DEFAULT), other = Event();
    Try(cu.cuEventRecord(begin, a));
    Try(cu.cuStreamWaitEvent(b, begin, 0));
    Try(cu.cuMemcpyAsync(memory, Address(host), kBytes, a));
    Try(cu.cuMemcpyAsync(memory + kBytes, Address(host + kBytes), kBytes, b));
    Try(cu.cuEventRecord(other, b));
    Try(cu.cuStreamWaitEvent(a, other, 0));
    Try(cu.cuEventRecord(end, a));
    float ms = 0;
    EXPECT_EQ(cu.cuEventElapsedTime(&ms, begin, end), CUDA_ERROR_NOT_READY);
    double before = cu.dp_standin_clock();
    Try(cu.cuEventSynchronize(end));
    EXPECT_GT(cu.dp_standin_clock(), before);
    Try(cu.cuEventElapsedTime(&ms, begin, end));
    EXPECT_NE(cu.cuEventElapsedTime(&ms, begin, other), CUDA_SUCCESS);  // does not keep time
    Try(cu.cuEventElapsedTime(&ms, begin, end));
    for (CUevent event : {begin, end, other}) Try(cu.cuEventDestroy_v2(event));
    if (apart) Try(cu.cuStreamDestroy_v2(b));
    Try(cu.cuStreamDestroy_v2(a));
    Try(cu.cuMemFree_v2(memory));
    Try(cu.cuMemFreeHost(host));
    return ms;
  }
};

TEST_F(Clock, StreamsRunAtTheSameTime) {
  float together = Measure(true), apart = Measure(false);
  EXPECT_GT(together, 0.02f);  // 1 MiB at 50 GB/s
  EXPECT_LT(together, 0.6f * apart);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

using Memory = StandinTest;
using MemoryDeathTest = StandinTest;

TEST_F(MemoryDeathTest, TheHostCannotTouchTheDevice) {
  CUdeviceptr memory = Device(1000);
  volatile char *at = At<char>(memory);
  EXPECT_DEATH(at[999] = 1, "the host touched .*: device memory, 1000 bytes");
  EXPECT_DEATH((void)at[0], "the host touched .*: device memory, 1000 bytes");
  Try(cu.cuMemsetD8_v2(memory, 0, 1000));
  Try(cu.cuCtxSynchronize());
  EXPECT_DEATH((void)at[0], "the host touched .*: device memory");  // also after operations
  Try(cu.cuMemFree_v2(memory));
  EXPECT_DEATH((void)at[0], "the host touched .*: freed device memory");
}

TEST_F(MemoryDeathTest, PinnedMemoryEnds) {
  char *memory = Pinned<char>(256);
  memory[255] = 1;
  EXPECT_DEATH(*(volatile char *)(memory + 256) = 1, "the host touched .*: pinned memory, 256 bytes");
  Try(cu.cuMemFreeHost(memory));
  EXPECT_DEATH(*(volatile char *)memory = 1, "freed pinned memory");
}

TEST_F(Memory, BeginsUndefined) {
  CUdeviceptr memory = Device(4);
  float out = 0;
  Try(cu.cuMemcpyDtoH_v2(&out, memory, 4));
  EXPECT_TRUE(out != out);
  Try(cu.cuMemFree_v2(memory));
}

TEST_F(Memory, Ends) {
  size_t room = 0, total = 0;
  cu.dp_standin_memory(1 << 20);
  CUdeviceptr first = Device(600 << 10), second = 0;
  Try(cu.cuMemGetInfo_v2(&room, &total));
  EXPECT_EQ(total, size_t{1} << 20);
  EXPECT_EQ(room, size_t{424} << 10);
  EXPECT_EQ(cu.cuMemAlloc_v2(&second, room + 1), CUDA_ERROR_OUT_OF_MEMORY);
  Try(cu.cuMemAlloc_v2(&second, room));
  Try(cu.cuMemFree_v2(first));
  Try(cu.cuMemFree_v2(second));
  EXPECT_NE(Said([&] { EXPECT_EQ(cu.cuMemFree_v2(first), CUDA_ERROR_INVALID_VALUE); }).find("freed twice"),
            std::string::npos);
  Try(cu.cuMemGetInfo_v2(&room, &total));
  EXPECT_EQ(room, total);
  void *pinned = nullptr;
  EXPECT_EQ(cu.cuMemHostAlloc(&pinned, SIZE_MAX - 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Memory, CopiesPastTheEndAreRefused) {
  CUdeviceptr memory = Device(100);
  char host[200];
  std::string said = Said([&] {
    EXPECT_EQ(cu.cuMemcpyHtoD_v2(memory, host, 101), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu.cuMemcpyHtoD_v2(memory + 1, host, 100), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cu.cuMemsetD8Async(memory + 50, 0, 51, nullptr), CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_NE(said.find("101 bytes at"), std::string::npos);
  Try(cu.cuMemcpyHtoD_v2(memory + 1, host, 99));
  Try(cu.cuCtxSynchronize());
  Try(cu.cuMemFree_v2(memory));
  Said([&] { EXPECT_EQ(cu.cuMemcpyDtoH_v2(host, memory, 1), CUDA_ERROR_INVALID_VALUE); });
}

// Freed while an operation on it is still to come.
TEST_F(Memory, UseAfterFreeIsReported) {
  CUdeviceptr memory = Device(100);
  CUstream stream = Stream();
  Try(cu.cuMemsetD8Async(memory, 0, 100, stream));
  Try(cu.cuMemFree_v2(memory));
  std::string said = Said([&] { EXPECT_EQ(cu.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS); });
  EXPECT_NE(said.find("an operation touched"), std::string::npos);
  EXPECT_NE(said.find("freed device memory, 100 bytes"), std::string::npos);
  cu.dp_standin_reset();
  Try(cu.cuStreamDestroy_v2(stream));
}

TEST_F(Memory, PinnedMemoryHasTheSameAddressOnTheDevice) {
  char *host = Pinned<char>(10);
  CUdeviceptr device = 0;
  Try(cu.cuMemHostGetDevicePointer_v2(&device, host, 0));
  EXPECT_EQ(device, Address(host));
  char pageable;
  EXPECT_NE(cu.cuMemHostGetDevicePointer_v2(&device, &pageable, 0), CUDA_SUCCESS);
  Try(cu.cuMemFreeHost(host));
}

// ---- errors ---------------------------------------------------------------------------------------------------------

using Errors = StandinTest;

// A program in small, which stops at the first error and releases what it has.
CUresult Program(const StandinCalls &cu) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUresult result = cu.cuMemAlloc_v2(&memory, 16);
  if (!result) result = cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
  if (!result) result = cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (!result) result = cu.cuMemsetD8Async(memory, 0, 16, stream);
  if (!result) result = cu.cuEventRecord(event, stream);
  if (!result) result = cu.cuEventSynchronize(event);
  CUresult released = CUDA_SUCCESS, each;
  if (event && (each = cu.cuEventDestroy_v2(event))) released = each;
  if (stream && (each = cu.cuStreamDestroy_v2(stream))) released = each;
  if (memory && (each = cu.cuMemFree_v2(memory))) released = each;
  return result ? result : released;
}

TEST_F(Errors, EveryCallCanFail) {
  cu.dp_standin_reset();
  Try(Program(cu));
  int64_t calls = cu.dp_standin_count().calls;
  EXPECT_EQ(calls, 9);
  for (int error : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED})
    for (int64_t call = 1; call <= calls; call++) {
      cu.dp_standin_reset();
      cu.dp_standin_fail(call, error);
      EXPECT_EQ(Program(cu), error) << call;
      EXPECT_EQ(Held(), 0) << call;
    }
  cu.dp_standin_reset();
  Try(Program(cu));
}

TEST_F(Errors, SomeAreForGood) {
  CUdeviceptr memory = Device(16);
  CUstream stream = Stream();
  Try(cu.cuMemsetD8Async(memory, 0, 16, stream));
  int64_t next = cu.dp_standin_count().calls + 1;
  cu.dp_standin_fail(next, CUDA_ERROR_ILLEGAL_ADDRESS);
  size_t room, total;
  for (int i = 0; i < 3; i++) EXPECT_EQ(cu.cuMemGetInfo_v2(&room, &total), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu.dp_standin_call("cublasLtMatmul"), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu.cuStreamDestroy_v2(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu.cuMemFree_v2(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(Held(), 0);
  const char *text = nullptr;
  EXPECT_EQ(cu.cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "an illegal memory access was encountered");
}

TEST_F(Errors, WhatIsNotReleasedIsCounted) {
  EXPECT_EQ(Held(), 0);
  CUdeviceptr memory = Device(16);
  EXPECT_EQ(Held(), 1);
  char *pinned = Pinned<char>(16);
  EXPECT_EQ(Held(), 2);
  CUstream stream = Stream();
  EXPECT_EQ(Held(), 3);
  CUevent event = Event();
  EXPECT_EQ(Held(), 4);
  cu.dp_standin_handles(1);
  EXPECT_EQ(Held(), 5);
  EXPECT_EQ(cu.dp_standin_count().device_bytes, 16);
  cu.dp_standin_handles(-1);
  Try(cu.cuEventDestroy_v2(event));
  Try(cu.cuStreamDestroy_v2(stream));
  Try(cu.cuMemFreeHost(pinned));
  EXPECT_EQ(Held(), 1);
  Try(cu.cuMemFree_v2(memory));
}

TEST_F(Errors, AThreadNeedsTheContext) {
  CUdeviceptr memory = 0;
  CUresult result = CUDA_SUCCESS;
  std::thread([&] { result = cu.cuMemAlloc_v2(&memory, 16); }).join();
  EXPECT_EQ(result, 201);
}

TEST_F(Errors, HandlesAreChecked) {
  CUevent event = Event();
  CUstream stream = Stream();
  Try(cu.cuEventDestroy_v2(event));
  Try(cu.cuStreamDestroy_v2(stream));
  EXPECT_EQ(cu.cuEventRecord(event, nullptr), 400);
  EXPECT_EQ(cu.cuEventDestroy_v2(event), 400);
  EXPECT_EQ(cu.cuStreamSynchronize(stream), 400);
  EXPECT_EQ(cu.cuStreamDestroy_v2(stream), 400);
}

TEST_F(Errors, ADeviceIsDescribed) {
  char name[64];
  int value = 0;
  size_t bytes = 0;
  Try(cu.cuDeviceGetName(name, sizeof name, 0));
  EXPECT_STREQ(name, "stand-in");
  Try(cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  EXPECT_EQ(value, 132);
  Try(cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  EXPECT_EQ(value, 9);
  Try(cu.cuDeviceTotalMem_v2(&bytes, 0));
  EXPECT_EQ(bytes, size_t{1} << 30);
  EXPECT_EQ(cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0), CUDA_ERROR_INVALID_VALUE);
}

// ---- settings -------------------------------------------------------------------------------------------------------

// Each in a process of its own, which loads the library anew.

// Whether the device is as ComeFromTheEnvironment sets it. The third call fails.
bool UnderSettings() {
  StandinCalls cu;
  int version = 0, major = 0, count = 0;
  CUdevice device = 0;
  size_t bytes = 0;
  CUcontext context;
  bool good =
      !cu.cuInit(0) && !cu.cuDriverGetVersion(&version) && cu.cuDeviceGetCount(&count) == 2 &&
      !cu.cuDeviceGetCount(&count) && !cu.cuDeviceGet(&device, 0) && !cu.cuDeviceTotalMem_v2(&bytes, device) &&
      !cu.cuDevicePrimaryCtxRetain(&context, device) &&
      !cu.cuDeviceGetAttribute(&major, (CUdevice_attribute)CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  return good && version == 11040 && major == 7 && count == 1 && bytes == 4096;
}

TEST(SettingsDeathTest, ComeFromTheEnvironment) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  std::string folder = ::testing::TempDir(), report = folder + "/report", trace = folder + "/trace";
  const std::vector<std::pair<const char *, std::string>> settings = {
      {"DP_STANDIN_FAIL", "3:2"},      {"DP_STANDIN_MEMORY", "4096"}, {"DP_STANDIN_DRIVER", "11040"},
      {"DP_STANDIN_CAPABILITY", "70"}, {"DP_STANDIN_REPORT", report}, {"DP_STANDIN_TRACE", trace},
      {"DP_STANDIN_SEED", "12"},
  };
  for (const auto &[name, value] : settings) setenv(name, value.c_str(), 1);
  EXPECT_EXIT(exit(UnderSettings() ? 0 : 1), ::testing::ExitedWithCode(0), "");
  for (const auto &[name, value] : settings) unsetenv(name);
  auto first_lines = [](const std::string &path, int n) {
    std::string text;
    char line[256];
    FILE *file = fopen(path.c_str(), "r");
    while (file && n-- > 0 && fgets(line, sizeof line, file)) text += line;
    if (file) fclose(file);
    return text;
  };
  EXPECT_EQ(first_lines(trace, 4), "1 cuInit\n2 cuDriverGetVersion\n3 cuDeviceGetCount\n4 cuDeviceGetCount\n");
  EXPECT_EQ(first_lines(report, 1), "calls 8\n");
  EXPECT_NE(first_lines(report, 20).find("contexts 1\n"), std::string::npos);
}

TEST(SettingsDeathTest, ThereMayBeNoDevice) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("DP_STANDIN_DEVICES", "0", 1);
  EXPECT_EXIT(exit(StandinCalls().cuInit(0)), ::testing::ExitedWithCode(CUDA_ERROR_NO_DEVICE), "");
  setenv("DP_STANDIN_DEVICES", "many", 1);
  EXPECT_EXIT(exit(StandinCalls().cuInit(0)), ::testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE),
              "DP_STANDIN_DEVICES=many");
  unsetenv("DP_STANDIN_DEVICES");
}

TEST(SettingsDeathTest, BeforeInitThereIsNothing) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        int count;
        exit(StandinCalls().cuDeviceGetCount(&count));
      },
      ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace dp_test
