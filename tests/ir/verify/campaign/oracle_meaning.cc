// The machine: memory, kernels, outcomes. See oracle_meaning.h. oracle_run.cc has its runs, oracle_communication.cc its
// communication.
#include "tests/ir/verify/campaign/oracle_meaning.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/target.h"
#include "backends/registry.h"
#include "ir/file/proto.h"
#include "ir/file/wire.h"
#include "tests/ir/ops/interpreter.h"

namespace dp_test {

namespace {

enum { kGarbage = 0xff, kSlack = 4096, kMostArena = 1 << 26 };

void Need(dp_status status) {
  std::string message = Message(status);
  if (!message.empty()) throw Broken{message};
}

void Check(bool good, const std::string &why) {
  if (!good) throw Broken{why};
}

bool Overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

// ---- the logical side -----------------------------------------------------------------------------------------------

// The tensors' data stays in the message, which is in the arena.
Logical::Logical(const std::vector<uint8_t> &packed) {
  ProtobufCMessage *message;
  Need(dp_wire_unpack(arena, &dp__plan__descriptor, packed.data(), packed.size(), "plan", &message));
  const Dp__Plan *plan = reinterpret_cast<const Dp__Plan *>(message);
  model = dp_model_create(arena, plan->name);
  model->batch = plan->batch;
  if (*plan->symbol) model->symbol = plan->symbol;
  Need(dp_proto_to_mesh(plan->n_mesh, plan->mesh, &model->mesh));
  for (size_t i = 0; i < plan->n_variables; i++) {
    dp_variable p;
    Need(dp_proto_to_variable(model, plan->variables[i], &model->mesh, &p));
    dp_model_add_variable(model, &p);
  }
  for (size_t i = 0; i < plan->n_graphs; i++) {
    dp_graph *graph;
    Need(dp_proto_to_graph(model, plan->graphs[i], &graph));
    graphs.push_back(graph);
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

uint8_t *Machine::Buffer::Take(size_t bytes) {
  // Bytes used before become garbage again. Buffers have garbage on both sides for kernels that stray a little.
  if (memory.size() < bytes + 2 * kSlack) memory.resize(bytes + 2 * kSlack);
  std::memset(memory.data(), kGarbage, std::min(memory.size(), bytes + kSlack + 512));
  return memory.data() + kSlack;
}

Machine::Machine(const Dp__Plan *plan, const Logical &logical)
    : plan_(plan), logical_(logical), in_(DP_MAX_OPERANDS), out_(DP_MAX_OPERANDS) {
  Need(dp_proto_to_mesh(plan->n_mesh, plan->mesh, &mesh_));
  devices_.resize(static_cast<size_t>(dp_mesh_devices(&mesh_)));
  for (size_t d = 0; d < devices_.size(); d++) {
    dp_mesh_coordinate(&mesh_, static_cast<int64_t>(d), devices_[d].coordinate);
    devices_[d].role = RoleOf(devices_[d].coordinate);
    const Dp__Role *role = plan->roles[devices_[d].role];
    std::map<int, uint64_t> arenas;
    for (size_t i = 0; i < role->n_arenas; i++) {
      Check(role->arenas[i]->bytes <= kMostArena, "a huge arena");
      arenas[role->arenas[i]->space] = role->arenas[i]->bytes;
      overlap_ |= role->arenas[i]->space == DP__SPACE__HOST_OUTPUT && role->arenas[i]->copies > 1;
    }
    devices_[d].variable.assign(arenas[DP__SPACE__PERSISTENT], kGarbage);
    devices_[d].transient.resize(arenas[DP__SPACE__TRANSIENT]);
    devices_[d].input.resize(arenas[DP__SPACE__DEVICE_INPUT]);
    devices_[d].offload.assign(arenas[DP__SPACE__OFFLOAD], kGarbage);
    // All devices share one host memory.
    if (!d) host_input_.resize(arenas[DP__SPACE__HOST_INPUT]);
    if (!d) host_output_.resize(arenas[DP__SPACE__HOST_OUTPUT]);
    Check(host_input_.size() == arenas[DP__SPACE__HOST_INPUT], "two sizes of one host memory");
    Check(host_output_.size() == arenas[DP__SPACE__HOST_OUTPUT], "two sizes of one host memory");
  }
  for (size_t p = 0; p < plan->n_variables; p++) {
    const dp_variable &is = logical.model->variables[p];
    if (is.init.kind != DP_INIT_TENSOR) continue;
    const Dp__Variable *storage = plan->variables[p];
    size_t size = dp_type_bytes(is.type->dtype);
    dp_placement at[DP_MAX_MESH];
    Need(dp_proto_to_placements(storage->n_placements, storage->placements, &is.type->shape, &mesh_, at));
    for (size_t d = 0; d < devices_.size(); d++) {
      if (!Has(storage, d)) continue;
      dp_local local = dp_shard_range(&is.type->shape, at, &mesh_, devices_[d].coordinate, 0);
      size_t count = static_cast<size_t>(dp_local_count(&local));
      Check(count * size <= storage->bytes, "a storage without room for its data");
      uint8_t *to = At(d, StorageSpace(storage), storage->offset, count * size);
      for (size_t i = 0; i < count; i++)
        std::memcpy(to + i * size,
                    static_cast<const uint8_t *>(is.init.tensor->data) +
                        static_cast<size_t>(StoredIndex(storage, local, static_cast<int64_t>(i))) * size,
                    size);
    }
  }
}

// The index in the whole variable of element `at` of a shard, as its storage says that it lies.
int64_t Machine::StoredIndex(const Dp__Variable *storage, const dp_local &local, int64_t at) {
  if (storage->layout == DP__LAYOUT__NHWC && local.rank == 4) {
    const int64_t *e = local.extents, c = at % e[1], w = at / e[1] % e[3], h = at / e[1] / e[3] % e[2],
                  n = at / e[1] / e[3] / e[2];
    at = ((n * e[1] + c) * e[2] + h) * e[3] + w;
  }
  if (storage->layout == DP__LAYOUT__OIHW16I32O && local.rank == 4) {
    const int64_t *e = local.extents, tap = at / (16 * 32) % (e[2] * e[3]), block = at / (16 * 32) / (e[2] * e[3]),
                  o = block / (e[1] / 16) * 32 + at % 32, i = block % (e[1] / 16) * 16 + at / 32 % 16;
    at = (o * e[1] + i) * e[2] * e[3] + tap;
  }
  return WholeIndex(local, at);
}

// The role whose ranges contain the coordinate.
size_t Machine::RoleOf(const int64_t *coordinate) const {
  for (size_t r = 0; r < plan_->n_roles; r++) {
    const Dp__Role *role = plan_->roles[r];
    bool in = role->n_devices == plan_->n_mesh;
    for (size_t a = 0; in && a < role->n_devices; a++)
      in =
          coordinate[a] >= role->devices[a]->first && coordinate[a] < role->devices[a]->first + role->devices[a]->count;
    if (in) return r;
  }
  throw Broken{"a device without a role"};
}

// Whether the device stores the variable: if it belongs to one of the named stages, or if none are named.
bool Machine::Has(const Dp__Variable *storage, size_t device) const {
  int pipe = dp_mesh_find(&mesh_, "pipe");
  bool has = !storage->n_stages || pipe < 0;
  for (size_t s = 0; s < storage->n_stages && pipe >= 0; s++)
    has |= static_cast<int64_t>(storage->stages[s]) == devices_[device].coordinate[pipe];
  return has;
}

uint8_t *Machine::At(size_t device, int space, uint64_t offset, uint64_t bytes) {
  std::vector<uint8_t> *memory = nullptr;
  if (space == DP__SPACE__PERSISTENT) memory = &devices_[device].variable;
  if (space == DP__SPACE__TRANSIENT) memory = &devices_[device].transient;
  if (space == DP__SPACE__DEVICE_INPUT) memory = &devices_[device].input;
  if (space == DP__SPACE__OFFLOAD) memory = &devices_[device].offload;
  if (space == DP__SPACE__HOST_INPUT) memory = &host_input_;
  if (space == DP__SPACE__HOST_OUTPUT) memory = &host_output_;
  Check(memory, "no such memory");
  Check(offset <= memory->size() && bytes <= memory->size() - offset, "bytes outside their arena");
  return memory->data() + offset;
}

const Dp__DeviceTensor *Machine::Tensor(uint32_t index) const {
  Check(index < program_->n_tensors, "no such tensor");
  return program_->tensors[index];
}

void Machine::Placements(const Dp__DeviceTensor *t, const dp_shape *shape, dp_placement *at) const {
  Need(dp_proto_to_placements(t->n_placements, t->placements, shape, &mesh_, at));
}

Machine::Operand Machine::Look(const Dp__DeviceTensor *t, size_t device) {
  Check(t->value < static_cast<uint32_t>(graph_->n_values), "no such value");
  const dp_type &type = *graph_->values[t->value]->type;
  dp_placement at[DP_MAX_MESH];
  int64_t coordinate[DP_MAX_MESH];
  Placements(t, &type.shape, at);
  std::copy(devices_[device].coordinate, devices_[device].coordinate + DP_MAX_MESH, coordinate);
  int micro = dp_mesh_find(&mesh_, "micro");
  if (micro >= 0) {
    // A part of one micro-batch has its own extents; concatenated parts have those of the whole.
    uint32_t first = t->micro ? t->micro->first : 0, count = t->micro ? t->micro->count : 0;
    Check(at[micro].kind == DP_REPLICATE || count, "a part of no micro-batch");
    Check(static_cast<int64_t>(first) + count <= mesh_.axes[micro].size, "no such micro-batch");
    coordinate[micro] = first;
    if (count != 1) at[micro] = dp_replicate();
  }
  Operand x = {t, dp_shard_range(&type.shape, at, &mesh_, coordinate, batch_.n), 0};
  x.needed = static_cast<size_t>(dp_local_count(&x.local)) * dp_type_bytes(static_cast<dp_dtype>(t->dtype));
  return x;
}

// `to` is filled with garbage beforehand.
void Machine::Read(const Operand &x, size_t device, uint8_t *to) {
  const uint8_t *from = At(device, x.claim->space, x.claim->offset, x.claim->bytes);
  std::memcpy(to, from, std::min<uint64_t>(x.needed, x.claim->bytes));
  Turn(x, true, to);
}

void Machine::Write(const Operand &x, size_t device, const uint8_t *from) {
  uint8_t *to = At(device, x.claim->space, x.claim->offset, x.claim->bytes);
  std::vector<uint8_t> bytes(x.claim->bytes, kGarbage);
  std::vector<uint8_t> laid(from, from + x.needed);
  Turn(x, false, laid.data());
  std::copy(laid.begin(), laid.begin() + std::min<uint64_t>(x.needed, x.claim->bytes), bytes.begin());
  Put(to, std::move(bytes));
}

// The place of element (n, c, h, w) of an image of these extents.
static int64_t PlaceOf(Dp__Layout layout, const int64_t e[4], int64_t n, int64_t c, int64_t h, int64_t w) {
  if (layout == DP__LAYOUT__NHWC) return ((n * e[2] + h) * e[3] + w) * e[1] + c;
  if (layout == DP__LAYOUT__OIHW16I32O) {
    Check(e[0] % 32 == 0 && e[1] % 16 == 0, "part of a block of weights");
    return ((((n / 32 * (e[1] / 16) + c / 16) * e[2] + h) * e[3] + w) * 16 + c % 16) * 32 + n % 32;
  }
  const int64_t block = layout == DP__LAYOUT__NCHW8C ? 8 : 16;
  Check(e[1] % block == 0, "part of a block");
  return (((n * (e[1] / block) + c / block) * e[2] + h) * e[3] + w) * block + c % block;
}

void Machine::Turn(const Operand &x, bool to_plain, uint8_t *bytes) {
  if (x.claim->layout == DP__LAYOUT__PLAIN || x.local.rank != 4) return;
  const size_t size = dp_type_bytes(static_cast<dp_dtype>(x.claim->dtype));
  const int64_t *e = x.local.extents;
  const std::vector<uint8_t> before(bytes, bytes + x.needed);
  for (int64_t n = 0, plain = 0; n < e[0]; n++)
    for (int64_t c = 0; c < e[1]; c++)
      for (int64_t h = 0; h < e[2]; h++)
        for (int64_t w = 0; w < e[3]; w++, plain++) {
          const int64_t laid = PlaceOf(x.claim->layout, e, n, c, h, w), from = to_plain ? laid : plain,
                        to = to_plain ? plain : laid;
          std::memcpy(bytes + static_cast<size_t>(to) * size, &before[static_cast<size_t>(from) * size], size);
        }
}

// The bytes are stored when the unit ends.
void Machine::Put(uint8_t *to, std::vector<uint8_t> bytes) { unit_->results.push_back({to, std::move(bytes)}); }

// Any operand bytes that the result overlaps become garbage, since they may be overwritten before they are read.
void Machine::Spoil(const Dp__DeviceTensor *from, uint64_t offset, uint64_t bytes, uint8_t *copy, size_t needed) {
  if (!Overlap(from->offset, from->bytes, offset, bytes)) return;
  for (uint64_t b = std::max(offset, from->offset); b < std::min(offset + bytes, from->offset + from->bytes); b++)
    if (b - from->offset < needed) copy[b - from->offset] = kGarbage;
}

// Bytes that two results of an instruction share become garbage, since either may win.
void Machine::SpoilResults(const Dp__Instruction *in, size_t device) {
  for (size_t k = 0; k < in->n_outputs; k++)
    for (size_t r = 0; r < k; r++) {
      if (!in->outputs[k] || !in->outputs[r]) continue;
      const Dp__DeviceTensor *a = Tensor(in->outputs[k] - 1), *b = Tensor(in->outputs[r] - 1);
      if (a->space != b->space || !Overlap(a->offset, a->bytes, b->offset, b->bytes)) continue;
      uint64_t begin = std::max(a->offset, b->offset), end = std::min(a->offset + a->bytes, b->offset + b->bytes);
      Put(At(device, a->space, begin, end - begin), std::vector<uint8_t>(end - begin, kGarbage));
    }
}

// ---- kernels --------------------------------------------------------------------------------------------------------

// A node that carries the instruction's attributes.
dp_node *Machine::Node(const Dp__Instruction *in) {
  dp_node *&node = nodes_[in];
  if (node) return node;
  const dp_op *op = dp_op_find(in->domain, in->op);
  Check(op, "no such operator");
  int n_attrs;
  dp_attr *attrs;
  Need(dp_proto_to_attrs(arena_, in->n_attributes, in->attributes, &n_attrs, &attrs));
  if (!holder_) holder_ = dp_graph_create(dp_model_create(arena_, "holder"), "holder");
  std::vector<const char *> unnamed(in->n_outputs);
  node = dp_graph_add_node(holder_, op, "node", 0, nullptr, static_cast<int>(in->n_outputs), unnamed.data(), n_attrs,
                           attrs);
  return node;
}

bool MayReplace(const dp_kernel *kernel, const dp_op *op, size_t result, size_t operand) {
  return dp_op_is(op, DP_OP_UPDATE) ? result == operand : kernel->in_place && !result && !operand;
}

// Bytes like no others.
std::vector<uint8_t> Machine::Mark(uint64_t bytes) {
  std::vector<uint8_t> mark(bytes);
  uint32_t pattern = ++marks_ * 2654435761u;
  for (uint8_t &byte : mark) byte = static_cast<uint8_t>((pattern = pattern * 1664525 + 1013904223) >> 24);
  return mark;
}

// Before a run kernels pack operands as they are then.
void Machine::Pack() {
  kept_.clear();
  for (size_t d = 0; d < devices_.size(); d++) {
    Enter(devices_[d].role);
    for (size_t s = 0; s < program_->n_streams; s++)
      for (size_t i = 0; i < program_->streams[s]->n_instructions; i++) {
        const Dp__Instruction *in = program_->streams[s]->instructions[i];
        const Dp__Packed *packed = in->packed;
        if (!packed) continue;
        Check(!overlap_, "packs between runs that overlap");
        Check(packed->operand < in->n_inputs && in->inputs[packed->operand], "packs no operand");
        const Dp__DeviceTensor *t = Tensor(in->inputs[packed->operand] - 1);
        const uint8_t *plain = At(d, t->space, t->offset, t->bytes);
        kept_[{in, d}] = {{plain, plain + t->bytes},
                          {At(d, DP__SPACE__PERSISTENT, packed->offset, packed->bytes), Mark(packed->bytes)}};
      }
  }
  for (const auto &kept : kept_)
    std::copy(kept.second.form.bytes.begin(), kept.second.form.bytes.end(), kept.second.form.to);
}

// What it packed is still there, and still that of its operand.
void Machine::CheckPacked(const Dp__Instruction *in, size_t d) {
  if (!in->packed) return;
  const Kept &kept = kept_.at({in, d});
  const Dp__DeviceTensor *t = Tensor(in->inputs[in->packed->operand] - 1);
  Check(std::equal(kept.form.bytes.begin(), kept.form.bytes.end(), kept.form.to), "something writes what is packed");
  Check(std::equal(kept.plain.begin(), kept.plain.end(), At(d, t->space, t->offset, t->bytes)),
        "what is packed is stale");
}

void Machine::Kernel(const Dp__Instruction *in, size_t d) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, in->kernel);
  // Another target's, or one that may take images in blocks: the CPU's reference computes the same of plain ones.
  const bool other = !kernel || kernel->blocked;
  if (!kernel) kernel = dp_kernel_find(dp_backend_find("cuda")->target, in->kernel);
  Check(kernel, "no such kernel");
  dp_node *node = Node(in);
  Check(dp_kernel_computes(kernel, node->op), "another operator's kernel");
  CheckPacked(in, d);
  if (in->n_members) return Region(in, d);
  dp_kernel_spec spec{};
  spec.op = node->op;
  spec.node = node;
  spec.threads = 1;
  spec.n_inputs = static_cast<int>(in->n_inputs);
  spec.n_outputs = static_cast<int>(in->n_outputs);
  std::vector<Operand> operands(in->n_inputs), results(in->n_outputs);
  std::vector<dp_kernel_operand> taken(in->n_inputs), made(in->n_outputs);
  spec.inputs = taken.data();
  spec.outputs = made.data();
  const void *from[DP_MAX_OPERANDS] = {};
  void *to[DP_MAX_OPERANDS] = {};
  for (size_t i = 0; i < in->n_inputs; i++) {
    if (!in->inputs[i]) continue;
    Operand &x = operands[i] = Look(Tensor(in->inputs[i] - 1), d);
    taken[i] = {static_cast<dp_dtype>(x.claim->dtype), true, x.local, DP_LAYOUT_PLAIN};
    uint8_t *copy = in_[i].Take(x.needed);
    Read(x, d, copy);
    from[i] = copy;
    for (size_t k = 0; k < in->n_outputs; k++) {
      if (!in->outputs[k]) continue;
      const Dp__DeviceTensor *r = Tensor(in->outputs[k] - 1);
      bool same = r->offset == x.claim->offset && r->bytes == x.claim->bytes;
      // An operand that coincides with one that may be overwritten is read together with it.
      bool may = false;
      for (size_t o = 0; same && o < in->n_inputs; o++)
        may |= in->inputs[o] == in->inputs[i] && MayReplace(kernel, node->op, k, o);
      if (r->space == x.claim->space && !may) Spoil(x.claim, r->offset, r->bytes, copy, x.needed);
    }
    if (in->scratch && x.claim->space == DP__SPACE__TRANSIENT)
      Spoil(x.claim, in->scratch->offset, in->scratch->bytes, copy, x.needed);
  }
  for (size_t k = 0; k < in->n_outputs; k++) {
    if (!in->outputs[k]) continue;
    Operand &x = results[k] = Look(Tensor(in->outputs[k] - 1), d);
    made[k] = {static_cast<dp_dtype>(x.claim->dtype), true, x.local, DP_LAYOUT_PLAIN};
    to[k] = out_[k].Take(x.needed);
  }
  Check(kernel->blocked || !kernel->match || kernel->match(&spec), "a kernel that does not take its operands");
  if (other) kernel = dp_kernel_select(&dp_target_cpu, &spec, true);
  Check(kernel, "an operator without a reference kernel");
  uint64_t scratch = kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0;
  Check(scratch <= kMostArena, "huge scratch");
  void *state = nullptr;
  dp_status status = kernel->prepare ? kernel->prepare(&spec, &state) : DP_OK;
  if (!status) status = kernel->run(&spec, state, from, to, scratch_.Take(scratch), 0, 1);
  if (kernel->release && state) kernel->release(state);
  Need(Taken(status));
  for (size_t k = 0; k < in->n_outputs; k++)
    if (to[k]) Write(results[k], d, static_cast<const uint8_t *>(to[k]));
  SpoilResults(in, d);
  if (!in->scratch || !in->scratch->bytes) return;
  unit_->scratch.push_back(
      {At(d, DP__SPACE__TRANSIENT, in->scratch->offset, in->scratch->bytes), Mark(in->scratch->bytes)});
}

// ---- outcomes -------------------------------------------------------------------------------------------------------

std::map<std::string, std::vector<double>> Machine::Outputs() {
  std::map<std::string, std::vector<double>> outputs;
  for (size_t r = 0; r < parts_.size(); r++) {
    Enter(r);
    for (size_t i = 0; i < program_->n_outputs; i++) {
      const Dp__Binding *bound = program_->outputs[i];
      const dp_output *output = nullptr;
      for (int o = 0; o < graph_->n_outputs; o++)
        if (!strcmp(bound->name, graph_->outputs[o].name)) output = &graph_->outputs[o];
      Check(output, std::string("an output that is none: ") + bound->name);
      const Dp__DeviceTensor *t = Tensor(bound->tensor);
      Check(t->space == DP__SPACE__HOST_OUTPUT, "an output that is not in host memory");
      size_t size = dp_type_bytes(output->value->type->dtype);
      size_t count = static_cast<size_t>(dp_shape_count(&output->value->type->shape, batch_.n));
      const uint8_t *at = At(0, t->space, t->offset, count * size);
      std::vector<double> numbers;
      for (size_t k = 0; k < count; k++) numbers.push_back(dp_element_get(output->value->type->dtype, at + k * size));
      auto put = outputs.insert({output->name, numbers});
      Check(put.second || put.first->second == numbers, std::string("two different ") + output->name);
    }
  }
  for (int o = 0; o < graph_->n_outputs; o++)
    Check(outputs.count(graph_->outputs[o].name), std::string("no output ") + graph_->outputs[o].name);
  return outputs;
}

std::map<std::string, std::vector<double>> Machine::Variables() {
  std::map<std::string, std::vector<double>> all;
  for (size_t p = 0; p < plan_->n_variables; p++) {
    const dp_type &type = *logical_.model->variables[p].type;
    const Dp__Variable *storage = plan_->variables[p];
    dp_placement placed[DP_MAX_MESH];
    Need(dp_proto_to_placements(storage->n_placements, storage->placements, &type.shape, &mesh_, placed));
    std::vector<double> whole(static_cast<size_t>(dp_shape_count(&type.shape, 0)));
    std::vector<bool> known(whole.size());
    for (size_t d = 0; d < devices_.size(); d++) {
      if (!Has(storage, d)) continue;
      dp_local local = dp_shard_range(&type.shape, placed, &mesh_, devices_[d].coordinate, 0);
      size_t count = static_cast<size_t>(dp_local_count(&local)), size = dp_type_bytes(type.dtype);
      const uint8_t *at = At(d, StorageSpace(storage), storage->offset, count * size);
      for (size_t i = 0; i < count; i++) {
        size_t w = static_cast<size_t>(StoredIndex(storage, local, static_cast<int64_t>(i)));
        double number = dp_element_get(type.dtype, at + i * size);
        Check(!known[w] || number == whole[w], std::string("copies that differ of ") + storage->name);
        whole[w] = number;
        known[w] = true;
      }
    }
    for (bool is : known) Check(is, std::string("nobody holds a part of ") + storage->name);
    if (logical_.model->variables[p].kind != DP_STORED_CONSTANT) all[storage->name] = whole;
  }
  return all;
}

namespace {

bool IsScaled(const Dp__Plan *plan) {
  for (size_t i = 0; i < plan->n_variables; i++)
    if (!strcmp(plan->variables[i]->name, "dp.loss_scale")) return true;
  return false;
}

}  // namespace

std::vector<Batch> Batches(const Dp__Plan *plan) {
  const int64_t most = plan->batch;
  std::vector<Batch> all = {{"init", 0, 0}, {"train", most, 0}, {"train", most / 2, 1}, {"train", most, 2, true}};
  if (IsScaled(plan)) all.insert(all.end(), {{"train", most, 3, false, true}, {"train", most, 4}});
  all.insert(all.end(), {{"eval", most - 1, 3}, {"infer", most - 1, 4}});
  std::vector<Batch> batches;
  for (const Batch &batch : all)
    for (size_t p = 0; p < plan->roles[0]->n_programs; p++)
      if (plan->roles[0]->programs[p]->name == batch.program) batches.push_back(batch);
  return batches;
}

Outcome Carry(const Dp__Plan *plan, const Logical &logical, unsigned seed) {
  Machine machine(plan, logical);
  Outcome outcome;
  for (const Batch &batch : Batches(plan)) {
    RandomOrder order(seed++);
    machine.Run(batch, &order);
    outcome.outputs.push_back(batch.wrong ? std::map<std::string, std::vector<double>>() : machine.Outputs());
  }
  outcome.variables = machine.Variables();
  return outcome;
}

namespace {

// Of the largest number, what may be otherwise: in 16 bits one rounding moves many numbers, in float32 kernels choose
// the order of sums by the number of samples. 0: each number is exact but for its last digits.
double Tolerance(const Dp__Plan *plan) {
  if (IsScaled(plan)) return 1e-3;
  return plan->options && !strcmp(plan->options->precision, "fp32") ? 1e-5 : 0;
}

bool Alike(const std::vector<double> &a, const std::vector<double> &b, double tolerance) {
  if (a.size() != b.size()) return false;
  double largest = 0;
  for (double number : b) largest = std::max(largest, std::fabs(number));
  for (size_t i = 0; i < a.size(); i++) {
    const double allowed = tolerance > 0 ? tolerance * largest : 1e-9 * std::fabs(b[i]);
    if (!(std::fabs(a[i] - b[i]) <= allowed + 1e-15)) return false;
  }
  return true;
}

}  // namespace

std::string Differs(const Dp__Plan *plan, const Logical &logical, const Outcome &expected, unsigned seed) {
  try {
    Machine machine(plan, logical);
    const std::vector<Batch> batches = Batches(plan);
    const double tolerance = Tolerance(plan);
    for (size_t i = 0; i < batches.size(); i++) {
      RandomOrder order(seed + static_cast<unsigned>(i));
      machine.Run(batches[i], &order);
      auto outputs = batches[i].wrong ? std::map<std::string, std::vector<double>>() : machine.Outputs();
      for (const auto &output : expected.outputs[i])
        if (!Alike(outputs[output.first], output.second, tolerance))
          return batches[i].program + " " + std::to_string(i) + " gives another " + output.first;
    }
    auto variables = machine.Variables();
    for (const auto &variable : expected.variables)
      if (!Alike(variables[variable.first], variable.second, tolerance)) return "another " + variable.first;
  } catch (const Broken &broken) {
    return broken.why;
  }
  return "";
}

}  // namespace dp_test
