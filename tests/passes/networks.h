// Two small networks as text, with their data and initial weights, for tests of whole compilations. They equal those in
// tests/passes/train/make_references.py.
#ifndef DP_TESTS_PASSES_NETWORKS_H
#define DP_TESTS_PASSES_NETWORKS_H

#include <map>
#include <string>
#include <vector>

#include "tests/ir/ops/interpreter.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {

// The float64 numbers of tensor t.
inline double NumberOf(int t, int64_t i) { return double((i * 37 + t * 11) % 64) / 64 - 0.5; }

struct Network {
  std::string text;
  // By parameter: which tensor has its initial numbers.
  std::map<std::string, int> parameters;
  bool classes;
};

inline Network Cnn() {
  return {R"dpt(model cnn {
  loss "softmax_cross_entropy(logits,label)"
  parameter conv.weight: float32[2,1,3,3] = zeros
  parameter conv.bias: float32[2] = zeros
  parameter bn.weight: float32[2] = zeros
  parameter bn.bias: float32[2] = zeros
  parameter fc.weight: float32[3,8] = zeros
  parameter fc.bias: float32[3] = zeros
  buffer bn.mean: float32[2] = zeros
  buffer bn.var: float32[2] = ones
  input x: float32[N,1,4,4]
  c = Conv(x, conv.weight, conv.bias) {pads=[1,1,1,1]}
  b, m, v = BatchNormalization(c, bn.weight, bn.bias, bn.mean, bn.var) {training_mode=1, unbiased=1}
  r = Relu(b)
  p = MaxPool(r) {kernel_shape=[2,2], strides=[2,2]}
  f = Flatten(p)
  logits = Gemm(f, fc.weight, fc.bias) {transB=1}
  output logits
})dpt",
          {{"conv.weight", 1}, {"conv.bias", 2}, {"bn.weight", 3}, {"bn.bias", 4}, {"fc.weight", 5}, {"fc.bias", 6}},
          true};
}

inline Network Shared() {
  return {R"dpt(model shared {
  loss "mse(y,target)"
  parameter w: float32[4,4] = zeros
  parameter b: float32[4] = zeros
  input x: float32[N,4]
  a = MatMul(x, w)
  c = Add(a, b)
  h = Tanh(c)
  d = Gemm(h, w, b) {transB=1}
  s = Sigmoid(d)
  e = Add(s, h)
  y = MatMul(e, w)
  output y
})dpt",
          {{"w", 1}, {"b", 2}},
          false};
}

// A network compiled up to `passes`, in float64, and the values of its variables.
class Compiled {
 public:
  Compiled(const Network &network, const std::string &passes, const std::string &optimizer) : network_(network) {
    options_.Set("precision=fp64 batch=8");
    options_.options.optimizer = optimizer.c_str();
    error = Parse(arena_, network.text, &model);
    if (error.empty()) error = RunPasses(model, passes, options_.options);
    for (int32_t i = 0; error.empty() && i < model->n_variables; i++) {
      const dp_variable &p = model->variables[i];
      Tensor value = MakeWhole(*p.type, 0);
      auto numbers = network.parameters.find(p.name);
      for (int64_t k = 0; k < value.Count(); k++) {
        double number = p.init.kind == DP_INIT_FILL ? p.init.a : 0;
        if (p.init.kind == DP_INIT_TENSOR) number = dp_tensor_get(p.init.tensor, k);
        value.Set(k, numbers == network.parameters.end() ? number : NumberOf(numbers->second, k));
      }
      values[p.name] = value;
    }
  }

  // The inputs and per-step scalars of a step of n samples.
  std::map<std::string, Tensor> Bind(int step, int64_t n, double lr) const {
    std::map<std::string, Tensor> bound = values;
    std::vector<double> x(size_t(n) * (network_.classes ? 16 : 4)), target(size_t(n) * (network_.classes ? 1 : 4));
    for (size_t i = 0; i < x.size(); i++) x[i] = NumberOf(20 + step, int64_t(i));
    for (size_t i = 0; i < target.size(); i++)
      target[i] = network_.classes ? double((int64_t(i) + step) % 3) : NumberOf(30 + step, int64_t(i));
    bound["x"] =
        MakeTensor(DP_FLOAT64, network_.classes ? std::vector<int64_t>{n, 1, 4, 4} : std::vector<int64_t>{n, 4}, x);
    bound["label"] = MakeTensor(DP_INT64, {n}, std::vector<double>(target.begin(), target.begin() + n));
    if (!network_.classes) bound["target"] = MakeTensor(DP_FLOAT64, {n, 4}, target);
    bound[DP_SCALAR_STEP] = MakeTensor(DP_INT64, {}, {double(step)});
    bound[DP_SCALAR_N] = MakeTensor(DP_INT64, {}, {double(n)});
    bound[DP_SCALAR_SEED] = MakeTensor(DP_INT64, {}, {1});
    bound[DP_SCALAR_LR] = MakeTensor(DP_FLOAT64, {}, {lr});
    return bound;
  }

  const dp_graph *Graph(const char *name) const { return dp_model_find_graph(model, name); }

  dp_model *model = nullptr;
  std::string error;
  std::map<std::string, Tensor> values;  // variables by name

 private:
  Network network_;
  Arena arena_;
  Options options_;
};

// The value of output `name` after a run.
inline const Tensor &OutputOf(const dp_graph *graph, const std::vector<Tensor> &values, const std::string &name) {
  static const Tensor none;
  for (int i = 0; i < graph->n_outputs; i++)
    if (graph->outputs[i].name == name) return values[size_t(graph->outputs[i].value->id)];
  return none;
}

}  // namespace dp_test

#endif
