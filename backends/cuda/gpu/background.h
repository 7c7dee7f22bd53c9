// Work beside the caller's: libraries that are slow to load, functions to compile. Private to the backend.
#ifndef DP_BACKENDS_CUDA_BACKGROUND_H
#define DP_BACKENDS_CUDA_BACKGROUND_H

#ifdef __cplusplus
extern "C" {
#endif

// One piece of work. It is zero but for `work` before it is started, and lives until it has been waited for or the
// process ends. Any thread may call the functions below.
typedef struct dp_cuda_job {
  void (*work)(struct dp_cuda_job *job);
  struct dp_cuda_job *next;
  enum { DP_CUDA_JOB_NEW, DP_CUDA_JOB_WAITS, DP_CUDA_JOB_RUNS, DP_CUDA_JOB_DONE } state;
} dp_cuda_job;

// Has the job done by a thread, as soon as one of them is free: there are as many as the machine has cores, at most 8,
// and each ends when nothing is left to do. Returns at once. A job that was started before is left alone. When the
// process ends, it waits for the jobs that run, and drops those that do not.
void dp_cuda_job_start(dp_cuda_job *job);
// Returns when the job is done; the caller sees what it did. If no thread has taken it up, the caller does it.
void dp_cuda_job_wait(dp_cuda_job *job);
// Drops the jobs that no thread has taken up, which may be started again, and waits for the others.
void dp_cuda_jobs_end(void);

#ifdef __cplusplus
}
#endif
#endif
