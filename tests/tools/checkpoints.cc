// See checkpoints.h.
#include "tests/tools/checkpoints.h"

#include <dirent.h>

#include <algorithm>

void Checkpoints::SetUp() {
  Write("m.dpt", R"dpt(model m {
  opset 18
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adam(lr=1e-2,schedule=cosine,warmup=5,total=60)"
  input image: uint8[N,1,8,8]
  parameter hidden.weight: float32[24,64] = kaiming_uniform()
  parameter bn.weight: float32[24] = ones
  parameter bn.bias: float32[24] = zeros
  buffer bn.running_mean: float32[24] = zeros
  buffer bn.running_var: float32[24] = ones
  parameter output.weight: float32[10,24] = kaiming_uniform()
  constant scale: float32[] = 255
  pixels = Cast(image) {to="float32"}
  scaled = Div(pixels, scale)
  flat = Flatten(scaled)
  h = Gemm(flat, hidden.weight) {transB=1}
  n, mean, var = BatchNormalization(h, bn.weight, bn.bias, bn.running_mean, bn.running_var) {training_mode=1}
  a = Relu(n)
  d = Dropout(a) {ratio=0.25, training_mode=1}
  logits = Gemm(d, output.weight) {transB=1}
  output logits
}
)dpt");
  Compile("");
}

void Checkpoints::Compile(const std::string &more, const std::string &plan) {
  Must("dpc compile " + File("m.dpt") + (more.find("--batch") == std::string::npos ? " --batch=64 " : " ") + more +
       " -o " + File(plan));
}

std::string Checkpoints::Train(const std::string &more, const std::string &plan) const {
  return "dprun " + File(plan) + " " + digits + " --quiet --shuffle --seed=3 --metrics=" + File("metrics") + " " + more;
}

std::string Checkpoints::Weights(int step, const std::string &folder) const {
  return Read(File(folder + "/step-" + std::to_string(step) + "/weights.safetensors"));
}

Strings Checkpoints::Names(const std::string &folder, bool hidden) const {
  Strings names;
  DIR *dir = opendir(File(folder).c_str());
  for (dirent *e; dir && (e = readdir(dir));) {
    const std::string name = e->d_name;
    if (name != "." && name != ".." && name != "runs.jsonl" && (name[0] == '.') == hidden) names.push_back(name);
  }
  if (dir) closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}
