#!/bin/sh
# kubectl runs this file, kubectl_complete-watchscope on the PATH, to complete `kubectl watchscope` in any shell.
exec kubectl-watchscope __complete "$@"
