// Where elements of images (N, C, ...) lie. Device and host share it.
#ifndef DP_BACKENDS_CUDA_DEVICE_IMAGES_H
#define DP_BACKENDS_CUDA_DEVICE_IMAGES_H

// Strides in elements: along samples, channels, and the places of a plane in row-major order.
typedef struct {
  long long sample, channel, place;
} dp_image_strides;

#endif
