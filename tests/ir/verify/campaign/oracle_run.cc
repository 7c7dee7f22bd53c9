// The machine's runs: what the host feeds, in which order the instructions of all roles are carried out, and what passes
// between roles. See oracle_meaning.h.
#include <cmath>
#include <cstring>

#include "ir/graph/op.h"
#include "tests/ir/verify/campaign/oracle_meaning.h"

namespace dp_test {

namespace {

enum { kGarbage = 0xff };

void Check(bool good, const std::string &why) {
  if (!good) throw Broken{why};
}

bool Is(const Dp__Instruction *in, const char *op) { return !strcmp(in->op, op); }

// Inputs that depend on step, name and place alone; labels within their classes.
double Number(const Batch &batch, const dp_value *value, int64_t index) {
  if (value->kind == DP_VALUE_SCALAR) {
    std::string name = value->name;
    if (name == DP_SCALAR_N) return static_cast<double>(batch.n);
    if (name == DP_SCALAR_STEP) return static_cast<double>(batch.step);
    return name == DP_SCALAR_LR ? 0.05 : 7;
  }
  uint64_t mixed = (static_cast<uint64_t>(index) * 2654435761u + static_cast<uint64_t>(batch.step) * 40503u + 17) *
                   UINT64_C(0x9e3779b97f4a7c15);
  double part = static_cast<double>(mixed >> 40) / (1 << 24);
  if (dp_type_is_float(value->type.dtype)) return 2 * part - 1;
  return std::floor(part * (value->type.dtype == DP_INT64 ? 3 : 200));
}

}  // namespace

// ---- the host -------------------------------------------------------------------------------------------------------

// An input is one piece of host memory, whichever roles read it: that of the first that says where it is.
void Machine::Feed() {
  std::map<std::string, bool> fed;
  for (size_t r = 0; r < parts_.size(); r++) {
    Enter(r);
    for (size_t i = 0; i < program_->n_inputs; i++) {
      const Dp__DeviceTensor *t = Tensor(program_->inputs[i]->tensor);
      const dp_value *value = dp_graph_find_value(graph_, program_->inputs[i]->name);
      if (!value || fed[value->name]) continue;
      fed[value->name] = true;
      size_t size = dp_type_bytes(value->type.dtype), count = 0;
      Check(t->space == DP__SPACE__HOST_INPUT, "an input that is not in host memory");
      std::vector<uint8_t> bytes(static_cast<size_t>(dp_shape_count(&value->type.shape, batch_.n)) * size);
      for (; count * size < bytes.size(); count++)
        dp_element_set(value->type.dtype, &bytes[count * size], Number(batch_, value, static_cast<int64_t>(count)));
      size_t has = std::min<uint64_t>(bytes.size(), t->bytes);
      std::memcpy(At(0, t->space, t->offset, has), bytes.data(), has);
    }
  }
}

// ---- order ----------------------------------------------------------------------------------------------------------

void Machine::Begin(const Batch &batch) {
  batch_ = batch;
  parts_.clear();
  for (size_t r = 0; r < plan_->n_roles; r++) {
    const Dp__Program *program = nullptr;
    for (size_t p = 0; p < plan_->roles[r]->n_programs; p++)
      if (plan_->roles[r]->programs[p]->name == batch.program) program = plan_->roles[r]->programs[p];
    Check(program, "no program " + batch.program);
    parts_.push_back({program, logical_.graphs[program->graph], std::vector<size_t>(program->n_streams),
                      std::vector<bool>(program->events)});
  }
  std::fill(host_input_.begin(), host_input_.end(), kGarbage);
  std::fill(host_output_.begin(), host_output_.end(), kGarbage);
  for (Device &d : devices_) std::fill(d.transient.begin(), d.transient.end(), kGarbage);
}

void Machine::Enter(size_t role) {
  program_ = parts_[role].program;
  graph_ = parts_[role].graph;
  here_.clear();
  for (size_t d = 0; d < devices_.size(); d++)
    if (devices_[d].role == role) here_.push_back(d);
}

bool Machine::Waits(const Head &head) const {
  const std::vector<bool> &signalled = parts_[head.role].signalled;
  for (size_t w = 0; w < head.in->n_waits; w++) {
    Check(head.in->waits[w] < signalled.size(), "no such event");
    if (!signalled[head.in->waits[w]]) return true;
  }
  return false;
}

std::vector<Machine::Head> Machine::Heads() const {
  std::vector<Head> heads;
  for (size_t r = 0; r < parts_.size(); r++)
    for (size_t s = 0; s < parts_[r].at.size(); s++)
      if (parts_[r].at[s] < parts_[r].program->streams[s]->n_instructions)
        heads.push_back({r, s, parts_[r].program->streams[s]->instructions[parts_[r].at[s]]});
  return heads;
}

void Machine::Done(const Head &head) {
  Part &part = parts_[head.role];
  part.at[head.stream]++;
  if (!head.in->signal) return;
  Check(head.in->signal <= part.signalled.size(), "no such event");
  part.signalled[head.in->signal - 1] = true;
}

void Machine::Run(const Batch &batch, unsigned seed) {
  Begin(batch);
  Feed();
  std::mt19937 random(seed);
  for (std::vector<Head> heads = Heads(); !heads.empty(); heads = Heads()) {
    std::vector<std::pair<Head, Head>> ready;  // what can be done now; a Send with its Recv
    for (const Head &head : heads) {
      if (Waits(head) || Is(head.in, "Recv")) continue;
      if (!Is(head.in, "Send")) ready.push_back({head, head});
      for (const Head &other : heads)
        if (Is(head.in, "Send") && Is(other.in, "Recv") && !Waits(other) && Meet(head, other))
          ready.push_back({head, other});
    }
    Check(!ready.empty(), "deadlock");
    const auto &next = ready[random() % ready.size()];
    if (Is(next.first.in, "Send")) {
      Transfer(next.first, next.second);
      Done(next.second);
    } else {
      Enter(next.first.role);
      Step(next.first.in);
    }
    Done(next.first);
  }
}

void Machine::Step(const Dp__Instruction *in) {
  Check(in->n_inputs <= DP_MAX_OPERANDS && in->n_outputs <= DP_MAX_OPERANDS, "too many operands");
  if (!*in->kernel) return Communicate(in);
  for (size_t d : here_) Kernel(in, d);
}

// ---- between roles --------------------------------------------------------------------------------------------------

// The device that the peer expressions lead to.
size_t Machine::Peer(const Dp__Instruction *in, size_t device) const {
  const Dp__Communication *c = in->communication;
  int64_t at[DP_MAX_MESH];
  Check(c && c->n_peer, "a transfer without a peer");
  std::copy(devices_[device].coordinate, devices_[device].coordinate + DP_MAX_MESH, at);
  for (size_t i = 0; i < c->n_peer; i++) {
    const Dp__PeerExpression *peer = c->peer[i];
    Check(peer->axis < static_cast<uint32_t>(mesh_.n_axes), "no such axis");
    int64_t size = mesh_.axes[peer->axis].size, k = (at[peer->axis] * peer->scale + peer->offset) % size;
    at[peer->axis] = (k + size) % size;
  }
  return static_cast<size_t>(dp_mesh_device(&mesh_, at));
}

// Whether they are the two ends of one channel: each device of the one has its peer among those of the other, and the other
// way round.
bool Machine::Meet(const Head &send, const Head &recv) {
  if (!send.in->communication || !recv.in->communication) return false;
  if (send.in->communication->channel != recv.in->communication->channel || send.role == recv.role) return false;
  size_t met = 0, takers = 0;
  for (size_t d = 0; d < devices_.size(); d++) {
    takers += devices_[d].role == recv.role;
    if (devices_[d].role != send.role) continue;
    size_t to = Peer(send.in, d);
    if (devices_[to].role != recv.role || Peer(recv.in, to) != d) return false;
    met++;
  }
  return met == takers;
}

// What a device sends its peer has as it is, byte by byte.
void Machine::Transfer(const Head &send, const Head &recv) {
  Check(send.in->n_inputs == 1 && send.in->inputs[0], "a Send of nothing");
  Check(recv.in->n_outputs == 1 && recv.in->outputs[0], "a Recv of nothing");
  for (size_t d = 0; d < devices_.size(); d++) {
    if (devices_[d].role != send.role) continue;
    Enter(send.role);
    const Dp__DeviceTensor *from = Tensor(send.in->inputs[0] - 1);
    Operand source = Look(from, d);
    std::vector<uint8_t> copy(source.needed + 1, kGarbage);
    Read(source, d, copy.data());
    Enter(recv.role);
    const size_t peer = Peer(send.in, d);
    const Dp__DeviceTensor *to = Tensor(recv.in->outputs[0] - 1);
    Operand target = Look(to, peer);
    Check(from->dtype == to->dtype && source.needed == target.needed, "a transfer between unlike tensors");
    for (const Dp__DeviceTensor *t : {from, to})
      Check(t->space == DP__SPACE__PERSISTENT || t->space == DP__SPACE__TRANSIENT, "not in a device's memory");
    Write(target, peer, copy.data());
  }
}

}  // namespace dp_test
