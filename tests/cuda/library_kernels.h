// Runs single kernels of the CUDA backend on problems written as text, and compares them with the CPU's reference.
#ifndef DP_TESTS_CUDA_LIBRARY_KERNELS_H
#define DP_TESTS_CUDA_LIBRARY_KERNELS_H

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda/standin/standin.h"
#include "tests/cuda/steer.h"
#include "tests/ir/ops/samples.h"

extern "C" const dp_kernel *const dp_cuda_library_kernels[];

namespace dp_test {

// One node with random operands.
struct Problem {
  std::string op, domain, inputs, attrs;
  int64_t n;
  double longest_sum;  // of the products that make an element
  std::string Print() const { return domain + op + " " + inputs + " {" + attrs + "} N=" + std::to_string(n); }
};

// A node with its operands, drawn, and room for its results.
struct Ready {
  std::unique_ptr<Built> built;
  std::vector<Tensor> in, out;
  explicit Ready(const Case &of);
};
Ready Draw(const Problem &p);

// A spec with the operands that it points at.
struct Spec : dp_kernel_spec {
  std::vector<dp_kernel_operand> operands, made;
  Spec(const dp_node *of, const std::vector<Tensor> &in, const std::vector<Tensor> &out);
  // Asks for each operand and result of rank 4 whether it lies in NHWC.
  void SetLayouts(const std::function<bool()> &channels_last);
  Spec(const Spec &) = delete;
  Spec &operator=(const Spec &) = delete;
};

bool HasChannelsLast(const Spec &spec);

struct Outcome {
  std::string error;
  std::vector<Tensor> results;
};

// How many bytes behind a multiple of 256 the tensors of RunKernel begin; 0 unless a test sets it.
size_t &TensorOffset();

// Makes the stand-in's GPU current to this thread. "" or the error message.
std::string OpenDevice();
// A result that overwrites an operand.
struct Over {
  int result, operand;
};
// Runs the kernel. Results begin as NaN. Prepares once, runs twice, checks that the scratch was enough and that both
// runs gave the same bits. Tensors are plain; on the device they lie as the spec says.
Outcome RunKernel(const dp_kernel *kernel, const dp_kernel_spec &spec, const std::vector<Tensor> &in,
                  std::vector<Tensor> out, const std::vector<Over> &over = {});
// replaced: the operand that the last result overwrites; -1: none.
Outcome RunKernel(const dp_kernel *kernel, const dp_kernel_spec &spec, const std::vector<Tensor> &in,
                  std::vector<Tensor> out, int replaced);
// Runs the kernel that is found by its whole name, or the selected one if `name` is "". channels_last: all tensors of
// rank 4 lie in NHWC.
Outcome RunCuda(const std::string &name, const dp_node *node, const std::vector<Tensor> &in, std::vector<Tensor> out,
                bool channels_last = false);
// The CPU's reference.
Outcome RunReference(const dp_node *node, const std::vector<Tensor> &in, std::vector<Tensor> out);

// Expects the same numbers: float32 within 1e-5 of the largest element, float64 within 1e-12 of it, floats of 16 bits
// or their neighbours, or within 1e-6 of the largest, all else, and all if `exact`, bit by bit. NaN is NaN.
void ExpectSame(const Tensor &expected, const Tensor &found, bool exact);

bool IsHalf(dp_dtype dtype);
// The elements of 16 bits that ExpectSame has seen in this process, and those that were neighbours.
struct HalfTally {
  int64_t elements = 0, others = 0;
};
HalfTally &Halves();

// Expects the kernel to give what the reference gives: within 1e-5 times the root of the longest sum for float32, 1e-13
// for float64, for 16 bits within float32's and a unit in the last place, and exactly for integers.
void Check(const Problem &p, const std::string &name, bool channels_last = false);
// Every sample of the operator, as written and in other types, except those that the kernel does not take; in NHWC too,
// if it takes that. It takes all floats.
void CheckSamples(const std::string &op, const std::string &domain, const std::string &name);

// What the selected kernel is called; "" when there is none.
std::string Selected(const Problem &p);

// The driver's stand-in, which the backend has loaded.
struct Standin {
  Standin();
  decltype(&dp_standin_reset) reset;
  decltype(&dp_standin_count) count;
  decltype(&dp_standin_fail) fail;
  decltype(&dp_standin_seed) seed;
};

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  int64_t Int(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(generator_); }

 private:
  std::mt19937 generator_;
};

// "[1,2]"; and "[N,1,2]" with `first` N.
std::string List(const std::vector<int64_t> &numbers);
std::string Shape(const std::string &first, const std::vector<int64_t> &rest);

}  // namespace dp_test

#endif
