// What kernels choose when they are prepared, for people to read: functions of our own, algorithms and engines of
// libraries. Private to the backend.
#ifndef DP_BACKENDS_CUDA_CHOICES_H
#define DP_BACKENDS_CUDA_CHOICES_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Notes a choice of this thread's, once. What does not fit into some kilobytes is left out.
void dp_cuda_choice_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
// As dp_queue_calls.chosen: the choices of this thread since the last call.
const char *dp_cuda_choices(void);

#ifdef __cplusplus
}
#endif
#endif
