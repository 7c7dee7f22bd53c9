// What a plan computes, found out by doing it: a slow machine for plans, as an oracle for the checker.
//
// It shares no code with ir/verify and none with runtime/: instructions run one at a time, in an order that streams and
// waits of all roles allow, on all devices of the role, a Send together with the Recv of its channel; kernels are the
// reference kernels. It reads a plan as strictly as its schema: an
// instruction has of a tensor exactly the bytes that the plan declares, a result's bytes beyond its extents and scratch
// are garbage afterwards, transient and host memory is garbage at the start of a run, and what a kernel may not write
// over its operand's place destroys the operand. Garbage is NaN in floating point. So a mistake shows in the numbers.
#ifndef DP_TESTS_IR_VERIFY_CAMPAIGN_ORACLE_MEANING_H
#define DP_TESTS_IR_VERIFY_CAMPAIGN_ORACLE_MEANING_H

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
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

// Why a plan cannot be carried out: it deadlocks, leaves its memory, has a kernel for something else.
struct Broken {
  std::string why;
};

struct Batch {
  std::string program;
  int64_t n, step;
};

// Outputs by name; then, after the last batch, parameters, buffers and state, whole.
struct Outcome {
  std::vector<std::map<std::string, std::vector<double>>> outputs;  // by batch
  std::map<std::string, std::vector<double>> variables;
};

class Machine {
 public:
  // The plan must outlive it. Throws Broken, as the other functions do.
  Machine(const Dp__Plan *plan, const Logical &logical);
  // The batch's inputs depend on its step alone. seed: which of the orders that are allowed.
  void Run(const Batch &batch, unsigned seed);
  // Of the last run.
  std::map<std::string, std::vector<double>> Outputs();
  // Stored constants are left out: they show in what is computed with them. Copies on all devices must agree.
  std::map<std::string, std::vector<double>> Variables();

 private:
  struct Device {
    std::vector<uint8_t> variable, transient;
    int64_t coordinate[DP_MAX_MESH];
    size_t role;
  };
  struct Part {  // of a run: what one role does
    const Dp__Program *program;
    const dp_graph *graph;
    std::vector<size_t> at;  // next instruction of each stream
    std::vector<bool> signalled;
  };
  struct Head {  // the next instruction of a stream
    size_t role, stream;
    const Dp__Instruction *in;
  };
  struct Operand {  // of an instruction, on one device
    const Dp__DeviceTensor *claim;
    dp_local local;
    size_t needed;  // bytes that the extents take
  };
  struct Buffer {  // a private copy with garbage around it
    std::vector<uint8_t> memory;
    uint8_t *Take(size_t bytes);
  };

  void Enter(size_t role);
  size_t RoleOf(const int64_t *coordinate) const;
  bool Has(const Dp__Variable *storage, size_t device) const;
  const Dp__DeviceTensor *Tensor(uint32_t index) const;
  Operand Look(const Dp__DeviceTensor *t, size_t device);
  uint8_t *At(size_t device, int space, uint64_t offset, uint64_t bytes);
  void Read(const Operand &x, size_t device, uint8_t *to);
  void Write(const Operand &x, size_t device, const uint8_t *from);
  void Spoil(const Dp__DeviceTensor *from, uint64_t offset, uint64_t bytes, uint8_t *copy, size_t needed);
  void SpoilResults(const Dp__Instruction *in, size_t device);
  void Begin(const Batch &batch);
  void Feed();
  bool Waits(const Head &head) const;
  std::vector<Head> Heads() const;
  void Done(const Head &head);
  bool Meet(const Head &send, const Head &recv);
  void Transfer(const Head &send, const Head &recv);
  size_t Peer(const Dp__Instruction *in, size_t device) const;
  void Step(const Dp__Instruction *in);
  void Kernel(const Dp__Instruction *in, size_t device);
  void Communicate(const Dp__Instruction *in);
  void Convert(const Dp__Instruction *in, size_t k, std::vector<std::vector<uint8_t>> *results);
  void Accumulate(const Dp__Instruction *in);
  std::vector<bool> Held(const Dp__DeviceTensor *t, size_t device) const;
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
  dp_graph *holder_ = nullptr;  // of nodes that carry the instructions' attributes
  std::map<const Dp__Instruction *, dp_node *> nodes_;
  std::vector<Buffer> in_, out_;
  Buffer scratch_;
  // Of the run.
  Batch batch_;
  std::vector<Part> parts_;  // by role
  // Of the role whose instruction it is at.
  const Dp__Program *program_ = nullptr;
  const dp_graph *graph_ = nullptr;
  std::vector<size_t> here_;  // devices
};

// Two training steps, the second with a short batch, then an eval and an infer of other sizes; what the plan has of these.
std::vector<Batch> Batches(const Dp__Plan *plan);
Outcome Carry(const Dp__Plan *plan, const Logical &logical, unsigned seed);
// "" when the plan gives the same numbers (1e-9), else what differs first or why it breaks.
std::string Differs(const Dp__Plan *plan, const Logical &logical, const Outcome &expected, unsigned seed);

}  // namespace dp_test

#endif
