// Fuzzes the reader of plans and the checker. The input is the payload; the harness adds a valid seal, without which
// the reader would refuse every input at once.
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "ir/plan/plan.h"
#include "ir/plan/report/print.h"
#include "ir/verify/verify.h"
#include "tests/fuzz/fuzz.h"

static dp_status read_plan(dp_arena *arena, const char *path) {
  Dp__Plan *plan;
  DP_TRY(dp_plan_read(arena, path, &plan));
  FILE *out = fopen("/dev/null", "w");
  if (!out) fuzz_die("no memory");
  dp_plan_print(plan, NULL, out);
  fclose(out);
  return dp_verify_plan(plan, NULL);
}

static void put(uint8_t *at, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> (8 * i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  uint8_t *file = malloc(DP_PLAN_HEADER_BYTES + bytes);
  if (!file) fuzz_die("no memory");
  memcpy(file, "DPPLAN\r\n", 8);
  put(file + 8, DP_PLAN_VERSION, 4);
  put(file + 12, 0, 4);
  put(file + 16, bytes, 8);
  put(file + 24, XXH3_64bits(data, bytes), 8);
  memcpy(file + DP_PLAN_HEADER_BYTES, data, bytes);
  fuzz_run(read_plan, fuzz_file("plan.bin", file, DP_PLAN_HEADER_BYTES + bytes));
  free(file);
  return 0;
}
