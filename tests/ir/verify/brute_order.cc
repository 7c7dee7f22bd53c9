#include "tests/ir/verify/brute_order.h"

#include <string.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "ir/file/proto.h"
#include "ir/graph/placement.h"
#include "tests/ir/ops/interpreter.h"
#include "tests/ir/text/text_helper.h"
#include "tests/ir/verify/brute_step.h"

namespace dp_test {
namespace {

using namespace brute;

enum { kMostUnits = 1 << 15, kMostDevices = 1 << 10 };

struct Device {
  size_t role;
  int64_t at[DP_MAX_MESH];
};

// ---- the order ------------------------------------------------------------------------------------------------------

// A unit is what one device does for one instruction, except that a collective is one unit for all members of its
// group, and a Send and its Recv are one unit for both devices.
class Order {
 public:
  Order(const std::vector<const Dp__Program *> &programs, const Dp__Plan *plan) : plan_(plan) {
    for (size_t i = 0; plan && i < plan->roles[0]->n_arenas; i++)
      overlap_ |= plan->roles[0]->arenas[i]->space == DP__SPACE__HOST_OUTPUT && plan->roles[0]->arenas[i]->copies > 1;
    for (const Dp__Program *p : programs) {
      steps_.emplace_back();
      first_.emplace_back();
      for (size_t s = 0; s < p->n_streams; s++) {
        first_.back().push_back(steps_.back().size());
        for (size_t i = 0; i < p->streams[s]->n_instructions; i++) {
          steps_.back().push_back(MakeStep(p, p->streams[s]->instructions[i]));
          steps_.back().back().ahead = p->streams[s]->ahead;
        }
      }
    }
    MakeDevices();
    MakeUnits();
    MeetOnChannels();
    for (size_t d = 0; d < devices_.size(); d++) Relate(d);
  }

  std::string Judge() {
    if (stuck_ || !Close()) return "ORDER.CYCLE";
    if (HostConflicts() || RunsConflict()) return "ORDER.CONFLICT";
    bool unordered = false;
    for (size_t r = 0; r < steps_.size(); r++)
      for (size_t i = 0; i < steps_[r].size(); i++)
        for (size_t j = 0; j < i; j++) {
          const Step &a = steps_[r][i], &b = steps_[r][j];
          const bool conflict = Conflict(a, b), meet = a.collective && b.collective;
          for (size_t d = 0; (conflict || meet) && d < devices_.size(); d++) {
            if (devices_[d].role != r || Ordered(unit_[d][i], unit_[d][j])) continue;
            if (conflict) return "ORDER.CONFLICT";
            unordered = true;
          }
        }
    return unordered ? "ORDER.COLLECTIVE" : "";
  }

 private:
  // The plan's devices; if there is no usable plan, one for each role.
  void MakeDevices() {
    if (plan_ && Message(dp_proto_to_mesh(plan_->n_mesh, plan_->mesh, &mesh_)).empty()) {
      if (dp_mesh_devices(&mesh_) > kMostDevices) throw std::length_error("too many devices for brute force");
      for (int64_t d = 0; d < dp_mesh_devices(&mesh_); d++) AddDevice(d);
    }
    if (!devices_.empty()) return;
    plan_ = nullptr;
    for (size_t r = 0; r < steps_.size(); r++) devices_.push_back({r, {}});
  }

  void AddDevice(int64_t number) {
    Device device = {steps_.size(), {}};
    dp_mesh_coordinate(&mesh_, number, device.at);
    for (size_t r = 0; r < plan_->n_roles && device.role == steps_.size(); r++) {
      const Dp__Role *role = plan_->roles[r];
      bool in = role->n_devices == plan_->n_mesh;
      for (size_t a = 0; in && a < role->n_devices; a++)
        in =
            device.at[a] >= role->devices[a]->first && device.at[a] < role->devices[a]->first + role->devices[a]->count;
      if (in) device.role = r;
    }
    if (device.role < steps_.size()) devices_.push_back(device);
  }

  bool SameGroup(const Step &step, const Device &x, const Device &y) const {
    const Dp__Communication *c = step.in->communication;
    bool along[DP_MAX_MESH] = {};
    if (x.role != y.role) return false;
    for (size_t i = 0; i < c->n_axes; i++)
      if (c->axes[i] < DP_MAX_MESH) along[c->axes[i]] = true;
    for (int a = 0; a < mesh_.n_axes && !c->n_peer; a++)
      if (!along[a] && x.at[a] != y.at[a]) return false;
    return true;
  }

  void MakeUnits() {
    for (size_t d = 0; d < devices_.size(); d++) {
      unit_.emplace_back();
      for (size_t i = 0; i < steps_[devices_[d].role].size(); i++) {
        const Step &step = steps_[devices_[d].role][i];
        size_t leader = 0;
        while (leader < d && !(step.collective && SameGroup(step, devices_[leader], devices_[d]))) leader++;
        unit_[d].push_back(leader < d ? unit_[leader][i] : n_units_++);
      }
    }
    if (n_units_ > kMostUnits) throw std::length_error("a program too long for brute force");
  }

  // Makes one unit of the Send and the Recv of each channel, device by device. One without a counterpart is stuck.
  void MeetOnChannels() {
    struct End {
      size_t role, step;
    };
    std::map<uint32_t, std::vector<End>> ends[2];
    for (size_t r = 0; r < steps_.size(); r++)
      for (size_t i = 0; i < steps_[r].size(); i++)
        for (int sends : {0, 1})
          if (Is(steps_[r][i], sends ? "Send" : "Recv")) {
            const Dp__Communication *c = steps_[r][i].in->communication;
            stuck_ |= !c;
            if (c) ends[sends][c->channel].push_back({r, i});
          }
    for (const auto &recvs : ends[0]) stuck_ |= !ends[1].count(recvs.first);
    for (const auto &sends : ends[1]) {
      const std::vector<End> &recvs = ends[0][sends.first];
      stuck_ |= recvs.empty();
      if (sends.second.size() != 1 || recvs.size() != 1) continue;
      std::vector<size_t> from = DevicesOf(sends.second[0].role), to = DevicesOf(recvs[0].role);
      for (size_t k = 0; k < from.size() && k < to.size(); k++)
        unit_[to[k]][recvs[0].step] = unit_[from[k]][sends.second[0].step];
    }
  }

  std::vector<size_t> DevicesOf(size_t role) const {
    std::vector<size_t> of;
    for (size_t d = 0; d < devices_.size(); d++)
      if (devices_[d].role == role) of.push_back(d);
    return of;
  }

  // The order within a device. An event with no signaller, or more than one, orders nothing: a wait for it may end too
  // early. A wait for an event that nobody signals never ends, which is treated like a cycle.
  void Relate(size_t d) {
    const size_t role = devices_[d].role;
    const std::vector<Step> &steps = steps_[role];
    if (before_.empty()) before_.resize(n_units_);
    std::map<uint32_t, std::vector<size_t>> signallers;
    for (size_t i = 0; i < steps.size(); i++)
      if (steps[i].in->signal) signallers[steps[i].in->signal - 1].push_back(unit_[d][i]);
    for (size_t i = 0; i < steps.size(); i++) {
      bool first = std::count(first_[role].begin(), first_[role].end(), i) > 0;
      if (!first) before_[unit_[d][i]].push_back(unit_[d][i - 1]);
      for (size_t w = 0; w < steps[i].in->n_waits; w++) {
        const std::vector<size_t> &from = signallers[steps[i].in->waits[w]];
        stuck_ |= from.empty();
        // What is ahead begins before the rest of its run does.
        for (size_t k = 0; k < steps.size(); k++)
          stuck_ |= steps[i].ahead && !steps[k].ahead && steps[k].in->signal == steps[i].in->waits[w] + 1;
        if (from.size() == 1) before_[unit_[d][i]].push_back(from[0]);
      }
    }
  }

  // The predecessors of each unit, including indirect ones; false if there is a cycle.
  bool Close() {
    before_.resize(n_units_);
    words_ = (n_units_ + 63) / 64;
    after_.assign(n_units_ * words_, 0);
    std::vector<std::vector<size_t>> next(n_units_);
    std::vector<size_t> open(n_units_), ready;
    for (size_t u = 0; u < n_units_; u++)
      for (size_t b : before_[u]) next[b].push_back(u), open[u]++;
    for (size_t u = 0; u < n_units_; u++)
      if (!open[u]) ready.push_back(u);
    for (size_t k = 0; k < ready.size(); k++)
      for (size_t u : next[ready[k]]) {
        uint64_t *to = &after_[u * words_];
        const uint64_t *from = &after_[ready[k] * words_];
        for (size_t w = 0; w < words_; w++) to[w] |= from[w];
        to[ready[k] / 64] |= UINT64_C(1) << ready[k] % 64;
        if (!--open[u]) ready.push_back(u);
      }
    return ready.size() == n_units_;
  }

  bool After(size_t a, size_t b) const { return after_[a * words_ + b / 64] >> b % 64 & 1; }
  bool Ordered(size_t a, size_t b) const { return a == b || After(a, b) || After(b, a); }

  // ---- the next run -------------------------------------------------------------------------------------------------

  bool InTwoCopies(int space) const {
    return space == DP__SPACE__DEVICE_INPUT || space == DP__SPACE__HOST_INPUT ||
           (space == DP__SPACE__HOST_OUTPUT && overlap_);
  }

  // Whether what is ahead in the next run may touch bytes of this one. And the host fills its input anew once what is
  // ahead is over, if it need not wait for the outputs.
  bool RunsConflict() const {
    for (const std::vector<Step> &steps : steps_)
      for (const Step &a : steps) {
        for (const Range &r : a.reads)
          if (!a.ahead && overlap_ && r.space == DP__SPACE__HOST_INPUT) return true;
        for (const Step &b : steps) {
          if (!a.ahead) break;
          for (const std::vector<Range> *x : {&a.reads, &a.writes})
            for (const std::vector<Range> *y : {&b.reads, &b.writes})
              for (const Range &p : *x)
                for (const Range &q : *y)
                  if ((x == &a.writes || y == &b.writes) && !InTwoCopies(p.space) && Overlap(p, q)) return true;
        }
      }
    return false;
  }

  // ---- the host -----------------------------------------------------------------------------------------------------

  struct Touch {  // by one device
    size_t device, unit;
    const Step *step;
    Range range;
    bool writes;
  };

  // Whether two touches, at least one a write, may reach the same byte at the same time.
  bool HostConflicts() const {
    std::vector<Touch> all;
    for (size_t d = 0; d < devices_.size(); d++)
      for (size_t i = 0; i < unit_[d].size(); i++) {
        const Step &step = steps_[devices_[d].role][i];
        for (const Range &r : step.reads)
          if (OnHost(r.space)) all.push_back({d, unit_[d][i], &step, r, false});
        for (const Range &r : step.writes)
          if (OnHost(r.space)) all.push_back({d, unit_[d][i], &step, r, true});
      }
    for (size_t i = 0; i < all.size(); i++)
      for (size_t j = 0; j < i; j++) {
        if (!(all[i].writes || all[j].writes) || !Overlap(all[i].range, all[j].range)) continue;
        if (!Ordered(all[i].unit, all[j].unit) && Meet(all[i], all[j])) return true;
      }
    return false;
  }

  // At some number of samples.
  bool Meet(const Touch &a, const Touch &b) const {
    for (int64_t n = plan_ ? plan_->batch : 0; n >= 0; n--)
      for (const Range &x : Bytes(a, n))
        for (const Range &y : Bytes(b, n))
          if (Overlap(x, y)) return true;
    return false;
  }

  // A Gather writes the device's part of the whole. Other instructions, and invalid ones, write everything.
  std::vector<Range> Bytes(const Touch &t, int64_t n) const {
    const Dp__Instruction *in = t.step->in;
    if (!plan_ || !t.writes || !Is(*t.step, "Gather") || in->n_inputs != 1 || !in->inputs[0]) return {t.range};
    const Dp__DeviceTensor *part = t.step->program->tensors[in->inputs[0] - 1];
    const Dp__Graph *graph = plan_->graphs[t.step->program->graph];
    dp_type type;
    dp_placement at[DP_MAX_MESH];
    if (part->value >= graph->n_values || part->micro || !graph->values[part->value]->type ||
        !Message(dp_proto_to_type(graph->values[part->value]->type, &type)).empty() ||
        !Message(dp_proto_to_placements(part->n_placements, part->placements, &type.shape, &mesh_, at)).empty())
      return {t.range};
    for (int a = 0; a < mesh_.n_axes; a++)
      if (at[a].kind == DP_REPLICATE && devices_[t.device].at[a] && strcmp(mesh_.axes[a].name, "pipe")) return {};
    const dp_local local = dp_shard_range(&type.shape, at, &mesh_, devices_[t.device].at, n);
    const uint64_t size = dp_type_bytes(type.dtype);
    std::vector<Range> bytes;
    for (int64_t i = 0; i < dp_local_count(&local); i++) {
      uint64_t begin = t.range.begin + static_cast<uint64_t>(WholeIndex(local, i)) * size;
      if (!bytes.empty() && bytes.back().end == begin)
        bytes.back().end += size;
      else
        bytes.push_back({t.range.space, begin, begin + size});
    }
    return bytes;
  }

  const Dp__Plan *plan_;  // NULL: the mesh is unknown
  dp_mesh mesh_{};
  std::vector<std::vector<Step>> steps_;    // [role]
  std::vector<std::vector<size_t>> first_;  // [role][stream] step
  std::vector<Device> devices_;
  std::vector<std::vector<size_t>> unit_;  // [device][step of its role]
  size_t n_units_ = 0, words_ = 0;
  bool stuck_ = false;
  bool overlap_ = false;                     // the next run begins before the host has read the outputs
  std::vector<std::vector<size_t>> before_;  // [unit]
  std::vector<uint64_t> after_;              // [unit] one bit for each unit
};

}  // namespace

std::string BruteOrder(const std::vector<const Dp__Program *> &programs) { return Order(programs, nullptr).Judge(); }

std::string BruteOrder(const Dp__Program *program) { return BruteOrder(std::vector<const Dp__Program *>{program}); }

std::string BruteOrder(const Dp__Plan *plan, size_t program) {
  std::vector<const Dp__Program *> programs;
  for (size_t r = 0; r < plan->n_roles; r++) programs.push_back(plan->roles[r]->programs[program]);
  return Order(programs, plan).Judge();
}

}  // namespace dp_test
