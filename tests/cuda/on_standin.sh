#!/bin/sh
# on_standin.sh TEST [ARGUMENT...]: runs a test on the backend cuda, with stand-ins for the driver and CUDA's libraries.
LD_LIBRARY_PATH=$PWD/tests/cuda/standin
XDG_CACHE_HOME=${TEST_TMPDIR:-/tmp}
DP_CUDA_CODE=
DP_TEST_TARGET=cuda
export LD_LIBRARY_PATH XDG_CACHE_HOME DP_CUDA_CODE DP_TEST_TARGET
exec "$@"
