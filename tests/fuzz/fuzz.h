// What harnesses share: the input as a file, which is what every reader takes.
//
// A harness reads one file from a stranger in a folder of its own. It must come back with a status, and what it was given must
// not matter to the next run.
#ifndef DP_TESTS_FUZZ_FUZZ_H
#define DP_TESTS_FUZZ_FUZZ_H

#include "ir/text/text.h"

// The path of a file of this process that holds the bytes; the same file each time.
const char *fuzz_file(const char *name, const void *data, size_t bytes);
// Runs `read` in an arena that goes away afterwards. Prints why the process ends when it fails with a code other than those
// for bad input (65, 66, 69, 71).
void fuzz_run(dp_status (*read)(dp_arena *arena, const char *path), const char *path);
// The model as text; the caller frees it.
char *fuzz_print(const dp_model *model, size_t *bytes);
// Ends the process: what must hold does not.
_Noreturn void fuzz_die(const char *what);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
