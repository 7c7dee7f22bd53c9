// The learning rate of a step, by a plan's schedule.
#ifndef DP_RUNTIME_LEARNING_RATE_H
#define DP_RUNTIME_LEARNING_RATE_H

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

// step counts from 0. While it is less than `warmup` the rate is lr * (step + 1) / warmup, so that the last step of the
// warm-up has all of it. After that, with t = step - warmup:
//   constant  lr
//   step      lr * gamma^floor(t / step_size), but min_lr at least (PyTorch's StepLR)
//   cosine    min_lr + (lr - min_lr) * (1 + cos(pi * t / (total - warmup))) / 2 (CosineAnnealingLR); from `total` on min_lr
// 0 without a schedule.
double dp_learning_rate(const Dp__Schedule *schedule, int64_t step);

#ifdef __cplusplus
}
#endif
#endif
