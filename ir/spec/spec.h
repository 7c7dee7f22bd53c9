// SPECs: `name(arg, key=value, ...)`, the requested loss, optimizer or schedule, with PyTorch's meaning and defaults.
// docs/losses.md and docs/optimizers.md list their arguments.
#ifndef DP_IR_SPEC_SPEC_H
#define DP_IR_SPEC_SPEC_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where a SPEC was written, for messages and exit codes.
typedef struct {
  const char *name;  // "--loss", "the model's loss"
  int exit_code;     // of errors in it: EX_USAGE, EX_DATAERR
} dp_spec_origin;

typedef enum {
  DP_LOSS_SOFTMAX_CROSS_ENTROPY,
  DP_LOSS_NLL,
  DP_LOSS_MSE,
  DP_LOSS_L1,
  DP_LOSS_SMOOTH_L1,
  DP_LOSS_HUBER,
  DP_LOSS_BCE_WITH_LOGITS,
  DP_LOSS_KL_DIV,
  DP_LOSS_VALUE,
} dp_loss_kind;

typedef struct {
  int count;  // 0: not given
  double *numbers;
} dp_spec_list;

// One loss of a sum.
typedef struct {
  dp_loss_kind kind;
  const char *name;                 // as in the SPEC
  double factor;                    // in the sum
  const char *prediction, *target;  // names of values; target NULL: it has none
  int64_t ignore_index;             // of losses of classes
  dp_spec_list weight;              // of each class
  double label_smoothing;
  dp_spec_list pos_weight;  // one number, or one for each element along the last axis
  double beta, delta;       // smooth_l1, huber
  bool log_target;          // kl_div
} dp_loss_term;

typedef struct {
  int n_terms;
  dp_loss_term *terms;
} dp_loss_spec;

// A loss, or a sum of losses with factors: `mse(a,b) + 0.5*l1(a,b)`. Names in a SPEC consist of any characters except
// space and `(),="`, or are in double quotes. Fails with origin.exit_code.
dp_status dp_spec_loss(dp_arena *arena, dp_spec_origin origin, const char *text, dp_loss_spec *loss) DP_MUST_USE;

typedef enum {
  DP_OPTIMIZER_SGD,
  DP_OPTIMIZER_ADAM,
  DP_OPTIMIZER_ADAMW,
  DP_OPTIMIZER_RMSPROP,
  DP_OPTIMIZER_ADAGRAD,
  DP_OPTIMIZER_ADAMAX,
  DP_OPTIMIZER_NADAM,
  DP_OPTIMIZER_RADAM,
  DP_OPTIMIZER_LION,
  DP_OPTIMIZER_LAMB,
  DP_OPTIMIZER_MUON,
} dp_optimizer_kind;

// Counts of steps, in ascending order.
typedef struct {
  int count;
  uint64_t *steps;
} dp_spec_steps;

// The learning-rate schedule that runtime/learning_rate.h computes.
typedef struct {
  const char *kind;                                  // its name, as in docs/optimizers.md
  uint64_t warmup, total, step_size, period, decay;  // in steps
  uint64_t period_factor;
  double min_lr, gamma, power, start_factor, end_factor, rising, div_factor, final_div_factor;
  dp_spec_steps milestones;
} dp_learning_rate_spec;

typedef struct dp_spec_setting dp_spec_setting;

// Arguments of their own for the parameters whose name matches one of the globs.
typedef struct {
  const char *text;  // as written
  int n_globs;
  const char **globs;
  int n_settings;
  dp_spec_setting *settings;
} dp_optimizer_group;

// The fields are named after the arguments; docs/optimizers.md says which optimizer takes which.
typedef struct {
  dp_optimizer_kind kind;
  double lr, lr_scale, weight_decay;
  double momentum, dampening;
  double beta1, beta2, eps;
  double alpha, lr_decay, initial, momentum_decay;
  double clip_norm;  // 0: gradients are not clipped
  double ema;        // weight of what was in averages of parameters; 0: there are none
  uint64_t ns_steps;
  const char *adjust_lr;
  bool nesterov, centered, decoupled;
  dp_learning_rate_spec lr_schedule;
  dp_spec_origin origin;
  int n_groups;
  dp_optimizer_group *groups;
} dp_optimizer_spec;

// `call(...)`, or `call(...); GLOBS: key=value, ...; ...` with groups of parameters.
dp_status dp_spec_optimizer(dp_arena *arena, dp_spec_origin origin, const char *text,
                            dp_optimizer_spec *optimizer) DP_MUST_USE;

// A schedule alone: `cosine(total=800,warmup=5)`, whose arguments are those that the optimizer takes beside
// schedule=cosine, or `constant`. Whether min_lr is more than the rate is left to the caller.
dp_status dp_spec_schedule(dp_arena *arena, dp_spec_origin origin, const char *text,
                           dp_learning_rate_spec *schedule) DP_MUST_USE;

bool dp_spec_group_has(const dp_optimizer_group *group, const char *parameter);

// What the optimizer is for one parameter: the arguments of all groups that have it, the later ones over the earlier.
// Fails with the origin's exit code if these do not go together.
dp_status dp_spec_optimizer_for(dp_arena *arena, const dp_optimizer_spec *optimizer, const char *parameter,
                                dp_optimizer_spec *own) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
