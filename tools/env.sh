# Sourced by quickstart and test in the root of the project. Makes sure that packages are installed and Bazel can run.

# If packages are missing and cannot be installed, end the caller with the status of tools/setup (69).
tools/setup || exit

# Bazel keeps its outputs in the home folder; use build/ if that is not writable.
if [ ! -d "${HOME:-}" ] || [ ! -w "$HOME" ]; then
  HOME=$PWD/build/home
  mkdir -p "$HOME"
  export HOME
fi

# Bazel needs the user's name. For a user without one (in a container), `id` prints the number and fails.
USER=${USER:-$(id -un 2>/dev/null || true)}
export USER

# Without a terminal, print only failures and the list of tests.
quiet="--ui_event_filters=-info --show_result=0"
if [ ! -t 2 ]; then quiet="$quiet --noshow_progress --noshow_loading_progress"; fi
