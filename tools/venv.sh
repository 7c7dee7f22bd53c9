# Sourced by the tests that need packages of PyPI. venv FOLDER PACKAGE...: a virtual environment with these packages in
# FOLDER, made once and again when the list changes; pip writes to FOLDER-pip.log. Status 69: they cannot be installed.
venv() {
  folder=$1
  shift
  if [ "$(cat "$folder/ready" 2>/dev/null)" = "$*" ]; then return; fi
  log=$folder-pip.log
  rm -rf "$folder"
  mkdir -p "${folder%/*}"
  if ! { python3 -m venv "$folder" && "$folder/bin/pip" install -q --disable-pip-version-check "$@"; } >"$log" 2>&1; then
    echo "${0#./}: not run: $* cannot be installed from PyPI (see $log)" >&2
    rm -rf "$folder"
    return 69
  fi
  echo "$*" >"$folder/ready"
}
