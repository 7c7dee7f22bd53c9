// Threads of control that are switched by hand, each with a stack of its own.
#ifndef DP_TESTS_CUDA_STANDIN_FIBER_H
#define DP_TESTS_CUDA_STANDIN_FIBER_H

#include <stddef.h>

// On functions that are left by a switch for good: the thread sanitizer, counting calls and returns, leaves them out.
#define STANDIN_LEFT __attribute__((no_sanitize("thread")))

#ifdef __x86_64__
typedef struct {
  void *stack_pointer;
} standin_fiber;
#else
#include <ucontext.h>
typedef struct {
  ucontext_t context;
} standin_fiber;
#endif

// A stack with a guard page below. Stacks are kept for the life of the process.
void *standin_stack(size_t bytes);
// Makes a fiber that calls entry() when it is first switched to. `entry` does not return.
void standin_fiber_start(standin_fiber *fiber, void *stack, size_t bytes, void (*entry)(void));
// Stops here and goes on where `to` stopped; returns when something switches to `from`.
void standin_fiber_switch(standin_fiber *from, standin_fiber *to);

#endif
