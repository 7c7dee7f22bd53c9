#!/bin/sh
# run.sh BINARY SEEDS.tar RUNS MAX_LEN: runs one harness on its seeds and on RUNS inputs derived from them. The inputs
# are the same each time.
set -eu
corpus=$(mktemp -d "${TEST_TMPDIR:-/tmp}/corpus.XXXXXX")
trap 'rm -rf "$corpus"' EXIT
tar -C "$corpus" -xf "$2"
mkdir "$corpus.found"
mv "$corpus/words.dict" "$corpus.dict"
"$1" -runs=0 -rss_limit_mb=2048 "$corpus" 2>"$corpus.log" || { tail -n 60 "$corpus.log"; exit 1; }
"$1" -runs="$3" -seed=1 -dict="$corpus.dict" -max_len="$4" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=1024 -print_final_stats=1 \
  -artifact_prefix="${TEST_UNDECLARED_OUTPUTS_DIR:-/tmp}/" "$corpus.found" "$corpus" 2>"$corpus.log" ||
  { tail -n 80 "$corpus.log"; exit 1; }
grep -E '^stat::|^Done' "$corpus.log"
