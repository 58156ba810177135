#!/bin/sh
# Golden rows of `convert` against a VHDL design with GHDL: the self-test on the flipped bit, then the suite.
#   run.sh SUITE DESIGN.vhd...     SUITE: path without ending of .mem .neg.mem .desc .svh; one file holds entity `dut`. STALL: seed of gaps
# Exit code: 0 PASS after a passed self-test, 1 FAIL, 2 misuse, bad file or failed self-test, 4 X, 5 no ghdl.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
command -v ghdl >/dev/null || { echo "run.sh: no ghdl here (Debian: apt-get install ghdl)" >&2; exit 5; }
[ $# -ge 2 ] && [ -f "$1.svh" ] || { echo "usage: run.sh SUITE DESIGN.vhd...: SUITE.svh is needed" >&2; exit 2; }
suite=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
shift
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
macro() { sed -n "s/^\`define TC_$1 \"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" "$suite.svh"; }
ghdl -a --std=08 --workdir="$work" "$here/emu_rows.vhd" "$@" "$here/bench.vhd" >&2 || exit 2

digest=$(sed -e '$d' -e 's, //.*,,' -e 's/_/ /g' "$suite.mem" | { sha256sum 2>/dev/null || shasum -a 256; } | cut -d ' ' -f 1)
[ "$digest" = "$(macro ROWS_SHA256)" ] || { echo "run.sh: $suite.mem: edited or truncated: its rows have another digest" >&2; edited=yes; }

bench() { # ROWS COUNT LEAST: prints what the bench prints, keeps it in $work/log
    (cd "$work" && ghdl --elab-run --std=08 --workdir="$work" bench -gvec="$1" -gdesc="$suite.desc" -gn="$2" -gleast="$3" \
        -gstall="${STALL:-0}" --ieee-asserts=disable >log 2>&1)
    code=$?
    grep -c '^RESULT ' "$work/log" | grep -qx 1 || { cat "$work/log" >&2; exit 2; }
}
identity="suite=$(macro STEM) rows_sha256=$(macro ROWS_SHA256)"
bench "$suite.neg.mem" "$(macro NEG_N)" 1
tested=$(grep '^RESULT ' "$work/log")
bench "$suite.mem" "$(macro N)" "$(($(macro N) - $(macro OPEN)))"
grep -E '^(MISMATCH|RESULT|bench:) ?' "$work/log"
[ -z "${edited:-}" ] || exit 2
case $(grep '^RESULT ' "$work/log") in
"RESULT PASS reason=none $identity compared=$(($(macro N) - $(macro OPEN))) mismatch=0 x=0 "*) [ "$code" -eq 0 ] || exit 2 ;;
"RESULT FAIL reason=x "*) exit 4 ;;
"RESULT FAIL "*) exit 1 ;;
*) exit 2 ;;
esac
case $tested in
"RESULT FAIL reason=mismatch $identity "*" mismatch=1 x=0 "*) exit 0 ;;
*) echo "run.sh: the suite passes, yet the self-test does not find its one flipped bit: $tested" >&2; exit 2 ;;
esac
