// Modules: shared objects that the stand-in of NVRTC has made.
#define _GNU_SOURCE
#include "tests/cuda/standin/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct CUmod_st {
  CUmodule next;
  int device;
  void *object;
  int file;  // stays open: the loader knows objects by their path, and its number is in the path
  CUfunction functions;
  size_t shared_module, shared_bytes, initialised_bytes;  // thread-local variables
};

static CUmodule modules;

// Of shared memory, where nobody asks for more; of arguments, for toolkits before 12.1.
enum { MOST_SHARED = 48 << 10, MOST_ARGUMENTS = 4096 };

// How long an ELF file is, or 0 if it is none for this machine. The section headers come last.
static size_t image_bytes(const void *image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  bool elf = !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!elf || header.e_type != ET_DYN) return 0;
  return header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
}

// Objects find dp_thread and its like in this library, so it must be visible to them however it was loaded.
static void publish(void) {
  static bool done;
  Dl_info info;
  if (done || !dladdr((void *)(uintptr_t)&publish, &info)) return;
  done = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_NOW) != NULL;
}

static int measure(struct dl_phdr_info *info, size_t bytes, void *context) {
  (void)bytes;
  CUmodule module = context;
  if (info->dlpi_tls_modid != module->shared_module) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
    module->shared_bytes = info->dlpi_phdr[i].p_memsz;
    module->initialised_bytes = info->dlpi_phdr[i].p_filesz;
  }
  return 1;
}

static bool open_object(CUmodule module, const void *image, size_t bytes) {
  module->file = memfd_create("module", MFD_CLOEXEC);
  if (module->file < 0 || write(module->file, image, bytes) != (ssize_t)bytes) return false;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", module->file);
  publish();
  module->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!module->object) {
    standin_say("a module does not load: %s", dlerror());
    return false;
  }
  const int *kind = dlsym(module->object, "dp_standin_kind");
  const int own = (int)standin_set.capability[standin_current];
  if (kind && (*kind / 10 != own / 10 || *kind > own)) {
    standin_say("a module for sm_%d is loaded onto a GPU that is sm_%d", *kind, own);
    return false;
  }
  if (dlinfo(module->object, RTLD_DI_TLS_MODID, &module->shared_module)) return false;
  if (module->shared_module) dl_iterate_phdr(measure, module);
  if (module->shared_bytes > MOST_SHARED) {
    standin_say("a module has %zu bytes of shared memory, which is more than a block gets", module->shared_bytes);
    return false;
  }
  if (module->initialised_bytes) standin_say("a module gives shared variables initial values, which CUDA has not");
  return !module->initialised_bytes;
}

static void close_object(CUmodule module) {
  for (CUfunction function = module->functions, next; function; function = next) {
    next = function->next;
    free(function->name);
    free(function);
  }
  if (module->object) dlclose(module->object);
  if (module->file >= 0) close(module->file);
  free(module);
}

static CUmodule *find(CUmodule module) {
  for (CUmodule *link = &modules; *link; link = &(*link)->next)
    if (*link == module) return link;
  return NULL;
}

bool standin_is_function(CUfunction function) {
  for (CUmodule module = modules; module; module = module->next)
    for (CUfunction f = module->functions; f; f = f->next)
      if (f == function) return true;
  return false;
}

int standin_function_device(CUfunction function) { return function->module->device; }

void *standin_shared(CUmodule module, size_t *bytes) {
  struct {
    unsigned long module, offset;
  } index = {module->shared_module, 0};
  extern void *__tls_get_addr(void *index);  // of the loader
  *bytes = module->shared_bytes;
  return module->shared_module ? __tls_get_addr(&index) : NULL;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  CUresult refused = standin_enter(__func__, STANDIN_UNCAPTURED);
  if (refused) return standin_leave(refused);
  if (!module || !image) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  size_t bytes = image_bytes(image);
  if (!bytes) return standin_leave(STANDIN_NO_BINARY);
  CUmodule made = calloc(1, sizeof *made);
  if (!made) return standin_leave(CUDA_ERROR_OUT_OF_MEMORY);
  if (!open_object(made, image, bytes)) {
    close_object(made);
    return standin_leave(STANDIN_INVALID_IMAGE);
  }
  made->next = modules;
  made->device = standin_current;
  modules = made;
  standin_counts.modules++;
  *module = made;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module) {
  CUresult result = standin_enter(__func__, STANDIN_UNCAPTURED);
  CUmodule *link = find(module);
  if (!link) return standin_leave(result ? result : STANDIN_INVALID_HANDLE);
  *link = module->next;
  close_object(module);
  standin_counts.modules--;
  return standin_leave(result);
}

// What the prelude defines beside a function: NAME_entry, NAME_together, NAME_bytes, NAME_bound.
static void *part(CUmodule module, const char *name, const char *suffix) {
  char symbol[512];
  if (snprintf(symbol, sizeof symbol, "%s_%s", name, suffix) >= (int)sizeof symbol) return NULL;
  return dlsym(module->object, symbol);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!function || !name || !find(module) || module->device != standin_current)
    return standin_leave(STANDIN_INVALID_HANDLE);
  void *entry = part(module, name, "entry");
  const int *together = part(module, name, "together"), *bound = part(module, name, "bound");
  const unsigned *bytes = part(module, name, "bytes");
  if (!entry || !together || !bytes || !bound) return standin_leave(CUDA_ERROR_NOT_FOUND);
  if (*bytes > MOST_ARGUMENTS) {
    standin_say("%s has %u bytes of arguments, which is more than a launch takes", name, *bytes);
    return standin_leave(STANDIN_INVALID_IMAGE);
  }
  CUfunction made = calloc(1, sizeof *made);
  if (!made) return standin_leave(CUDA_ERROR_OUT_OF_MEMORY);
  *made = (struct CUfunc_st){.next = module->functions,
                             .module = module,
                             .name = strdup(name),
                             .argument_bytes = *bytes,
                             .together = *together != 0,
                             .most_threads = *bound};
  memcpy(&made->entry, &entry, sizeof entry);
  module->functions = made;
  *function = made;
  return standin_leave(CUDA_SUCCESS);
}
