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
//   constant       lr
//   step           max(min_lr, lr * gamma^floor(t / step_size)) (PyTorch's StepLR)
//   multistep      lr * gamma^(milestones that are t or less) (MultiStepLR)
//   exponential    lr * gamma^t (ExponentialLR)
//   warm_restarts  as cosine, over `period` steps, then period * period_factor, and so on (CosineAnnealingWarmRestarts)
// These end at step `total`, and stay as they are there; p = t / (total - warmup), or 1:
//   cosine         min_lr + (lr - min_lr) * (1 + cos(pi * p)) / 2 (CosineAnnealingLR)
//   linear         lr * (start_factor + (end_factor - start_factor) * p) (LinearLR)
//   polynomial     lr * (1 - p)^power (PolynomialLR)
//   one_cycle      up from lr / div_factor to lr, down to lr / div_factor / final_div_factor, by cosines (OneCycleLR)
//   wsd            lr, and in the last `decay` steps down to min_lr along a line
// Without a schedule it returns 0.
double dp_learning_rate(const Dp__Schedule *schedule, int64_t step);

#ifdef __cplusplus
}
#endif
#endif
