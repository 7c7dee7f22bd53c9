#include "tests/runtime/stage_plan.h"

#include <stdexcept>

#include "ir/file/proto.h"

namespace dp_test {
namespace {

const char kModel[] = R"dpt(model stages {
  parameter w1: float32[5,4] = [1,2,3,4,5, -6,7,8,-9,10, 1,0,-1,2,-2, 3,1,4,1,5]
  state m1: float32[5,4] = fill(0)
  parameter w2: float32[3,5] = [0.1,0.2,0.3,0.4,0.5, -0.6,0.7,0.8,-0.9,1, 0.1,0,-0.1,0.2,-0.2]
  state m2: float32[3,5] = [0,0,0,0,0, 0,0,0,0,0, 0,0,0,0,0]
  stored one: float32[] = 1
  graph train {
    input x: float32[N,4]
    input label: int64[N]
    h = Gemm(x, w1) {transB=1}
    scores = Gemm(h, w2) {transB=1}
    loss = SoftmaxCrossEntropyLoss(scores, label)
    count = Size(label)
    ds = dp.SoftmaxCrossEntropyLossGrad(scores, label, one)
    dw2 = Gemm(ds, h) {transA=1}
    dh = Gemm(ds, w2)
    dw1 = Gemm(dh, x) {transA=1}
    lr = Cast(dp.lr) {to=float32}
    refused = dp.CountRefused(label) {limit=[3]}
    w1n, m1n = dp.SGD(w1, m1, dw1, lr, _, _, refused) {momentum=0.9}
    w2n, m2n = dp.SGD(w2, m2, dw2, lr, _, _, refused) {momentum=0.9}
    output loss
    output count
    output scores
    update w1 = w1n
    update m1 = m1n
    update w2 = w2n
    update m2 = m2n
  }
  graph init {
    m0 = dp.Fill() {shape=[5,4], value=0}
    update m1 = m0
  }
})dpt";

// The placement of each variable, in the model's order. Stage 1's are larger in total.
const struct {
  const char *name;
  int stage;
  uint64_t offset, bytes;
} kHomes[] = {{"w1", 0, 0, 80}, {"m1", 0, 128, 80}, {"w2", 1, 0, 60}, {"m2", 1, 64, 60}, {"one", 1, 256, 4}};

int64_t Rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

StagePlan::StagePlan(int micro, int data, bool streams)
    : plan(New(arena, dp__plan__init)), micro_(micro), data_(data), streams_(streams) {
  std::string message = Parse(arena, kModel, &model);
  if (!message.empty()) throw std::runtime_error(message);
  model->batch = plan->batch = kBatch;
  if (micro > 1) model->mesh.axes[model->mesh.n_axes++] = {DP_MESH_MICRO, micro};
  model->mesh.axes[model->mesh.n_axes++] = {DP_MESH_PIPE, 2};
  if (data > 1) model->mesh.axes[model->mesh.n_axes++] = {"data", data};
  plan->n_mesh = static_cast<size_t>(model->mesh.n_axes);
  plan->mesh = dp_proto_from_mesh(arena, &model->mesh);
  plan->target = New(arena, dp__target__init);
  plan->target->backend = dp_strdup(arena, "cpu");
  plan->schedule = New(arena, dp__schedule__init);
  plan->schedule->kind = dp_strdup(arena, "constant");
  plan->schedule->lr = 0.1;
  for (int32_t i = 0; i < model->n_variables; i++) {
    Dp__Variable *p = dp_proto_from_variable(arena, &model->variables[i], model->mesh.n_axes);
    p->offset = kHomes[i].offset;
    p->bytes = kHomes[i].bytes;
    Append(arena, &p->n_stages, &p->stages, static_cast<uint32_t>(kHomes[i].stage));
    Append(arena, &plan->n_variables, &plan->variables, p);
  }
  for (int i = 0; i < model->n_graphs; i++)
    Append(arena, &plan->n_graphs, &plan->graphs, dp_proto_from_graph(arena, model->graphs[i]));
  for (int stage = 0; stage < 2; stage++) {
    Dp__Role *role = New(arena, dp__role__init);
    role->name = dp_strdup(arena, stage ? "stage1" : "stage0");
    for (int a = 0; a < model->mesh.n_axes; a++) {
      bool staged = dp_mesh_is_staged(&model->mesh.axes[a]);
      Dp__AxisRange *range = New(arena, dp__axis_range__init);
      range->first = staged ? stage : 0;
      range->count = staged ? 1 : model->mesh.axes[a].size;
      Append(arena, &role->n_devices, &role->devices, range);
    }
    Append(arena, &plan->n_roles, &plan->roles, role);
  }
  WriteTrain();
  WriteInit();
  for (int stage = 0; stage < 2; stage++) {
    const std::pair<Dp__Space, int64_t> arenas[] = {{DP__SPACE__PERSISTENT, stage ? 320 : 256},
                                                    {DP__SPACE__TRANSIENT, used_[stage]},
                                                    {DP__SPACE__HOST_INPUT, 256},
                                                    {DP__SPACE__HOST_OUTPUT, 256}};
    for (const auto &a : arenas) {
      Dp__Arena *m = New(arena, dp__arena__init);
      m->space = a.first;
      m->bytes = static_cast<uint64_t>(a.second);
      m->copies = a.first == DP__SPACE__HOST_INPUT ? 2 : 1;
      m->alignment = 64;
      Append(arena, &plan->roles[stage]->n_arenas, &plan->roles[stage]->arenas, m);
    }
  }
}

// ---- tensors and instructions ---------------------------------------------------------------------------------------

void StagePlan::Open(const std::string &name) {
  uint32_t index = 0;
  while (name != model->graphs[index]->name) index++;
  for (int stage = 0; stage < 2; stage++) {
    writers_[stage].reset(new ProgramWriter(arena, plan, model->graphs[index], index));
    made_[stage].clear();
    events_[stage] = 0;
    Append(arena, &plan->roles[stage]->n_programs, &plan->roles[stage]->programs, writers_[stage]->program);
  }
}

std::string StagePlan::Label(const std::string &value, int first, int count) {
  return value + "[" + std::to_string(first) + "," + std::to_string(first + count) + ")";
}

std::string StagePlan::Make(int stage, const std::string &value, const Where &where) {
  std::string at = micro_ > 1 ? where.on + ",R" : "R", label = Label(value, where.first, where.count) + where.mark;
  if (where.space == DP__SPACE__HOST_INPUT || where.space == DP__SPACE__HOST_OUTPUT) label = value + "@host";
  if (data_ > 1) at += "," + where.over;
  On(stage).Tensor(label, value, at, where.space, 0);
  Dp__DeviceTensor *t = On(stage).At(label);
  t->stage = static_cast<uint32_t>(stage);
  if (where.count) {
    t->micro = New(arena, dp__micro_set__init);
    t->micro->first = static_cast<uint32_t>(where.first);
    t->micro->count = static_cast<uint32_t>(where.count);
    t->micro->of = static_cast<uint32_t>(micro_);
  }
  if (where.count > 1 && where.on[0] == 'S') t->bytes = kBatch * kClasses * sizeof(float);  // scores, whole
  t->offset = static_cast<uint64_t>(where.offset < 0 ? used_[stage] : where.offset);
  if (where.offset < 0) used_[stage] += Rounded(static_cast<int64_t>(t->bytes));
  return label;
}

Dp__Instruction *StagePlan::Do(int stage, const std::string &name, const std::string &op, const std::string &node,
                               const std::vector<std::string> &operands, const std::vector<std::string> &results) {
  const std::string stream = streams_ ? name : "compute";
  std::vector<uint32_t> waits;
  for (const std::string &label : operands) {
    auto made = made_[stage].find(label);
    if (made != made_[stage].end() && made->second.stream != stream) waits.push_back(made->second.event);
  }
  int event = streams_ ? events_[stage]++ : -1;
  for (const std::string &label : results)
    if (streams_ && !label.empty()) made_[stage][label] = {stream, static_cast<uint32_t>(event)};
  return On(stage).Add(stream, op, node, operands, results, waits, event);
}

void StagePlan::Over(Dp__Instruction *in, const std::string &axis, std::vector<dp_attr> attrs) {
  attrs.insert(attrs.begin(), dp_attr_string("axis", dp_strdup(arena, axis.c_str())));
  dp_proto_from_attrs(arena, static_cast<int>(attrs.size()), attrs.data(), &in->n_attributes, &in->attributes);
  in->communication = New(arena, dp__communication__init);
  Append(arena, &in->communication->n_axes, &in->communication->axes,
         static_cast<uint32_t>(dp_mesh_find(&model->mesh, axis.c_str())));
}

void StagePlan::Transfer(int from, const std::string &value, int j) {
  Transfer(from, Label(value, j, micro_ > 1), Make(1 - from, value, Split(j)));
}

void StagePlan::Transfer(int from, const std::string &sent, const std::string &received) {
  int channel = static_cast<int>(++channels_), to = 1 - from;
  Dp__Instruction *send = Do(from, "send", "dp.Send", "", {sent}, {""});
  Dp__Instruction *receive = Do(to, "recv", "dp.Recv", "", {""}, {received});
  Over(send, DP_MESH_PIPE, {dp_attr_int("channel", channel), dp_attr_int("peer", to)});
  Over(receive, DP_MESH_PIPE, {dp_attr_int("channel", channel), dp_attr_int("peer", from)});
  for (Dp__Instruction *in : {send, receive}) {
    in->communication->channel = static_cast<uint32_t>(channel);
    Dp__PeerExpression *peer = New(arena, dp__peer_expression__init);
    peer->axis = in->communication->axes[0];
    peer->scale = peer->offset = 1;  // with two stages, the other one comes next
    Append(arena, &in->communication->n_peer, &in->communication->peer, peer);
  }
}

std::string StagePlan::Join(int stage, const std::string &value, const Where &where) {
  std::string all = Label(value, where.first, where.count) + where.mark;
  for (int j = 1; j < micro_; j++) {
    Where next = where;
    bool last = j + 1 == micro_, over = where.on[0] == 'P' || j > 1;  // over operand 0's bytes
    if (last) next.on = "R";
    next.count = last ? 0 : j + 1;
    if (over) next.offset = static_cast<int64_t>(On(stage).At(all)->offset);
    std::string to = Make(stage, value, next);
    Over(Do(stage, "compute", "dp.Accumulate", "", {all, Label(value, j, 1) + where.mark}, {to}), DP_MESH_MICRO);
    all = to;
  }
  return all;
}

void StagePlan::Home(int stage, const std::string &value) {
  for (const auto &storage : kHomes)
    if (value == storage.name)
      Make(stage, value, {"R", "R", 0, 0, DP__SPACE__PERSISTENT, static_cast<int64_t>(storage.offset), ""});
  On(stage).Found(static_cast<uint32_t>(dp_model_find_variable(model, value.c_str())), Label(value, 0, 0));
}

// ---- programs -------------------------------------------------------------------------------------------------------

// x arrives whole and is cut on the device; labels arrive by micro-batch; both stages get the rate.
void StagePlan::WriteBegin(int stage) {
  auto input = [&](const std::string &value, int64_t offset) {
    Make(stage, value, {"R", "R", 0, 0, DP__SPACE__HOST_INPUT, offset, ""});
    On(stage).Input(value, value + "@host");
  };
  input("dp.lr", 192);
  Make(stage, "dp.lr", {});
  Make(stage, "lr", {});
  Do(stage, "copy", "dp.Broadcast", "", {"dp.lr@host"}, {"dp.lr[0,0)"});
  Do(stage, "compute", "Cast", "lr", {"dp.lr[0,0)"}, {"lr[0,0)"});
  const std::string send = micro_ * data_ > 1 ? "dp.Scatter" : "dp.Broadcast";
  if (stage) {
    input("label", 128);
    for (int j = 0; j < micro_; j++) Do(1, "copy", send, "", {"label@host"}, {Make(1, "label", Split(j))});
    return;
  }
  input("x", 0);
  bool whole = micro_ > 1 && data_ == 1;
  if (whole) Do(0, "copy", "dp.Broadcast", "", {"x@host"}, {Make(0, "x", {})});
  for (int j = 0; j < micro_; j++) {
    std::string piece = Make(0, "x", Split(j));
    if (whole)
      Over(Do(0, "compute", "dp.Slice", "", {"x[0,0)"}, {piece}), DP_MESH_MICRO);
    else
      Do(0, "copy", send, "", {"x@host"}, {piece});
  }
}

void StagePlan::WriteForward(int j) {
  int count = micro_ > 1;
  auto at = [&](const std::string &value) { return Label(value, j, count); };
  Do(0, "compute", "Gemm", "h", {at("x"), "w1[0,0)"}, {Make(0, "h", Split(j))});
  Transfer(0, "h", j);
  Do(1, "compute", "Gemm", "scores", {at("h"), "w2[0,0)"}, {Make(1, "scores", Split(j))});
  Do(1, "compute", "SoftmaxCrossEntropyLoss", "loss", {at("scores"), at("label")}, {Make(1, "loss", Sum(j))});
  Do(1, "compute", "dp.CountRefused", "refused", {at("label")}, {Make(1, "refused", Sum(j))});
}

void StagePlan::WriteBackward(int j) {
  int count = micro_ > 1;
  auto at = [&](const std::string &value) { return Label(value, j, count); };
  Do(1, "compute", "dp.SoftmaxCrossEntropyLossGrad", "ds", {at("scores"), at("label"), "one[0,0)"},
     {Make(1, "ds", Split(j))});
  Do(1, "compute", "Gemm", "dw2", {at("ds"), at("h")}, {Make(1, "dw2", Sum(j))});
  Do(1, "compute", "Gemm", "dh", {at("ds"), "w2[0,0)"}, {Make(1, "dh", Split(j))});
  Transfer(1, "dh", j);
  Do(0, "compute", "Gemm", "dw1", {at("dh"), at("x")}, {Make(0, "dw1", Sum(j))});
}

std::string StagePlan::Collect(int stage, const std::string &op, const std::string &operand, const std::string &value,
                               const Where &where) {
  if (data_ == 1) return operand;
  std::string to = Make(stage, value, where);
  Over(Do(stage, "comm", op, "", {operand}, {to}), "data");
  return to;
}

// In place.
std::string StagePlan::Reduce(int stage, const std::string &value) {
  std::string part = Join(stage, value, Sum(0));
  int64_t offset = static_cast<int64_t>(On(stage).At(part)->offset);
  return Collect(stage, "dp.AllReduce", part, value, {"R", "R", 0, 0, DP__SPACE__TRANSIENT, offset, "@all"});
}

void StagePlan::WriteUpdate(int stage, const std::string &w, const std::string &m, const std::string &refused) {
  std::string dw = Reduce(stage, "d" + w), one[] = {w + "n", m + "n"};
  for (const std::string &storage : {w, m}) {
    int64_t offset = static_cast<int64_t>(On(stage).At(storage + "[0,0)")->offset);
    Make(stage, storage + "n", {"R", "R", 0, 0, DP__SPACE__PERSISTENT, offset, ""});
    On(stage).Left(static_cast<uint32_t>(dp_model_find_variable(model, storage.c_str())), storage + "n[0,0)");
  }
  Do(stage, "compute", "dp.SGD", one[0], {w + "[0,0)", m + "[0,0)", dw, "lr[0,0)", "", "", refused},
     {one[0] + "[0,0)", one[1] + "[0,0)"});
}

void StagePlan::WriteOutput(const std::string &value, const std::string &label, int64_t offset) {
  Make(1, value, {"R", "R", 0, 0, DP__SPACE__HOST_OUTPUT, offset, ""});
  Do(1, "copy", "dp.Gather", "", {label}, {value + "@host"});
  On(1).Output(value, value + "@host");
}

// A device's samples of a micro-batch are not its samples of the whole batch, so each micro-batch's outputs are
// gathered before they are concatenated.
void StagePlan::WriteOutputs() {
  std::string loss = Join(1, "loss", Sum(0)), mark = data_ > 1 ? "@all" : "";
  WriteOutput("loss", Collect(1, "dp.AllReduce", loss, "loss", {"R", "R", 0, 0, DP__SPACE__TRANSIENT, -1, "@all"}), 0);
  for (int j = 0; j < micro_; j++) {
    Where whole = Split(j);
    whole.over = "R";
    whole.mark = mark;
    Collect(1, "dp.AllGather", Label("scores", j, micro_ > 1), "scores", whole);
  }
  Where first = Split(0);
  first.over = data_ > 1 ? "R" : first.over;
  first.mark = mark;
  WriteOutput("scores", Join(1, "scores", first), 64);
  Do(1, "compute", "Size", "count", {Label("label", 0, micro_ > 1)}, {Make(1, "count", {})});
  WriteOutput("count", Label("count", 0, 0), 192);
}

void StagePlan::WriteTrain() {
  Open("train");
  for (const auto &storage : kHomes) Home(storage.stage, storage.name);
  for (int stage = 0; stage < 2; stage++) WriteBegin(stage);
  for (int j = 0; j < micro_; j++) WriteForward(j);
  for (int j = 0; j < micro_; j++) WriteBackward(j);
  const std::string refused = Reduce(1, "refused"), there = Make(0, "refused", {});
  Transfer(1, refused, there);
  WriteUpdate(0, "w1", "m1", there);
  WriteUpdate(1, "w2", "m2", refused);
  WriteOutputs();
}

// Stage 1 has nothing to do.
void StagePlan::WriteInit() {
  Open("init");
  Make(0, "m0", {"R", "R", 0, 0, DP__SPACE__PERSISTENT, 128, ""});
  Do(0, "compute", "dp.Fill", "m0", {}, {"m0[0,0)"});
  On(0).Left(1, "m0[0,0)");
}

Dp__Instruction *StagePlan::Find(int stage, const std::string &op) const {
  const Dp__Program *train = Train(stage);
  for (size_t s = 0; s < train->n_streams; s++)
    for (size_t i = 0; i < train->streams[s]->n_instructions; i++)
      if (op == train->streams[s]->instructions[i]->op) return train->streams[s]->instructions[i];
  throw std::runtime_error("no " + op);
}

std::string StagePlan::Verify() const { return Message(dp_verify_plan(plan, nullptr)); }

}  // namespace dp_test
