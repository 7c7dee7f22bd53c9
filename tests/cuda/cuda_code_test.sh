#!/bin/sh
# What Bazel's rule cuda_code makes is what dprun --make-code makes for the model's plans: with the toolkit, for the kind
# of GPU that the rule names; without it, nothing. The script ends with the errors of dpc and dprun.
set -eu
made=tests/cuda/small_code work=${TEST_TMPDIR:-/tmp}/code
mkdir -p "$work"
fail() {
  echo "$1" >&2
  exit 1
}
tools/dpc compile examples/mlp.dpt --target=cuda --batch=64 --precision=bf16 -o "$work/plan.bin"
code=0
tools/dprun "$work/plan.bin" --make-code="$work/own" --device=cuda:sm_90 2> "$work/log" || code=$?
if [ "$code" = 69 ]; then
  cat "$work/log"
  [ -z "$(ls "$made")" ] || fail "without NVRTC there is code all the same"
  echo "left out: there is no NVRTC"
else
  [ "$code" = 0 ] || fail "$(cat "$work/log")"
  [ "$(ls "$work/own" | grep -c -- '-sm_90-')" -gt 10 ] || fail "few functions are needed"
  for file in "$work"/own/*; do
    cmp "$file" "$made/$(basename "$file")" || fail "the rule's code is another"
  done
  [ "$(ls "$made" | wc -l)" -gt "$(ls "$work/own" | wc -l)" ] || fail "the plan in float32 adds nothing"
fi
! tools/cuda_code.sh tools/dpc tools/dprun "$work/none" sm_90 "$work/no.dpt" 2> "$work/log" || fail "no model, no error"
grep -q "no.dpt" "$work/log" || fail "$(cat "$work/log")"
