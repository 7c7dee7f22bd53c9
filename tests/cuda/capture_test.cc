// The stand-in of CUDA's driver captures streams and launches what it captured: in the order of the graph's edges and
// in no other, with the arguments of the capture and the memory of the launch; and it refuses what may not be captured.
#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include "tests/cuda/standin_calls.h"

namespace dp_test {
namespace {

constexpr int kSeeds = 100;
constexpr CUstreamCaptureMode kLocal = static_cast<CUstreamCaptureMode>(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
constexpr CUstreamCaptureMode kGlobal = static_cast<CUstreamCaptureMode>(CU_STREAM_CAPTURE_MODE_GLOBAL);
constexpr CUstreamCaptureMode kRelaxed = static_cast<CUstreamCaptureMode>(CU_STREAM_CAPTURE_MODE_RELAXED);

class Capture : public StandinTest {
 protected:
  void SetUp() override {
    StandinTest::SetUp();
    a = Stream();
    b = Stream();
    fork = Event();
    join = Event();
    memory = Device(64);
    pinned = Pinned<unsigned char>(64);
    Try(cu.cuMemsetD8_v2(memory, 0, 64));
    Try(cu.cuCtxSynchronize());
  }
  void TearDown() override {
    cu.dp_standin_reset();
    for (CUstream stream : {a, b})
      if (stream) Try(cu.cuStreamDestroy_v2(stream));
    for (CUevent event : {fork, join}) Try(cu.cuEventDestroy_v2(event));
    if (memory) Try(cu.cuMemFree_v2(memory));
    Try(cu.cuMemFreeHost(pinned));
    StandinTest::TearDown();
  }

  void Begin(CUstreamCaptureMode mode = kLocal) { Try(cu.cuStreamBeginCapture_v2(a, mode)); }
  // Makes b part of a's capture, and a wait for b.
  void Fork() {
    Try(cu.cuEventRecord(fork, a));
    Try(cu.cuStreamWaitEvent(b, fork, 0));
  }
  void Join() {
    Try(cu.cuEventRecord(join, b));
    Try(cu.cuStreamWaitEvent(a, join, 0));
  }
  CUresult End(CUgraph *graph) { return cu.cuStreamEndCapture(a, graph); }
  CUgraphExec Instantiate() {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    Try(End(&graph));
    Try(cu.cuGraphInstantiateWithFlags(&executable, graph, 0));
    Try(cu.cuGraphDestroy(graph));
    return executable;
  }
  // What ending gives is `error`, and no graph. Afterwards the stream is as it was.
  void ExpectEnds(int error) {
    CUgraph graph = reinterpret_cast<CUgraph>(&error);
    EXPECT_EQ(End(&graph), error);
    EXPECT_EQ(graph, nullptr);
    Try(cu.cuMemsetD8Async(memory, 0, 64, a));
    Try(cu.cuStreamSynchronize(a));
  }
  CUresult Set(unsigned char value, CUstream stream) { return cu.cuMemsetD8Async(memory, value, 64, stream); }
  CUresult Get(CUstream stream) { return cu.cuMemcpyAsync(Address(pinned), memory, 64, stream); }
  // Launches under every seed; how many do not leave `value` in pinned memory.
  int WrongSeeds(CUgraphExec executable, unsigned char value) {
    int wrong = 0;
    for (int seed = 0; seed < kSeeds; seed++) {
      cu.dp_standin_seed(seed);
      Try(Set(0, a));
      Try(cu.cuGraphLaunch(executable, a));
      Try(cu.cuStreamSynchronize(a));
      wrong += pinned[0] != value;
    }
    return wrong;
  }

  CUstream a = nullptr, b = nullptr;
  CUevent fork = nullptr, join = nullptr;
  CUdeviceptr memory = 0;
  unsigned char *pinned = nullptr;
};

// ---- what is captured -----------------------------------------------------------------------------------------------

TEST_F(Capture, RunsNothing) {
  pinned[0] = 7;
  Begin();
  Try(Set(1, a));
  Try(Get(a));
  CUgraphExec executable = Instantiate();
  EXPECT_EQ(cu.dp_standin_count().pending, 0);
  Try(cu.cuCtxSynchronize());
  EXPECT_EQ(pinned[0], 7);
  Try(cu.cuGraphLaunch(executable, a));
  EXPECT_EQ(pinned[0], 7);  // nor does launching, before somebody waits
  EXPECT_GT(cu.dp_standin_count().pending, 0);
  Try(cu.cuStreamSynchronize(a));
  EXPECT_EQ(pinned[0], 1);
  EXPECT_EQ(cu.dp_standin_count().pending, 0);
  Try(cu.cuGraphExecDestroy(executable));
}

TEST_F(Capture, AnEmptyOneLaunchesNothing) {
  Begin();
  CUgraphExec executable = Instantiate();
  Try(cu.cuGraphLaunch(executable, a));
  Try(cu.cuStreamSynchronize(a));
  EXPECT_EQ(cu.dp_standin_count().pending, 0);
  Try(cu.cuGraphExecDestroy(executable));
}

TEST_F(Capture, MemoryIsThatOfTheLaunch) {
  Begin();
  Try(cu.cuMemcpyAsync(memory, Address(pinned), 1, a));
  Try(cu.cuMemcpyAsync(Address(pinned + 1), memory, 1, a));
  CUgraphExec executable = Instantiate();
  for (unsigned char value : {5, 6, 7}) {
    pinned[0] = value;
    Try(cu.cuGraphLaunch(executable, a));
    Try(cu.cuStreamSynchronize(a));
    EXPECT_EQ(pinned[1], value);
  }
  Try(cu.cuGraphExecDestroy(executable));
}

struct Arguments {
  int *to;
  int value;
};
constexpr char kStore[] =
    "typedef struct { int *to; int value; } stored;\n#define NAME store\n"
    "DP_KERNEL(stored) { if (dp_index() == 0) a.to[0] += a.value; }\n";

TEST_F(Capture, ArgumentsAreThoseOfTheCapture) {
  CUmodule module = nullptr;
  CUfunction store = Load(kStore, "store", &module);
  Arguments arguments = {At<int>(memory), 3};
  Begin();
  Try(Launch(store, 2, 32, a, arguments));
  arguments = {nullptr, 100};
  CUgraphExec executable = Instantiate();
  for (int i = 0; i < 4; i++) Try(cu.cuGraphLaunch(executable, a));
  int out = 0;
  Try(cu.cuMemcpyAsync(Address(pinned), memory, sizeof out, a));
  Try(cu.cuStreamSynchronize(a));
  memcpy(&out, pinned, sizeof out);
  EXPECT_EQ(out, 12);  // what is updated in place goes on from launch to launch
  Try(cu.cuGraphExecDestroy(executable));
  Try(cu.cuModuleUnload(module));
}

// ---- order ----------------------------------------------------------------------------------------------------------

TEST_F(Capture, AStreamKeepsItsOrder) {
  Begin();
  for (unsigned char value : {1, 2, 3}) Try(Set(value, a));
  Try(Get(a));
  CUgraphExec executable = Instantiate();
  EXPECT_EQ(WrongSeeds(executable, 3), 0);
  Try(cu.cuGraphExecDestroy(executable));
}

TEST_F(Capture, EventsOrderStreams) {
  Begin();
  Try(Set(1, a));
  Fork();
  Try(Set(2, b));
  Join();
  Try(Get(a));
  CUgraphExec executable = Instantiate();
  EXPECT_EQ(WrongSeeds(executable, 2), 0);
  Try(cu.cuGraphExecDestroy(executable));
}

TEST_F(Capture, AMissingWaitShows) {
  Begin();
  Fork();
  Try(Set(1, b));
  Try(Set(2, b));
  Try(Get(a));
  Join();  // too late
  CUgraphExec executable = Instantiate();
  EXPECT_GT(WrongSeeds(executable, 2), kSeeds / 4);
  Try(cu.cuGraphExecDestroy(executable));
}

// b sees what a did before the fork, but nothing holds back what a does after it.
TEST_F(Capture, AForkIsWhereItWasRecorded) {
  Begin();
  Try(Set(1, a));
  Fork();
  Try(Set(2, a));
  Try(Get(b));
  Join();
  CUgraphExec executable = Instantiate();
  std::set<int> seen;
  for (int seed = 0; seed < kSeeds; seed++) {
    cu.dp_standin_seed(seed);
    Try(Set(0, a));
    Try(cu.cuGraphLaunch(executable, a));
    Try(cu.cuStreamSynchronize(a));
    seen.insert(pinned[0]);
  }
  EXPECT_EQ(seen, (std::set<int>{1, 2}));
  Try(cu.cuGraphExecDestroy(executable));
}

TEST_F(Capture, ALaunchIsInItsStreamsOrder) {
  Begin();
  Fork();
  Try(Get(b));
  Join();
  CUgraphExec executable = Instantiate();
  int unordered = 0;
  for (int seed = 0; seed < kSeeds; seed++) {
    cu.dp_standin_seed(seed);
    Try(Set(1, a));
    Try(Set(2, a));
    Try(cu.cuGraphLaunch(executable, a));
    Try(Set(3, a));
    Try(cu.cuStreamSynchronize(a));
    EXPECT_EQ(pinned[0], 2) << seed;
    Try(Set(4, b));  // not ordered with a, although b was captured
    Try(cu.cuGraphLaunch(executable, a));
    Try(cu.cuStreamSynchronize(a));
    unordered += pinned[0] == 3;
    Try(cu.cuStreamSynchronize(b));
  }
  EXPECT_GT(unordered, kSeeds / 4);
  Try(cu.cuGraphExecDestroy(executable));
}

struct Note {
  std::vector<int> *order;
  int number;
  int *released;
};
void Write(void *context) {
  Note *note = static_cast<Note *>(context);
  note->order->push_back(note->number);
}
void Forget(void *context) {
  Note *note = static_cast<Note *>(context);
  ++*note->released;
  delete note;
}

TEST_F(Capture, LaunchesOfOneFollowEachOther) {
  std::vector<int> order;
  int released = 0;
  Begin();
  for (int i = 0; i < 5; i++) Try(cu.dp_standin_enqueue(a, Write, new Note{&order, i, &released}, Forget, 0));
  CUgraph graph = nullptr;
  Try(End(&graph));
  CUgraphExec one = nullptr, other = nullptr;
  Try(cu.cuGraphInstantiateWithFlags(&one, graph, 0));
  Try(cu.cuGraphInstantiateWithFlags(&other, graph, 0));
  Try(cu.cuGraphDestroy(graph));
  const std::vector<int> twice = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  int mixed = 0;
  for (int seed = 0; seed < kSeeds; seed++)
    for (CUgraphExec second : {one, other}) {
      cu.dp_standin_seed(seed);
      order.clear();
      Try(cu.cuGraphLaunch(one, a));
      Try(cu.cuGraphLaunch(second, b));
      Try(cu.cuCtxSynchronize());
      if (second == one) {
        EXPECT_EQ(order, twice) << seed;
      } else {
        mixed += order != twice;
      }
    }
  EXPECT_GT(mixed, kSeeds / 4);
  EXPECT_EQ(released, 0);
  Try(cu.cuGraphExecDestroy(one));
  EXPECT_EQ(released, 0);
  Try(cu.cuGraphExecDestroy(other));
  EXPECT_EQ(released, 5);
}

TEST_F(Capture, NodesRunInManyOrders) {
  std::vector<int> order;
  int released = 0;
  Begin();
  Fork();
  for (int i = 0; i < 6; i++)
    Try(cu.dp_standin_enqueue(i % 2 ? a : b, Write, new Note{&order, i, &released}, Forget, 0));
  Join();
  CUgraphExec executable = Instantiate();
  std::set<std::vector<int>> orders;
  Try(cu.cuGraphLaunch(executable, a));  // the others have one before them
  Try(cu.cuStreamSynchronize(a));
  for (int seed = 0; seed < kSeeds; seed++) {
    std::vector<int> again;
    for (int i = 0; i < 2; i++) {
      cu.dp_standin_seed(seed);
      order.clear();
      Try(cu.cuGraphLaunch(executable, a));
      Try(cu.cuStreamSynchronize(a));
      if (i) {
        EXPECT_EQ(order, again) << seed;
      }
      again = order;
    }
    std::vector<int> even, odd;
    for (int number : order) (number % 2 ? odd : even).push_back(number);
    EXPECT_EQ(even, (std::vector<int>{0, 2, 4}));
    EXPECT_EQ(odd, (std::vector<int>{1, 3, 5}));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 8u);  // of 20
  Try(cu.cuGraphExecDestroy(executable));
}

TEST_F(Capture, BranchesRunAtTheSameTime) {
  constexpr size_t kBytes = 1 << 20;
  char *host = Pinned<char>(2 * kBytes);
  CUdeviceptr large = Device(2 * kBytes);
  double took[2];
  for (bool apart : {false, true}) {
    Begin();
    Fork();
    Try(cu.cuMemcpyAsync(large, Address(host), kBytes, a));
    Try(cu.cuMemcpyAsync(large + kBytes, Address(host + kBytes), kBytes, apart ? b : a));
    Join();
    CUgraphExec executable = Instantiate();
    const double before = cu.dp_standin_clock();
    Try(cu.cuGraphLaunch(executable, a));
    Try(cu.cuStreamSynchronize(a));
    took[apart] = cu.dp_standin_clock() - before;
    Try(cu.cuGraphExecDestroy(executable));
  }
  EXPECT_GT(took[1], 2e4);  // ns; 1 MiB at 50 GB/s
  EXPECT_LT(took[1], 0.7 * took[0]);
  Try(cu.cuMemFree_v2(large));
  Try(cu.cuMemFreeHost(host));
}

// ---- what is refused ------------------------------------------------------------------------------------------------

TEST_F(Capture, WaitingForACapturedStreamIsRefused) {
  Begin();
  Try(Set(1, a));
  EXPECT_EQ(cu.cuStreamSynchronize(a), 900);
  EXPECT_EQ(Set(2, a), 901);
  EXPECT_EQ(cu.cuEventRecord(fork, a), 901);
  ExpectEnds(901);
}

// Calls that this thread may not make meanwhile, each in a capture of its own.
TEST_F(Capture, CallsThatMightWaitAreRefused) {
  CUdeviceptr more = 0;
  void *host = nullptr;
  CUmodule module = nullptr;
  const std::vector<char> image = Compile("");
  const std::vector<std::pair<const char *, std::function<CUresult()>>> calls = {
      {"cuCtxSynchronize", [&] { return cu.cuCtxSynchronize(); }},
      {"cuStreamSynchronize", [&] { return cu.cuStreamSynchronize(b); }},
      {"cuEventQuery", [&] { return cu.cuEventQuery(fork); }},
      {"cuEventSynchronize", [&] { return cu.cuEventSynchronize(fork); }},
      {"cuMemAlloc", [&] { return cu.cuMemAlloc_v2(&more, 16); }},
      {"cuMemHostAlloc", [&] { return cu.cuMemHostAlloc(&host, 16, 0); }},
      {"cuMemcpyHtoD", [&] { return cu.cuMemcpyHtoD_v2(memory, pinned, 1); }},
      {"cuMemcpyDtoH", [&] { return cu.cuMemcpyDtoH_v2(pinned, memory, 1); }},
      {"cuMemsetD8", [&] { return cu.cuMemsetD8_v2(memory, 0, 1); }},
      {"cuModuleLoadData", [&] { return cu.cuModuleLoadData(&module, image.data()); }},
  };
  for (const auto &[name, call] : calls) {
    SCOPED_TRACE(name);
    Begin();
    EXPECT_EQ(call(), 900);
    ExpectEnds(901);
    Begin(kGlobal);
    EXPECT_EQ(call(), 900);
    ExpectEnds(901);
  }
  Begin(kRelaxed);
  Try(cu.cuMemAlloc_v2(&more, 16));
  Try(cu.cuMemcpyHtoD_v2(more, pinned, 1));
  Try(cu.cuStreamSynchronize(b));
  Try(cu.cuMemFree_v2(more));
  Try(cu.cuGraphExecDestroy(Instantiate()));
}

TEST_F(Capture, OtherThreadsGoOnUnlessItIsGlobal) {
  auto allocate = [&] {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      CUcontext context = nullptr;
      CUdeviceptr more = 0;
      cu.cuDevicePrimaryCtxRetain(&context, 0);
      cu.cuCtxSetCurrent(context);
      result = cu.cuMemAlloc_v2(&more, 16);
      if (!result) cu.cuMemFree_v2(more);
      cu.cuDevicePrimaryCtxRelease_v2(0);
    }).join();
    return result;
  };
  Begin();
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  Try(cu.cuGraphExecDestroy(Instantiate()));
  Begin(kGlobal);
  EXPECT_EQ(allocate(), 900);
  ExpectEnds(901);
}

TEST_F(Capture, CapturedEventsCannotBeAsked) {
  CUevent begin = Event(CU_EVENT_DEFAULT), end = Event(CU_EVENT_DEFAULT);
  float ms;
  for (int what = 0; what < 3; what++) {
    Begin(kRelaxed);
    Try(cu.cuEventRecord(begin, a));
    Try(cu.cuEventRecord(end, a));
    EXPECT_EQ(what == 0   ? cu.cuEventQuery(begin)
              : what == 1 ? cu.cuEventSynchronize(begin)
                          : cu.cuEventElapsedTime(&ms, begin, end),
              907);
    ExpectEnds(901);
  }
  for (CUevent event : {begin, end}) Try(cu.cuEventDestroy_v2(event));
}

TEST_F(Capture, WhatIsNotJoinedIsRefused) {
  Begin();
  Fork();
  Try(Set(1, b));
  ExpectEnds(904);
  Begin();
  Fork();  // nothing was put on b
  ExpectEnds(904);
  Begin();
  Fork();
  Join();
  Try(Set(1, b));  // after the join
  ExpectEnds(904);
  Begin();
  Fork();
  Try(Set(1, b));
  Join();
  Try(cu.cuGraphExecDestroy(Instantiate()));
  Try(Set(1, b));  // b is as it was
  Try(cu.cuStreamSynchronize(b));
}

TEST_F(Capture, WhatIsOutsideCannotBeWaitedFor) {
  Try(Set(1, b));
  Try(cu.cuEventRecord(fork, b));
  Begin();
  EXPECT_EQ(cu.cuStreamWaitEvent(a, fork, 0), 905);
  ExpectEnds(901);
  Begin();
  Try(cu.cuStreamWaitEvent(a, join, 0));  // never recorded
  Try(cu.cuGraphExecDestroy(Instantiate()));
}

TEST_F(Capture, TwoCannotBeMerged) {
  Begin();
  Try(cu.cuStreamBeginCapture_v2(b, kLocal));
  Try(cu.cuEventRecord(fork, a));
  EXPECT_EQ(cu.cuStreamWaitEvent(b, fork, 0), 902);
  CUgraph graph = nullptr;
  EXPECT_EQ(cu.cuStreamEndCapture(b, &graph), 901);
  ExpectEnds(901);
}

TEST_F(Capture, BeginsAndEndsMustMatch) {
  CUgraph graph = nullptr;
  EXPECT_EQ(End(&graph), 401);
  EXPECT_EQ(cu.cuStreamBeginCapture_v2(nullptr, kLocal), 900);
  EXPECT_EQ(cu.cuStreamBeginCapture_v2(a, static_cast<CUstreamCaptureMode>(3)), CUDA_ERROR_INVALID_VALUE);
  Begin();
  EXPECT_EQ(cu.cuStreamBeginCapture_v2(a, kLocal), 401);
  ExpectEnds(901);
  Begin();
  Fork();
  EXPECT_EQ(cu.cuStreamEndCapture(b, &graph), 903);
  ExpectEnds(901);
  Begin();
  CUresult elsewhere = CUDA_SUCCESS;
  auto end = [&] {
    CUcontext context = nullptr;
    cu.cuDevicePrimaryCtxRetain(&context, 0);
    cu.cuCtxSetCurrent(context);
    elsewhere = End(&graph);
    cu.cuDevicePrimaryCtxRelease_v2(0);
  };
  std::thread(end).join();
  EXPECT_EQ(elsewhere, 908);
  ExpectEnds(901);
  Begin(kRelaxed);
  std::thread(end).join();
  EXPECT_EQ(elsewhere, CUDA_SUCCESS);
  Try(cu.cuGraphDestroy(graph));
}

TEST_F(Capture, TheDefaultStreamWouldWait) {
  CUstream blocking = Stream(0);
  CUgraph graph = nullptr;
  Try(cu.cuStreamBeginCapture_v2(blocking, kLocal));
  EXPECT_EQ(Set(1, nullptr), 906);
  EXPECT_EQ(cu.cuStreamEndCapture(blocking, &graph), 901);
  Try(cu.cuStreamBeginCapture_v2(blocking, kLocal));
  Try(cu.cuEventRecord(fork, blocking));
  EXPECT_EQ(cu.cuStreamWaitEvent(nullptr, fork, 0), 906);
  EXPECT_EQ(cu.cuStreamEndCapture(blocking, &graph), 901);
  Begin();
  Try(Set(1, nullptr));  // a does not block
  Try(cu.cuGraphExecDestroy(Instantiate()));
  Try(cu.cuStreamDestroy_v2(blocking));
}

TEST_F(Capture, PageableMemoryIsRefused) {
  char pageable[16] = {};
  Begin();
  EXPECT_EQ(cu.cuMemcpyAsync(memory, Address(pageable), 16, a), 900);
  ExpectEnds(901);
  Begin();
  EXPECT_EQ(cu.cuMemcpyAsync(Address(pageable), memory, 16, a), 900);
  ExpectEnds(901);
}

TEST_F(Capture, AnEventOfAnEndedOneCannotBeWaitedFor) {
  Begin();
  Fork();
  Join();
  Try(cu.cuGraphExecDestroy(Instantiate()));
  EXPECT_EQ(cu.cuStreamWaitEvent(b, join, 0), 907);
  EXPECT_EQ(cu.cuEventQuery(join), 907);
  Try(cu.cuEventRecord(join, a));
  Try(cu.cuStreamWaitEvent(b, join, 0));
  Try(cu.cuEventSynchronize(join));
}

TEST_F(Capture, AGraphCannotBeCaptured) {
  Begin();
  CUgraphExec executable = Instantiate();
  Begin();
  EXPECT_EQ(cu.cuGraphLaunch(executable, a), 801);
  ExpectEnds(901);
  Try(cu.cuGraphExecDestroy(executable));
}

// ---- lifetimes ------------------------------------------------------------------------------------------------------

TEST_F(Capture, WhatIsUnderWayOutlivesItsGraph) {
  Begin();
  Try(Set(1, a));
  Try(Get(a));
  CUgraphExec executable = Instantiate();
  Try(cu.cuGraphLaunch(executable, a));
  Try(cu.cuGraphExecDestroy(executable));
  EXPECT_EQ(cu.dp_standin_count().graphs, 0);
  Try(cu.cuStreamSynchronize(a));
  EXPECT_EQ(pinned[0], 1);
  EXPECT_EQ(cu.cuGraphLaunch(executable, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuGraphExecDestroy(executable), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Capture, GraphsAreCounted) {
  const int64_t before = Held();
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  Begin();
  Try(End(&graph));
  EXPECT_EQ(Held(), before + 1);
  Try(cu.cuGraphInstantiateWithFlags(&executable, graph, 0));
  EXPECT_EQ(Held(), before + 2);
  EXPECT_EQ(cu.cuGraphInstantiateWithFlags(&executable, graph, 1), CUDA_ERROR_INVALID_VALUE);
  Try(cu.cuGraphDestroy(graph));
  EXPECT_EQ(cu.cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  Try(cu.cuGraphExecDestroy(executable));
  EXPECT_EQ(Held(), before);
}

TEST_F(Capture, ADestroyedStreamEndsIt) {
  std::vector<int> order;
  int released = 0;
  Begin();
  Try(cu.dp_standin_enqueue(a, Write, new Note{&order, 0, &released}, Forget, 0));
  EXPECT_EQ(cu.cuStreamDestroy_v2(a), 900);
  a = nullptr;
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(order.empty());
  Try(cu.cuCtxSynchronize());  // nothing is captured any more
}

TEST_F(Capture, UseAfterFreeIsReported) {
  Begin();
  Try(Set(1, a));
  CUgraphExec executable = Instantiate();
  Try(cu.cuMemFree_v2(memory));
  memory = 0;
  Try(cu.cuGraphLaunch(executable, a));
  std::string said = Said([&] { EXPECT_EQ(cu.cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS); });
  EXPECT_NE(said.find("freed device memory, 64 bytes"), std::string::npos);
  cu.dp_standin_reset();
  Try(cu.cuGraphExecDestroy(executable));
}

// Captures, launches and releases what it has; stops at the first error.
CUresult Program(const StandinCalls &cu, CUstream stream, CUdeviceptr memory) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUresult result = cu.cuStreamBeginCapture_v2(stream, kLocal);
  if (result) return result;
  result = cu.cuMemsetD8Async(memory, 1, 16, stream);
  CUresult ended = cu.cuStreamEndCapture(stream, &graph);
  if (!result) result = ended;
  if (!result) result = cu.cuGraphInstantiateWithFlags(&executable, graph, 0);
  CUresult released = CUDA_SUCCESS, each;
  if (graph && (each = cu.cuGraphDestroy(graph))) released = each;
  if (!result) result = cu.cuGraphLaunch(executable, stream);
  if (!result) result = cu.cuStreamSynchronize(stream);
  if (executable && (each = cu.cuGraphExecDestroy(executable))) released = each;
  return result ? result : released;
}

TEST_F(Capture, EveryCallMayFail) {
  cu.dp_standin_reset();
  const int64_t before = Held();
  Try(Program(cu, a, memory));
  const int64_t calls = cu.dp_standin_count().calls;
  EXPECT_EQ(calls, 8);
  for (int error : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED})
    for (int64_t call = 1; call <= calls; call++) {
      cu.dp_standin_reset();
      cu.dp_standin_fail(call, error);
      EXPECT_EQ(Program(cu, a, memory), error) << call;
      EXPECT_EQ(Held(), before) << call;
    }
  cu.dp_standin_reset();
  Try(Program(cu, a, memory));
}

}  // namespace
}  // namespace dp_test
