// How long GPUs may wait for each other. Private to the backend.
#ifndef DP_BACKENDS_CUDA_PATIENCE_H
#define DP_BACKENDS_CUDA_PATIENCE_H

// Seconds; 0: for ever. 600 unless set.
void dp_cuda_set_timeout(double seconds);
double dp_cuda_timeout(void);

#endif
