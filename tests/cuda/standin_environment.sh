# Sourced in the project's root: what is started from here on finds the stand-ins of CUDA's libraries, which have been
# built, and keeps what they compile in a folder of its own.
LD_LIBRARY_PATH=$PWD/bazel-bin/tests/cuda/standin
XDG_CACHE_HOME=$PWD/build/standin
DP_CUDA_CODE=
rm -rf "$XDG_CACHE_HOME"
mkdir -p "$XDG_CACHE_HOME"
export LD_LIBRARY_PATH XDG_CACHE_HOME DP_CUDA_CODE
