#include "tests/ir/verify/hand_plan.h"

#include <algorithm>
#include <stdexcept>

#include "ir/file/proto.h"

namespace dp_test {
namespace {

// The logical graphs. Batch 8: four samples on each device.
const char kModel[] = R"dpt(model hand {
  parameter w: float32[3,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  state m: float32[3,4] = fill(0)
  stored one: float32[] = 1
  graph train {
    input x: float32[N,4]
    input label: int64[N]
    scores = Gemm(x, w) {transB=1}
    loss = SoftmaxCrossEntropyLoss(scores, label)
    count = Size(label)
    ds = dp.SoftmaxCrossEntropyLossGrad(scores, label, one)
    dw = Gemm(ds, x) {transA=1}
    lr = Cast(dp.lr) {to=float32}
    refused = dp.CountRefused(label) {limit=[3]}
    w1, m1 = dp.SGD(w, m, dw, lr, _, _, refused) {momentum=0.9}
    output loss
    output count
    update w = w1
    update m = m1
  }
  graph eval {
    input x: float32[N,4]
    input label: int64[N]
    scores = Gemm(x, w) {transB=1}
    loss = SoftmaxCrossEntropyLoss(scores, label)
    count = Size(label)
    output loss
    output count
  }
  graph init {
    m0 = dp.Fill() {shape=[3,4], value=0}
    update m = m0
  }
})dpt";

enum { kW, kM, kOne };  // variables

std::vector<std::string> Split(const std::string &text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && !depth) {
      parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  parts.push_back(part);
  return parts;
}

}  // namespace

// ---- ProgramWriter --------------------------------------------------------------------------------------------------

ProgramWriter::ProgramWriter(dp_arena *arena, Dp__Plan *plan, const dp_graph *graph, uint32_t graph_index)
    : program(New(arena, dp__program__init)), arena_(arena), plan_(plan), graph_(graph) {
  program->name = Keep(graph->name);
  program->graph = graph_index;
}

ProgramWriter &ProgramWriter::Tensor(const std::string &label, const std::string &value, const std::string &at,
                                     Dp__Space space, uint64_t offset) {
  const dp_value *v = dp_graph_find_value(graph_, value.c_str());
  if (!v) throw std::runtime_error("no value " + value);
  dp_mesh mesh;
  dp_placement placements[DP_MAX_MESH] = {};
  if (dp_proto_to_mesh(plan_->n_mesh, plan_->mesh, &mesh)) throw std::runtime_error("mesh");
  std::vector<std::string> words = Split(at);
  if (at.empty()) words.clear();
  for (size_t a = 0; a < words.size(); a++)
    if (!dp_placement_parse(words[a].c_str(), &placements[a])) throw std::runtime_error("placement " + at);
  Dp__DeviceTensor *t = New(arena_, dp__device_tensor__init);
  t->value = static_cast<uint32_t>(v->id);
  t->n_placements = plan_->n_mesh;
  t->placements = dp_proto_from_placements(arena_, placements, static_cast<int>(plan_->n_mesh));
  t->stage = stage;
  t->layout = DP__LAYOUT__PLAIN;
  t->dtype = v->type->dtype;
  t->space = space;
  t->offset = offset;
  t->bytes = static_cast<uint64_t>(dp_local_max_count(&v->type->shape, placements, &mesh, plan_->batch)) *
             dp_type_bytes(v->type->dtype);
  labels_[label] = static_cast<uint32_t>(program->n_tensors);
  Append(arena_, &program->n_tensors, &program->tensors, t);
  return *this;
}

ProgramWriter &ProgramWriter::Micro(uint32_t first, uint32_t count) {
  Dp__DeviceTensor *t = program->tensors[program->n_tensors - 1];
  const dp_value *v = graph_->values[t->value];
  dp_mesh mesh;
  dp_placement placements[DP_MAX_MESH] = {};
  if (dp_proto_to_mesh(plan_->n_mesh, plan_->mesh, &mesh)) throw std::runtime_error("mesh");
  for (size_t i = 0; i < t->n_placements; i++)
    if (dp_proto_to_placement(t->placements[i], &placements[i])) throw std::runtime_error("placement");
  t->micro = New(arena_, dp__micro_set__init);
  t->micro->first = first;
  t->micro->count = count;
  t->micro->of = static_cast<uint32_t>(dp_mesh_microbatches(&mesh));
  if (count > 1) placements[dp_mesh_find(&mesh, DP_MESH_MICRO)] = dp_replicate();
  t->bytes = static_cast<uint64_t>(dp_local_max_count(&v->type->shape, placements, &mesh, plan_->batch)) *
             dp_type_bytes(v->type->dtype);
  return *this;
}

Dp__Stream *ProgramWriter::Stream(const std::string &name) {
  for (size_t s = 0; s < program->n_streams; s++)
    if (name == program->streams[s]->name) return program->streams[s];
  Dp__Stream *stream = New(arena_, dp__stream__init);
  stream->name = Keep(name);
  Append(arena_, &program->n_streams, &program->streams, stream);
  return stream;
}

Dp__Instruction *ProgramWriter::Add(const std::string &stream, const std::string &op, const std::string &node,
                                    const std::vector<std::string> &operands, const std::vector<std::string> &results,
                                    const std::vector<uint32_t> &waits, int signal) {
  Dp__Instruction *in = New(arena_, dp__instruction__init);
  bool ours = op.compare(0, 3, "dp.") == 0;
  in->op = Keep(ours ? op.substr(3) : op);
  in->domain = Keep(ours ? "dp" : "");
  for (int32_t i = 0; i < graph_->n_nodes; i++) {
    if (node != graph_->nodes[i]->name) continue;
    in->kernel = Keep("cpu.reference." + op);
    Append(arena_, &in->n_nodes, &in->nodes, static_cast<uint32_t>(i));
    dp_proto_from_attrs(arena_, graph_->nodes[i]->n_attrs, graph_->nodes[i]->attrs, &in->n_attributes, &in->attributes);
  }
  for (const std::string &label : operands)
    Append(arena_, &in->n_inputs, &in->inputs, label.empty() ? 0 : labels_.at(label) + 1);
  for (const std::string &label : results)
    Append(arena_, &in->n_outputs, &in->outputs, label.empty() ? 0 : labels_.at(label) + 1);
  for (uint32_t wait : waits) Append(arena_, &in->n_waits, &in->waits, wait);
  in->signal = static_cast<uint32_t>(signal + 1);
  if (in->signal > program->events) program->events = in->signal;
  Dp__Stream *s = Stream(stream);
  Append(arena_, &s->n_instructions, &s->instructions, in);
  return in;
}

Dp__Instruction *ProgramWriter::AddOver(const std::string &axis, const std::string &stream, const std::string &op,
                                        const std::string &operand, const std::string &result,
                                        const std::vector<uint32_t> &waits, int signal) {
  Dp__Instruction *in = Add(stream, op, "", {operand}, {result}, waits, signal);
  dp_attr attr = dp_attr_string("axis", Keep(axis));
  dp_proto_from_attrs(arena_, 1, &attr, &in->n_attributes, &in->attributes);
  in->communication = New(arena_, dp__communication__init);
  for (size_t a = 0; a < plan_->n_mesh; a++)
    if (axis == plan_->mesh[a]->name)
      Append(arena_, &in->communication->n_axes, &in->communication->axes, static_cast<uint32_t>(a));
  return in;
}

Dp__Instruction *ProgramWriter::AddAccumulate(const std::string &stream, const std::string &accumulated,
                                              const std::string &piece, const std::string &result,
                                              const std::vector<uint32_t> &waits, int signal) {
  Dp__Instruction *in = AddOver("micro", stream, "dp.Accumulate", accumulated, result, waits, signal);
  Append(arena_, &in->n_inputs, &in->inputs, labels_.at(piece) + 1);
  return in;
}

Dp__Instruction *ProgramWriter::AddTransfer(Dp__Instruction *in, uint32_t channel, int peer) {
  dp_attr attrs[] = {dp_attr_string("axis", Keep("pipe")), dp_attr_int("channel", channel), dp_attr_int("peer", peer)};
  dp_proto_from_attrs(arena_, 3, attrs, &in->n_attributes, &in->attributes);
  in->communication = New(arena_, dp__communication__init);
  in->communication->channel = channel;
  for (size_t a = 0; a < plan_->n_mesh; a++) {
    if (std::string("pipe") != plan_->mesh[a]->name) continue;
    Append(arena_, &in->communication->n_axes, &in->communication->axes, static_cast<uint32_t>(a));
    Dp__PeerExpression *p = New(arena_, dp__peer_expression__init);
    p->axis = static_cast<uint32_t>(a);
    p->scale = 1;
    p->offset = (peer - static_cast<int64_t>(stage) + plan_->mesh[a]->size) % plan_->mesh[a]->size;
    Append(arena_, &in->communication->n_peer, &in->communication->peer, p);
  }
  return in;
}

Dp__Instruction *ProgramWriter::AddSend(uint32_t channel, int peer, const std::string &stream,
                                        const std::string &operand, const std::vector<uint32_t> &waits, int signal) {
  return AddTransfer(Add(stream, "dp.Send", "", {operand}, {""}, waits, signal), channel, peer);
}

Dp__Instruction *ProgramWriter::AddRecv(uint32_t channel, int peer, const std::string &stream,
                                        const std::string &result, const std::vector<uint32_t> &waits, int signal) {
  return AddTransfer(Add(stream, "dp.Recv", "", {""}, {result}, waits, signal), channel, peer);
}

void ProgramWriter::Input(const std::string &name, const std::string &label) {
  Dp__Binding *b = New(arena_, dp__binding__init);
  b->name = Keep(name);
  b->tensor = labels_.at(label);
  Append(arena_, &program->n_inputs, &program->inputs, b);
}

void ProgramWriter::Output(const std::string &name, const std::string &label) {
  Dp__Binding *b = New(arena_, dp__binding__init);
  b->name = Keep(name);
  b->tensor = labels_.at(label);
  Append(arena_, &program->n_outputs, &program->outputs, b);
}

void ProgramWriter::Found(uint32_t variable, const std::string &label) {
  Dp__Update *u = New(arena_, dp__update__init);
  u->variable = variable;
  u->value = labels_.at(label);
  Append(arena_, &program->n_entry, &program->entry, u);
}

void ProgramWriter::Left(uint32_t variable, const std::string &label) {
  Dp__Update *u = New(arena_, dp__update__init);
  u->variable = variable;
  u->value = labels_.at(label);
  Append(arena_, &program->n_exit, &program->exit, u);
  At(label)->version = 1;
}

std::string Verify(const Dp__Plan *plan, std::string *message, dp_verify_report *report) {
  dp_verify_report own;
  if (!report) report = &own;
  dp_status status = dp_verify_plan(plan, report);
  bool good = !status;
  std::string text = Message(status);
  if (message) *message = text;
  return good ? "" : dp_rule_name(report->fault.rule);
}

namespace {

bool IsOfHost(int space) { return space == DP__SPACE__HOST_INPUT || space == DP__SPACE__HOST_OUTPUT; }

// The end of the used bytes of a role's arena; for host arenas, over all roles.
uint64_t End(const Dp__Plan *plan, size_t role, int space) {
  uint64_t end = 0;
  for (size_t i = 0; space == DP__SPACE__PERSISTENT && i < plan->n_variables; i++) {
    const Dp__Variable *p = plan->variables[i];
    bool here = !p->n_stages;
    for (size_t s = 0; s < p->n_stages; s++) here |= p->stages[s] == role;
    if (here) end = std::max(end, p->offset + p->bytes);
  }
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t k = 0; k < plan->roles[r]->n_programs && (r == role || IsOfHost(space)); k++) {
      const Dp__Program *p = plan->roles[r]->programs[k];
      for (size_t i = 0; i < p->n_tensors; i++)
        if (static_cast<int>(p->tensors[i]->space) == space)
          end = std::max(end, p->tensors[i]->offset + p->tensors[i]->bytes);
      for (size_t s = 0; s < p->n_streams; s++)
        for (size_t i = 0; i < p->streams[s]->n_instructions && space == DP__SPACE__TRANSIENT; i++)
          if (const Dp__Scratch *scratch = p->streams[s]->instructions[i]->scratch)
            end = std::max(end, scratch->offset + scratch->bytes);
    }
  return end;
}

}  // namespace

void ArenaFit::Fit(Dp__Plan *plan) {
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t a = 0; a < plan->roles[r]->n_arenas; a++) {
      Dp__Arena *arena = plan->roles[r]->arenas[a];
      auto known = fitted_.find(arena);
      if (known != fitted_.end() && known->second != arena->bytes) continue;
      if (arena->alignment) arena->bytes = dp_align_up(End(plan, r, arena->space), arena->alignment);
      fitted_[arena] = arena->bytes;
    }
}

// ---- HandPlan -------------------------------------------------------------------------------------------------------

Dp__Role *AddRole(dp_arena *arena, Dp__Plan *plan, const std::string &name, const std::vector<Dp__AxisRange> &devices,
                  const std::vector<HandArena> &arenas) {
  Dp__Role *role = New(arena, dp__role__init);
  role->name = dp_strdup(arena, name.c_str());
  for (const Dp__AxisRange &range : devices) {
    Dp__AxisRange *r = New(arena, dp__axis_range__init);
    *r = range;
    Append(arena, &role->n_devices, &role->devices, r);
  }
  for (const HandArena &a : arenas) {
    Dp__Arena *m = New(arena, dp__arena__init);
    m->space = a.space;
    m->bytes = a.bytes;
    m->copies = a.space == DP__SPACE__HOST_INPUT ? 2 : 1;
    m->alignment = 64;
    Append(arena, &role->n_arenas, &role->arenas, m);
  }
  Append(arena, &plan->n_roles, &plan->roles, role);
  return role;
}

HandPlan::HandPlan(int64_t devices) : plan(New(arena, dp__plan__init)) {
  std::string message = Parse(arena, kModel, &model);
  if (!message.empty()) throw std::runtime_error(message);
  model->batch = plan->batch = 8;
  model->mesh.n_axes = 1;
  model->mesh.axes[0] = {"data", devices};
  plan->n_mesh = 1;
  plan->mesh = dp_proto_from_mesh(arena, &model->mesh);
  plan->target = New(arena, dp__target__init);
  plan->target->backend = dp_strdup(arena, "cpu");
  plan->schedule = New(arena, dp__schedule__init);
  plan->schedule->kind = dp_strdup(arena, "constant");
  plan->schedule->lr = 0.1;
  // Storage: w and m have 48 bytes each, one has 4.
  for (int32_t i = 0; i < model->n_variables; i++) {
    dp_variable *p = &model->variables[i];
    p->offset = static_cast<uint64_t>(i) * 64;
    p->bytes = i == kOne ? 4 : 48;
    Append(arena, &plan->n_variables, &plan->variables, dp_proto_from_variable(arena, p, 1));
  }
  for (int i = 0; i < model->n_graphs; i++)
    Append(arena, &plan->n_graphs, &plan->graphs, dp_proto_from_graph(arena, model->graphs[i]));
  Dp__AxisRange all = DP__AXIS_RANGE__INIT;
  all.count = devices;
  AddRole(arena, plan, "all", {all},
          {{DP__SPACE__PERSISTENT, 192},
           {DP__SPACE__TRANSIENT, 1088},
           {DP__SPACE__HOST_INPUT, 256},
           {DP__SPACE__HOST_OUTPUT, 128}});
  WriteTrain();
  WriteEval();
  WriteInit();
  fit_.Fit(plan);
}

ProgramWriter &HandPlan::Open(const std::string &name) {
  uint32_t index = 0;
  while (name != model->graphs[index]->name) index++;
  std::unique_ptr<ProgramWriter> &w = writers_[name];
  w.reset(new ProgramWriter(arena, plan, model->graphs[index], index));
  Append(arena, &plan->roles[0]->n_programs, &plan->roles[0]->programs, w->program);
  return *w;
}

void HandPlan::WriteTrain() {
  ProgramWriter &p = Open("train");
  p.Tensor("x@host", "x", "R", DP__SPACE__HOST_INPUT, 0);              // 8*4*4 = 128 bytes
  p.Tensor("label@host", "label", "R", DP__SPACE__HOST_INPUT, 128);    // 8*8 = 64
  p.Tensor("lr@host", "dp.lr", "R", DP__SPACE__HOST_INPUT, 192);       // 8
  p.Tensor("w", "w", "R", DP__SPACE__PERSISTENT, 0);                   // 3*4*4 = 48
  p.Tensor("m", "m", "R", DP__SPACE__PERSISTENT, 64);                  // 48
  p.Tensor("one", "one", "R", DP__SPACE__PERSISTENT, 128);             // 4
  p.Tensor("x", "x", "S(0)", DP__SPACE__TRANSIENT, 0);                 // 4*4*4 = 64
  p.Tensor("label", "label", "S(0)", DP__SPACE__TRANSIENT, 64);        // 4*8 = 32
  p.Tensor("lr64", "dp.lr", "R", DP__SPACE__TRANSIENT, 128);           // 8
  p.Tensor("lr", "lr", "R", DP__SPACE__TRANSIENT, 192);                // 4
  p.Tensor("scores", "scores", "S(0)", DP__SPACE__TRANSIENT, 256);     // 4*3*4 = 48
  p.Tensor("loss@part", "loss", "P(sum)", DP__SPACE__TRANSIENT, 320);  // 4
  p.Tensor("loss", "loss", "R", DP__SPACE__TRANSIENT, 384);            // 4
  p.Tensor("ds", "ds", "S(0)", DP__SPACE__TRANSIENT, 448);             // 48
  p.Tensor("dw@part", "dw", "P(sum)", DP__SPACE__TRANSIENT, 512);      // 48
  p.Tensor("dw", "dw", "R", DP__SPACE__TRANSIENT, 512);                // in place
  p.Tensor("w1", "w1", "R", DP__SPACE__PERSISTENT, 0);
  p.Tensor("m1", "m1", "R", DP__SPACE__PERSISTENT, 64);
  p.Tensor("loss@host", "loss", "R", DP__SPACE__HOST_OUTPUT, 0);
  p.Tensor("count", "count", "R", DP__SPACE__TRANSIENT, 576);  // 8
  p.Tensor("count@host", "count", "R", DP__SPACE__HOST_OUTPUT, 64);
  p.Tensor("refused@part", "refused", "P(sum)", DP__SPACE__TRANSIENT, 1024);  // 8
  p.Tensor("refused", "refused", "R", DP__SPACE__TRANSIENT, 1024);            // in place
  p.Add("copy", "dp.Scatter", "", {"x@host"}, {"x"}, {}, 0);
  p.Add("copy", "dp.Scatter", "", {"label@host"}, {"label"}, {}, 1);
  p.Add("copy", "dp.Broadcast", "", {"lr@host"}, {"lr64"}, {}, 2);
  p.Add("compute", "Gemm", "scores", {"x", "w"}, {"scores"}, {0});
  p.Add("compute", "SoftmaxCrossEntropyLoss", "loss", {"scores", "label"}, {"loss@part"}, {1}, 3);
  p.Add("compute", "dp.SoftmaxCrossEntropyLossGrad", "ds", {"scores", "label", "one"}, {"ds"});
  p.Add("compute", "Gemm", "dw", {"ds", "x"}, {"dw@part"}, {}, 4);
  p.Add("compute", "Cast", "lr", {"lr64"}, {"lr"}, {2});
  p.Add("compute", "dp.SGD", "w1", {"w", "m", "dw", "lr", "", "", "refused"}, {"w1", "m1"}, {5});
  p.Add("compute", "Size", "count", {"label"}, {"count"}, {}, 7);
  p.Add("guard", "dp.CountRefused", "refused", {"label"}, {"refused@part"}, {1});
  p.AddOver("data", "guard", "dp.AllReduce", "refused@part", "refused", {}, 8);
  p.AddOver("data", "comm", "dp.AllReduce", "loss@part", "loss", {3, 8}, 6);
  p.AddOver("data", "comm", "dp.AllReduce", "dw@part", "dw", {4}, 5);
  p.Add("copy", "dp.Gather", "", {"loss"}, {"loss@host"}, {6});
  p.Add("copy", "dp.Gather", "", {"count"}, {"count@host"}, {7});
  p.Input("x", "x@host");
  p.Input("label", "label@host");
  p.Input("dp.lr", "lr@host");
  p.Output("loss", "loss@host");
  p.Output("count", "count@host");
  p.Found(kW, "w");
  p.Found(kM, "m");
  p.Found(kOne, "one");
  p.Left(kW, "w1");
  p.Left(kM, "m1");
}

// One stream: no events.
void HandPlan::WriteEval() {
  ProgramWriter &p = Open("eval");
  p.Tensor("x@host", "x", "R", DP__SPACE__HOST_INPUT, 0);
  p.Tensor("label@host", "label", "R", DP__SPACE__HOST_INPUT, 128);
  p.Tensor("w", "w", "R", DP__SPACE__PERSISTENT, 0);
  p.Tensor("x", "x", "S(0)", DP__SPACE__TRANSIENT, 0);
  p.Tensor("label", "label", "S(0)", DP__SPACE__TRANSIENT, 64);
  p.Tensor("scores", "scores", "S(0)", DP__SPACE__TRANSIENT, 128);
  p.Tensor("loss@part", "loss", "P(sum)", DP__SPACE__TRANSIENT, 0);  // x is no longer needed
  p.Tensor("loss", "loss", "R", DP__SPACE__TRANSIENT, 192);
  p.Tensor("loss@host", "loss", "R", DP__SPACE__HOST_OUTPUT, 0);
  p.Tensor("count", "count", "R", DP__SPACE__TRANSIENT, 256);
  p.Tensor("count@host", "count", "R", DP__SPACE__HOST_OUTPUT, 64);
  p.Add("compute", "dp.Scatter", "", {"x@host"}, {"x"});
  p.Add("compute", "dp.Scatter", "", {"label@host"}, {"label"});
  p.Add("compute", "Gemm", "scores", {"x", "w"}, {"scores"});
  p.Add("compute", "SoftmaxCrossEntropyLoss", "loss", {"scores", "label"}, {"loss@part"});
  p.AddOver("data", "compute", "dp.AllReduce", "loss@part", "loss");
  p.Add("compute", "dp.Gather", "", {"loss"}, {"loss@host"});
  p.Add("compute", "Size", "count", {"label"}, {"count"});
  p.Add("compute", "dp.Gather", "", {"count"}, {"count@host"});
  p.Input("x", "x@host");
  p.Input("label", "label@host");
  p.Output("loss", "loss@host");
  p.Output("count", "count@host");
  p.Found(kW, "w");
}

void HandPlan::WriteInit() {
  ProgramWriter &p = Open("init");
  p.Tensor("m0", "m0", "R", DP__SPACE__PERSISTENT, 64);
  p.Add("compute", "dp.Fill", "m0", {}, {"m0"});
  p.Left(kM, "m0");
}

std::string HandPlan::Verify(std::string *message, dp_verify_report *report) const {
  return dp_test::Verify(plan, message, report);
}

Dp__Stream *HandPlan::Stream(const std::string &program, const std::string &stream) {
  Dp__Program *p = writers_.at(program)->program;
  for (size_t s = 0; s < p->n_streams; s++)
    if (stream == p->streams[s]->name) return p->streams[s];
  throw std::runtime_error("no stream " + stream);
}

Dp__Instruction *HandPlan::Step(const std::string &program, const std::string &stream, size_t index) {
  return Stream(program, stream)->instructions[index];
}

Dp__Arena *HandPlan::ArenaOf(Dp__Space space) {
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++)
    if (plan->roles[0]->arenas[i]->space == space) return plan->roles[0]->arenas[i];
  throw std::runtime_error("no arena");
}

}  // namespace dp_test
