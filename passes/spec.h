// SPECs: `name(arg, key=value, ...)`, what is asked for as loss and optimizer, with PyTorch's meaning and defaults.
#ifndef DP_PASSES_SPEC_H
#define DP_PASSES_SPEC_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where a SPEC was written, for messages and exit codes.
typedef struct {
  const char *name;  // "--loss", "the model's loss"
  int exit_code;     // of what is wrong with it: EX_USAGE, EX_DATAERR
} dp_spec_origin;

typedef enum { DP_LOSS_SOFTMAX_CROSS_ENTROPY, DP_LOSS_MSE } dp_loss_kind;

typedef struct {
  dp_loss_kind kind;
  const char *prediction, *target;  // names of values
} dp_loss_spec;

// Names in a SPEC are any letters but space and `(),="`, or stand in double quotes.
dp_status dp_spec_loss(dp_arena *arena, dp_spec_origin origin, const char *text, dp_loss_spec *loss) DP_MUST_USE;

// sgd. The learning rate is constant.
typedef struct {
  double lr, momentum, dampening, weight_decay;
  bool nesterov;
} dp_optimizer_spec;

// EX_UNAVAILABLE for what the design names and this compiler does not do.
dp_status dp_spec_optimizer(dp_arena *arena, dp_spec_origin origin, const char *text,
                            dp_optimizer_spec *optimizer) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
