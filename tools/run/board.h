// What dprun reports to TensorBoard: curves of training and evaluation, the options, histograms of parameters.
#ifndef DP_TOOLS_RUN_BOARD_H
#define DP_TOOLS_RUN_BOARD_H

#include "runtime/metrics.h"
#include "runtime/session.h"
#include "runtime/tensorboard/tensorboard.h"

// Writes the command's words and the plan's options as a text.
void dp_dprun_board_options(dp_arena *arena, dp_tensorboard *board, const Dp__Plan *plan, int argc, char **argv);
// train/loss, train/learning_rate, train/samples_per_second, train/accuracy and so on.
void dp_dprun_board_step(dp_tensorboard *board, const dp_metrics_measured *measured, double lr, double ms);
// eval/loss, eval/accuracy and so on.
void dp_dprun_board_eval(dp_tensorboard *board, const dp_metrics_measured *measured);
// A histogram of each trained or frozen parameter, under parameters/NAME, and of each gradient that the program gave in
// its last run, under gradients/NAME. No run may be on. DP_EX_MEMORY.
dp_status dp_dprun_board_histograms(dp_tensorboard *board, int64_t step, dp_session *session, int program) DP_MUST_USE;

#endif
