// Finds out what a plan computes by executing it: a slow machine for plans, as an oracle for the checker.
//
// It shares no code with ir/verify or runtime/. It has a runtime's freedom: each device proceeds as its streams and
// waits allow, the members of a collective meet, a Send meets the Recv of its channel, and nothing else synchronizes
// devices. The execution of an instruction on a device has a start and an end, with others in between: operands are
// read at the start, results are available at the end, and in between their bytes are garbage. A Chooser orders
// whatever is not ordered.
//
// Kernels are the reference kernels. The schema is taken literally: an instruction accesses exactly the declared bytes
// of a tensor. Scratch, and bytes of a result beyond its extents, are garbage afterwards. Transient and host memory is
// garbage at the start of a run. A kernel that may not work in place destroys an operand that its result overlaps.
// Garbage is NaN in floating point, so mistakes show in the numbers.
#ifndef DP_TESTS_IR_VERIFY_CAMPAIGN_ORACLE_MEANING_H
#define DP_TESTS_IR_VERIFY_CAMPAIGN_ORACLE_MEANING_H

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "ir/plan/plan.pb-c.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {

// What the machine takes as given: the logical graphs and the types of variables.
struct Logical {
  explicit Logical(const std::vector<uint8_t> &packed);
  Logical(const Logical &) = delete;
  Logical &operator=(const Logical &) = delete;
  Arena arena;
  dp_model *model = nullptr;
  std::vector<dp_graph *> graphs;
};

// Why a plan cannot be executed: it deadlocks, leaves its memory, or has the wrong kernel.
struct Broken {
  std::string why;
};

inline int StorageSpace(const Dp__Variable *storage) {
  return storage->offloaded ? DP__SPACE__OFFLOAD : DP__SPACE__PERSISTENT;
}

inline bool OnDevice(int space) {
  return space == DP__SPACE__PERSISTENT || space == DP__SPACE__TRANSIENT || space == DP__SPACE__DEVICE_INPUT;
}

struct Batch {
  std::string program;
  int64_t n, step;
  bool wrong = false;  // the first label is no class: the run has no outputs
  bool large = false;  // the first sample, so that its gradients are not finite in float16
};

// Outputs by name; after the last batch also parameters, buffers and state, whole.
struct Outcome {
  std::vector<std::map<std::string, std::vector<double>>> outputs;  // by batch
  std::map<std::string, std::vector<double>> variables;
};

// A possible next event: a device (the first, if there are several) starts an instruction, or ends it.
struct Choice {
  size_t device;
  bool ends;
};
class Chooser {
 public:
  virtual ~Chooser() = default;
  virtual size_t Choose(const std::vector<Choice> &choices) = 0;  // its index; there is at least one
};
// A seeded order: all devices advance alike, or one is as far ahead as possible, or as much as possible runs at once.
class RandomOrder : public Chooser {
 public:
  explicit RandomOrder(unsigned seed) : random_(seed), kind_(seed % 3) {}
  size_t Choose(const std::vector<Choice> &choices) override;

 private:
  std::mt19937 random_;
  unsigned kind_;
  std::map<size_t, unsigned> rank_;  // of a device
};
// Enumerates every order: for (EveryOrder order; ...; ) until !order.Next().
class EveryOrder : public Chooser {
 public:
  size_t Choose(const std::vector<Choice> &choices) override;
  bool Next();  // false: that was the last

 private:
  std::vector<std::pair<size_t, size_t>> path_;  // what was chosen, out of how many
  size_t depth_ = 0;
};

// Whether the result may coincide with the operand.
bool MayReplace(const dp_kernel *kernel, const dp_op *op, size_t result, size_t operand);

class Machine {
 public:
  // The plan must outlive it. Throws Broken, like the other functions.
  Machine(const Dp__Plan *plan, const Logical &logical);
  // The batch's inputs depend only on its step.
  void Run(const Batch &batch, Chooser *chooser);
  // Of the last run.
  std::map<std::string, std::vector<double>> Outputs();
  // Omits stored constants, since they affect what is computed from them. Copies on all devices must agree.
  std::map<std::string, std::vector<double>> Variables();

 private:
  struct Device {
    std::vector<uint8_t> variable, transient, input, offload;
    int64_t coordinate[DP_MAX_MESH];
    size_t role;
  };
  struct Part {  // of a run: what one role does
    const Dp__Program *program;
    const dp_graph *graph;
  };
  struct Lane {                 // of a run: how far one device is
    std::vector<size_t> at;     // next instruction of each stream
    std::vector<bool> waiting;  // by stream: its instruction can start, or has started
    std::vector<bool> signalled;
  };
  struct Head {  // the next instruction of a device's stream
    size_t device, stream;
    const Dp__Instruction *in;
  };
  struct Bytes {
    uint8_t *to;
    std::vector<uint8_t> bytes;
  };
  // What one device does for an instruction, several for a collective, or two for a Send and its Recv.
  struct Unit {
    std::vector<Head> heads;
    std::vector<Bytes> results;  // available once it has started
    std::vector<Bytes> scratch;  // filled with a marker
  };
  struct Kept {  // what a kernel has packed
    std::vector<uint8_t> plain;
    Bytes form;  // a marker
  };
  struct Operand {  // of an instruction, on one device
    const Dp__DeviceTensor *claim;
    dp_local local;
    size_t needed;  // bytes that the extents need
  };
  struct Buffer {  // a private copy with garbage around it
    std::vector<uint8_t> memory;
    uint8_t *Take(size_t bytes);
  };

  void Enter(size_t role);
  void Enter(const Unit &unit);
  size_t RoleOf(const int64_t *coordinate) const;
  bool Has(const Dp__Variable *storage, size_t device) const;
  static int64_t StoredIndex(const Dp__Variable *storage, const dp_local &local, int64_t at);
  const Dp__DeviceTensor *Tensor(uint32_t index) const;
  Operand Look(const Dp__DeviceTensor *t, size_t device);
  uint8_t *At(size_t device, int space, uint64_t offset, uint64_t bytes);
  // Elements come in the plain order and go to that of the tensor's layout.
  void Read(const Operand &x, size_t device, uint8_t *to);
  void Write(const Operand &x, size_t device, const uint8_t *from);
  static void Turn(const Operand &x, bool to_plain, uint8_t *bytes);
  void Spoil(const Dp__DeviceTensor *from, uint64_t offset, uint64_t bytes, uint8_t *copy, size_t needed);
  void SpoilResults(const Dp__Instruction *in, size_t device);
  void Begin(const Batch &batch);
  void Feed();
  std::vector<uint8_t> Mark(uint64_t bytes);
  void Pack();
  void CheckPacked(const Dp__Instruction *in, size_t device);
  bool HeadOf(size_t device, size_t stream, Head *head) const;
  bool Waits(const Head &head) const;
  bool Ready(const Head &head, Unit *unit) const;
  bool OtherEnd(const Head &head, Head *other) const;
  const std::vector<size_t> &Members(const Head &head) const;
  void Consider(size_t device);
  void RunStreams(bool ahead, Chooser *chooser);  // those that are ahead, or those that are not
  bool IsNow(size_t device, size_t stream) const;
  void Start(Unit *unit);
  void End(Unit *unit);
  void Put(uint8_t *to, std::vector<uint8_t> bytes);
  void Transfer(const Head &send, const Head &recv);
  size_t Peer(const Dp__Instruction *in, size_t device) const;
  void Step(const Dp__Instruction *in);
  // A kernel's status; where data is wrong, its results are garbage instead.
  dp_status Taken(dp_status status) const;
  void Kernel(const Dp__Instruction *in, size_t device);
  void Region(const Dp__Instruction *in, size_t device);
  struct RegionCopies;  // what members take and have made
  void Member(const Dp__Instruction *member, size_t device, RegionCopies *copies);
  void Communicate(const Dp__Instruction *in);
  void Convert(const Dp__Instruction *in, size_t k, std::vector<std::vector<uint8_t>> *results);
  void Accumulate(const Dp__Instruction *in);
  std::vector<bool> Held(const Dp__DeviceTensor *t, size_t device) const;
  void Move(const Dp__Instruction *in);
  void FromHost(const Dp__Instruction *in);
  void ToHost(const Dp__Instruction *in);
  std::vector<size_t> Group(const Dp__Instruction *in, size_t device) const;
  dp_node *Node(const Dp__Instruction *in);
  void Placements(const Dp__DeviceTensor *t, const dp_shape *shape, dp_placement *at) const;

  const Dp__Plan *plan_;
  const Logical &logical_;
  dp_mesh mesh_{};
  Arena arena_;
  std::vector<Device> devices_;
  std::vector<uint8_t> host_input_, host_output_;
  bool overlap_ = false;        // the next run may begin before the host has read the outputs
  bool ahead_ = false;          // now those streams run
  dp_graph *holder_ = nullptr;  // holds nodes that carry the instructions' attributes
  std::map<const Dp__Instruction *, dp_node *> nodes_;
  std::vector<Buffer> in_, out_;
  Buffer scratch_;
  // Of the run.
  Batch batch_;
  std::vector<Part> parts_;  // by role
  std::vector<Lane> lanes_;  // by device
  std::vector<Unit> ready_, begun_;
  mutable std::map<std::pair<const Dp__Instruction *, size_t>, std::vector<size_t>> members_;
  unsigned marks_ = 0;
  std::map<std::pair<const Dp__Instruction *, size_t>, Kept> kept_;
  // Of the unit that it is at.
  Unit *unit_ = nullptr;
  const Dp__Program *program_ = nullptr;
  const dp_graph *graph_ = nullptr;
  std::vector<size_t> here_;  // its devices
};

// Two training steps, the second with a short batch; one with a wrong label, which must change nothing; one that
// float16 cannot hold, if there is a scale, and a third step; then eval and infer with other sizes. Only those that the
// plan has.
std::vector<Batch> Batches(const Dp__Plan *plan);
Outcome Carry(const Dp__Plan *plan, const Logical &logical, unsigned seed);
// "" if the plan gives the same numbers (to 1e-9; to 1e-3 of the largest in 16 bits, 1e-5 in float32), else the first
// difference, or why it cannot be executed.
std::string Differs(const Dp__Plan *plan, const Logical &logical, const Outcome &expected, unsigned seed);

}  // namespace dp_test

#endif
