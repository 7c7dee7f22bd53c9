// The machine's runs: what the host feeds, the order in which the instructions of all roles are executed, and transfers
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

// Inputs depend only on step, name and position; labels are valid classes.
double Number(const Batch &batch, const dp_value *value, int64_t index) {
  if (value->kind == DP_VALUE_SCALAR) {
    std::string name = value->name;
    if (name == DP_SCALAR_N) return static_cast<double>(batch.n);
    if (name == DP_SCALAR_STEP) return static_cast<double>(batch.step);
    return name == DP_SCALAR_LR ? 0.05 : 7;
  }
  if (batch.wrong && !index && std::string(value->name) == "label") return 99;
  uint64_t mixed = (static_cast<uint64_t>(index) * 2654435761u + static_cast<uint64_t>(batch.step) * 40503u + 17) *
                   UINT64_C(0x9e3779b97f4a7c15);
  double part = static_cast<double>(mixed >> 40) / (1 << 24);
  const bool large = batch.large && index < dp_shape_count(&value->type->shape, 1);
  if (dp_type_is_float(value->type->dtype)) return (2 * part - 1) * (large ? 100 : 1);
  return std::floor(part * (value->type->dtype == DP_INT64 ? 3 : 200));
}

}  // namespace

// ---- the host -------------------------------------------------------------------------------------------------------

// An input has one place in host memory for all roles: that of the first role that binds it.
void Machine::Feed() {
  std::map<std::string, bool> fed;
  for (size_t r = 0; r < parts_.size(); r++) {
    Enter(r);
    for (size_t i = 0; i < program_->n_inputs; i++) {
      const Dp__DeviceTensor *t = Tensor(program_->inputs[i]->tensor);
      const dp_value *value = dp_graph_find_value(graph_, program_->inputs[i]->name);
      if (!value || fed[value->name]) continue;
      fed[value->name] = true;
      size_t size = dp_type_bytes(value->type->dtype), count = 0;
      Check(t->space == DP__SPACE__HOST_INPUT, "an input that is not in host memory");
      std::vector<uint8_t> bytes(static_cast<size_t>(dp_shape_count(&value->type->shape, batch_.n)) * size);
      for (; count * size < bytes.size(); count++)
        dp_element_set(value->type->dtype, &bytes[count * size], Number(batch_, value, static_cast<int64_t>(count)));
      size_t has = std::min<uint64_t>(bytes.size(), t->bytes);
      std::memcpy(At(0, t->space, t->offset, has), bytes.data(), has);
    }
  }
}

// ---- a run ----------------------------------------------------------------------------------------------------------

void Machine::Begin(const Batch &batch) {
  batch_ = batch;
  parts_.clear();
  lanes_.clear();
  ready_.clear();
  begun_.clear();
  for (size_t r = 0; r < plan_->n_roles; r++) {
    const Dp__Program *program = nullptr;
    for (size_t p = 0; p < plan_->roles[r]->n_programs; p++)
      if (plan_->roles[r]->programs[p]->name == batch.program) program = plan_->roles[r]->programs[p];
    Check(program, "no program " + batch.program);
    parts_.push_back({program, logical_.graphs[program->graph]});
  }
  for (const Device &d : devices_) {
    const Dp__Program *program = parts_[d.role].program;
    lanes_.push_back({std::vector<size_t>(program->n_streams), std::vector<bool>(program->n_streams),
                      std::vector<bool>(program->events)});
  }
  std::fill(host_input_.begin(), host_input_.end(), kGarbage);
  std::fill(host_output_.begin(), host_output_.end(), kGarbage);
  for (size_t d = 0; d < devices_.size(); d++) {
    Device &device = devices_[d];
    std::fill(device.transient.begin(), device.transient.end(), kGarbage);
    std::fill(device.input.begin(), device.input.end(), kGarbage);
    // Of what is offloaded, variables alone stay.
    std::vector<uint8_t> offload(device.offload.size(), kGarbage);
    for (size_t p = 0; p < plan_->n_variables; p++) {
      const Dp__Variable *storage = plan_->variables[p];
      if (!storage->offloaded || !Has(storage, d)) continue;
      const uint8_t *at = At(d, DP__SPACE__OFFLOAD, storage->offset, storage->bytes);
      std::copy(at, at + storage->bytes, offload.begin() + static_cast<std::ptrdiff_t>(storage->offset));
    }
    device.offload = offload;
  }
}

void Machine::Enter(size_t role) {
  program_ = parts_[role].program;
  graph_ = parts_[role].graph;
}

void Machine::Enter(const Unit &unit) {
  Enter(devices_[unit.heads[0].device].role);
  here_.clear();
  for (const Head &head : unit.heads) here_.push_back(head.device);
}

void Machine::Run(const Batch &batch, Chooser *chooser) {
  Begin(batch);
  Pack();
  Feed();
  // What is ahead runs beside the run before, which uses everything but the copies of inputs: nothing else is there to
  // wait for, and nothing else that it writes stays. Then the host fills its copy anew.
  RunStreams(true, chooser);
  for (Device &d : devices_) std::fill(d.transient.begin(), d.transient.end(), kGarbage);
  if (overlap_) std::fill(host_input_.begin(), host_input_.end(), kGarbage);
  RunStreams(false, chooser);
}

void Machine::RunStreams(bool ahead, Chooser *chooser) {
  ahead_ = ahead;
  for (size_t d = 0; d < devices_.size(); d++) Consider(d);
  std::vector<Choice> choices;
  while (!ready_.empty() || !begun_.empty()) {
    choices.clear();
    for (const Unit &unit : ready_) choices.push_back({unit.heads[0].device, false});
    for (const Unit &unit : begun_) choices.push_back({unit.heads[0].device, true});
    const size_t chosen = chooser->Choose(choices);
    const bool ends = choices[chosen].ends;
    std::vector<Unit> &from = ends ? begun_ : ready_;
    const size_t at = ends ? chosen - ready_.size() : chosen;
    Unit unit = std::move(from[at]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    if (ends) {
      End(&unit);
    } else {
      Start(&unit);
      begun_.push_back(std::move(unit));
    }
  }
  Head head;
  for (size_t d = 0; d < devices_.size(); d++)
    for (size_t s = 0; s < lanes_[d].at.size(); s++) Check(!IsNow(d, s) || !HeadOf(d, s, &head), "deadlock");
}

// Reads the operands. Until the end, results are garbage, and scratch belongs to this unit alone.
void Machine::Start(Unit *unit) {
  unit_ = unit;
  if (Is(unit->heads[0].in, "Send")) {
    Transfer(unit->heads[0], unit->heads[1]);
  } else {
    Enter(*unit);
    Step(unit->heads[0].in);
  }
  for (const Bytes &mark : unit->scratch) std::copy(mark.bytes.begin(), mark.bytes.end(), mark.to);
  for (const Bytes &result : unit->results) std::memset(result.to, kGarbage, result.bytes.size());
}

void Machine::End(Unit *unit) {
  for (const Bytes &mark : unit->scratch) {
    Check(std::equal(mark.bytes.begin(), mark.bytes.end(), mark.to), "scratch that something else writes to");
    std::memset(mark.to, kGarbage, mark.bytes.size());
  }
  for (const Bytes &result : unit->results) std::copy(result.bytes.begin(), result.bytes.end(), result.to);
  for (const Head &head : unit->heads) {
    Lane &lane = lanes_[head.device];
    lane.at[head.stream]++;
    lane.waiting[head.stream] = false;
    if (!head.in->signal) continue;
    Check(head.in->signal <= lane.signalled.size(), "no such event");
    lane.signalled[head.in->signal - 1] = true;
  }
  for (const Head &head : unit->heads) Consider(head.device);
}

// ---- order ----------------------------------------------------------------------------------------------------------

bool Machine::HeadOf(size_t device, size_t stream, Head *head) const {
  const Dp__Stream *all = parts_[devices_[device].role].program->streams[stream];
  const size_t at = lanes_[device].at[stream];
  if (at == all->n_instructions) return false;
  *head = {device, stream, all->instructions[at]};
  return true;
}

bool Machine::Waits(const Head &head) const {
  const std::vector<bool> &signalled = lanes_[head.device].signalled;
  for (size_t w = 0; w < head.in->n_waits; w++) {
    Check(head.in->waits[w] < signalled.size(), "no such event");
    if (!signalled[head.in->waits[w]]) return true;
  }
  return false;
}

// The devices that take part; for most instructions only this one.
const std::vector<size_t> &Machine::Members(const Head &head) const {
  std::vector<size_t> &members = members_[{head.in, head.device}];
  if (!members.empty()) return members;
  static const char *const alone[] = {"Slice", "Accumulate", "Scatter", "Broadcast", "Gather", "Offload", "Fetch"};
  bool meets = !*head.in->kernel && head.in->communication;
  for (const char *op : alone) meets &= !Is(head.in, op);
  if (!meets) {
    members = {head.device};
  } else if (head.in->communication->n_peer) {
    for (size_t d = 0; d < devices_.size(); d++)
      if (devices_[d].role == devices_[head.device].role) members.push_back(d);
  } else {
    members = Group(head.in, head.device);
  }
  return members;
}

// Whether all of them have reached it.
bool Machine::Ready(const Head &head, Unit *unit) const {
  unit->heads = {head};
  if (Waits(head)) return false;
  if (Is(head.in, "Send") || Is(head.in, "Recv")) {
    Head other;
    if (!OtherEnd(head, &other)) return false;
    unit->heads = Is(head.in, "Send") ? std::vector<Head>{head, other} : std::vector<Head>{other, head};
    return true;
  }
  unit->heads.clear();
  for (size_t d : Members(head)) {
    Head one;
    if (!HeadOf(d, head.stream, &one) || one.in != head.in || Waits(one)) return false;
    unit->heads.push_back(one);
  }
  return true;
}

bool Machine::IsNow(size_t device, size_t stream) const {
  return (parts_[devices_[device].role].program->streams[stream]->ahead != 0) == ahead_;
}

// Adds what the device can start now to the choices.
void Machine::Consider(size_t device) {
  for (size_t s = 0; s < lanes_[device].at.size(); s++) {
    Head head;
    Unit unit;
    if (!IsNow(device, s) || lanes_[device].waiting[s] || !HeadOf(device, s, &head) || !Ready(head, &unit)) continue;
    for (const Head &one : unit.heads) lanes_[one.device].waiting[one.stream] = true;
    ready_.push_back(std::move(unit));
  }
}

dp_status Machine::Taken(dp_status status) const {
  if (!batch_.wrong || dp_status_code(status) != EX_DATAERR) return status;
  dp_status_free(status);
  return DP_OK;
}

void Machine::Step(const Dp__Instruction *in) {
  Check(in->n_members || (in->n_inputs <= DP_MAX_OPERANDS && in->n_outputs <= DP_MAX_OPERANDS), "too many operands");
  if (!*in->kernel) return Communicate(in);
  for (size_t d : here_) Kernel(in, d);
}

// ---- between roles --------------------------------------------------------------------------------------------------

// The device that the peer expressions denote.
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

// The other end of the channel, if that device has reached it. The two ends must name each other.
bool Machine::OtherEnd(const Head &head, Head *other) const {
  const size_t there = Peer(head.in, head.device);
  const char *op = Is(head.in, "Send") ? "Recv" : "Send";
  if (devices_[there].role == devices_[head.device].role) return false;
  for (size_t s = 0; s < lanes_[there].at.size(); s++) {
    if (lanes_[there].waiting[s] || !HeadOf(there, s, other) || !Is(other->in, op) || Waits(*other)) continue;
    if (!other->in->communication || other->in->communication->channel != head.in->communication->channel) continue;
    if (Peer(other->in, there) == head.device) return true;
  }
  return false;
}

// The receiver gets exactly what the sender has, byte by byte.
void Machine::Transfer(const Head &send, const Head &recv) {
  Check(send.in->n_inputs == 1 && send.in->inputs[0], "a Send of nothing");
  Check(recv.in->n_outputs == 1 && recv.in->outputs[0], "a Recv of nothing");
  Enter(devices_[send.device].role);
  const Dp__DeviceTensor *from = Tensor(send.in->inputs[0] - 1);
  Operand source = Look(from, send.device);
  std::vector<uint8_t> copy(source.needed + 1, kGarbage);
  Read(source, send.device, copy.data());
  Enter(devices_[recv.device].role);
  const Dp__DeviceTensor *to = Tensor(recv.in->outputs[0] - 1);
  Operand target = Look(to, recv.device);
  Check(from->layout == to->layout, "from one layout to another");
  Check(from->dtype == to->dtype && source.needed == target.needed, "a transfer between unlike tensors");
  for (const Dp__DeviceTensor *t : {from, to}) Check(OnDevice(t->space), "not in a device's memory");
  Write(target, recv.device, copy.data());
}

}  // namespace dp_test
