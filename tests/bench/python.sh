#!/bin/sh
exec python3 -B "$@"
