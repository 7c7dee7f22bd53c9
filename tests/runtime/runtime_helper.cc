#include "tests/runtime/runtime_helper.h"

#include <stdexcept>

#include "passes/pipeline.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {

const char kNetwork[] = R"dpt(model network {
  opset 18
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1,momentum=0.9)"
  input x: float32[N,2,4,4]
  parameter conv.weight: float32[4,2,3,3] = kaiming_uniform()
  parameter conv.bias: float32[4] = zeros
  parameter bn.weight: float32[4] = ones
  parameter bn.bias: float32[4] = zeros
  buffer bn.mean: float32[4] = zeros
  buffer bn.var: float32[4] = ones
  parameter fc.weight: float32[3,16] = kaiming_uniform()
  parameter fc.bias: float32[3] = [0.1, -0.2, 0.3]
  c = Conv(x, conv.weight, conv.bias) {pads=[1,1,1,1]}
  b, m, v = BatchNormalization(c, bn.weight, bn.bias, bn.mean, bn.var) {training_mode=1, unbiased=1}
  r = Relu(b)
  p = MaxPool(r) {kernel_shape=[2,2], strides=[2,2]}
  f = Flatten(p)
  d = Dropout(f) {ratio=0.25, training_mode=1}
  logits = Gemm(d, fc.weight, fc.bias) {transB=1}
  output logits
})dpt";

std::string Failure(dp_status status) {
  if (!status) return "";
  int code = dp_status_code(status);
  return std::to_string(code) + ": " + Message(status);
}

CompiledPlan::CompiledPlan(const std::string &text, const std::string &words) {
  Options options;
  options.Set(words);
  dp_model *model = nullptr;
  std::string message = Parse(arena, text, &model);
  if (message.empty()) message = Failure(dp_pipeline_run(model, &options.options, &plan));
  if (!message.empty()) throw std::runtime_error(message);
}

Dp__Program *CompiledPlan::Program(const std::string &name) const {
  for (size_t i = 0; i < plan->roles[0]->n_programs; i++)
    if (name == plan->roles[0]->programs[i]->name) return plan->roles[0]->programs[i];
  throw std::runtime_error("no program " + name);
}

Session::Session(const Dp__Plan *plan, dp_session_options options, const dp_backend *backend) {
  if (!options.workers) options.workers = 2;
  error = Failure(dp_session_create(plan, backend, &options, &session));
}

void *Session::InputOf(const std::string &program, const std::string &input, int slot) {
  void *at = dp_session_input(session, dp_session_find(session, program.c_str()), input.c_str(), slot);
  if (!at) throw std::runtime_error("no input " + input);
  return at;
}

std::string Session::Run(const std::string &program, int64_t n, int64_t step, double lr, int slot) {
  dp_step scalars = {};
  scalars.step = step;
  scalars.n = n;
  scalars.lr = lr;
  return Failure(dp_session_run(session, dp_session_find(session, program.c_str()), slot, &scalars));
}

double Session::Number(const std::string &program, const std::string &output) const {
  return dp_session_number(session, dp_session_find(session, program.c_str()), output.c_str());
}

std::vector<char> Session::Bytes(const std::string &name) const {
  const dp_model *model = dp_session_model(session);
  int32_t index = dp_model_find_variable(model, name.c_str());
  if (index < 0) throw std::runtime_error("no variable " + name);
  const dp_type &type = *model->variables[index].type;
  std::vector<char> bytes(static_cast<size_t>(dp_shape_count(&type.shape, 0)) * dp_type_bytes(type.dtype));
  std::string failure = Failure(dp_session_variable_read(session, index, bytes.data()));
  if (!failure.empty()) throw std::runtime_error(failure);
  return bytes;
}

std::vector<float> Session::Floats(const std::string &name) const {
  std::vector<char> bytes = Bytes(name);
  std::vector<float> floats(bytes.size() / sizeof(float));
  memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

std::vector<char> Session::Everything() const {
  std::vector<char> all;
  const dp_model *model = dp_session_model(session);
  for (int32_t i = 0; i < model->n_variables; i++) {
    std::vector<char> bytes = Bytes(model->variables[i].name);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

std::vector<float> Samples(int64_t count, int seed) {
  std::vector<float> samples;
  for (int64_t i = 0; i < count; i++) samples.push_back(float((i * 37 + i * i % 29 + seed * 11) % 64) / 32 - 1);
  return samples;
}

std::vector<int64_t> Labels(int64_t count, int classes, int seed) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; i++) labels.push_back((i * i + i + seed) % classes);
  return labels;
}

std::vector<double> TrainNetwork(Session *session, int steps, int64_t batch, std::vector<double> *counts) {
  std::vector<double> losses;
  for (int step = 0; step <= steps; step++) {
    bool last = step == steps;  // the evaluation
    const char *program = last ? "eval" : "train";
    int64_t n = step == steps - 1 ? batch / 2 + 1 : batch;
    session->Feed(program, "x", Samples(n * 32, step), step % 2);
    session->Feed(program, "label", Labels(n, 3, step), step % 2);
    std::string failure = session->Run(program, n, step, 0.1, step % 2);
    if (!failure.empty()) throw std::runtime_error(failure);
    losses.push_back(session->Number(program, "loss"));
    if (counts) counts->push_back(session->Number(program, "count"));
  }
  return losses;
}

}  // namespace dp_test
