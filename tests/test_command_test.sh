#!/bin/sh
# Tests which parts tools/test runs, with which arguments, and what it makes of their results. Bazel and the other tools
# are stand-ins here, which write down how they are called.
set -eu
test=$PWD/$1 awk=$PWD/$2
cd "$TEST_TMPDIR"
mkdir -p tools tests/contributing bin
cp "$test" tools/test
cp "$awk" tests/count.awk
echo 'quiet=--quiet' >tools/env.sh

cat >stand_in <<'SH'
#!/bin/sh
echo "${0##*/} $*" >>calls
case ${0##*/} in onnx_tests | tensorboard_tests | torch_tests) echo "count 5 0 0" ;; esac
[ "${0##*/}" != "${BROKEN:-}" ]
SH
cat >bin/bazel <<'SH'
#!/bin/sh
echo "bazel $*" >>calls
for argument in "$@"; do
  case $argument in --build_event_json_file=*) events=${argument#*=} ;; esac
done
echo '<testcase name="a" status="run" classname="S" />' >test.xml
echo '{"id":{"testResult":{"label":"//a:a"}},"testResult":{"testActionOutput":[{"name":"test.xml",' \
  '"uri":"file://'"$PWD"'/test.xml"}],"status":"PASSED"}}' | sed 's/, "uri/,"uri/' >"$events"
SH
for tool in tools/format tools/layers tools/citations tools/architecture tools/trusted_base tools/onnx_tests \
  tools/tensorboard_tests tools/torch_tests tools/setup tests/documented_labels tests/contributing/follow; do
  cp stand_in $tool
done
chmod +x bin/bazel tools/* tests/documented_labels tests/contributing/follow
PATH=$PWD/bin:$PATH

fail() {
  echo "$1: status $status, out '$(cat out)', err '$(cat err)', calls '$(cat calls)'" >&2
  exit 1
}

try() {
  : >calls
  status=0
  tools/test "$@" >out 2>err || status=$?
}

ran() { sed -n 's/^== //p' out | tr '\n' ' '; }

expect() {  # PARTS COUNT OPTIONS...: these parts run, in this order; so many cases pass
  parts=$1 count=$2
  shift 2
  try "$@"
  [ $status = 0 ] && [ "$(ran)" = "$parts " ] || fail "tools/test $*: expected $parts"
  [ "$(tail -n 1 out)" = "$count passed, 0 failed" ] || fail "tools/test $*: expected $count cases"
}

checks="format layers citations rooms trusted labels"
expect "$checks plain avx2 onnx onnxcuda tensorboard fuzz asan tsan" 26
expect "$checks contributing plain avx2 onnx onnxcuda tensorboard browser fuzz asan tsan tsanlong" 29 --full
grep -qx 'setup --browser' calls || fail "the browser is installed"
expect "$checks plain avx2 onnx onnxcuda tensorboard torch fuzz asan tsan" 31 --torch
expect "format" 1 --only=format
grep -qx 'format --check' calls && [ "$(wc -l <calls)" -eq 1 ] || fail "the format alone is checked"
expect "layers plain tsan" 3 --only=tsan,plain,layers
! grep -q DP_FULL calls && grep -q -- '--config=tsan .*--test_tag_filters=san' calls || fail "the short suites"
! grep -- '--config=tsan' calls | grep -q '//tests/passes' || fail "what has one thread is left out"
expect "plain asan tsanlong" 3 --full --only=plain --only=tsanlong --only=asan
grep -q 'DP_FULL=1' calls && ! grep -q test_tag_filters=san calls || fail "the full suites"
grep -q -- '--config=tsanlong .*--test_tag_filters=threads' calls || fail "what the long run adds for threads"
expect "tensorboard" 5 --only=tensorboard
expect "onnxcuda" 5 --only=onnxcuda
grep -qx 'onnx_tests --standin --every=10' calls || fail "a sample on the stand-ins"
expect "onnxcuda" 5 --full --only=onnxcuda
grep -qx 'onnx_tests --standin' calls || fail "all of ONNX's on the stand-ins"
expect "contributing" 1 --only=contributing
expect "torch" 5 --only=torch
expect "browser" 1 --only=browser
grep -q 'tests/browser:report_browser_test' calls || fail "the browser's test"
expect "onnx torch" 10 --only=onnx --torch

for wrong in speed '' plain,,tsan 'plain tsan' 'p*' 'plain,' ','; do
  try "--only=$wrong"
  [ $status = 64 ] && [ ! -s calls ] && [ "$(wc -l <err)" -eq 1 ] || fail "--only=$wrong is refused"
  grep -q "$checks contributing plain avx2 onnx onnxcuda tensorboard torch browser fuzz asan tsan tsanlong" err ||
    fail "the message lists the parts"
done
grep -q "there is no part ''" err || fail "the message names the part"

try --help
for part in $checks contributing plain avx2 onnx onnxcuda tensorboard torch browser fuzz asan tsan tsanlong; do
  grep -q "\b$part\b" out || fail "--help names $part"
done

BROKEN=layers
export BROKEN
try --only=format,layers
[ $status = 1 ] && grep -qx 'failed layers tools/layers' out && grep -qx '1 passed, 1 failed' out ||
  fail "a part that fails"
try --only=format
[ $status = 0 ] || fail "a part that fails and is not named"
