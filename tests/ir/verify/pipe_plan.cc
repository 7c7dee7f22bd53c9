#include "tests/ir/verify/pipe_plan.h"

#include <stdexcept>

#include "ir/file/proto.h"

namespace dp_test {
namespace {

const char kModel[] = R"dpt(model pipe {
  parameter w: float32[5,4] = [0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, -0.8, 0.9, 1, -1.1, 1.2, 0.3, 0.2, -0.1, 0.4, 0.5, 0.6, -0.7, 0.8]
  parameter v: float32[3,5] = [0.2, 0.1, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8, 0.9, -1, 0.1, 0.2, 0.3, -0.4, 0.5]
  stored one: float32[] = fill(1)
  graph train {
    input x: float32[N,4]
    input label: int64[N]
    g = Gemm(x, w) {transB=1}
    h = Relu(g)
    scores = Gemm(h, v) {transB=1}
    loss = SoftmaxCrossEntropyLoss(scores, label)
    count = Size(label)
    ds = dp.SoftmaxCrossEntropyLossGrad(scores, label, one)
    dv = Gemm(ds, h) {transA=1}
    dh = Gemm(ds, v)
    dg = dp.ReluGrad(dh, h)
    dw = Gemm(dg, x) {transA=1}
    lr = Cast(dp.lr) {to=float32}
    rate = Mul(lr, one)
    refused = dp.CountRefused(label) {limit=[3]}
    w1 = dp.SGD(w, _, dw, rate, _, _, refused)
    v1 = dp.SGD(v, _, dv, rate, _, _, refused)
    output loss
    output count
    update w = w1
    update v = v1
  }
  graph infer {
    input x: float32[N,4]
    g = Gemm(x, w) {transB=1}
    h = Relu(g)
    scores = Gemm(h, v) {transB=1}
    output scores
  }
  graph init {
    one0 = dp.Fill() {shape=[], value=1}
    update one = one0
  }
})dpt";

enum { kTransient = 1 << 20 };

}  // namespace

// One program of one stage while it is being written.
struct PipePlan::Part {
  PipePlan *plan;
  int stage;
  ProgramWriter *w;
  uint64_t transient = 0;
  uint32_t channel = 0;  // of the stage: Sends have odd ones on stage 0, even ones on stage 1
  std::map<std::string, std::pair<Dp__Instruction *, std::string>> makers;  // by label: instruction, stream
  std::map<std::pair<std::string, std::string>, size_t> waited;             // by stream, and stream waited for

  Part(PipePlan *p, int s, const std::string &name) : plan(p), stage(s) {
    uint32_t index = 0;
    while (name != p->model->graphs[index]->name) index++;
    auto &writer = p->writers_[{s, name}];
    writer.reset(new ProgramWriter(p->arena, p->plan, p->model->graphs[index], index));
    w = writer.get();
    w->stage = static_cast<uint32_t>(s);
    Dp__Role *role = p->plan->roles[s];
    Append(p->arena, &role->n_programs, &role->programs, w->program);
  }
  // Placements on the existing axes.
  std::string At(const std::string &micro, const std::string &data) const {
    std::string at = plan->micro_ > 1 ? micro + ",R" : "R";
    return plan->data_ > 1 ? at + "," + data : at;
  }
  void Make(const std::string &value) {
    w->Tensor(value, value, At("R", "R"), DP__SPACE__TRANSIENT, transient);
    Bump(value);
  }
  void Bump(const std::string &label) {
    const Dp__DeviceTensor *t = w->At(label);
    uint64_t end = (t->offset + t->bytes + 63) / 64 * 64;
    if (end > transient) transient = end;
  }
  // The tensor of one micro-batch, or of the whole batch if there are none.
  void MakePiece(const std::string &value, int j, const std::string &micro, const std::string &data) {
    std::string label = plan->Of(value, j);
    w->Tensor(label, value, At(micro, data), DP__SPACE__TRANSIENT, transient);
    if (plan->micro_ > 1) w->Micro(static_cast<uint32_t>(j));
    Bump(label);
  }
  void Host(const std::string &value, Dp__Space space, uint64_t offset) {
    w->Tensor(value + "@host", value, At("R", "R"), space, offset);
  }
  // The instruction's position in its stream, from 1.
  size_t Position(const Dp__Instruction *in, const std::string &stream) const {
    const Dp__Stream *s = plan->Stream(stage, w->program->name, stream);
    size_t i = 0;
    while (s->instructions[i] != in) i++;
    return i + 1;
  }
  // Waits for the makers of its operands on other streams, and becomes the maker of its results.
  Dp__Instruction *Link(Dp__Instruction *in, const std::string &stream, const std::vector<std::string> &operands,
                        const std::vector<std::string> &results) {
    for (const std::string &label : operands) {
      auto maker = makers.find(label);
      if (maker == makers.end() || maker->second.second == stream) continue;
      Dp__Instruction *from = maker->second.first;
      // A stream need not wait twice for the same event.
      size_t &seen = waited[{stream, maker->second.second}], position = Position(from, maker->second.second);
      if (position <= seen) continue;
      seen = position;
      if (!from->signal) from->signal = ++w->program->events;
      Append(plan->arena, &in->n_waits, &in->waits, from->signal - 1);
    }
    for (const std::string &label : results) makers[label] = {in, stream};
    return in;
  }
  void Add(const std::string &stream, const std::string &op, const std::string &node,
           const std::vector<std::string> &operands, const std::vector<std::string> &results) {
    Link(w->Add(stream, op, node, operands, results), stream, operands, results);
  }
  void Fetch(const std::string &value, int j) {
    bool split = plan->micro_ * plan->data_ > 1;
    Add("copy", split ? "dp.Scatter" : "dp.Broadcast", "", {value + "@host"}, {plan->Of(value, j)});
  }
  void Over(const std::string &axis, const std::string &op, const std::string &operand, const std::string &result) {
    Link(w->AddOver(axis, "compute", op, operand, result), "compute", {operand}, {result});
  }
  void Send(const std::string &label) {
    uint32_t number = 2 * channel++ + 1 + static_cast<uint32_t>(stage);
    Link(w->AddSend(number, 1 - stage, "send", label), "send", {label}, {});
  }
  void Recv(const std::string &label, uint32_t nth) {
    Link(w->AddRecv(2 * nth + 2 - static_cast<uint32_t>(stage), 1 - stage, "recv", label), "recv", {}, {label});
  }
  // Adds piece j of `name` to the previous ones; after the last piece, the result is `name`, whole on axis micro.
  void Accumulate(const std::string &name, const std::string &value, int j, const std::string &micro,
                  const std::string &data) {
    if (plan->micro_ == 1 || !j) return;
    std::string before = j > 1 ? plan->Of(name, 0, j) : plan->Of(name, 0), piece = plan->Of(name, j);
    bool all = j + 1 == plan->micro_, sum = micro[0] == 'P';
    std::string label = all ? name : plan->Of(name, 0, j + 1);
    uint64_t offset = sum || j > 1 ? w->At(before)->offset : transient;
    w->Tensor(label, value, At(all ? "R" : micro, data), DP__SPACE__TRANSIENT, offset);
    if (!all) w->Micro(0, static_cast<uint32_t>(j) + 1);
    Bump(label);
    Link(w->AddAccumulate("compute", before, piece, label), "compute", {before, piece}, {label});
  }
  // The whole sum, on every device. If there are neither micro-batches nor data, it exists already.
  std::string Sum(const std::string &value) {
    if (plan->data_ == 1) return value;
    std::string whole = value + "@whole";
    w->Tensor(whole, value, At("R", "R"), DP__SPACE__TRANSIENT, w->At(value)->offset);
    Over("data", "dp.AllReduce", value, whole);
    return whole;
  }
  void Rate() {
    Host("dp.lr", DP__SPACE__HOST_INPUT, 192);
    for (const char *value : {"dp.lr", "lr", "rate"}) Make(value);
    w->Tensor("one", "one", At("R", "R"), DP__SPACE__PERSISTENT, 128);
    w->Input("dp.lr", "dp.lr@host");
    w->Found(kOne, "one");
    Add("copy", "dp.Broadcast", "", {"dp.lr@host"}, {"dp.lr"});
    Add("compute", "Cast", "lr", {"dp.lr"}, {"lr"});
    Add("compute", "Mul", "rate", {"lr", "one"}, {"rate"});
  }
  // label: the variable's own.
  void Parameter(uint32_t variable, const std::string &label) {
    w->Tensor(label, label, At("R", "R"), DP__SPACE__PERSISTENT, 0);
    w->Found(variable, label);
  }
  void Update(uint32_t variable, const std::string &label, const std::string &gradient, const std::string &refused) {
    std::string result = label + "1", sum = Sum(gradient);
    w->Tensor(result, result, At("R", "R"), DP__SPACE__PERSISTENT, 0);
    w->Left(variable, result);
    Add("compute", "dp.SGD", result, {label, "", sum, "rate", "", "", refused}, {result});
  }
};

std::string PipePlan::Of(const std::string &value, int micro) const {
  return micro_ > 1 ? value + "#" + std::to_string(micro) : value;
}

std::string PipePlan::Of(const std::string &value, int first, int end) const {
  return value + "#" + std::to_string(first) + "-" + std::to_string(end);
}

PipePlan::PipePlan(int microbatches, int data) : plan(New(arena, dp__plan__init)), micro_(microbatches), data_(data) {
  std::string message = Parse(arena, kModel, &model);
  if (!message.empty()) throw std::runtime_error(message);
  model->batch = plan->batch = 8;
  dp_mesh *mesh = &model->mesh;
  if (micro_ > 1) mesh->axes[mesh->n_axes++] = {DP_MESH_MICRO, micro_};
  const int pipe = mesh->n_axes;
  mesh->axes[mesh->n_axes++] = {DP_MESH_PIPE, 2};
  if (data_ > 1) mesh->axes[mesh->n_axes++] = {"data", data_};
  plan->n_mesh = static_cast<size_t>(mesh->n_axes);
  plan->mesh = dp_proto_from_mesh(arena, mesh);
  plan->target = New(arena, dp__target__init);
  plan->target->backend = dp_strdup(arena, "cpu");
  plan->target->threads = 1;
  plan->schedule = New(arena, dp__schedule__init);
  plan->schedule->kind = dp_strdup(arena, "constant");
  plan->schedule->lr = 0.1;
  static int stages[][2] = {{0, 0}, {1, 0}, {0, 1}};
  for (int32_t i = 0; i < model->n_variables; i++) {
    dp_variable *p = &model->variables[i];
    p->offset = i == kOne ? 128 : 0;
    p->bytes = i == kW ? 80 : i == kV ? 60 : 4;
    p->n_stages = i == kOne ? 2 : 1;
    p->stages = stages[i];
    Append(arena, &plan->n_variables, &plan->variables, dp_proto_from_variable(arena, p, mesh->n_axes));
  }
  for (int i = 0; i < model->n_graphs; i++)
    Append(arena, &plan->n_graphs, &plan->graphs, dp_proto_from_graph(arena, model->graphs[i]));
  for (int s = 0; s < 2; s++) {
    std::vector<Dp__AxisRange> ranges(plan->n_mesh, DP__AXIS_RANGE__INIT);
    for (size_t a = 0; a < plan->n_mesh; a++) ranges[a].count = mesh->axes[a].size;
    ranges[static_cast<size_t>(pipe)].first = s;
    ranges[static_cast<size_t>(pipe)].count = 1;
    AddRole(arena, plan, "stage" + std::to_string(s), ranges,
            {{DP__SPACE__PERSISTENT, 192},
             {DP__SPACE__TRANSIENT, kTransient},
             {DP__SPACE__HOST_INPUT, 256},
             {DP__SPACE__HOST_OUTPUT, 128}});
  }
  WriteTrain();
  WriteInfer();
  WriteInit();
  fit_.Fit(plan);
}

// For each micro-batch: h on the first stage, from x, and its scores on the second.
void PipePlan::WriteForward(Part *first, Part *second) {
  first->Host("x", DP__SPACE__HOST_INPUT, 0);
  first->w->Input("x", "x@host");
  first->Parameter(kW, "w");
  second->Parameter(kV, "v");
  for (int j = 0; j < micro_; j++) {
    for (const char *value : {"x", "g", "h"}) first->MakePiece(value, j, "S(0)", "S(0)");
    first->Fetch("x", j);
    first->Add("compute", "Gemm", "g", {Of("x", j), "w"}, {Of("g", j)});
    first->Add("compute", "Relu", "h", {Of("g", j)}, {Of("h", j)});
    first->Send(Of("h", j));
    for (const char *value : {"h", "scores"}) second->MakePiece(value, j, "S(0)", "S(0)");
    second->Recv(Of("h", j), static_cast<uint32_t>(j));
    second->Add("compute", "Gemm", "scores", {Of("h", j), "v"}, {Of("scores", j)});
  }
}

void PipePlan::WriteTrain() {
  Part first(this, 0, "train"), second(this, 1, "train");
  first.Rate();
  second.Rate();
  WriteForward(&first, &second);
  second.Host("label", DP__SPACE__HOST_INPUT, 128);
  second.w->Input("label", "label@host");
  for (int j = 0; j < micro_; j++) {
    for (const char *value : {"label", "ds", "dh"}) second.MakePiece(value, j, "S(0)", "S(0)");
    for (const char *value : {"loss", "dv", "refused"}) second.MakePiece(value, j, "P(sum)", "P(sum)");
    second.Fetch("label", j);
    second.Add("compute", "dp.CountRefused", "refused", {Of("label", j)}, {Of("refused", j)});
    second.Add("compute", "SoftmaxCrossEntropyLoss", "loss", {Of("scores", j), Of("label", j)}, {Of("loss", j)});
    second.Add("compute", "dp.SoftmaxCrossEntropyLossGrad", "ds", {Of("scores", j), Of("label", j), "one"},
               {Of("ds", j)});
    second.Add("compute", "Gemm", "dh", {Of("ds", j), "v"}, {Of("dh", j)});
    second.Send(Of("dh", j));
    second.Add("compute", "Gemm", "dv", {Of("ds", j), Of("h", j)}, {Of("dv", j)});
    second.Accumulate("loss", "loss", j, "P(sum)", "P(sum)");
    second.Accumulate("dv", "dv", j, "P(sum)", "P(sum)");
    second.Accumulate("refused", "refused", j, "P(sum)", "P(sum)");
    for (const char *value : {"dh", "dg"}) first.MakePiece(value, j, "S(0)", "S(0)");
    first.MakePiece("dw", j, "P(sum)", "P(sum)");
    first.Recv(Of("dh", j), static_cast<uint32_t>(j));
    first.Add("compute", "dp.ReluGrad", "dg", {Of("dh", j), Of("h", j)}, {Of("dg", j)});
    first.Add("compute", "Gemm", "dw", {Of("dg", j), Of("x", j)}, {Of("dw", j)});
    first.Accumulate("dw", "dw", j, "P(sum)", "P(sum)");
  }
  const std::string refused = second.Sum("refused");
  second.Send(refused);
  first.Make("refused");
  first.Recv("refused", static_cast<uint32_t>(micro_));
  first.Update(kW, "w", "dw", "refused");
  second.Update(kV, "v", "dv", refused);
  second.Host("loss", DP__SPACE__HOST_OUTPUT, 0);
  second.Add("copy", "dp.Gather", "", {second.Sum("loss")}, {"loss@host"});
  second.w->Output("loss", "loss@host");
  second.Make("count");
  second.Add("compute", "Size", "count", {Of("label", 0)}, {"count"});
  second.Host("count", DP__SPACE__HOST_OUTPUT, 64);
  second.Add("copy", "dp.Gather", "", {"count"}, {"count@host"});
  second.w->Output("count", "count@host");
}

// Gathers the scores over data first, because that is the last of several splits of the samples.
void PipePlan::WriteInfer() {
  Part first(this, 0, "infer"), second(this, 1, "infer");
  WriteForward(&first, &second);
  std::string name = micro_ > 1 && data_ > 1 ? "joined" : "scores";
  for (int j = 0; j < micro_; j++) {
    if (name == "joined") {
      std::string label = Of(name, j);
      second.w->Tensor(label, "scores", second.At("S(0)", "R"), DP__SPACE__TRANSIENT, second.transient);
      second.w->Micro(static_cast<uint32_t>(j));
      second.Bump(label);
      second.Over("data", "dp.AllGather", Of("scores", j), label);
    }
    second.Accumulate(name, "scores", j, "S(0)", "R");
  }
  second.Host("scores", DP__SPACE__HOST_OUTPUT, 0);
  second.Add("copy", "dp.Gather", "", {name}, {"scores@host"});
  second.w->Output("scores", "scores@host");
}

void PipePlan::WriteInit() {
  for (int s = 0; s < 2; s++) {
    Part part(this, s, "init");
    part.w->Tensor("one0", "one0", part.At("R", "R"), DP__SPACE__PERSISTENT, 128);
    part.Add("compute", "dp.Fill", "one0", {}, {"one0"});
    part.w->Left(kOne, "one0");
  }
}

// ---- looking --------------------------------------------------------------------------------------------------------

std::string PipePlan::Verify(std::string *message, dp_verify_report *report) const {
  fit_.Fit(plan);
  return dp_test::Verify(plan, message, report);
}

ProgramWriter &PipePlan::Writer(int stage, const std::string &program) const { return *writers_.at({stage, program}); }

Dp__Stream *PipePlan::Stream(int stage, const std::string &program, const std::string &stream) const {
  Dp__Program *p = Writer(stage, program).program;
  for (size_t s = 0; s < p->n_streams; s++)
    if (stream == p->streams[s]->name) return p->streams[s];
  throw std::runtime_error("no stream " + stream);
}

Dp__Instruction *PipePlan::Step(int stage, const std::string &program, const std::string &stream, size_t index) const {
  return Stream(stage, program, stream)->instructions[index];
}

Dp__Instruction *PipePlan::Maker(int stage, const std::string &program, const std::string &label) const {
  const ProgramWriter &w = Writer(stage, program);
  for (size_t s = 0; s < w.program->n_streams; s++)
    for (size_t i = 0; i < w.program->streams[s]->n_instructions; i++)
      if (w.program->streams[s]->instructions[i]->outputs[0] == w.Index(label) + 1)
        return w.program->streams[s]->instructions[i];
  throw std::runtime_error("nothing makes " + label);
}

}  // namespace dp_test
