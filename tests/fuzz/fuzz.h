// What the harnesses share: the input as a file, since every reader takes one.
//
// A harness reads one untrusted file in its own folder. It must return a status, and one input must not affect the next
// run.
#ifndef DP_TESTS_FUZZ_FUZZ_H
#define DP_TESTS_FUZZ_FUZZ_H

#include "ir/text/text.h"

// The path of a file of this process with these bytes, until the next call; the same path each time. `name` may have
// folders in it.
const char *fuzz_file(const char *name, const void *data, size_t bytes);
// Runs `read` in a temporary arena. Ends the process with a message if `read` fails with a code other than those for
// bad input (65, 66, 69, 71).
void fuzz_run(dp_status (*read)(dp_arena *arena, const char *path), const char *path);
// The model as text; the caller frees it.
char *fuzz_print(const dp_model *model, size_t *bytes);
// Ends the process because an invariant is violated.
_Noreturn void fuzz_die(const char *what);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
