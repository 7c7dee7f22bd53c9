#!/bin/sh
# Tests tools/setup on machines where packages are present or missing, with and without root. dpkg-query, apt-get, id
# and sudo are stand-ins here, so nothing is installed.
set -eu
setup=$PWD/$1
cd "$TEST_TMPDIR"
# Only these tools can be found, so that the machine's sudo is not used.
mkdir bin
for tool in sh cat grep sed wc ls mktemp rm tail; do ln -s "$(command -v $tool)" bin/$tool; done
cat >bin/dpkg-query <<'SH'
#!/bin/sh
shift 3
for package in "$@"; do
  case " $ABSENT " in *" $package "*) echo "dpkg-query: no packages found matching $package" >&2 ;; *) echo "$package=installed" ;; esac
done
case " $ABSENT " in *" removed "*) echo "zlib1g-dev=config-files" ;; esac
SH
cat >bin/apt-get <<'SH'
#!/bin/sh
echo "$*" >>apt.log
exit "${APT_STATUS:-0}"
SH
printf '#!/bin/sh\necho "$ID"\n' >bin/id
printf '#!/bin/sh\n' >bin/sudo
chmod +x bin/dpkg-query bin/apt-get bin/id bin/sudo
PATH=$PWD/bin
export PATH ABSENT ID APT_STATUS

fail() {
  echo "$1: status $status, stdout '$(cat out)', stderr '$(cat err)', apt '$(cat apt.log)'" >&2
  exit 1
}

options=
try() {  # ABSENT ID [APT_STATUS]
  ABSENT=$1 ID=$2 APT_STATUS=${3:-0}
  : >apt.log
  status=0
  "$setup" $options >out 2>err || status=$?
}

try "" 1000
[ $status = 0 ] && [ ! -s out ] && [ ! -s err ] && [ ! -s apt.log ] || fail "nothing missing, no word and no call"

try "libdnnl-dev gcc" 1000
[ $status = 69 ] && [ ! -s apt.log ] && [ "$(wc -l <out)" -eq 1 ] || fail "without root, one line and 69"
grep -q 'sudo apt-get install -y --no-install-recommends gcc libdnnl-dev$' out || fail "the line names what is missing"

rm bin/sudo
try "gcc" 1000
[ $status = 69 ] && ! grep -q sudo out && grep -q 'apt-get install -y --no-install-recommends gcc$' out || fail "no sudo, no word of it"

try "g++ zlib1g-dev removed" 0
[ $status = 0 ] && [ ! -s out ] || fail "root installs"
grep -q '^-q update$' apt.log && grep -q '^-q install -y --no-install-recommends .* g++ zlib1g-dev$' apt.log || fail "root installs what is missing"

try "gcc" 0 100
[ $status = 69 ] && grep -q 'could not install' err || fail "apt-get's failure is reported"

try "chromium-headless-shell" 0
[ $status = 0 ] && [ ! -s apt.log ] || fail "no browser unless it is asked for"
options=--browser
try "chromium-headless-shell" 0
[ $status = 0 ] && grep -q '^-q install .* chromium-headless-shell$' apt.log || fail "--browser installs one"
options=--brows
try "" 0
[ $status = 64 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -s apt.log ] || fail "an unknown option is refused"
