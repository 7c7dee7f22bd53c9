// The machine's regions: runs the members' reference kernels one after another, each on its own copies. An operand of
// the region that a member overwrites is garbage for later members, and for the member itself unless its kernel may
// work in place.
#include <cstring>
#include <map>

#include "backends/cpu/target.h"
#include "tests/ir/ops/interpreter.h"
#include "tests/ir/verify/campaign/oracle_meaning.h"

namespace dp_test {

namespace {

constexpr size_t kSlack = 4096;

struct Copy {
  const Dp__DeviceTensor *claim = nullptr;
  dp_local local{};
  size_t needed = 0;
  std::vector<uint8_t> memory;  // garbage around it

  uint8_t *Bytes() { return memory.data() + kSlack; }
  bool Overlaps(const Dp__DeviceTensor *t) const {
    return claim->space == t->space && claim->bytes && t->bytes && claim->offset < t->offset + t->bytes &&
           t->offset < claim->offset + claim->bytes;
  }
};

Copy Garbage(const Dp__DeviceTensor *claim, const dp_local &local, size_t needed) {
  return {claim, local, needed, std::vector<uint8_t>(needed + 2 * kSlack, 0xff)};
}

}  // namespace

struct Machine::RegionCopies {
  std::map<uint32_t, Copy> operands, made;  // by tensor
};

void Machine::Region(const Dp__Instruction *in, size_t d) {
  RegionCopies copies;
  auto &[operands, made] = copies;
  for (size_t i = 0; i < in->n_inputs; i++) {
    if (!in->inputs[i]) throw Broken{"a region without an operand"};
    Operand x = Look(Tensor(in->inputs[i] - 1), d);
    Copy &copy = operands[in->inputs[i]] = Garbage(x.claim, x.local, x.needed);
    Read(x, d, copy.Bytes());
    if (in->scratch && x.claim->space == DP__SPACE__TRANSIENT)
      Spoil(x.claim, in->scratch->offset, in->scratch->bytes, copy.Bytes(), x.needed);
    for (size_t k = 0; k < in->n_outputs; k++) {
      const Dp__DeviceTensor *r = in->outputs[k] ? Tensor(in->outputs[k] - 1) : nullptr;
      const bool same = r && r->offset == x.claim->offset && r->bytes == x.claim->bytes;
      if (r && r->space == x.claim->space && !same) Spoil(x.claim, r->offset, r->bytes, copy.Bytes(), x.needed);
    }
  }
  for (size_t m = 0; m < in->n_members; m++) Member(in->members[m], d, &copies);
  for (size_t k = 0; k < in->n_outputs; k++) {
    if (!in->outputs[k] || !made.count(in->outputs[k])) throw Broken{"a region's result that no member makes"};
    Write(Look(Tensor(in->outputs[k] - 1), d), d, made[in->outputs[k]].Bytes());
  }
  SpoilResults(in, d);
}

void Machine::Member(const Dp__Instruction *member, size_t d, RegionCopies *copies) {
  auto &[operands, made] = *copies;
  dp_node *node = Node(member);
  dp_kernel_spec spec{};
  dp_kernel_operand taken[DP_MAX_OPERANDS] = {}, given[DP_MAX_OPERANDS] = {};
  const void *from[DP_MAX_OPERANDS] = {};
  void *to[DP_MAX_OPERANDS] = {};
  if (member->n_inputs > DP_MAX_OPERANDS || member->n_outputs > DP_MAX_OPERANDS) throw Broken{"too many operands"};
  spec.op = node->op;
  spec.node = node;
  spec.threads = 1;
  spec.n_inputs = static_cast<int>(member->n_inputs);
  spec.n_outputs = static_cast<int>(member->n_outputs);
  spec.inputs = taken;
  spec.outputs = given;
  for (size_t i = 0; i < member->n_inputs; i++) {
    if (!member->inputs[i]) continue;
    auto &held = made.count(member->inputs[i]) ? made : operands;
    if (!held.count(member->inputs[i])) throw Broken{"a member takes what its region does not have"};
    Copy &x = held[member->inputs[i]];
    taken[i] = {static_cast<dp_dtype>(x.claim->dtype), true, x.local, DP_LAYOUT_PLAIN};
    from[i] = x.Bytes();
  }
  std::map<uint32_t, Copy> results;
  for (size_t i = 0; i < member->n_outputs; i++) {
    if (!member->outputs[i]) continue;
    if (made.count(member->outputs[i]) || operands.count(member->outputs[i])) throw Broken{"made twice in a region"};
    Operand y = Look(Tensor(member->outputs[i] - 1), d);
    Copy &copy = results[member->outputs[i]] = Garbage(y.claim, y.local, y.needed);
    given[i] = {static_cast<dp_dtype>(y.claim->dtype), true, y.local, DP_LAYOUT_PLAIN};
    to[i] = copy.Bytes();
  }
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cpu, &spec, true);
  if (!kernel) throw Broken{"a member that no reference kernel computes"};
  // Before the member runs, operands that a result overlaps become garbage, except the one that the kernel may
  // overwrite; afterwards that one too.
  for (int after = 0; after < 2; after++) {
    for (auto &[tensor, x] : operands)
      for (size_t i = 0; i < member->n_outputs; i++) {
        if (!member->outputs[i] || !x.Overlaps(results[member->outputs[i]].claim)) continue;
        const bool own = MayReplace(kernel, node->op, i, i) && i < member->n_inputs && member->inputs[i] == tensor;
        if (after || !own) std::memset(x.Bytes(), 0xff, x.needed);
      }
    if (after) break;
    uint64_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0;
    void *state = nullptr;
    dp_status status = kernel->prepare ? kernel->prepare(&spec, &state) : DP_OK;
    if (!status) status = kernel->run(&spec, state, from, to, scratch_.Take(bytes), 0, 1);
    if (kernel->release && state) kernel->release(state);
    status = Taken(status);
    std::string message = dp_status_message(status);
    dp_status_free(status);
    if (!message.empty()) throw Broken{message};
  }
  for (auto &[tensor, x] : results) made[tensor] = std::move(x);
}

}  // namespace dp_test
