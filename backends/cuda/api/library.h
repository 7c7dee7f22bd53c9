// Libraries of CUDA, loaded when they are first needed. Nothing is linked, so one dprun runs everywhere.
#ifndef DP_BACKENDS_CUDA_API_LIBRARY_H
#define DP_BACKENDS_CUDA_API_LIBRARY_H

#include <pthread.h>

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// One library: where it may be, and the calls to look up in it.
typedef struct {
  const char *what;            // "cuDNN", for errors
  const char *const *sonames;  // the newest first; ends with NULL
  const char *folder;          // in Python's wheels: "nvidia/cudnn/lib"; NULL: it comes with the driver
  const char *const *calls;    // names; ends with NULL
  void **table;                // a pointer for each of the calls, then of the newer ones: NULL where they are missing
  pthread_mutex_t lock;        // PTHREAD_MUTEX_INITIALIZER
  bool loaded;
  const char *const *newer;  // names of calls that newer versions have; ends with NULL; NULL: none are asked for
  bool of_toolkit;           // sonames end with the version of CUDA that they belong to
} dp_cuda_library;

// Libraries of the toolkit, and the machine code that they make, need a driver of at least their own major version.
// None newer than this is loaded from now on; without a driver there is no limit.
void dp_cuda_library_limit(int major);
int dp_cuda_library_most(void);

// CUDA's libraryPropertyType: what the calls ...GetProperty of its libraries are asked for.
enum { DP_CUDA_MAJOR_VERSION, DP_CUDA_MINOR_VERSION, DP_CUDA_PATCH_LEVEL };

// Loads the library and fills its table, unless that has been done. The system's search path comes first
// (LD_LIBRARY_PATH too), then CUDA_HOME, then Python's wheels. EX_UNAVAILABLE: it is not there, or too old to have one
// of the calls. The library stays loaded. Any thread may call this; one that comes while another one loads waits for
// it.
dp_status dp_cuda_library_load(dp_cuda_library *library) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
