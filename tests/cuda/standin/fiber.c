#define _GNU_SOURCE
#include "tests/cuda/standin/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void *standin_stack(size_t bytes) {
  enum { PAGE = 4096 };
  char *map =
      mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (map == MAP_FAILED || mprotect(map, PAGE, PROT_NONE)) abort();
  return map + PAGE;
}

#ifdef __x86_64__

// The registers that a call keeps go to the old stack, and come from the new one.
__asm__(
    ".text\n"
    ".globl standin_fiber_switch\n"
    ".hidden standin_fiber_switch\n"
    ".type standin_fiber_switch, @function\n"
    "standin_fiber_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq (%rsi), %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size standin_fiber_switch, . - standin_fiber_switch\n");

void standin_fiber_start(standin_fiber *fiber, void *stack, size_t bytes, void (*entry)(void)) {
  enum { REGISTERS = 6 };
  // From the top: the place of a return address, `entry`, at which a stack is aligned to 16 bytes, and the registers.
  uintptr_t *at = (uintptr_t *)((char *)stack + bytes) - 2;
  at[1] = 0;
  at[0] = (uintptr_t)entry;
  for (int i = 1; i <= REGISTERS; i++) at[-i] = 0;
  fiber->stack_pointer = at - REGISTERS;
}

#else

void standin_fiber_start(standin_fiber *fiber, void *stack, size_t bytes, void (*entry)(void)) {
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = stack;
  fiber->context.uc_stack.ss_size = bytes;
  fiber->context.uc_link = NULL;
  makecontext(&fiber->context, entry, 0);
}

void standin_fiber_switch(standin_fiber *from, standin_fiber *to) { swapcontext(&from->context, &to->context); }

#endif
