// What generated functions of elementwise nodes begin with.
#include "backends/cuda/device/elementwise.h"
