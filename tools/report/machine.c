// What a run is on. See runs.h.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "ir/base/machine.h"
#include "tools/report/runs.h"

// The first "model name" of /proc/cpuinfo.
static const char *find_processor(dp_arena *arena) {
  static const char key[] = "model name";
  char line[512];
  const char *name = NULL;
  FILE *file = fopen("/proc/cpuinfo", "re");
  while (file && !name && fgets(line, sizeof line, file)) {
    const char *colon = strncmp(line, key, sizeof key - 1) ? NULL : strchr(line, ':');
    if (!colon) continue;
    colon += 1 + strspn(colon + 1, " \t");
    name = dp_strndup(arena, colon, strcspn(colon, "\n"));
  }
  if (file) fclose(file);
  return name;
}

static const char *find_date(dp_arena *arena) {
  const time_t now = time(NULL);
  struct tm utc;
  char text[32];
  return gmtime_r(&now, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) ? dp_strdup(arena, text)
                                                                                         : NULL;
}

void dp_report_run_here(dp_arena *arena, dp_report_run *run) {
  char folder[PATH_MAX];
  struct utsname name;
  run->date = find_date(arena);
  run->folder = getcwd(folder, sizeof folder) ? dp_strdup(arena, folder) : NULL;
  if (!uname(&name)) {
    run->host = dp_strdup(arena, name.nodename);
    run->system = dp_printf(arena, "%s %s %s", name.sysname, name.release, name.machine);
  }
  run->processor = find_processor(arena);
  run->cores = dp_machine_cores();
  run->memory_bytes = dp_machine_memory();
}
