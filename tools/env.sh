# Sourced by quickstart and test, from the root of the project: the packages are there and Bazel can be called.

# Ends the caller with its status (69) when packages are missing and cannot be installed.
tools/setup || exit

# Bazel keeps its outputs under the home folder; where there is none to write to, under build/.
if [ ! -d "${HOME:-}" ] || [ ! -w "$HOME" ]; then
  HOME=$PWD/build/home
  mkdir -p "$HOME"
  export HOME
fi

# Bazel asks for the user's name; `id` prints the number, and fails, for a user without one (in a container).
USER=${USER:-$(id -un 2>/dev/null || true)}
export USER

# Off a terminal Bazel prints what fails and the list of tests, no more.
quiet="--ui_event_filters=-info --show_result=0"
if [ ! -t 2 ]; then quiet="$quiet --noshow_progress --noshow_loading_progress"; fi
