// The settings, from the environment. standin.h explains them.
#include <stdlib.h>

#include "tests/cuda/standin/state.h"

standin_settings standin_set = {.memory_bytes = (uint64_t)2 << 30, .devices = 1, .driver = 13000, .capability = 90};

static const struct {
  const char *name;
  uint64_t *value;
} numbers[] = {
    {"DP_STANDIN_SEED", &standin_set.seed},       {"DP_STANDIN_MEMORY", &standin_set.memory_bytes},
    {"DP_STANDIN_DEVICES", &standin_set.devices}, {"DP_STANDIN_DRIVER", &standin_set.driver},
    {"DP_STANDIN_FAIL", &standin_set.fail_call},  {"DP_STANDIN_CAPABILITY", &standin_set.capability},
};

__attribute__((constructor)) static void read_settings(void) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    const char *text = getenv(numbers[i].name);
    if (!text) continue;
    char *end;
    *numbers[i].value = strtoull(text, &end, 10);
    if (numbers[i].value == &standin_set.fail_call && *end == ':') standin_set.fail_error = strtoull(end + 1, &end, 10);
    if (end == text || *end) {
      standin_say("%s=%s is not understood", numbers[i].name, text);
      standin_set.refused = true;
    }
  }
  standin_set.report = getenv("DP_STANDIN_REPORT");
  standin_set.trace = getenv("DP_STANDIN_TRACE");
  dp_standin_seed(standin_set.seed);
}

__attribute__((destructor)) static void write_report(void) {
  if (!standin_set.report) return;
  FILE *file = fopen(standin_set.report, "w");
  if (!file) return;
  dp_standin_report(file);
  fclose(file);
}

void dp_standin_fail(int64_t call, int error) {
  standin_lock();
  standin_set.fail_call = (uint64_t)call;
  standin_set.fail_error = (uint64_t)error;
  standin_unlock();
}

void dp_standin_memory(size_t bytes) {
  standin_lock();
  standin_set.memory_bytes = bytes;
  standin_unlock();
}
