// Tiny networks for the campaign, which together cover everything that plans contain. Labels are 0 to 2, so networks
// have at least three classes. They are smaller than those of tests/end_to_end/digit_models.h, because the slow oracle
// executes one damaged plan after another.
#ifndef DP_TESTS_IR_VERIFY_CAMPAIGN_TINY_MODELS_H
#define DP_TESTS_IR_VERIFY_CAMPAIGN_TINY_MODELS_H

namespace dp_test {

inline const char kDense[] = R"dpt(model dense {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1,momentum=0.9,weight_decay=1e-2)"
  input x: float32[N,8]
  parameter w1: float32[6,8] = kaiming_uniform()
  parameter b1: float32[6] = kaiming_uniform(8)
  parameter w2: float32[5,6] = kaiming_uniform()
  parameter b2: float32[5] = kaiming_uniform(6)
  constant scale: float32[] = 3
  s = Div(x, scale)
  h = Gemm(s, w1, b1) {transB=1}
  a = Tanh(h)
  logits = Gemm(a, w2, b2) {transB=1}
  output logits
})dpt";

// The same with weights split over axis `tensor`.
inline const char kSplit[] = R"dpt(model split {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adam(lr=0.02,clip_norm=0.3)"
  input x: float32[N,8]
  parameter w1: float32[6,8] = kaiming_uniform() shard(tensor=0)
  parameter b1: float32[6] = kaiming_uniform(8) shard(tensor=0)
  parameter w2: float32[5,6] = kaiming_uniform() shard(tensor=1)
  parameter b2: float32[5] = kaiming_uniform(6)
  h = Gemm(x, w1, b1) {transB=1}
  a = Sigmoid(h)
  logits = Gemm(a, w2, b2) {transB=1}
  output logits
})dpt";

// Attention on three positions with fused projections. There are three heads, so two devices get one and two. Classes
// are split.
inline const char kHeads[] = R"dpt(model heads {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1,momentum=0.9)"
  input x: float32[N,3,4]
  parameter qkv.w: float32[4,18] = kaiming_uniform() shard(tensor=S(1,3,2))
  parameter qkv.b: float32[18] = kaiming_uniform(4) shard(tensor=S(0,3,2))
  parameter o.w: float32[6,4] = kaiming_uniform() shard(tensor=S(0,1,2))
  parameter out.w: float32[5,4] = kaiming_uniform() shard(tensor=0)
  parameter out.b: float32[5] = kaiming_uniform(4) shard(tensor=0)
  m = MatMul(x, qkv.w)
  qkv = Add(m, qkv.b)
  q1, k1, v1 = Split(qkv) {axis=2, split=[6,6,6]}
  q2 = Reshape(q1) {shape=[N,3,3,2]}
  k2 = Reshape(k1) {shape=[N,3,3,2]}
  v2 = Reshape(v1) {shape=[N,3,3,2]}
  q = Transpose(q2) {perm=[0,2,1,3]}
  k = Transpose(k2) {perm=[0,2,3,1]}
  v = Transpose(v2) {perm=[0,2,1,3]}
  dots = MatMul(q, k)
  p = Softmax(dots)
  mixed = MatMul(p, v)
  t = Transpose(mixed) {perm=[0,2,1,3]}
  joined = Reshape(t) {shape=[N,3,6]}
  o = MatMul(joined, o.w)
  h = Add(x, o)
  mean = ReduceMean(h) {axes=[1], keepdims=0}
  logits = Gemm(mean, out.w, out.b) {transB=1}
  output logits
})dpt";

// Whole-batch normalization, dropout, both poolings, clipping.
inline const char kImages[] = R"dpt(model images {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adamw(lr=0.05,clip_norm=0.5)"
  input x: float32[N,1,4,4]
  parameter c1.w: float32[4,1,3,3] = kaiming_uniform()
  parameter n1.w: float32[4] = ones
  parameter n1.b: float32[4] = zeros
  buffer n1.mean: float32[4] = zeros
  buffer n1.var: float32[4] = ones
  parameter fc.w: float32[3,4] = kaiming_uniform()
  parameter fc.b: float32[3] = zeros
  c1 = Conv(x, c1.w) {pads=[1,1,1,1]}
  n1, m1, v1 = BatchNormalization(c1, n1.w, n1.b, n1.mean, n1.var) {training_mode=1, unbiased=1}
  r1 = Relu(n1)
  d1 = Dropout(r1) {ratio=0.3, training_mode=1}
  p1 = MaxPool(d1) {kernel_shape=[2,2], strides=[2,2]}
  g = GlobalAveragePool(p1)
  f = Flatten(g)
  logits = Gemm(f, fc.w, fc.b) {transB=1}
  output logits
})dpt";

// An identity block between two activations, as in ResNet-50, whose gradients meet before the first one.
inline const char kIdentity[] = R"dpt(model identity {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1,momentum=0.9)"
  input x: float32[N,1,4,4]
  parameter c0.w: float32[8,1,3,3] = kaiming_uniform()
  parameter n0.w: float32[8] = ones
  parameter n0.b: float32[8] = zeros
  buffer n0.mean: float32[8] = zeros
  buffer n0.var: float32[8] = ones
  parameter c1.w: float32[8,8,1,1] = kaiming_uniform()
  parameter n1.w: float32[8] = ones
  parameter n1.b: float32[8] = zeros
  buffer n1.mean: float32[8] = zeros
  buffer n1.var: float32[8] = ones
  parameter fc.w: float32[3,8] = kaiming_uniform()
  parameter fc.b: float32[3] = zeros
  c0 = Conv(x, c0.w) {pads=[1,1,1,1]}
  n0, m0, v0 = BatchNormalization(c0, n0.w, n0.b, n0.mean, n0.var) {training_mode=1, unbiased=1}
  r0 = Relu(n0)
  c1 = Conv(r0, c1.w)
  n1, m1, v1 = BatchNormalization(c1, n1.w, n1.b, n1.mean, n1.var) {training_mode=1, unbiased=1}
  sum = Add(n1, r0)
  r1 = Relu(sum)
  g = GlobalAveragePool(r1)
  f = Flatten(g)
  logits = Gemm(f, fc.w, fc.b) {transB=1}
  output logits
})dpt";

// In 16 bits, images between convolutions can be in NHWC.
inline const char kConvolved[] = R"dpt(model convolved {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1,momentum=0.9)"
  input x: float32[N,2,4,3]
  parameter c1.w: float32[4,2,3,3] = kaiming_uniform()
  parameter c2.w: float32[3,4,2,2] = kaiming_uniform()
  parameter fc.w: float32[3,18] = kaiming_uniform()
  c1 = Conv(x, c1.w) {pads=[1,1,1,1]}
  r1 = Relu(c1)
  c2 = Conv(r1, c2.w)
  r2 = Tanh(c2)
  f = Flatten(r2)
  logits = Gemm(f, fc.w) {transB=1}
  output logits
})dpt";

// In inference, images between convolutions can be in blocks of channels.
inline const char kWide[] = R"dpt(model wide {
  input x: float32[N,2,4,3]
  parameter c1.w: float32[16,2,3,3] = kaiming_uniform()
  parameter c2.w: float32[32,16,2,2] = kaiming_uniform()
  parameter c3.w: float32[16,32,1,1] = kaiming_uniform()
  parameter fc.w: float32[3,16] = kaiming_uniform()
  c1 = Conv(x, c1.w) {pads=[1,1,1,1]}
  r1 = Relu(c1)
  p = MaxPool(r1) {kernel_shape=[2,2], pads=[0,0,1,1]}
  c2 = Conv(p, c2.w)
  t = Tanh(c2)
  s = Add(t, c2)
  c3 = Conv(s, c3.w)
  g = GlobalAveragePool(c3)
  f = Flatten(g)
  logits = Gemm(f, fc.w) {transB=1}
  output logits
})dpt";

// For float16: large inputs make large gradients, and no larger numbers before.
inline const char kHalf[] = R"dpt(model half {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1,momentum=0.9)"
  input x: float32[N,8]
  parameter w1: float32[6,8] = kaiming_uniform()
  parameter b1: float32[6] = kaiming_uniform(8)
  parameter w2: float32[5,6] = kaiming_uniform()
  h = Gemm(x, w1, b1) {transB=1}
  a = Relu(h)
  logits = Gemm(a, w2) {transB=1}
  output logits
})dpt";

// A loss without classes; a skip; a parameter used twice; uint8 pixels.
inline const char kSkip[] = R"dpt(model squares {
  loss "mse(y,target)"
  optimizer "sgd(lr=0.02,momentum=0.8,nesterov=1)"
  input pixels: uint8[N,2,4]
  parameter w: float32[4,4] = kaiming_uniform()
  parameter b: float32[4] = kaiming_uniform(4)
  parameter v: float32[4,3] = kaiming_uniform()
  constant scale: float32[] = 255
  c = Cast(pixels) {to="float32"}
  s = Div(c, scale)
  u = MatMul(s, w)
  t = Tanh(u)
  k = MatMul(t, w)
  o = Add(k, b)
  z = Add(o, s)
  y = MatMul(z, v)
  output y
})dpt";

}  // namespace dp_test

#endif
