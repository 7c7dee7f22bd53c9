// The learning rate of a step under a plan's schedule.
#ifndef DP_RUNTIME_LEARNING_RATE_H
#define DP_RUNTIME_LEARNING_RATE_H

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

// `step` counts from 0. During warm-up (step < warmup) the rate is lr * (step + 1) / warmup, so it reaches lr in the
// last warm-up step. After that, with t = step - warmup:
//   constant  lr
//   step      max(min_lr, lr * gamma^floor(t / step_size)) (PyTorch's StepLR)
//   cosine    min_lr + (lr - min_lr) * (1 + cos(pi * t / (total - warmup))) / 2 (CosineAnnealingLR); min_lr from step
//   `total` on
// Without a schedule it returns 0.
double dp_learning_rate(const Dp__Schedule *schedule, int64_t step);

#ifdef __cplusplus
}
#endif
#endif
