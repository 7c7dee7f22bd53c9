#include "tests/ir/text/text_helper.h"

namespace dp_test {

// Every line is written as it prints, so reading and printing changes nothing.
const char kSource[] = R"dpt(model digits {
  opset 18
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.05,momentum=0.9)"
  parameter conv.weight: float32[4,1,3,3] = uniform(-0.3333333333333333, 0.3333333333333333)
  parameter conv.bias: float32[4] = tensor [0.1, -0, 1.4013e-45, 3.4028235e+38]
  parameter fc.weight: float32[10,256] = normal(0, 0.02) shard(tensor=0)
  parameter fc.bias: float32[10] = fill(0) shard(tensor=0, data=R) frozen
  buffer "odd name \"1\"\n": float64[2] = fill(inf)
  input image: uint8[N,1,8,8]
  constant scale: float32[] = 255
  pixels: float32[N,1,8,8] = Cast(image) {to=float32}
  x: float32[N,1,8,8] = Div(pixels, scale)
  c: float32[N,4,8,8] = Conv(x, conv.weight, conv.bias) {pads=[1,1,1,1]} [name=conv1, device=1, stage=0]
  r: float32[N,4,8,8] = Relu(c) [shard=(data=0, tensor=S(1,2,2))]
  flat: float32[N,256] = Reshape(r) {shape=[N,256]}
  logits: float32[N,10] = Gemm(flat, fc.weight, fc.bias) {alpha=0.5, transB=1}
  output logits
  output scores = logits
}
)dpt";

const char kDeviceForm[] = R"dpt(model device {
  opset 18
  symbol S
  batch 64
  mesh data=2, tensor=2
  parameter w: float32[10,64] = uniform(-0.125, 0.125) shard(tensor=0) [at=[R,S(0)], offset=0, bytes=1280]
  parameter b: float32[12] = fill(0) shard(tensor=S(0,3,2)) [at=[R,S(0,3,2)], offset=1280, bytes=48]
  state dp.momentum/w: float32[10,64] = fill(0) [at=[R,S(0)], offset=1344, bytes=1280]
  graph train {
    logical train {
      input x: float32[S,64]
      y: float32[S,10] = Gemm(x, w) {transB=1}
      z: float32[S,10] = Relu(y)
      output z
    }
    streams compute, comm, copy
    events 3
    input x: float32[S,64] [at=[R,R], space=host_input, bytes=16384, logical=x]
    persistent w = w [at=[R,S(0)], space=persistent, bytes=1280, logical=w]
    x.1: float32[S,64] [at=[S(0),R], space=transient, bytes=8192, logical=x] = Identity(x) [name=scatter, stream=copy, signal=0]
    y: float32[S,10] [at=[S(0),S(1)], space=transient, offset=8192, bytes=640, logical=y] = Gemm(x.1, w) {transB=1} [stream=compute, kernel=cpu.onednn.Gemm, threads=2, scratch_offset=16384, scratch_bytes=128, waits=[0], signal=1, logical=y]
    z: float32[S,10] [at=[S(0),S(1)], space=transient, offset=8192, bytes=640, logical=z] = Relu(y) [stream=compute, signal=2, logical=z]
    out: float32[S,10] [at=[R,R], space=host_output, bytes=2560, logical=z] = Identity(z) [stream=comm, waits=[1,2]]
    output z = out
    update w = w
  }
  graph infer {
    logical infer {
      input x: float32[S,10]
      y: float32[S,10] = Neg(x)
      z: float32[S,10] = Mul(y, x)
      output z
    }
    input x: float32[S,10] [at=[R,R], space=transient, bytes=2560, logical=x]
    z: float32[S,10] [at=[R,R], space=transient, offset=2560, bytes=2560, logical=z] = dp.Region(x) body {
      input x: float32[S,10] [at=[R,R], space=transient, logical=x]
      y: float32[S,10] [at=[R,R], logical=y] = Neg(x) [logical=y]
      z: float32[S,10] [at=[R,R], logical=z] = Mul(y, x) [logical=z]
      output z
    } [name=z.1, kernel=cpu.rows]
    output z
  }
  graph empty {
  }
}
)dpt";

}  // namespace dp_test
