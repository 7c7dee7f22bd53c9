#include "tests/end_to_end/pipeline_walk.h"

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>

#include "ir/graph/type.h"

namespace dp_test {

PipelineWalk::PipelineWalk(const Plan &plan, const std::string &name) : plan_(plan), stages_(int(plan->n_roles)) {
  for (size_t a = 0; a < plan->n_mesh; a++)
    if (std::string(plan->mesh[a]->name) == "micro") micro_axis_ = int(a);
  makers_.resize(size_t(stages_));
  events_.resize(size_t(stages_));
  computing_.resize(size_t(stages_));
  for (int s = 0; s < stages_; s++) {
    const Dp__Role *role = plan->roles[s];
    for (size_t i = 0; i < role->n_programs; i++)
      if (role->programs[i]->name == name) Collect(role->programs[i], s);
  }
  if (int(programs_.size()) != stages_) throw std::runtime_error("not every stage has a program " + name);
  FindDirections();
  MakeVertices();
  Connect();
  Time();
}

// A send has no result, a receive no operand.
const Dp__Communication *PipelineWalk::Transfer(const Step &step) const {
  const Dp__Communication *c = step.instruction->communication;
  return c && c->channel ? c : nullptr;
}

// The last micro-batch that the step handles; -1 if it works on the whole batch, or on integers alone.
int PipelineWalk::MicroOf(const Dp__Program *program, const Dp__Instruction *in) const {
  int micro = -1;
  bool floats = false;
  auto Look = [&](uint32_t tensor) {
    if (!tensor) return;
    const Dp__DeviceTensor *t = program->tensors[tensor - 1];
    floats |= dp_type_is_float(dp_dtype(t->dtype));
    if (t->micro && t->micro->count) micro = std::max(micro, int(t->micro->first + t->micro->count) - 1);
  };
  for (size_t i = 0; i < in->n_inputs; i++) Look(in->inputs[i]);
  for (size_t i = 0; i < in->n_outputs; i++) Look(in->outputs[i]);
  return floats ? micro : -1;
}

void PipelineWalk::Collect(const Dp__Program *program, int stage) {
  programs_.push_back(program);
  for (size_t s = 0; s < program->n_streams; s++) {
    const Dp__Stream *stream = program->streams[s];
    const bool computes = std::string(stream->name) == "compute";
    for (size_t i = 0; i < stream->n_instructions; i++) {
      const Dp__Instruction *in = stream->instructions[i];
      const int id = int(steps_.size());
      steps_.push_back({in, stage, int(s), MicroOf(program, in), i ? id - 1 : -1, false, computes, -1});
      for (size_t o = 0; o < in->n_outputs; o++)
        if (in->outputs[o]) makers_[size_t(stage)][in->outputs[o]] = id;
      if (in->signal) events_[size_t(stage)][in->signal - 1] = id;
      if (computes) computing_[size_t(stage)].push_back(id);
    }
  }
}

void PipelineWalk::FindDirections() {
  std::vector<int> seen(steps_.size());
  std::function<bool(int)> IsBack = [&](int id) -> bool {
    Step &step = steps_[size_t(id)];
    if (seen[size_t(id)]++) return step.back;
    if (const Dp__Communication *c = Transfer(step); c && !Sends(step)) {
      const int from = (step.stage + int(c->peer[0]->offset)) % stages_;
      return step.back = from > step.stage;
    }
    for (size_t i = 0; i < step.instruction->n_inputs; i++) {
      auto maker = makers_[size_t(step.stage)].find(step.instruction->inputs[i]);
      if (maker != makers_[size_t(step.stage)].end() && IsBack(maker->second)) step.back = true;
    }
    return step.back;
  };
  for (size_t i = 0; i < steps_.size(); i++) IsBack(int(i));
}

// One vertex for each run of computing steps of a task, including steps of the whole batch between them; one for each
// pair of send and receive; one for each other step.
void PipelineWalk::MakeVertices() {
  auto Add = [&](const Step &step, double weight) {
    vertices_.push_back({step.stage, weight > 0 ? step.micro : -1, step.back, weight, 0, 0, {}});
    return int(vertices_.size()) - 1;
  };
  for (const std::vector<int> &steps : computing_) {
    int task = -1;
    std::vector<int> amid;
    for (int id : steps) {
      Step &step = steps_[size_t(id)];
      if (step.micro < 0) {
        amid.push_back(id);
        continue;
      }
      const bool same =
          task >= 0 && vertices_[size_t(task)].micro == step.micro && vertices_[size_t(task)].back == step.back;
      for (int other : amid) steps_[size_t(other)].vertex = same ? task : Add(steps_[size_t(other)], 0);
      amid.clear();
      if (!same) task = Add(step, step.stage == stages_ - 1 ? 3 : step.back ? 2 : 1);
      step.vertex = task;
    }
    for (int other : amid) steps_[size_t(other)].vertex = Add(steps_[size_t(other)], 0);
  }
  std::map<uint32_t, int> channels;
  for (Step &step : steps_) {
    if (step.vertex >= 0) continue;
    const Dp__Communication *c = Transfer(step);
    if (c && channels.count(c->channel)) {
      step.vertex = channels[c->channel];
      continue;
    }
    step.vertex = Add(step, 0);
    if (c) channels[c->channel] = step.vertex;
  }
}

void PipelineWalk::Connect() {
  std::set<std::pair<int, int>> edges;
  auto Edge = [&](int from, const Step &step) {
    const int a = steps_[size_t(from)].vertex, b = step.vertex;
    if (a != b && edges.insert({a, b}).second) vertices_[size_t(a)].after.push_back(b);
  };
  for (const Step &step : steps_) {
    if (step.before >= 0) Edge(step.before, step);
    for (size_t w = 0; w < step.instruction->n_waits; w++)
      Edge(events_[size_t(step.stage)].at(step.instruction->waits[w]), step);
  }
}

void PipelineWalk::Time() {
  std::vector<int> missing(vertices_.size()), ready;
  for (const Vertex &v : vertices_)
    for (int next : v.after) missing[size_t(next)]++;
  for (size_t v = 0; v < vertices_.size(); v++)
    if (!missing[v]) ready.push_back(int(v));
  size_t done = 0;
  for (; !ready.empty(); done++) {
    Vertex &v = vertices_[size_t(ready.back())];
    ready.pop_back();
    v.end = v.start + v.weight;
    for (int next : v.after) {
      Vertex &n = vertices_[size_t(next)];
      n.start = std::max(n.start, v.end);
      if (!--missing[size_t(next)]) ready.push_back(next);
    }
  }
  if (done != vertices_.size()) throw std::runtime_error("tasks wait for each other");
}

double PipelineWalk::Idle() const {
  double work = 0, end = 0;
  for (const Vertex &v : vertices_) {
    work += v.weight;
    end = std::max(end, v.end);
  }
  return 1 - work / (end * stages_);
}

std::string PipelineWalk::Tasks(int stage) const {
  std::string text;
  for (const Vertex &v : vertices_)  // a stage's vertices are in stream order
    if (v.stage == stage && v.micro >= 0)
      text += (text.empty() ? "" : " ") + std::string(v.back ? "B" : "F") + std::to_string(v.micro);
  return text;
}

int PipelineWalk::Begun(int stage) const {
  int now = 0, most = 0;
  for (const Vertex &v : vertices_) {
    if (v.stage != stage || v.micro < 0) continue;
    now += v.back ? -1 : 1;
    most = std::max(most, now);
    if (stage == stages_ - 1) now--;  // both directions are one task
  }
  return most;
}

// Single-micro-batch tensors that the stage computed itself, by value, from creation to last use.
int PipelineWalk::Held(int stage) const {
  const Dp__Program *program = programs_[size_t(stage)];
  const std::vector<int> &steps = computing_[size_t(stage)];
  std::map<uint32_t, std::pair<int, int>> lives;  // by tensor
  for (int i = 0; i < int(steps.size()); i++) {
    const Dp__Instruction *in = steps_[size_t(steps[size_t(i)])].instruction;
    for (size_t o = 0; o < in->n_outputs; o++) {
      const Dp__DeviceTensor *t = in->outputs[o] ? program->tensors[in->outputs[o] - 1] : nullptr;
      if (t && t->micro && t->micro->count == 1 && t->placements[micro_axis_]->kind == 1)
        lives[in->outputs[o]] = {i, i};
    }
    for (size_t k = 0; k < in->n_inputs; k++)
      if (auto life = lives.find(in->inputs[k]); life != lives.end()) life->second.second = i;
  }
  std::map<uint32_t, std::vector<std::pair<int, int>>> changes;  // by value: at which step, by how much
  for (const auto &[tensor, life] : lives) {
    auto &of_value = changes[program->tensors[tensor - 1]->value];
    of_value.push_back({life.first, 1});
    of_value.push_back({life.second, -1});
  }
  int most = 0;
  for (auto &[value, all] : changes) {
    std::sort(all.begin(), all.end());
    int now = 0;
    for (const auto &change : all) most = std::max(most, now += change.second);
  }
  return most;
}

}  // namespace dp_test
