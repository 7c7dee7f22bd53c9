// The machine's communication, by the schema's definition: `communication` tells who takes part, the operator's name
// tells what happens, and the placements of operand and result tell which elements move. See oracle_meaning.h.
#include <cmath>
#include <cstring>

#include "ir/file/proto.h"
#include "tests/ir/ops/interpreter.h"
#include "tests/ir/verify/campaign/oracle_meaning.h"

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

// The devices whose coordinates differ only along the instruction's axes, in rank order; or just the peer, if one is
// named.
std::vector<size_t> Machine::Group(const Dp__Instruction *in, size_t device) const {
  const Dp__Communication *c = in->communication;
  if (!c || !strcmp(in->op, "Slice")) return {device};
  if (c->n_peer) return {Peer(in, device)};
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
  for (size_t d : group) Check(devices_[d].role == devices_[device].role, "a group of several roles");
  return group;
}

void Machine::Communicate(const Dp__Instruction *in) {
  if (!strcmp(in->op, "Accumulate")) return Accumulate(in);
  Check(in->n_inputs == in->n_outputs && in->n_inputs, "communication of nothing");
  for (size_t k = 0; k < in->n_inputs; k++) {
    Check(in->inputs[k] && in->outputs[k], "an operand left out");
    Check(Tensor(in->inputs[k] - 1)->layout == Tensor(in->outputs[k] - 1)->layout, "from one layout to another");
  }
  const std::string op = in->op;
  if (op == "Scatter" || op == "Broadcast") return FromHost(in);
  if (op == "Gather") return ToHost(in);
  if (op == "Offload" || op == "Fetch") return Move(in);
  std::vector<std::vector<std::vector<uint8_t>>> results(in->n_inputs);
  for (size_t k = 0; k < in->n_inputs; k++) Convert(in, k, &results[k]);
  for (size_t k = 0; k < in->n_inputs; k++)
    for (size_t d : here_) Write(Look(Tensor(in->outputs[k] - 1), d), d, results[k][d].data());
}

// Converts operand k to result k on all devices; results->at(device) receives the device's result.
void Machine::Convert(const Dp__Instruction *in, size_t k, std::vector<std::vector<uint8_t>> *results) {
  const std::string op = in->op;
  const Dp__DeviceTensor *from = Tensor(in->inputs[k] - 1), *to = Tensor(in->outputs[k] - 1);
  for (const Dp__DeviceTensor *t : {from, to}) Check(OnDevice(t->space), "not in a device's memory");
  Check(from->dtype == to->dtype, "two types");
  const dp_dtype dtype = static_cast<dp_dtype>(from->dtype);
  const size_t size = dp_type_bytes(dtype), n = devices_.size();
  std::vector<Operand> sources(n), targets(n);
  std::vector<std::vector<uint8_t>> copies(n);
  std::vector<std::vector<int64_t>> held(n);  // [device][index in the whole] -> element of its part; -1: not held
  for (size_t d : here_) {
    sources[d] = Look(from, d);
    targets[d] = Look(to, d);
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
  for (size_t d : here_) {
    std::vector<uint8_t> &result = (*results)[d];
    result.assign(targets[d].needed + 1, kGarbage);
    const std::vector<size_t> group = Group(in, d);
    for (int64_t i = 0; i < dp_local_count(&targets[d].local); i++) {
      size_t w = static_cast<size_t>(WholeIndex(targets[d].local, i));
      bool any = false;
      double sum = 0;
      for (size_t m : group) {
        // All-reduce works by position, whatever the elements are.
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

// ---- micro-batches --------------------------------------------------------------------------------------------------

// The elements of the whole that a device holds of a tensor that several micro-batches' parts were written to.
std::vector<bool> Machine::Held(const Dp__DeviceTensor *t, size_t device) const {
  const dp_type &type = *graph_->values[t->value]->type;
  const int micro = dp_mesh_find(&mesh_, "micro");
  Check(micro >= 0, "no micro-batches to put together");
  dp_placement at[DP_MAX_MESH];
  int64_t coordinate[DP_MAX_MESH];
  Placements(t, &type.shape, at);
  std::copy(devices_[device].coordinate, devices_[device].coordinate + DP_MAX_MESH, coordinate);
  std::vector<bool> held(static_cast<size_t>(dp_shape_count(&type.shape, batch_.n)));
  int64_t first = t->micro ? t->micro->first : 0, count = t->micro ? t->micro->count : 0;
  if (!count) count = 1;
  for (coordinate[micro] = first; coordinate[micro] < first + count; coordinate[micro]++) {
    dp_local local = dp_shard_range(&type.shape, at, &mesh_, coordinate, batch_.n);
    for (int64_t i = 0; i < dp_local_count(&local); i++) held[static_cast<size_t>(WholeIndex(local, i))] = true;
  }
  return held;
}

// Adds partial results element by element; copies parts to their place in the whole.
void Machine::Accumulate(const Dp__Instruction *in) {
  Check(in->n_inputs == 2 && in->n_outputs == 1, "two are put together to one");
  Check(in->inputs[0] && in->inputs[1] && in->outputs[0], "an operand left out");
  const Dp__DeviceTensor *from[] = {Tensor(in->inputs[0] - 1), Tensor(in->inputs[1] - 1)};
  const Dp__DeviceTensor *to = Tensor(in->outputs[0] - 1);
  const int micro = dp_mesh_find(&mesh_, "micro");
  Check(micro >= 0 && from[0]->n_placements == plan_->n_mesh, "no micro-batches to put together");
  const bool parts = from[0]->placements[micro]->kind == DP_SHARD || from[1]->placements[micro]->kind == DP_SHARD;
  const int32_t reduction = in->communication ? in->communication->reduction : 0;
  const dp_dtype dtype = static_cast<dp_dtype>(to->dtype);
  const size_t size = dp_type_bytes(dtype);
  for (size_t d : here_) {
    Operand target = Look(to, d), source[2];
    std::vector<uint8_t> copy[2], result(target.needed + 1, kGarbage);
    std::vector<int64_t> place[2];  // of an element of the whole, in the copy; -1: not held
    for (int k = 0; k < 2; k++) {
      Check(from[k]->dtype == to->dtype, "two types");
      Check(from[k]->layout == to->layout, "from one layout to another");
      source[k] = Look(from[k], d);
      copy[k].assign(source[k].needed + 1, kGarbage);
      Read(source[k], d, copy[k].data());
      bool same = !k && to->offset == from[k]->offset && to->bytes == from[k]->bytes;
      if (to->space == from[k]->space && !same) Spoil(from[k], to->offset, to->bytes, copy[k].data(), source[k].needed);
      std::vector<bool> held = Held(from[k], d);
      place[k].assign(held.size(), -1);
      for (int64_t i = 0; i < dp_local_count(&source[k].local); i++) {
        size_t w = static_cast<size_t>(WholeIndex(source[k].local, i));
        if (held[w]) place[k][w] = i;
      }
    }
    if (!parts)
      Check(source[0].needed == target.needed && source[1].needed == target.needed,
            "partial results that are not alike");
    for (int64_t i = 0; i < dp_local_count(&target.local); i++) {
      size_t w = static_cast<size_t>(WholeIndex(target.local, i)), at = static_cast<size_t>(i) * size;
      for (int k = 0; parts && k < 2; k++)
        if (place[k][w] >= 0) std::memcpy(&result[at], &copy[k][static_cast<size_t>(place[k][w]) * size], size);
      if (parts) continue;
      double a = dp_element_get(dtype, &copy[0][at]), b = dp_element_get(dtype, &copy[1][at]);
      dp_element_set(dtype, &result[at],
                     reduction ? (a > b || std::isnan(a) ? a : b) : Round(a + b, in->compute_dtype));
    }
    Write(target, d, result.data());
  }
}

// ---- a device and its own memory of the host ------------------------------------------------------------------------

void Machine::Move(const Dp__Instruction *in) {
  Check(in->n_inputs == 1, "one at a time");
  const Dp__DeviceTensor *from = Tensor(in->inputs[0] - 1), *to = Tensor(in->outputs[0] - 1);
  const Dp__DeviceTensor *host = strcmp(in->op, "Fetch") ? to : from, *device = host == to ? from : to;
  Check(host->space == DP__SPACE__OFFLOAD && OnDevice(device->space), "not between a device and its own memory");
  Check(from->dtype == to->dtype, "two types");
  for (size_t d : here_) {
    Operand source = Look(from, d), target = Look(to, d);
    Check(source.needed == target.needed, "parts of different size");
    std::vector<uint8_t> copy(source.needed + 1, kGarbage);
    Read(source, d, copy.data());
    Write(target, d, copy.data());
  }
}

// ---- host and devices -----------------------------------------------------------------------------------------------

void Machine::FromHost(const Dp__Instruction *in) {
  Check(in->n_inputs == 1, "one at a time");
  const Dp__DeviceTensor *from = Tensor(in->inputs[0] - 1), *to = Tensor(in->outputs[0] - 1);
  Check(from->space == DP__SPACE__HOST_INPUT, "not from the host");
  Check(OnDevice(to->space), "not to a device");
  Check(from->dtype == to->dtype, "two types");
  const size_t size = dp_type_bytes(static_cast<dp_dtype>(from->dtype));
  for (size_t d : here_) {
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

// Each device with the first of equal copies writes its part and nothing else.
void Machine::ToHost(const Dp__Instruction *in) {
  Check(in->n_inputs == 1, "one at a time");
  const Dp__DeviceTensor *from = Tensor(in->inputs[0] - 1), *to = Tensor(in->outputs[0] - 1);
  Check(to->space == DP__SPACE__HOST_OUTPUT, "not to the host");
  Check(OnDevice(from->space), "not from a device");
  Check(from->dtype == to->dtype, "two types");
  const size_t size = dp_type_bytes(static_cast<dp_dtype>(from->dtype));
  for (size_t d : here_) {
    bool speaks = true;
    for (size_t a = 0; a < from->n_placements; a++) {
      bool staged = !strcmp(plan_->mesh[a]->name, "pipe");
      speaks &= staged || from->placements[a]->kind != DP_REPLICATE || !devices_[d].coordinate[a];
    }
    if (!speaks) continue;
    Operand source = Look(from, d), target = Look(to, d);
    std::vector<uint8_t> copy(source.needed + 1, kGarbage);
    Read(source, d, copy.data());
    uint8_t *whole = At(d, to->space, to->offset, to->bytes);
    for (int64_t i = 0; i < dp_local_count(&source.local); i++) {
      const size_t w = static_cast<size_t>(WholeIndex(source.local, i)) * size;
      if (w + size > std::min<uint64_t>(target.needed, to->bytes)) continue;
      const uint8_t *element = &copy[static_cast<size_t>(i) * size];
      std::vector<Bytes> &results = unit_->results;
      if (!results.empty() && results.back().to + results.back().bytes.size() == whole + w)
        results.back().bytes.insert(results.back().bytes.end(), element, element + size);
      else
        Put(whole + w, std::vector<uint8_t>(element, element + size));
    }
  }
}

}  // namespace dp_test
