#!/bin/sh
# cuda_code.sh DPC DPRUN FOLDER KINDS MODEL...: compiles the functions that plans of the models need on GPUs of these
# kinds ("sm_80,sm_90") into the folder, in bfloat16 and, for two devices, in float32. dprun takes them from there: see
# docs/gpu.md. Where there is no NVRTC, says so and leaves the folder empty. No GPU is needed. Run by //tools:cuda_code.
set -eu
dpc=$1 dprun=$2 folder=$3 kinds=$4
shift 4
plan=$(mktemp)
trap 'rm -f "$plan" "$plan.safetensors"' EXIT
mkdir -p "$folder"
for model in "$@"; do
  for options in --precision=bf16 "--strategy=data --devices=2"; do
    # shellcheck disable=SC2086 # words of options
    "$dpc" compile "$model" --target=cuda --batch=64 $options -o "$plan"
    code=0
    "$dprun" "$plan" --make-code="$folder" --device="cuda:$kinds" 2> "$plan.log" || code=$?
    cat "$plan.log" >&2
    rm -f "$plan.log"
    if [ "$code" = 69 ]; then
      echo "cuda_code: no code is made beforehand; GPUs' functions are compiled where they run" >&2
      exit 0
    fi
    [ "$code" = 0 ] || exit "$code"
  done
done
