// The settings, from the environment. standin.h explains them.
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/state.h"

standin_settings standin_set = {.memory_bytes = (uint64_t)2 << 30, .devices = 1, .driver = 13000, .stall_device = -1};

static const struct {
  const char *name;
  uint64_t *value;
} numbers[] = {
    {"DP_STANDIN_SEED", &standin_set.seed},       {"DP_STANDIN_MEMORY", &standin_set.memory_bytes},
    {"DP_STANDIN_DEVICES", &standin_set.devices}, {"DP_STANDIN_DRIVER", &standin_set.driver},
    {"DP_STANDIN_FAIL", &standin_set.fail_call},
};

static void refuse(const char *name, const char *text) {
  standin_say("%s=%s is not understood", name, text);
  standin_set.refused = true;
}

// "90,80": of each device; the last one is that of the rest too.
static void read_capabilities(const char *text) {
  char *end = (char *)(uintptr_t)text;
  for (int d = 0; d < STANDIN_MOST_DEVICES; d++) {
    standin_set.capability[d] = strtoull(text, &end, 10);
    if (end == text) break;
    if (*end == ',') text = end + 1;
  }
  if (end == text || *end) refuse("DP_STANDIN_CAPABILITY", text);
}

// "all", "none", or pairs: "0-1,2-3".
static bool read_peers(const char *text) {
  const bool all = !strcmp(text, "all");
  for (int a = 0; a < STANDIN_MOST_DEVICES; a++)
    for (int b = 0; b < STANDIN_MOST_DEVICES; b++) standin_set.peers[a][b] = all && a != b;
  if (all || !strcmp(text, "none")) return true;
  for (const char *at = text;; at++) {
    char *end;
    const unsigned long a = strtoul(at, &end, 10), b = *end == '-' ? strtoul(end + 1, &end, 10) : a;
    if (a == b || a >= STANDIN_MOST_DEVICES || b >= STANDIN_MOST_DEVICES || (*end && *end != ',')) return false;
    standin_set.peers[a][b] = standin_set.peers[b][a] = true;
    if (!*end) return true;
    at = end;
  }
}

__attribute__((constructor)) static void read_settings(void) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    const char *text = getenv(numbers[i].name);
    if (!text) continue;
    char *end;
    *numbers[i].value = strtoull(text, &end, 10);
    if (numbers[i].value == &standin_set.fail_call && *end == ':') standin_set.fail_error = strtoull(end + 1, &end, 10);
    if (end == text || *end) {
      refuse(numbers[i].name, text);
    }
  }
  if (standin_set.devices > STANDIN_MOST_DEVICES) refuse("DP_STANDIN_DEVICES", getenv("DP_STANDIN_DEVICES"));
  const char *capability = getenv("DP_STANDIN_CAPABILITY"), *peers = getenv("DP_STANDIN_PEERS");
  read_capabilities(capability ? capability : "90");
  if (!read_peers(peers ? peers : "all")) refuse("DP_STANDIN_PEERS", peers);
  const char *stall = getenv("DP_STANDIN_STALL");
  if (stall && sscanf(stall, "%d:%63[^:]:%ld", &standin_set.stall_device, standin_set.stall_what,
                      &standin_set.stall_number) != 3)
    refuse("DP_STANDIN_STALL", stall);
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

void dp_standin_devices(int devices, const char *peers) {
  standin_lock();
  standin_set.devices = (uint64_t)devices;
  if (!read_peers(peers)) abort();
  standin_forget_peers();
  standin_unlock();
}

void dp_standin_memory(size_t bytes) {
  standin_lock();
  standin_set.memory_bytes = bytes;
  standin_unlock();
}

int dp_standin_version(const char *name, int otherwise, int property, int *value) {
  const char *set = getenv(name);
  const int version = set ? atoi(set) : otherwise, parts[] = {version / 10000, version / 100 % 100, version % 100};
  if (!value || property < 0 || property > 2) return 0;
  *value = parts[property];
  return 1;
}
