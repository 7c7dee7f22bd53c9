// Small networks on the 8x8 digits of examples/data, each with something particular to test. The smaller networks of
// the checker's campaign are in tests/ir/verify/campaign/tiny_models.h.
#ifndef DP_TESTS_END_TO_END_DIGIT_MODELS_H
#define DP_TESTS_END_TO_END_DIGIT_MODELS_H

namespace dp_test {

// Float inputs, so that a sample can be NaN. Two layers.
inline const char kMlp[] = R"dpt(model mlp {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,64]
  parameter w1: float32[24,64] = kaiming_uniform()
  parameter b1: float32[24] = kaiming_uniform(64)
  parameter w2: float32[10,24] = kaiming_uniform()
  parameter b2: float32[10] = kaiming_uniform(24)
  constant scale: float32[] = 255
  s = Div(x, scale)
  h = Gemm(s, w1, b1) {transB=1}
  a = Tanh(h)
  logits = Gemm(a, w2, b2) {transB=1}
  output logits
})dpt";

// Whole-batch normalization, dropout, both poolings.
inline const char kCnn[] = R"dpt(model cnn {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.05,momentum=0.9)"
  input x: float32[N,1,8,8]
  parameter c1.w: float32[4,1,3,3] = kaiming_uniform()
  parameter c1.b: float32[4] = kaiming_uniform(9)
  parameter n1.w: float32[4] = ones
  parameter n1.b: float32[4] = zeros
  buffer n1.mean: float32[4] = zeros
  buffer n1.var: float32[4] = ones
  parameter c2.w: float32[6,4,3,3] = kaiming_uniform()
  parameter n2.w: float32[6] = ones
  parameter n2.b: float32[6] = zeros
  buffer n2.mean: float32[6] = zeros
  buffer n2.var: float32[6] = ones
  parameter fc.w: float32[10,6] = kaiming_uniform()
  parameter fc.b: float32[10] = zeros
  constant scale: float32[] = 255
  s = Div(x, scale)
  c1 = Conv(s, c1.w, c1.b) {pads=[1,1,1,1]}
  n1, m1, v1 = BatchNormalization(c1, n1.w, n1.b, n1.mean, n1.var) {training_mode=1, unbiased=1}
  r1 = Relu(n1)
  p1 = MaxPool(r1) {kernel_shape=[2,2], strides=[2,2]}
  d1 = Dropout(p1) {ratio=0.3, training_mode=1}
  c2 = Conv(d1, c2.w) {pads=[1,1,1,1]}
  n2, m2, v2 = BatchNormalization(c2, n2.w, n2.b, n2.mean, n2.var) {training_mode=1, unbiased=1}
  r2 = Relu(n2)
  g = GlobalAveragePool(r2)
  f = Flatten(g)
  logits = Gemm(f, fc.w, fc.b) {transB=1}
  output logits
})dpt";

// A residual block of three convolutions and one beside them, behind a maximum, as in ResNet-50.
inline const char kResidual[] = R"dpt(model residual {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.05,momentum=0.9)"
  input x: float32[N,1,8,8]
  parameter c0.w: float32[8,1,3,3] = kaiming_uniform()
  parameter n0.w: float32[8] = ones
  parameter n0.b: float32[8] = zeros
  buffer n0.mean: float32[8] = zeros
  buffer n0.var: float32[8] = ones
  parameter c1.w: float32[4,8,1,1] = kaiming_uniform()
  parameter n1.w: float32[4] = ones
  parameter n1.b: float32[4] = zeros
  buffer n1.mean: float32[4] = zeros
  buffer n1.var: float32[4] = ones
  parameter c2.w: float32[4,4,3,3] = kaiming_uniform()
  parameter n2.w: float32[4] = ones
  parameter n2.b: float32[4] = zeros
  buffer n2.mean: float32[4] = zeros
  buffer n2.var: float32[4] = ones
  parameter c3.w: float32[16,4,1,1] = kaiming_uniform()
  parameter n3.w: float32[16] = ones
  parameter n3.b: float32[16] = zeros
  buffer n3.mean: float32[16] = zeros
  buffer n3.var: float32[16] = ones
  parameter c4.w: float32[16,8,1,1] = kaiming_uniform()
  parameter n4.w: float32[16] = ones
  parameter n4.b: float32[16] = zeros
  buffer n4.mean: float32[16] = zeros
  buffer n4.var: float32[16] = ones
  parameter fc.w: float32[10,16] = kaiming_uniform()
  parameter fc.b: float32[10] = zeros
  constant scale: float32[] = 255
  s = Div(x, scale)
  c0 = Conv(s, c0.w) {pads=[1,1,1,1]}
  n0, m0, v0 = BatchNormalization(c0, n0.w, n0.b, n0.mean, n0.var) {training_mode=1, unbiased=1}
  r0 = Relu(n0)
  p = MaxPool(r0) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
  c1 = Conv(p, c1.w)
  n1, m1, v1 = BatchNormalization(c1, n1.w, n1.b, n1.mean, n1.var) {training_mode=1, unbiased=1}
  r1 = Relu(n1)
  c2 = Conv(r1, c2.w) {pads=[1,1,1,1]}
  n2, m2, v2 = BatchNormalization(c2, n2.w, n2.b, n2.mean, n2.var) {training_mode=1, unbiased=1}
  r2 = Relu(n2)
  c3 = Conv(r2, c3.w)
  n3, m3, v3 = BatchNormalization(c3, n3.w, n3.b, n3.mean, n3.var) {training_mode=1, unbiased=1}
  c4 = Conv(p, c4.w)
  n4, m4, v4 = BatchNormalization(c4, n4.w, n4.b, n4.mean, n4.var) {training_mode=1, unbiased=1}
  sum = Add(n3, n4)
  r = Relu(sum)
  g = GlobalAveragePool(r)
  f = Flatten(g)
  logits = Gemm(f, fc.w, fc.b) {transB=1}
  output logits
})dpt";

// Convolutions alone, so that whatever lies between them can be in NHWC.
inline const char kConvolutions[] = R"dpt(model convolutions {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.02)"
  input x: float32[N,1,8,8]
  parameter c1.w: float32[8,1,3,3] = kaiming_uniform()
  parameter c2.w: float32[16,8,3,3] = kaiming_uniform()
  parameter c3.w: float32[8,16,3,3] = kaiming_uniform()
  parameter fc.w: float32[10,32] = kaiming_uniform()
  parameter fc.b: float32[10] = zeros
  constant scale: float32[] = 255
  s = Div(x, scale)
  c1 = Conv(s, c1.w) {pads=[1,1,1,1]}
  r1 = Relu(c1)
  c2 = Conv(r1, c2.w) {strides=[2,2], pads=[1,1,1,1]}
  r2 = Relu(c2)
  c3 = Conv(r2, c3.w)
  r3 = Tanh(c3)
  f = Flatten(r3)
  logits = Gemm(f, fc.w, fc.b) {transB=1}
  output logits
})dpt";

// A loss without classes, on log-probabilities; normalization of vectors; statistics kept as in ONNX.
inline const char kSquares[] = R"dpt(model squares {
  loss "mse(y,target)"
  optimizer "sgd(lr=0.02,momentum=0.8,nesterov=1,weight_decay=1e-2)"
  input image: uint8[N,1,8,8]
  parameter w1: float32[64,16] = kaiming_uniform()
  parameter n.w: float32[16] = ones
  parameter n.b: float32[16] = zeros
  buffer n.mean: float32[16] = zeros
  buffer n.var: float32[16] = ones
  parameter w2: float32[16,10] = kaiming_uniform()
  parameter b2: float32[10] = zeros
  constant scale: float32[] = 255
  p = Cast(image) {to="float32"}
  s = Div(p, scale)
  f = Flatten(s)
  h = MatMul(f, w1)
  n, m, v = BatchNormalization(h, n.w, n.b, n.mean, n.var) {training_mode=1}
  a = Tanh(n)
  d = Dropout(a) {ratio=0.2, training_mode=1}
  o = MatMul(d, w2)
  q = Add(o, b2)
  y = LogSoftmax(q) {axis=-1}
  output y
})dpt";

// Scores at several positions of a sample; one weight multiplies both samples and transposed samples.
inline const char kPlaces[] = R"dpt(model places {
  loss "mse(y,target)"
  optimizer "sgd(lr=0.05)"
  input x: float32[N,8,8]
  parameter w: float32[8,10] = kaiming_uniform()
  parameter b: float32[10] = kaiming_uniform(8)
  constant scale: float32[] = 255
  s = Div(x, scale)
  t = Transpose(s) {perm=[0,2,1]}
  u = MatMul(s, w)
  v = MatMul(t, w)
  c = Add(u, v)
  y = Add(c, b)
  output y
})dpt";

// A network without kinks or ties, in which a rounding error hardly changes a slope.
inline const char kSmooth[] = R"dpt(model smooth {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.05,momentum=0.9)"
  input x: float32[N,1,8,8]
  parameter c1.w: float32[6,1,3,3] = kaiming_uniform()
  parameter c1.b: float32[6] = kaiming_uniform(9)
  parameter n1.w: float32[6] = ones
  parameter n1.b: float32[6] = zeros
  buffer n1.mean: float32[6] = zeros
  buffer n1.var: float32[6] = ones
  parameter c2.w: float32[6,3,3,3] = kaiming_uniform()
  parameter c2.b: float32[6] = kaiming_uniform(27)
  parameter n2.w: float32[6] = ones
  parameter n2.b: float32[6] = zeros
  buffer n2.mean: float32[6] = zeros
  buffer n2.var: float32[6] = ones
  parameter fc.w: float32[10,24] = kaiming_uniform()
  parameter fc.b: float32[10] = kaiming_uniform(24)
  constant scale: float32[] = 255
  s = Div(x, scale)
  c1 = Conv(s, c1.w, c1.b) {pads=[1,1,1,1]}
  n1, m1, v1 = BatchNormalization(c1, n1.w, n1.b, n1.mean, n1.var) {training_mode=1, unbiased=1}
  r1 = Swish(n1)
  p1 = AveragePool(r1) {kernel_shape=[2,2], strides=[2,2]}
  c2 = Conv(p1, c2.w, c2.b) {pads=[1,1,1,1], group=2}
  n2, m2, v2 = BatchNormalization(c2, n2.w, n2.b, n2.mean, n2.var) {training_mode=1, unbiased=1}
  k2 = Add(n2, p1)
  r2 = Swish(k2)
  d2 = Dropout(r2) {ratio=0.25, training_mode=1}
  p2 = AveragePool(d2) {kernel_shape=[2,2], strides=[2,2]}
  f = Flatten(p2)
  logits = Gemm(f, fc.w, fc.b) {transB=1}
  output logits
})dpt";

// Random numbers, in training and outside it; a recurrence along the rows of a digit.
inline const char kDrawn[] = R"dpt(model drawn {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.05,momentum=0.9)"
  input x: float32[N,8,8]
  parameter q.w: float32[8,4] = kaiming_uniform()
  parameter k.w: float32[8,2] = kaiming_uniform()
  parameter v.w: float32[8,3] = kaiming_uniform()
  parameter g.w: float32[8,1] = kaiming_uniform()
  parameter c.w: float32[6,1,3] = kaiming_uniform()
  parameter c.b: float32[6] = zeros
  parameter fc.w: float32[10,48] = kaiming_uniform()
  parameter fc.b: float32[10] = zeros
  constant scale: float32[] = 255
  s = Div(x, scale)
  q = MatMul(s, q.w)
  k = MatMul(s, k.w)
  v = MatMul(s, v.w)
  g = MatMul(s, g.w)
  beta = Sigmoid(g)
  decay = Neg(beta)
  a, state = LinearAttention(q, k, v, _, decay, beta) {q_num_heads=2, kv_num_heads=1}
  t = Transpose(a) {perm=[0,2,1]}
  c = CausalConvWithState(t, c.w, c.b) {activation="silu"}
  f = Flatten(c)
  noise = RandomNormalLike(f) {scale=0.1}
  u = RandomUniform() {shape=[48], low=0.5}
  noisy = Add(f, noise)
  scaled = Mul(noisy, u)
  p = Sigmoid(scaled)
  kept = Bernoulli(p)
  m = Mul(scaled, kept)
  logits = Gemm(m, fc.w, fc.b) {transB=1}
  output logits
})dpt";

// A transformer's block on the rows of a digit: eight positions of twelve numbers, two heads.
inline const char kBlock[] = R"dpt(model block {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adamw(lr=0.003)"
  input x: float32[N,8,8]
  parameter embed: float32[8,12] = kaiming_uniform()
  parameter places: float32[8,12] = normal(0,0.5)
  parameter n1.w: float32[12] = ones
  parameter n1.b: float32[12] = zeros
  parameter q.w: float32[12,12] = kaiming_uniform()
  parameter k.w: float32[12,12] = kaiming_uniform()
  parameter k.b: float32[12] = kaiming_uniform(12)
  parameter v.w: float32[12,12] = kaiming_uniform()
  parameter v.b: float32[12] = kaiming_uniform(12)
  parameter o.w: float32[12,12] = kaiming_uniform()
  parameter n2.w: float32[12] = ones
  parameter n2.b: float32[12] = zeros
  parameter up.w: float32[12,24] = kaiming_uniform()
  parameter up.b: float32[24] = kaiming_uniform(12)
  parameter down.w: float32[24,12] = kaiming_uniform()
  parameter out.w: float32[10,12] = kaiming_uniform()
  parameter out.b: float32[10] = zeros
  constant scale: float32[] = 255
  constant root: float32[] = 2.449489742783178
  s = Div(x, scale)
  e = MatMul(s, embed)
  h0 = Add(e, places)
  l1 = LayerNormalization(h0, n1.w, n1.b)
  q1 = MatMul(l1, q.w)
  k1 = MatMul(l1, k.w)
  k2 = Add(k1, k.b)
  v1 = MatMul(l1, v.w)
  v2 = Add(v1, v.b)
  q3 = Reshape(q1) {shape=[N,8,2,6]}
  k3 = Reshape(k2) {shape=[N,8,2,6]}
  v3 = Reshape(v2) {shape=[N,8,2,6]}
  q4 = Transpose(q3) {perm=[0,2,1,3]}
  k4 = Transpose(k3) {perm=[0,2,3,1]}
  v4 = Transpose(v3) {perm=[0,2,1,3]}
  dots = MatMul(q4, k4)
  scores = Div(dots, root)
  p = Softmax(scores)
  d = Dropout(p) {ratio=0.1, training_mode=1}
  mixed = MatMul(d, v4)
  t = Transpose(mixed) {perm=[0,2,1,3]}
  joined = Reshape(t) {shape=[N,8,12]}
  o = MatMul(joined, o.w)
  h1 = Add(h0, o)
  l2 = LayerNormalization(h1, n2.w, n2.b)
  u1 = MatMul(l2, up.w)
  u2 = Add(u1, up.b)
  g = Gelu(u2)
  w = MatMul(g, down.w)
  h2 = Add(h1, w)
  mean = ReduceMean(h2) {axes=[1], keepdims=0}
  logits = Gemm(mean, out.w, out.b) {transB=1}
  output logits
})dpt";

}  // namespace dp_test

#endif
