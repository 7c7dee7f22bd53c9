#!/bin/sh
# Tests tools/gpu_check: packs what this tree has built, runs every part on the stand-ins with short settings, and
# records the figures. nvidia-smi, compute-sanitizer, bazel and git are scripts here. Then parts that are broken: each
# must end gpu_check with 1.
set -eu
# The tests that gpu_check runs must not write their reports where this one's is looked for.
unset XML_OUTPUT_FILE
here=$PWD standins=$PWD/tests/cuda/standin
cd "$TEST_TMPDIR"
rm -rf tree pack broken few figures out out2 err bin calls
mkdir -p tree/tools tree/docs tree/tests bin
cp "$here/tools/gpu_check" tree/tools/
cp "$here/docs/gpu.md" tree/docs/
cp -rL "$here/examples" tree/examples
mkdir tree/tests/end_to_end
cp -L "$here"/tests/end_to_end/reference.* tree/tests/end_to_end/
cp -rL "$here/bench" tree/bench
chmod -R u+w tree
ln -s "$here" tree/bazel-bin

cat >bin/bazel <<'SCRIPT'
#!/bin/sh
echo "bazel $*" >>"$CALLS"
SCRIPT
printf '#!/bin/sh\necho 0123456789abcdef\n' >bin/git
printf '#!/bin/sh\necho "Stand-in, 570.00, 2048 MiB"\n' >bin/nvidia-smi
# Runs what it is given, unless it is told to find something.
cat >bin/compute-sanitizer <<'SCRIPT'
#!/bin/sh
echo "compute-sanitizer $*" >>"$CALLS"
[ -z "${FOUND:-}" ] || exit 1
while [ "${1#bin/}" = "$1" ]; do shift; done
exec "$@"
SCRIPT
chmod +x bin/*
PATH=$PWD/bin:$PATH CALLS=$PWD/calls
export PATH CALLS

fail() {
  echo "gpu_check_test: $1" >&2
  for file in out err figures/figures figures/*.log; do
    if [ -f $file ]; then echo "-- $file" && tail -n 20 $file; fi
  done >&2
  exit 1
}

try() {  # COMMAND...: status, out and err
  status=0
  "$@" >out 2>err || status=$?
}

# ---- packing --------------------------------------------------------------------------------------------------------

try tree/tools/gpu_check --pack pack
[ $status = 0 ] || fail "packing ends with $status"
for target in //tools:dpc //tools:dprun //tests/cuda:training_test //tests/end_to_end:reference_test; do
  grep -q "bazel build .*$target" calls || fail "packing does not build $target"
done
bytes=$(du -sb pack | cut -f1)
echo "packed: $bytes bytes"
[ "$bytes" -le $((45 * 1024 * 1024)) ] || fail "the pack has $bytes bytes"
tar -tJf pack/tree.tar.xz | grep -qx tree/bench/gpu || fail "bench/gpu is not packed"
for library in $(tar -tJf pack/tree.tar.xz | grep '/lib/'); do
  case $library in *cuda* | *nvrtc* | *cublas* | *cudnn*) fail "CUDA's own $library is packed" ;; esac
done
try tree/tools/gpu_check --pack pack
[ $status = 73 ] || fail "packing into a folder that exists ends with $status"

# ---- running --------------------------------------------------------------------------------------------------------

LD_LIBRARY_PATH=$standins
export LD_LIBRARY_PATH

# One case in many of each test, as GoogleTest reads it.
GTEST_TOTAL_SHARDS=36 GTEST_SHARD_INDEX=3
export GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX

parts="correctness functions training many memcheck racecheck speed kernels initcheck synccheck"
: >calls
try pack/gpu_check --out figures --steps=2 --mib=1 --small
[ $status = 0 ] || fail "all parts end with $status"
say() { grep -Eqx "$1" figures/figures || fail "the figures lack $1"; }
say 'commit 0123456789abcdef'
say 'Stand-in, 570.00, 2048 MiB'
for test in training kernels blaslt cudnn reference; do say "correctness ${test}_test: passed, [0-9]+ s"; done
for test in attention hard_cases windows; do say "functions ${test}_test: passed, [0-9]+ s"; done
grep -q '^\[       OK \] .*CudaTraining' figures/training_test.log || fail "no case of training_test ran"
for options in 'one device' '--strategy=data --devices=4' '--strategy=zero --zero-stage=3 --devices=2' \
  '--strategy=pipeline --devices=2'; do
  say "training digits_cnn $options: worst relative difference of 2 losses: [0-9.e-]+"
done
for tool in memcheck racecheck initcheck synccheck; do
  say "$tool $tool: passed, [0-9]+ s"
  grep -q "^compute-sanitizer --tool $tool --error-exitcode 1 bin/dprun .*--device=cuda" calls ||
    fail "$tool is not run"
done
for devices in 2 4 8; do
  say "many digits_cnn $devices devices on one GPU: worst relative difference of 2 losses: [0-9.e-]+"
  for options in '--strategy=data' '--strategy=zero --zero-stage=3'; do
    say "many digits_cnn $options, $devices devices on one GPU: [0-9.]+ ms between devices, [0-9]+ % of it beside computing"
  done
  for collective in all-reduce reduce-scatter all-gather; do
    say "many: $collective of 1.0 MiB between $devices devices on 1 GPU, ours: .* GB/s, [0-9]+ % of a copy's"
  done
done
say 'many nccl_capture_test: passed, [0-9]+ s'
say 'many: this machine has one GPU'
for example in mlp digits_cnn; do say "speed $example: [0-9.]+ ms a step, the median of 2"; done
say 'kernels: a copy of 0.1 MiB: [0-9.]+ us, [0-9.]+ GB/s'
say "kernels: cuda.device.Transpose bfloat16\[.*\] \{perm=\[0,2,1,3\]\}: [0-9.]+ us, [0-9.]+ GB/s, [0-9]+ % of a copy's"
say "kernels: cuda.cudnn.Conv float32\[.*\] .*: [0-9.]+ us, [0-9.]+ TFLOP/s, [0-9]+ % of the largest product's"
[ "$(sed -n 's/^\([a-z]*\): [0-9]* s$/\1/p' figures/figures | tr '\n' ' ')" = "$parts " ] || fail "the order of parts"

# Two GPUs.
printf '#!/bin/sh\nprintf "Stand-in, 570.00, 2048 MiB\\nStand-in, 570.00, 2048 MiB\\n"\n' >bin/nvidia-smi
try env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX DP_STANDIN_DEVICES=2 pack/gpu_check --out two --steps=2 --mib=1 many
[ $status = 0 ] || { mv two/figures figures/ && fail "two GPUs end with $status"; }
grep -q '^\[       OK \] NcclCapture.OneRankIsReplayed' two/nccl_capture_test.log || fail "no communicator was captured"
for by in ours 'NCCL 2.28.9, Ring, Simple, 16 channels'; do
  grep -Eq "^many: all-reduce of 1.0 MiB between 2 devices on 2 GPUs, $by: .* sent, .* of a copy's" two/figures ||
    fail "collectives between GPUs are not timed: $(cat two/figures)"
done
for options in '--strategy=data --devices=8' '--strategy=zero --zero-stage=3 --devices=8' \
  '--strategy=tensor --devices=8' '--strategy=pipeline --devices=8'; do
  grep -Eqx "many digits_cnn --reproducible $options: the losses of one GPU, [0-9.]+ ms a step, the median of 2 on all of them" \
    two/figures || fail "many does not say what became of $options: $(cat two/figures)"
done
grep -q '^GPU 1 (stand-in, .*): devices 4-7$' two/figures || fail "many does not say which devices are where"
grep -q '^each GPU reaches' two/figures || fail "many does not say what GPUs reach"

# bench/gpu, with what stands for PyTorch. gpu_check starts it by that Python too.
cat >bin/torch <<SCRIPT
#!/bin/sh
case \$* in *theirs.py* | *peaks.py*) exec $here/tests/bench/stand_in.py "\$@" ;; esac
exec python3 "\$@"
SCRIPT
chmod +x bin/torch
try env DP_TORCH_PYTHON="$PWD/bin/torch" pack/gpu_check --out bench --small --calibrate --fast-math=winograd --steps=3 \
  mlp/compile mnist-cnn/alone
[ $status = 0 ] || { mv bench figures && fail "bench/gpu ends with $status"; }
for line in 'mlp/compile: Stand-in, 570.00, 2048 MiB, fp32, batch 8, .*' '  compile +40.000 ms .*' \
  '  theirs / ours: time .*' 'mnist-cnn/alone: .*' '  loss ours +1: [0-9.]+  2: [0-9.]+  3: [0-9.]+'; do
  grep -Eqx -- "$line" bench/figures || fail "the figures of bench/gpu lack $line: $(cat bench/figures bench/bench.log)"
done
grep -q '"fast_math": "winograd"' bench/bench.json || fail "bench/gpu is not told of --fast-math"
grep -q '"commit": "0123456789abcdef"' bench/bench.json || fail "bench.json does not say of which commit"
try env DP_TORCH_PYTHON="$PWD/bin/torch" FAIL=steps pack/gpu_check --out bench --small --steps=3 mlp/compile
[ $status = 1 ] && grep -q '^mlp/compile: failed: ' bench/figures || fail "a peer that fails is not reported"
try pack/gpu_check --out bench mlp/nobody
[ $status = 1 ] && grep -qx 'mlp/nobody: failed' bench/figures || fail "a peer that is not there is not reported"

# ---- recording ------------------------------------------------------------------------------------------------------

lines=$(wc -l <tree/docs/gpu.md)
try tree/tools/gpu_check --record figures
[ $status = 0 ] || fail "recording ends with $status"
sed 1,"$lines"d tree/docs/gpu.md | sed -n 's/^    //p' | cmp -s - figures/figures || fail "the figures are not recorded"
head -n "$lines" tree/docs/gpu.md | cmp -s - "$here/docs/gpu.md" || fail "recording changes what was there"
try tree/tools/gpu_check --record nowhere
[ $status = 66 ] || fail "recording nothing ends with $status"

# ---- what is refused ------------------------------------------------------------------------------------------------

for wrong in nothing /nothing nothing/ --nothing --steps=0 --steps=few --steps= --mib=0 --mib=few --seconds=0 \
  --seconds=few --out; do
  try pack/gpu_check $wrong
  [ $status = 64 ] && [ "$(wc -l <err)" -eq 1 ] || fail "'$wrong' ends with $status"
done
try tree/tools/gpu_check
[ $status = 64 ] || fail "running what is not packed ends with $status"
mkdir few
for tool in sh dirname basename mkdir mktemp tar xz rm cat date tee head cp; do
  ln -s "$(command -v $tool)" few/$tool
done
try env PATH="$PWD/few" pack/gpu_check --out out2 speed
[ $status = 69 ] || fail "without a driver it ends with $status"

# ---- what is broken -------------------------------------------------------------------------------------------------

# A pack whose programs are scripts: dprun's losses are those of LOSS_cpu and LOSS_cuda.
mkdir broken
tar -C broken -xJf pack/tree.tar.xz
for test in broken/tree/bin/*_test; do printf '#!/bin/sh\nexit 0\n' >"$test"; done
printf '#!/bin/sh\nexit 0\n' >broken/tree/bin/dpc
for program in collectives_speed kernels_speed; do
  printf '#!/bin/sh\n[ -z "${SILENT:-}" ] && echo figures\n[ -z "${HANGS:-}" ] || exec sleep "$HANGS"\nexit "${SPEED:-0}"\n' \
    >broken/tree/bin/$program
done
cat >broken/tree/bin/dprun <<'SCRIPT'
#!/bin/sh
[ -z "${HANGS:-}" ] || exec sleep "$HANGS"
device=cpu
for argument in "$@"; do
  case $argument in
    --device=*) device=${argument#*=} ;;
    --metrics=*) metrics=${argument#*=} ;;
    --trace=*) [ -n "${NO_TRACE:-}" ] || echo '{"otherData":{"communication_ns":5,"hidden_ns":'"${HIDDEN:-2}"'},' >"${argument#*=}" ;;
  esac
done
case $device in cuda) [ -z "${LOSS_many:-}" ] || LOSS_cuda=$LOSS_many ;; cuda:*) device=cuda ;; esac
eval "loss=\$LOSS_$device"
[ -z "${metrics:-}" ] || [ -z "$loss" ] || echo '{"event":"step","step":1,"loss":'"$loss"',"ms":1.5}' >"$metrics"
exit "${STATUS:-0}"
SCRIPT
tar -C broken -cJf broken/tree.tar.xz tree
cp pack/gpu_check broken/
export LOSS_cpu=2.5 LOSS_cuda=2.5 STATUS=0

expect() {  # STATUS FIGURES PART: the part ends so and says so
  rm -rf figures
  try broken/gpu_check --out figures "$3"
  [ $status = "$1" ] || fail "$3 ends with $status, expected $1"
  grep -q "$2" figures/figures || fail "$3 does not say $2"
}

expect 0 'blaslt_test: passed' correctness
expect 0 'windows_test: passed' functions
expect 0 'losses: 0$' training
expect 0 'memcheck: passed' memcheck
expect 0 '1.5 ms a step, the median of 1' speed
expect 0 'the losses of one GPU' many
expect 0 '40 % of it beside computing' many
NO_TRACE=1 expect 1 'no trace' many
HIDDEN=0 expect 1 ' 0 % of it beside computing' many
SPEED=1 expect 1 '' many
expect 0 'kernels: figures' kernels
SPEED=1 expect 1 'kernels: figures' kernels
SILENT=1 expect 1 '' kernels
LOSS_cuda=2.50000001 expect 1 'losses: 4e-09' many
LOSS_cuda=2.50000001 expect 1 'losses: 4e-09' training
LOSS_many=2.50000001 expect 1 'not the losses of one GPU' many
LOSS_cuda=null expect 1 'not comparable' training
LOSS_cuda= expect 1 'not comparable' training
LOSS_cuda= expect 1 'no figures' speed
STATUS=70 expect 1 '' speed
STATUS=70 expect 1 'losses: 0$' training
# What hangs is stopped when the time is over, whichever part it is in, and parts that do not fit any more are named.
for part in training speed many kernels memcheck; do
  rm -rf figures
  begun=$(date +%s)
  HANGS=600 try broken/gpu_check --out figures --seconds=11 "$part" correctness initcheck
  [ $status = 1 ] || fail "$part that hangs ends with $status"
  [ $(($(date +%s) - begun)) -lt 60 ] || fail "$part that hangs takes $(($(date +%s) - begun)) s"
  for left in correctness initcheck; do
    grep -qx "$left: left out, since 11 s are over" figures/figures || fail "$left is not named as left out after $part"
  done
done
export FOUND=1
for tool in memcheck racecheck initcheck synccheck; do expect 1 "$tool: failed (1)" $tool; done
for test in blaslt windows; do printf '#!/bin/sh\nexit 1\n' >broken/tree/bin/${test}_test; done
tar -C broken -cJf broken/tree.tar.xz tree
expect 1 'blaslt_test: failed (1)' correctness
expect 1 'windows_test: failed (1)' functions
