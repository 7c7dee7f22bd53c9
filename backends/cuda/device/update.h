// Updates of many variables by one launch: dp.SGD, dp.Adam, dp.Assign.
#ifndef DP_BACKENDS_CUDA_DEVICE_UPDATE_H
#define DP_BACKENDS_CUDA_DEVICE_UPDATE_H

// Elements of a thread, a multiple of what it reads at once: many, since every block computes the factors of its step
// first. Threads of a block.
enum { DP_UPDATE_EACH = 16, DP_UPDATE_THREADS = 256 };

// in, out: parameter and its state, most often at the same place. State that an optimizer has not is NULL. channels: of
// a gradient in NHWC, whose other tensors are plain; plane: elements of one of these there. 0: the gradient is plain too.
typedef struct {
  long long count, first_block, channels, plane;
  const void *in[3], *gradient;
  void *out[3];
} dp_update_tensor;

typedef struct {
  const void *lr;         // NULL for dp.Assign
  const void *scale;      // a factor of gradients; NULL: not given
  const long long *step;  // NULL: not given
  const long long *skip;  // not 0: nothing changes; NULL: not given
  double momentum, dampening, weight_decay, beta1, beta2, eps;
  int nesterov, decoupled;
  long long n_tensors;
  const dp_update_tensor *tensors;  // (n_tensors), in the GPU's memory; NULL: one, which is here
  dp_update_tensor one;
} dp_update_arguments;

#endif
