// The machine's communication, by the schema's words: who takes part follows from `communication`, what is done from the
// operator's name, which elements move from the placements of operand and result. See oracle_meaning.h.
#include <cmath>
#include <cstring>

#include "ir/proto.h"
#include "tests/ops/interpreter.h"
#include "tests/verify/campaign/oracle_meaning.h"

namespace dp_test {

namespace {

enum { kGarbage = 0xff };

void Check(bool good, const std::string &why) {
  if (!good) throw Broken{why};
}

double Round(double number, int32_t dtype) {
  return dtype == DP_FLOAT32 ? static_cast<double>(static_cast<float>(number)) : number;
}

}  // namespace

// Devices whose coordinates differ from the device's on the instruction's axes only, in rank order; the peer alone when one
// is named.
std::vector<size_t> Machine::Group(const Dp__Instruction *in, size_t device) const {
  const Dp__Communication *c = in->communication;
  if (!c || !strcmp(in->op, "Slice")) return {device};
  if (c->n_peer) {
    int64_t at[DP_MAX_MESH];
    std::copy(devices_[device].coordinate, devices_[device].coordinate + DP_MAX_MESH, at);
    for (size_t i = 0; i < c->n_peer; i++) {
      const Dp__PeerExpression *peer = c->peer[i];
      Check(peer->axis < static_cast<uint32_t>(mesh_.n_axes), "no such axis");
      int64_t size = mesh_.axes[peer->axis].size, k = (at[peer->axis] * peer->scale + peer->offset) % size;
      at[peer->axis] = (k + size) % size;
    }
    return {static_cast<size_t>(dp_mesh_device(&mesh_, at))};
  }
  bool along[DP_MAX_MESH] = {};
  for (size_t i = 0; i < c->n_axes; i++) {
    Check(c->axes[i] < static_cast<uint32_t>(mesh_.n_axes), "no such axis");
    along[c->axes[i]] = true;
  }
  std::vector<size_t> group;
  for (size_t d = 0; d < devices_.size(); d++) {
    bool member = true;
    for (int a = 0; a < mesh_.n_axes; a++)
      member &= along[a] || devices_[d].coordinate[a] == devices_[device].coordinate[a];
    if (member) group.push_back(d);
  }
  return group;
}

void Machine::Communicate(const Dp__Instruction *in) {
  Check(in->n_inputs == in->n_outputs && in->n_inputs, "communication of nothing");
  for (size_t k = 0; k < in->n_inputs; k++) Check(in->inputs[k] && in->outputs[k], "an operand left out");
  const std::string op = in->op;
  if (op == "Scatter" || op == "Broadcast") return FromHost(in);
  if (op == "Gather") return ToHost(in);
  std::vector<std::vector<std::vector<uint8_t>>> results(in->n_inputs);
  for (size_t k = 0; k < in->n_inputs; k++) Convert(in, k, &results[k]);
  for (size_t k = 0; k < in->n_inputs; k++)
    for (size_t d = 0; d < devices_.size(); d++) Write(Look(Tensor(in->outputs[k] - 1), d), d, results[k][d].data());
}

// Operand and result k on all devices; results->at(device) is what the device gets.
void Machine::Convert(const Dp__Instruction *in, size_t k, std::vector<std::vector<uint8_t>> *results) {
  const std::string op = in->op;
  const Dp__DeviceTensor *from = Tensor(in->inputs[k] - 1), *to = Tensor(in->outputs[k] - 1);
  for (const Dp__DeviceTensor *t : {from, to})
    Check(t->space == DP__SPACE__PERSISTENT || t->space == DP__SPACE__TRANSIENT, "not in a device's memory");
  Check(from->dtype == to->dtype, "two types");
  const dp_dtype dtype = static_cast<dp_dtype>(from->dtype);
  const size_t size = dp_type_bytes(dtype), n = devices_.size();
  std::vector<Operand> sources, targets;
  std::vector<std::vector<uint8_t>> copies(n);
  std::vector<std::vector<int64_t>> held(n);  // [device][index in the whole] -> element of its part, -1: not held
  for (size_t d = 0; d < n; d++) {
    sources.push_back(Look(from, d));
    targets.push_back(Look(to, d));
    copies[d].assign(sources[d].needed + 1, kGarbage);
    Read(sources[d], d, copies[d].data());
    for (size_t r = 0; r < in->n_outputs; r++) {
      const Dp__DeviceTensor *t = Tensor(in->outputs[r] - 1);
      bool same = t->offset == from->offset && t->bytes == from->bytes && r == k && op == "AllReduce";
      if (t->space == from->space && !same) Spoil(from, t->offset, t->bytes, copies[d].data(), sources[d].needed);
    }
    int64_t whole = 1;
    for (int i = 0; i < sources[d].local.rank; i++) whole *= sources[d].local.whole[i];
    held[d].assign(static_cast<size_t>(whole), -1);
    for (int64_t i = 0; i < dp_local_count(&sources[d].local); i++)
      held[d][static_cast<size_t>(WholeIndex(sources[d].local, i))] = i;
  }
  const bool reduces = op == "AllReduce" || op == "ReduceScatter";
  const int32_t reduction = in->communication ? in->communication->reduction : 0;
  results->resize(n);
  for (size_t d = 0; d < n; d++) {
    std::vector<uint8_t> &result = (*results)[d];
    result.assign(targets[d].needed + 1, kGarbage);
    const std::vector<size_t> group = Group(in, d);
    for (int64_t i = 0; i < dp_local_count(&targets[d].local); i++) {
      size_t w = static_cast<size_t>(WholeIndex(targets[d].local, i));
      bool any = false;
      double sum = 0;
      for (size_t m : group) {
        // An all-reduce goes by place, whatever the elements are.
        int64_t e = op == "AllReduce" ? i : w < held[m].size() ? held[m][w] : -1;
        if (op == "AllReduce") Check(sources[m].needed == targets[d].needed, "parts of different size");
        Check(!reduces || e >= 0, "a reduction of parts that are not alike");
        if (e < 0) continue;
        const uint8_t *element = &copies[m][static_cast<size_t>(e) * size];
        if (!reduces) {
          std::memcpy(&result[static_cast<size_t>(i) * size], element, size);
          any = true;
          break;
        }
        double number = Round(dp_element_get(dtype, element), in->compute_dtype);
        if (reduction && any)
          sum = number > sum || std::isnan(number) ? number : sum;
        else
          sum = any ? Round(sum + number, in->compute_dtype) : number;
        any = true;
      }
      if (reduces && any) dp_element_set(dtype, &result[static_cast<size_t>(i) * size], sum);
    }
  }
}

void Machine::FromHost(const Dp__Instruction *in) {
  Check(in->n_inputs == 1, "one at a time");
  const Dp__DeviceTensor *from = Tensor(in->inputs[0] - 1), *to = Tensor(in->outputs[0] - 1);
  Check(from->space == DP__SPACE__HOST_INPUT, "not from the host");
  Check(to->space == DP__SPACE__PERSISTENT || to->space == DP__SPACE__TRANSIENT, "not to a device");
  Check(from->dtype == to->dtype, "two types");
  const size_t size = dp_type_bytes(static_cast<dp_dtype>(from->dtype));
  for (size_t d = 0; d < devices_.size(); d++) {
    Operand source = Look(from, d), target = Look(to, d);
    std::vector<uint8_t> copy(source.needed + 1, kGarbage), result(target.needed + 1, kGarbage);
    Read(source, d, copy.data());
    for (int64_t i = 0; i < dp_local_count(&target.local); i++) {
      size_t w = static_cast<size_t>(WholeIndex(target.local, i));
      if ((w + 1) * size <= source.needed) std::memcpy(&result[static_cast<size_t>(i) * size], &copy[w * size], size);
    }
    Write(target, d, result.data());
  }
}

// Each device that holds the first of equal copies writes its part.
void Machine::ToHost(const Dp__Instruction *in) {
  Check(in->n_inputs == 1, "one at a time");
  const Dp__DeviceTensor *from = Tensor(in->inputs[0] - 1), *to = Tensor(in->outputs[0] - 1);
  Check(to->space == DP__SPACE__HOST_OUTPUT, "not to the host");
  Check(from->space == DP__SPACE__PERSISTENT || from->space == DP__SPACE__TRANSIENT, "not from a device");
  Check(from->dtype == to->dtype, "two types");
  const size_t size = dp_type_bytes(static_cast<dp_dtype>(from->dtype));
  Operand target = Look(to, 0);
  std::vector<uint8_t> result(target.needed + 1, kGarbage);
  for (size_t d = 0; d < devices_.size(); d++) {
    bool speaks = true;
    for (size_t a = 0; a < from->n_placements; a++)
      speaks &= from->placements[a]->kind != DP_REPLICATE || !devices_[d].coordinate[a];
    if (!speaks) continue;
    Operand source = Look(from, d);
    std::vector<uint8_t> copy(source.needed + 1, kGarbage);
    Read(source, d, copy.data());
    for (int64_t i = 0; i < dp_local_count(&source.local); i++) {
      size_t w = static_cast<size_t>(WholeIndex(source.local, i));
      if ((w + 1) * size <= target.needed) std::memcpy(&result[w * size], &copy[static_cast<size_t>(i) * size], size);
    }
  }
  Write(target, 0, result.data());
}

}  // namespace dp_test
