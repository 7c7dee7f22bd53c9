// Attention written out in every way that networks and exporters have is found, and trains as with --no-fuse to
// rounding, on one device and split; what only looks like attention is left as it is.
#include <cmath>

#include "ir/graph/placement.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// A way to write it: the nodes from q, k, v, each [N,5,12], to y, [N,5,12]; declarations before them; how many are
// found in a program.
struct Way {
  std::string name, nodes, declared;
  int found = 1;
};

std::string Network(const Way &way) {
  return "model m {\n  loss \"mse(out,target)\"\n  optimizer \"adam(lr=0.01)\"\n  input x: float32[N,5,12]\n"
         "  parameter q.w: float32[12,12] = kaiming_uniform()\n  parameter k.w: float32[12,12] = kaiming_uniform()\n"
         "  parameter v.w: float32[12,12] = kaiming_uniform()\n  parameter o.w: float32[12,3] = kaiming_uniform()\n"
         "  constant pixel: float32[] = 255\n  constant scale: float32[] = 0.57735\n"
         "  constant root: float32[] = 1.7320508\n" +
         way.declared + "  s = Div(x, pixel)\n  q = MatMul(s, q.w)\n  k = MatMul(s, k.w)\n  v = MatMul(s, v.w)\n" +
         way.nodes + "  out = MatMul(y, o.w)\n  output out\n}\n";
}

const std::string kHeads =
    "  q1 = Reshape(q) {shape=[N,5,4,3]}\n  qh = Transpose(q1) {perm=[0,2,1,3]}\n"
    "  k1 = Reshape(k) {shape=[N,5,4,3]}\n  kt = Transpose(k1) {perm=[0,2,3,1]}\n"
    "  v1 = Reshape(v) {shape=[N,5,4,3]}\n  vh = Transpose(v1) {perm=[0,2,1,3]}\n";
const std::string kEnd = "  t = Transpose(m) {perm=[0,2,1,3]}\n  y = Reshape(t) {shape=[N,5,12]}\n";
// The first three keys are seen.
const std::string kSeen = "  constant seen: bool[5] = [1,1,1,0,0]\n  constant low: float32[] = -1e4\n";

const std::vector<Way> kWays = {
    {"scores scaled",
     kHeads + "  d = MatMul(qh, kt)\n  e = Mul(scale, d)\n  p = Softmax(e)\n  m = MatMul(p, vh)\n" + kEnd, ""},
    {"no scale, axis 3, copies",
     kHeads +
         "  d = MatMul(qh, kt)\n  d1 = Identity(d)\n  p = Softmax(d1) {axis=3}\n  p1 = Identity(p)\n"
         "  m = MatMul(p1, vh)\n" +
         kEnd,
     ""},
    {"both operands scaled",
     kHeads +
         "  a = Mul(qh, scale)\n  b = Div(kt, root)\n  d = MatMul(a, b)\n  p = Softmax(d)\n"
         "  m = MatMul(p, vh)\n" +
         kEnd,
     ""},
    {"scale computed",
     kHeads + "  r = Sqrt(three)\n  d = MatMul(qh, kt)\n  e = Div(d, r)\n  p = Softmax(e)\n  m = MatMul(p, vh)\n" +
         kEnd,
     "  constant three: float32[] = 3\n"},
    {"mask added",
     kHeads + "  d = MatMul(qh, kt)\n  e = Mul(d, scale)\n  f = Add(mask, e)\n  p = Softmax(f)\n  m = MatMul(p, vh)\n" +
         kEnd,
     "  constant mask: float32[5] = [0,-1,0.5,-1e9,0]\n"},
    {"bias learned",
     kHeads + "  d = MatMul(qh, kt)\n  e = Mul(d, scale)\n  f = Add(e, bias)\n  p = Softmax(f)\n  m = MatMul(p, vh)\n" +
         kEnd,
     "  parameter bias: float32[4,1,5] = normal(0,0.5)\n"},
    {"masked where",
     kHeads +
         "  d = MatMul(qh, kt)\n  e = Mul(d, scale)\n  f = Where(seen, e, low)\n  p = Softmax(f)\n"
         "  m = MatMul(p, vh)\n" +
         kEnd,
     kSeen},
    {"masked where not",
     kHeads + "  d = MatMul(qh, kt)\n  f = Where(seen, low, d)\n  p = Softmax(f)\n  m = MatMul(p, vh)\n" + kEnd, kSeen},
    {"dropout",
     kHeads +
         "  d = MatMul(qh, kt)\n  e = Mul(d, scale)\n  p = Softmax(e)\n  g = Dropout(p) {ratio=0.3, training_mode=1}\n"
         "  m = MatMul(g, vh)\n" +
         kEnd,
     ""},
    {"one head, rank 3",
     "  kt = Transpose(k) {perm=[0,2,1]}\n  d = MatMul(q, kt)\n  e = Mul(d, scale)\n  f = Add(e, mask)\n"
     "  p = Softmax(f)\n  y = MatMul(p, v)\n",
     "  constant mask: float32[1,5,5] = [0,-9,-9,-9,-9,0,0,-9,-9,-9,0,0,0,-9,-9,0,0,0,0,-9,0,0,0,0,0]\n"},
    {"heads stay",
     kHeads + "  d = MatMul(qh, kt)\n  p = Softmax(d)\n  m = MatMul(p, vh)\n  n = Relu(m)\n"
              "  t = Transpose(n) {perm=[0,2,1,3]}\n  y = Reshape(t) {shape=[N,5,12]}\n",
     ""},
    {"keys repeated for two heads",
     "  q1 = Reshape(q) {shape=[N,5,4,3]}\n  qh = Transpose(q1) {perm=[0,2,1,3]}\n"
     "  k0, kx = Split(k) {axis=2, split=[6,6]}\n  k1 = Reshape(k0) {shape=[N,5,2,3]}\n"
     "  k2 = Transpose(k1) {perm=[0,2,1,3]}\n  k3 = Reshape(k2) {shape=[N,2,1,5,3]}\n"
     "  k4 = Expand(k3) {shape=[N,2,2,5,3]}\n  k5 = Reshape(k4) {shape=[N,4,5,3]}\n"
     "  kt = Transpose(k5) {perm=[0,1,3,2]}\n"
     "  v0, vx = Split(v) {axis=2, split=[6,6]}\n  v1 = Reshape(v0) {shape=[N,5,2,3]}\n"
     "  v2 = Transpose(v1) {perm=[0,2,1,3]}\n  v3 = Unsqueeze(v2) {axes=[2]}\n"
     "  v4 = Expand(v3) {shape=[N,2,2,5,3]}\n  vh = Reshape(v4) {shape=[N,4,5,3]}\n"
     "  d = MatMul(qh, kt)\n  e = Mul(d, scale)\n  p = Softmax(e)\n  m = MatMul(p, vh)\n" +
         kEnd,
     ""},
    {"two masks, one learned",
     kHeads + "  d = MatMul(qh, kt)\n  e = Add(d, bias)\n  f = Add(mask, e)\n  p = Softmax(f)\n  m = MatMul(p, vh)\n" +
         kEnd,
     "  constant mask: float32[5] = [0,-1,0.5,-1e9,0]\n  parameter bias: float32[4,5,5] = normal(0,0.5)\n"},
    {"as torch.export writes it",
     "  q1 = Reshape(q) {shape=[N,5,4,3]}\n  qh = Transpose(q1) {perm=[0,2,1,3]}\n"
     "  k1 = Reshape(k) {shape=[N,5,4,3]}\n  k2 = Transpose(k1) {perm=[0,2,1,3]}\n"
     "  v1 = Reshape(v) {shape=[N,5,4,3]}\n  vh = Transpose(v1) {perm=[0,2,1,3]}\n"
     "  k3 = Reshape(k2) {shape=[4*N,5,3]}\n  k4 = Transpose(k3) {perm=[0,2,1]}\n"
     "  kt = Reshape(k4) {shape=[N,4,3,5]}\n  a = Mul(qh, scale)\n  b = Mul(kt, scale)\n  d = MatMul(a, b)\n"
     "  e = Add(d, mask)\n  p = Softmax(e)\n  nan = IsNaN(p)\n  g = Where(nan, none, p)\n"
     "  g1 = Dropout(g) {ratio=0.3, training_mode=1}\n  m0 = MatMul(g1, vh)\n"
     "  m = Reshape(m0) {shape=[N,4,5,3]}\n" +
         kEnd,
     "  constant mask: float32[5] = [0,-1,0.5,-1e9,0]\n  constant none: float32[] = 0\n"},
    {"Attention, causal", "  y = Attention(q, k, v) {q_num_heads=4, kv_num_heads=4, is_causal=1}\n", ""},
    {"Attention, groups and rows that see nothing",
     "  k0, kx = Split(k) {axis=2, split=[6,6]}\n  v0, vx = Split(v) {axis=2, split=[6,6]}\n"
     "  y = Attention(q, k0, v0, mask) {q_num_heads=4, kv_num_heads=2, scale=0.25}\n",
     "  constant mask: bool[5,5] = [1,0,0,0,0, 1,1,0,0,0, 0,0,0,0,0, 1,1,1,1,0, 0,1,1,1,1]\n"},
    {"scores used elsewhere",
     kHeads +
         "  d = MatMul(qh, kt)\n  p = Softmax(d)\n  m0 = MatMul(p, vh)\n  u = ReduceMean(d) {axes=[3], keepdims=1}\n"
         "  m = Add(m0, u)\n" +
         kEnd,
     "", 0},
    {"softmax over queries", kHeads + "  d = MatMul(qh, kt)\n  p = Softmax(d) {axis=2}\n  m = MatMul(p, vh)\n" + kEnd,
     "", 0},
    {"capped", "  y = Attention(q, k, v) {q_num_heads=4, kv_num_heads=4, softcap=2.0}\n", "", 0},
    {"causal, selected",
     kHeads + "  d = MatMul(qh, kt)\n  f = Where(seen, d, low)\n  p = Softmax(f)\n  m = MatMul(p, vh)\n" + kEnd,
     "  constant seen: bool[1,1,5,5] = [1,0,0,0,0, 1,1,0,0,0, 1,1,1,0,0, 1,1,1,1,0, 1,1,1,1,1]\n"
     "  constant low: float32[] = hex \"000080ff\"\n"},
    {"causal, made of a triangle",
     "  all = Expand(one) {shape=[5,5]}\n  some = Trilu(all) {upper=0}\n  hidden = Equal(some, none)\n"
     "  mask = Where(hidden, low, none)\n" +
         kHeads + "  d = MatMul(qh, kt)\n  f = Add(d, mask)\n  p = Softmax(f)\n  m = MatMul(p, vh)\n" + kEnd,
     "  constant low: float32[] = hex \"000080ff\"\n  constant none: float32[] = 0\n  constant one: float32[] = 1\n"},
};

Feed Numbers() {
  return [](const std::string &input, int64_t sample, int64_t i) {
    return std::fmod(double(sample * 7 + i * (input == "x" ? 37 : 11)), 256) / (input == "x" ? 1 : 256);
  };
}

int Found(const Plan &plan, const std::string &graph) {
  int count = 0;
  for (size_t g = 0; g < plan->n_graphs; g++)
    for (size_t i = 0; plan->graphs[g]->name == graph && i < plan->graphs[g]->n_nodes; i++)
      count += std::string(plan->graphs[g]->nodes[i]->op) == "ScaledDotProductAttention";
  return count;
}

// Whether a tensor is as large as all scores.
bool StoresScores(const Plan &plan) {
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t t = 0; t < plan->roles[r]->programs[p]->n_tensors; t++) {
        const Dp__DeviceTensor *tensor = plan->roles[r]->programs[p]->tensors[t];
        if (tensor->space == DP__SPACE__TRANSIENT && tensor->bytes == 7 * 4 * 5 * 5 * sizeof(double)) return true;
      }
  return false;
}

class Attention : public testing::TestWithParam<Way> {
 protected:
  std::vector<double> Losses(const Plan &plan) {
    RunOptions options;
    options.feed = Numbers();
    options.workers = 2;
    Training run(plan, options);
    std::vector<double> losses = run.TrainAll({7, 7, 3, 7});
    losses.push_back(run.Evaluate(0, 5));
    EXPECT_EQ(run.Replicas(), "");
    return losses;
  }
};

TEST_P(Attention, IsFoundAndIsTheSame) {
  const std::string text = Network(GetParam()), options = "batch=7 precision=fp64 ";
  const Plan whole = Compile(text, options), apart = Compile(text, options + "no-fuse=yes");
  for (const char *graph : {"train", "eval", "infer"}) EXPECT_EQ(Found(whole, graph), GetParam().found) << graph;
  EXPECT_EQ(Found(apart, "train"), 0);
  const bool may_store = !GetParam().found || GetParam().name.find("learned") < 99;
  EXPECT_TRUE(may_store || !StoresScores(whole));
  const std::vector<double> expected = Losses(apart);
  ExpectClose(Losses(whole), expected, 1e-12);
  for (const char *split : {"strategy=data devices=3", "strategy=tensor devices=2", "strategy=tensor devices=3",
                            "strategy=zero zero-stage=3 devices=2", "strategy=data devices=1 microbatches=3",
                            "strategy=pipeline devices=2 microbatches=2"}) {
    SCOPED_TRACE(split);
    ExpectClose(Losses(Compile(text, options + split)), expected, 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Attention, testing::ValuesIn(kWays), [](const testing::TestParamInfo<Way> &info) {
  std::string name;
  for (char c : info.param.name) name += isalnum(c) ? c : '_';
  return name;
});

// Sequences split over the axis `context`: each device has some queries and all keys.
TEST(Context, QueriesAreSplit) {
  for (size_t way : {0u, 4u, 8u, 14u, 15u, 19u}) {
    const std::string text = Network(kWays[way]), options = "batch=6 precision=fp64 ";
    RunOptions run;
    run.feed = Numbers();
    const std::vector<double> expected = Training(Compile(text, options), run).TrainAll({6, 6, 5});
    for (const char *mesh : {"strategy=data mesh=data:1,context:2", "strategy=data mesh=data:2,context:3",
                             "strategy=tensor mesh=context:2,tensor:2", "strategy=data mesh=data:1,context:8",
                             "strategy=zero zero-stage=3 mesh=data:2,context:2"}) {
      SCOPED_TRACE(kWays[way].name + " by " + mesh);
      const Plan plan = Compile(text, options + "split=x:1@context " + mesh);
      ExpectClose(Training(plan, run).TrainAll({6, 6, 5}), expected, 1e-9);
      if (std::string(mesh).find(":8") < 99) continue;  // more devices than positions: samples may be split instead
      int computed = 0;
      for (const Location &location : Instructions(plan, "train")) {
        const Dp__Instruction *in = At(plan, location);
        if (std::string(in->op).find("ScaledDotProductAttention")) continue;
        const size_t first = std::string(in->op) == "ScaledDotProductAttention" ? 0 : 1;
        const Dp__Program *program = plan->roles[0]->programs[location.program];
        size_t axis = 0;
        while (std::string(plan->mesh[axis]->name) != "context") axis++;
        for (size_t i = 0; i < 3; i++)
          EXPECT_EQ(program->tensors[in->inputs[first + i] - 1]->placements[axis]->kind,
                    int(i ? DP_REPLICATE : DP_SHARD));
        computed++;
      }
      EXPECT_EQ(computed, 2);
    }
  }
}

}  // namespace
}  // namespace dp_test
