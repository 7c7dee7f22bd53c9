// See share.h.
#include "tools/run/share.h"

#include <string.h>

#include "ir/base/file.h"
#include "ir/base/machine.h"
#include "tools/run/device.h"
#include "tools/weights/newest.h"

// ---- cores ----------------------------------------------------------------------------------------------------------

static void share_cores(dp_dprun_share *shares, int count) {
  int64_t left = dp_machine_cores(), without = 0;
  for (int i = 0; i < count; i++) {
    left -= shares[i].options.threads;
    without += !shares[i].options.threads;
  }
  for (int i = 0; i < count; i++) {
    shares[i].threads = shares[i].options.threads;
    if (shares[i].threads) continue;
    shares[i].threads = dp_max_i64(1, left / without);
    left -= shares[i].threads;
    without--;
  }
}

// ---- GPUs -----------------------------------------------------------------------------------------------------------

// The first entry that two lists with commas have in common; NULL: none.
static const char *find_common(dp_arena *arena, const char *a, const char *b) {
  for (const char *x = a; x; x = strchr(x, ',') ? strchr(x, ',') + 1 : NULL)
    for (const char *y = b; y; y = strchr(y, ',') ? strchr(y, ',') + 1 : NULL) {
      const size_t length = strcspn(x, ",");
      if (length == strcspn(y, ",") && !strncmp(x, y, length)) return dp_strndup(arena, x, length);
    }
  return NULL;
}

static dp_status check_lists(dp_arena *arena, const char *x, const char *y, const char *backend, int a, int b) {
  const char *common = find_common(arena, x, y);
  if (!common) return DP_OK;
  return dp_fail(EX_CONFIG, "run %d and run %d would both use --device=%s:%s: give each its own", a + 1, b + 1, backend,
                 common);
}

// What two command lines say alike needs no device to be opened.
static dp_status check_devices(dp_arena *arena, const dp_dprun_share *shares, int a, int b) {
  const dp_dprun_options *x = &shares[a].options, *y = &shares[b].options;
  if (!x->devices || !y->devices || x->device != y->device) return DP_OK;
  return check_lists(arena, x->devices, y->devices, x->device->name, a, b);
}

// A GPU has several names: 0, 00, and its UUID from some beginning on.
static dp_status probe_devices(dp_arena *arena, const dp_dprun_share *shares, int count) {
  const char **names = dp_alloc_n(arena, (size_t)count, sizeof *names);
  for (int i = 0; i < count; i++) {
    const dp_backend_entry *device = shares[i].options.device;
    DP_TRY(dp_status_context(dp_dprun_device_probe(arena, &shares[i].options, &names[i]), "run %d", i + 1));
    for (int k = 0; k < i && *names[i]; k++)
      if (*names[k] && shares[k].options.device == device)
        DP_TRY(check_lists(arena, names[k], names[i], device->name, k, i));
  }
  return DP_OK;
}

// ---- files ----------------------------------------------------------------------------------------------------------

typedef struct {
  dp_cli_file *files;
  int count;
} file_list;

static file_list list_files(dp_arena *arena, const dp_dprun_options *o, int number) {
  file_list l;
  dp_dprun_options_files(arena, o, &l.files, &l.count);
  // A run may save where it goes on from, but no other one may.
  if (o->resume) DP_PUSH(arena, l.files, l.count, ((dp_cli_file){"--resume", o->resume, false}));
  if (o->init.path && dp_weights_is_folder(o->init.path))
    DP_PUSH(arena, l.files, l.count, ((dp_cli_file){"--init", o->init.path, false}));
  for (int i = 0; i < l.count; i++) l.files[i].option = dp_printf(arena, "%s of run %d", l.files[i].option, number);
  return l;
}

static bool writes_stdout(const file_list *l) {
  for (int i = 0; i < l->count; i++)
    if (l->files[i].written && l->files[i].path && dp_file_is_standard(l->files[i].path)) return true;
  return false;
}

dp_status dp_dprun_share_out(dp_arena *arena, dp_dprun_share *shares, int count) {
  file_list *lists = dp_alloc_n(arena, (size_t)count, sizeof *lists);
  share_cores(shares, count);
  for (int i = 0; i < count; i++) {
    lists[i] = list_files(arena, &shares[i].options, i + 1);
    shares[i].writes_stdout = writes_stdout(&lists[i]);
    for (int k = 0; k < i; k++) {
      DP_TRY(check_devices(arena, shares, k, i));
      DP_TRY(dp_cli_files_check_between(lists[k].files, lists[k].count, lists[i].files, lists[i].count));
    }
  }
  return probe_devices(arena, shares, count);
}
