// How a function reports data that its operator does not take. The host reads it when the queue's work is done.
#ifndef DP_BACKENDS_CUDA_DEVICE_FAULT_H
#define DP_BACKENDS_CUDA_DEVICE_FAULT_H

// In host memory that the device writes to. `first` is claimed by whoever reports first.
typedef struct dp_cuda_fault {
  unsigned long long first;  // 0: none; else the instruction's number plus 1
  long long code;            // what is wrong: DP_FAULT_...
  long long index, value;    // the element, row-major in the whole tensor, and what it holds
  long long limit;           // values are 0 .. limit - 1, where that is the rule
  long long refused;         // whether data was refused since the host has last read this
} dp_cuda_fault;

enum { DP_FAULT_NONE, DP_FAULT_LABEL, DP_FAULT_INDEX, DP_FAULT_DIVISOR };

#endif
