// The stand-in of NVRTC: the C compiler makes a shared object of the text, which the stand-in of the driver loads.
// What C takes and CUDA's C++ does not, where the compiler can tell, is an error.
#define _GNU_SOURCE
#include "backends/cuda/api/nvrtc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/standin/kept.h"

#define DP_DECLARE(name, parameters) __attribute__((visibility("default"))) nvrtcResult name parameters;
DP_CUDA_NVRTC_CALLS(DP_DECLARE)
#undef DP_DECLARE

enum {
  NVRTC_OUT_OF_MEMORY = 1,
  NVRTC_INVALID_INPUT = 3,
  NVRTC_INVALID_PROGRAM = 4,
  NVRTC_INVALID_OPTION = 5,
  NVRTC_INTERNAL = 11,
};

struct _nvrtcProgram {
  char *source;
  char *log;
  char *image;
  size_t image_bytes;
};

extern char **environ;

// The stand-in of the driver counts calls and makes them fail, if it is loaded.
static nvrtcResult count(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  if (!driver) return NVRTC_SUCCESS;
  int (*call)(const char *) = NULL;
  void *symbol = dlsym(driver, "dp_standin_call");
  memcpy(&call, &symbol, sizeof symbol);
  int error = call ? call(name) : 0;
  dlclose(driver);
  return error ? NVRTC_INTERNAL : NVRTC_SUCCESS;
}

static void handles(int change) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  if (!driver) return;
  void (*add)(int) = NULL;
  void *symbol = dlsym(driver, "dp_standin_handles");
  memcpy(&add, &symbol, sizeof symbol);
  if (add) add(change);
  dlclose(driver);
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
  nvrtcResult refused = count(__func__);
  if (refused) return refused;
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int n_headers,
                               const char *const *headers, const char *const *include_names) {
  (void)name, (void)headers, (void)include_names;
  nvrtcResult refused = count(__func__);
  if (refused) return refused;
  if (!program || !source || n_headers) return NVRTC_INVALID_INPUT;
  nvrtcProgram made = calloc(1, sizeof *made);
  if (!made) return NVRTC_OUT_OF_MEMORY;
  made->source = strdup(source);
  made->log = strdup("");
  handles(1);
  *program = made;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  nvrtcResult refused = count(__func__);
  if (!program || !*program) return refused ? refused : NVRTC_INVALID_PROGRAM;
  free((*program)->source);
  free((*program)->log);
  free((*program)->image);
  free(*program);
  *program = NULL;
  handles(-1);
  return refused;
}

// ---- compiling ------------------------------------------------------------------------------------------------------

// A whole file with a 0 behind, or NULL.
static char *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = size < 0 ? NULL : malloc((size_t)size + 1);
  if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
    free(text);
    text = NULL;
  }
  fclose(file);
  if (!text) return NULL;
  text[size] = 0;
  *bytes = (size_t)size;
  return text;
}

static bool write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool written = fputs(text, file) >= 0;
  return !fclose(file) && written;
}

// Runs a command with its output going to a file. Whether it succeeded.
static bool run(const char *const *command, const char *output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child;
  int status = -1;
  if (!posix_spawnp(&child, command[0], &actions, NULL, (char *const *)command, environ))
    while (waitpid(child, &status, 0) < 0) continue;
  posix_spawn_file_actions_destroy(&actions);
  return status == 0;
}

// Options of NVRTC, by how they begin. What is not here is refused.
static const struct {
  const char *prefix;
  enum { IGNORED, DEFINE, ARCHITECTURE } meaning;
} options_known[] = {
    {"-D", DEFINE},           {"--gpu-architecture=", ARCHITECTURE},
    {"-arch=", ARCHITECTURE}, {"--fmad=", IGNORED},
    {"-fmad=", IGNORED},      {"--std=", IGNORED},
    {"-std=", IGNORED},       {"-default-device", IGNORED},
    {"-lineinfo", IGNORED},   {"--generate-line-info", IGNORED},
};
enum { N_OPTIONS_KNOWN = sizeof options_known / sizeof *options_known, MOST_OPTIONS = 64 };

static const char *const flags[] = {
    "cc", "-std=c17", "-x", "c", "-O1", "-g1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno",
    "-fvisibility=default", "-D__CUDA_ARCH_STANDIN__",
    // Mistakes, and what C++ refuses.
    "-Wall", "-Wno-unused", "-Wno-unknown-pragmas", "-Wc++-compat", "-Wvla", "-Wpointer-arith", "-Werror",
    // A misaligned address, or an index past a shared array, ends a function as on a GPU.
    "-fsanitize=alignment,bounds", "-fsanitize-undefined-trap-on-error"};
enum { N_FLAGS = sizeof flags / sizeof *flags };

// The compiler's command for `options`; *machine: the kind of GPU that machine code is asked for; 0: it is not (sm_90,
// not compute_90).
static nvrtcResult make_command(int n_options, const char *const *options, const char **command, int *machine) {
  if (n_options > MOST_OPTIONS) return NVRTC_INVALID_OPTION;
  int n = 0;
  *machine = 0;
  for (; n < N_FLAGS; n++) command[n] = flags[n];
  for (int i = 0; i < n_options; i++) {
    int k = 0;
    while (k < N_OPTIONS_KNOWN && strncmp(options[i], options_known[k].prefix, strlen(options_known[k].prefix))) k++;
    if (k == N_OPTIONS_KNOWN) return NVRTC_INVALID_OPTION;
    if (options_known[k].meaning == DEFINE) command[n++] = options[i];
    if (options_known[k].meaning != ARCHITECTURE) continue;
    const char *kind = options[i] + strlen(options_known[k].prefix);
    if (!strncmp(kind, "sm_", 3)) *machine = atoi(kind + 3);
  }
  command[n] = NULL;
  return NVRTC_SUCCESS;
}

// Sets the program's log and, if machine code is asked for, its image.
static nvrtcResult compile_in(nvrtcProgram program, const char *folder, const char **command, const char *text,
                              const char *keep, bool machine) {
  char source[512], object[512], log[512];
  snprintf(source, sizeof source, "%s/program.c", folder);
  snprintf(object, sizeof object, "%s/program.so", folder);
  snprintf(log, sizeof log, "%s/log", folder);
  int n = 0;
  while (command[n]) n++;
  const char *const rest[] = {"-o", object, source, "-lm", NULL};
  memcpy(command + n, rest, sizeof rest);
  nvrtcResult result = NVRTC_INTERNAL;
  if (write_file(source, text)) {
    bool compiled = run(command, log);
    size_t bytes;
    free(program->log);
    program->log = read_file(log, &bytes);
    if (!program->log) program->log = strdup("the C compiler (cc) does not start");
    if (compiled && machine) program->image = read_file(object, &program->image_bytes);
    if (compiled && keep) kept_add(keep, object);
    result = compiled ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
  }
  remove(source);
  remove(object);
  remove(log);
  return result;
}

static nvrtcResult compile(nvrtcProgram program, const char **command, const char *text, const char *keep,
                           bool machine) {
  const char *parent = getenv("TMPDIR");
  char folder[256];
  snprintf(folder, sizeof folder, "%s/nvrtc.XXXXXX", parent ? parent : "/tmp");
  if (!mkdtemp(folder)) return NVRTC_INTERNAL;
  nvrtcResult result = compile_in(program, folder, command, text, keep, machine);
  rmdir(folder);
  return result;
}

// What compiles has no log: whatever the compiler says is an error.
static bool find(nvrtcProgram program, const char *keep) {
  if (!keep || !(program->image = read_file(keep, &program->image_bytes))) return false;
  program->log[0] = 0;
  return true;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options, const char *const *options) {
  nvrtcResult refused = count(__func__);
  if (refused) return refused;
  if (!program) return NVRTC_INVALID_PROGRAM;
  const char *command[N_FLAGS + MOST_OPTIONS + 8];
  int machine;
  nvrtcResult result = make_command(n_options, options, command, &machine);
  if (result) return result;
  free(program->image);
  program->image = NULL;
  program->image_bytes = 0;
  // The program, and the kind of GPU that it is for, which the driver's stand-in asks its code for.
  char *text;
  if (asprintf(&text, "%s\nconst int dp_standin_kind = %d;\n", program->source, machine) < 0)
    return NVRTC_OUT_OF_MEMORY;
  char *keep = machine ? kept_path(command, text) : NULL;
  if (!find(program, keep)) result = compile(program, command, text, keep, machine != 0);
  free(keep);
  free(text);
  return result;
}

// ---- results --------------------------------------------------------------------------------------------------------

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
  nvrtcResult refused = count(__func__);
  if (refused) return refused;
  if (!program) return NVRTC_INVALID_PROGRAM;
  *bytes = program->image_bytes;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *image) {
  nvrtcResult refused = count(__func__);
  if (refused) return refused;
  if (!program || !program->image) return NVRTC_INVALID_PROGRAM;
  memcpy(image, program->image, program->image_bytes);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
  nvrtcResult refused = count(__func__);
  if (refused) return refused;
  if (!program) return NVRTC_INVALID_PROGRAM;
  *bytes = strlen(program->log) + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
  nvrtcResult refused = count(__func__);
  if (refused) return refused;
  if (!program) return NVRTC_INVALID_PROGRAM;
  strcpy(log, program->log);
  return NVRTC_SUCCESS;
}
