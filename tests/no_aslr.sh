#!/bin/sh
# Runs its arguments at fixed addresses if the kernel allows that (a container may not), else normally.
if setarch -R true 2>/dev/null; then
  exec setarch -R "$@"
fi
exec "$@"
