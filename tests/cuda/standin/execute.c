// Runs operations as the device does: with device memory open, and with what they touch wrongly caught. Work runs on a
// stack of its own, which is left for good after a fault.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "tests/cuda/standin/fiber.h"
#include "tests/cuda/standin/state.h"

enum { STACK_BYTES = 1 << 20 };

static standin_fiber host, device;
static void *stack;
static void (*running)(void *context);
static void *running_context;
static CUresult abandoned;
static volatile sig_atomic_t executing;
static pthread_t executor;
static int executing_on;  // a device
static struct sigaction before_segv, before_ill;

STANDIN_LEFT static void device_main(void) {
  for (;;) {
    running(running_context);
    standin_fiber_switch(&device, &host);
  }
}

void standin_execute(int device_number, bool everywhere, void (*work)(void *context), void *context) {
  uint64_t devices = 0;
  for (int d = 0; d < STANDIN_MOST_DEVICES; d++)
    if (everywhere || standin_reaches(device_number, d)) devices |= (uint64_t)1 << d;
  standin_open(devices);
  executing_on = device_number;
  if (!stack) stack = standin_stack(STACK_BYTES);
  standin_fiber_start(&device, stack, STACK_BYTES, device_main);
  running = work;
  running_context = context;
  abandoned = CUDA_SUCCESS;
  executor = pthread_self();
  executing = 1;
  standin_fiber_switch(&host, &device);
  executing = 0;
  if (abandoned) standin_stick(abandoned);
}

STANDIN_LEFT static void leave(void) {
  standin_fiber left;
  standin_fiber_switch(&left, &host);
}

void standin_abandon(CUresult error) {
  abandoned = error;
  leave();
  abort();
}

// Makes the handler of a signal return into leave(), not to what it interrupted.
static void return_into_leave(void *context) {
#ifdef __x86_64__
  enum { RED_ZONE = 128 };  // below the stack pointer, a function's own
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  registers[REG_RSP] = ((registers[REG_RSP] - RED_ZONE) & ~(greg_t)15) - 8;  // as a call leaves it
  registers[REG_RIP] = (greg_t)(uintptr_t)leave;
#else
  (void)context;
  leave();  // the handler is left, too
#endif
}

static const char *kind_of(const standin_block *block) {
  if (block->kind == STANDIN_DEVICE) return block->freed ? "freed device memory" : "device memory";
  return block->freed ? "freed pinned memory" : "pinned memory";
}

static void say_touched(const char *who, const void *address, const standin_block *block) {
  const bool other = executing && block->kind == STANDIN_DEVICE && !standin_reaches(executing_on, block->device);
  char whose[64] = "";
  if (other) snprintf(whose, sizeof whose, " of device %d, which device %d cannot access", block->device, executing_on);
  standin_say("%s touched %p: %s%s, %zu bytes at %p, or beside it", who, address, kind_of(block), whose, block->bytes,
              (void *)block->data);
}

void standin_check(const void *address) {
  if (standin_open_block(address)) return;
  const standin_block *block = standin_block_at(address);
  if (!block || !block->freed) return;
  say_touched("an operation", address, block);
  standin_abandon(CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void on_fault(int number, siginfo_t *info, void *context) {
  bool trap = number == SIGILL;
  const standin_block *block = trap ? NULL : standin_block_at(info->si_addr);
  bool by_device = executing && pthread_equal(executor, pthread_self());
  if (by_device && !trap && standin_open_block(info->si_addr)) return;
  if (block) say_touched(by_device ? "an operation" : "the host", info->si_addr, block);
  if (by_device) {
    if (trap)
      standin_say("an operation did something undefined: a misaligned address, or an index past an array's end");
    else if (!block)
      standin_say("an operation touched %p, which is no memory of the device", info->si_addr);
    abandoned = trap ? 716 : CUDA_ERROR_ILLEGAL_ADDRESS;
    return_into_leave(context);
    return;
  }
  if (block) {
    signal(SIGABRT, SIG_DFL);
    abort();
  }
  // Not ours.
  const struct sigaction *before = trap ? &before_ill : &before_segv;
  if (before->sa_flags & SA_SIGINFO)
    before->sa_sigaction(number, info, context);
  else
    sigaction(number, before, NULL);  // happens again when this returns
}

__attribute__((constructor)) static void install(void) {
  // SA_NODEFER: the handler may be left without returning.
  struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &ours, &before_segv);
  sigaction(SIGILL, &ours, &before_ill);
}
