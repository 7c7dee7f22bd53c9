// See compile.h. A file of the cache holds the hash of the machine code, then the code.
#define _GNU_SOURCE
#include "backends/cuda/gpu/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/cuda/api/library.h"
#include "backends/cuda/api/nvrtc.h"
#include "ir/base/file.h"

enum { PATH_BYTES = 4096, LIBRARY_VERSION = 1, MAX_CODE_BYTES = 1 << 30 };

// ---- NVRTC ----------------------------------------------------------------------------------------------------------

static struct {
#define DP_CALL(name, parameters) nvrtcResult(*name) parameters;
  DP_CUDA_NVRTC_CALLS(DP_CALL)
#undef DP_CALL
} rtc;

static dp_status load_nvrtc(void) {
  static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
  static const char *const calls[] = {
#define DP_CALL(name, parameters) #name,
      DP_CUDA_NVRTC_CALLS(DP_CALL)
#undef DP_CALL
          NULL};
  static const dp_cuda_library library = {"NVRTC", sonames, "nvidia/{cu1?,cuda_nvrtc}/lib", calls};
  static bool loaded;
  if (loaded) return DP_OK;
  DP_TRY(dp_cuda_library_load(&library, (void **)&rtc));
  loaded = true;
  return DP_OK;
}

static dp_status refusal(nvrtcProgram program) {
  size_t bytes = 0;
  char *log = NULL;
  if (!rtc.nvrtcGetProgramLogSize(program, &bytes)) log = calloc(1, bytes + 1);
  if (log) rtc.nvrtcGetProgramLog(program, log);
  dp_status status = dp_fail(EX_SOFTWARE, "NVRTC refuses a function of this program: %s", log ? log : "");
  free(log);
  return status;
}

static dp_status compile_program(nvrtcProgram program, int major, int minor, char **code, size_t *bytes) {
  char architecture[64];
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
  // No contraction: a region's members give the bits that they give alone.
  const char *const options[] = {architecture, "--std=c++17", "--fmad=false", "-default-device"};
  if (rtc.nvrtcCompileProgram(program, (int)DP_COUNT(options), options)) return refusal(program);
  if (rtc.nvrtcGetCUBINSize(program, bytes)) return dp_fail(EX_SOFTWARE, "NVRTC has made no machine code");
  *code = malloc(*bytes + 1);
  if (!*code) return dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
  if (!rtc.nvrtcGetCUBIN(program, *code)) return DP_OK;
  free(*code);
  return dp_fail(EX_SOFTWARE, "NVRTC has made no machine code");
}

static dp_status compile(const char *text, int major, int minor, char **code, size_t *bytes) {
  nvrtcProgram program;
  if (rtc.nvrtcCreateProgram(&program, text, "dp.cu", 0, NULL, NULL))
    return dp_fail(EX_UNAVAILABLE, "NVRTC cannot be used on this machine");
  dp_status status = compile_program(program, major, minor, code, bytes);
  rtc.nvrtcDestroyProgram(&program);
  return status;
}

// ---- the cache ------------------------------------------------------------------------------------------------------

// The path of a program's file; false: there is no folder for it.
static bool path_of(const char *text, int major, int minor, char path[PATH_BYTES]) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int nvrtc_major = 0, nvrtc_minor = 0;
  rtc.nvrtcVersion(&nvrtc_major, &nvrtc_minor);
  char folder[PATH_BYTES - 100];
  int length = cache && *cache == '/' ? snprintf(folder, sizeof folder, "%s", cache)
               : home && *home == '/' ? snprintf(folder, sizeof folder, "%s/.cache", home)
                                      : -1;
  if (length < 0 || length >= (int)sizeof folder - 8) return false;
  mkdir(folder, 0700);
  strcpy(folder + length, "/dp");
  if (mkdir(folder, 0700) && errno != EEXIST) return false;
  snprintf(path, PATH_BYTES, "%s/%016llx-sm_%d%d-%d.%d-%d.cubin", folder,
           (unsigned long long)dp_hash64(text, strlen(text)), major, minor, nvrtc_major, nvrtc_minor, LIBRARY_VERSION);
  return true;
}

// Only a file that this user alone may write is taken, since what it holds is run.
static bool is_private(const char *path) {
  struct stat file;
  return !lstat(path, &file) && S_ISREG(file.st_mode) && file.st_uid == geteuid() && !(file.st_mode & 022);
}

static bool take(dp_file_reader *file, char **code, size_t *bytes) {
  uint64_t hash;
  if (file->bytes <= sizeof hash || file->bytes > MAX_CODE_BYTES) return false;
  *bytes = file->bytes - sizeof hash;
  *code = malloc(*bytes);
  dp_status status = *code ? dp_file_reader_read(file, 0, &hash, sizeof hash) : dp_fail(DP_EX_MEMORY, "no memory");
  if (!status) status = dp_file_reader_read(file, sizeof hash, *code, *bytes);
  bool good = !status && dp_hash64(*code, *bytes) == hash;
  dp_status_free(status);
  if (!good) free(*code);
  return good;
}

static bool find(const char *path, char **code, size_t *bytes) {
  dp_file_reader file;
  if (!is_private(path)) return false;
  dp_status status = dp_file_reader_open(path, &file);
  if (status) {
    dp_status_free(status);
    return false;
  }
  bool found = take(&file, code, bytes);
  dp_file_reader_close(&file);
  return found;
}

// Nothing is lost when this fails: the program is compiled again.
static void keep(const char *path, const char *code, size_t bytes) {
  const uint64_t hash = dp_hash64(code, bytes);
  dp_file_writer file;
  dp_status status = dp_file_writer_open(path, &file);
  if (!status) {
    status = dp_file_writer_write(&file, &hash, sizeof hash);
    if (!status) status = dp_file_writer_write(&file, code, bytes);
    if (status)
      dp_file_writer_abandon(&file);
    else
      status = dp_file_writer_commit(&file);
  }
  dp_status_free(status);
}

dp_status dp_cuda_compile(const char *text, int major, int minor, char **code, size_t *bytes) {
  char path[PATH_BYTES];
  DP_TRY(load_nvrtc());
  bool cached = path_of(text, major, minor, path);
  if (cached && find(path, code, bytes)) return DP_OK;
  DP_TRY(compile(text, major, minor, code, bytes));
  if (cached) keep(path, *code, *bytes);
  return DP_OK;
}
