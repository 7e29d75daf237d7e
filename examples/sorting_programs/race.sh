#!/bin/sh
# Which two of five sorting programs are fastest on 1,000 numbers in random order?
# More options of `bestk race` may follow: sh race.sh --json
cd "$(dirname "$0")" || exit 1
NUMBERS=$(mktemp) || exit 1
export NUMBERS
trap 'rm -f "$NUMBERS"' EXIT
bestk race -k 2 --warmup 2 --prepare 'python3 shuffle.py' "$@" \
  'python3 builtin.py' 'python3 heap.py' 'python3 insertion.py' 'python3 selection.py' \
  'python3 bubble.py'
