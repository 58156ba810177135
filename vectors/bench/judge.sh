#!/bin/sh
# Compiles the bench of one suite with a design, runs the self-test, then the suite, and judges. No Python.
# Variables (make passes them): SIM icarus or verilator, SUITE path without ending, DUT and WRAP design files, DEFINES macros "A=1 B=2",
# STALL seed of gaps, STAGES 1: compare stage columns, ARGS more plusargs, SEEDS of unwritten bits (Verilator), BUILD folder, LIMIT seconds.
# Exit codes: 0 passed, 1 differs, 2 misuse or bad file, 3 nothing compared, 4 X or Z, 5 tool missing or broken.
set -u
export LC_ALL=C
kit=$(cd "$(dirname "$0")" && pwd)
SIM=${SIM:-icarus} BUILD=${BUILD:-out} SEEDS=${SEEDS:-1 2 3 4 5 6 7 8} LIMIT=${LIMIT:-600}
SUITE=${SUITE:-} DUT=${DUT:-} WRAP=${WRAP:-} DEFINES=${DEFINES:-} STALL=${STALL:-} STAGES=${STAGES:-} ARGS=${ARGS:-}

stop() { # CODE WORDS...
    code=$1; shift
    echo "judge: $*"
    exit "$code"
}

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

macro() { sed -n "s/^\`define TC_$1 //p" "$SUITE.svh" | tr -d '"'; }

limited() { # runs a program, not longer than LIMIT
    if command -v timeout >/dev/null; then timeout "$LIMIT" "$@"; else "$@"; fi
}

rows_of() { sed -e '$d' -e 's, //.*,,' -e 's/_/ /g' "$1"; }

check_text() { # FILE: what loads silently although it is wrong
    [ -s "$1" ] || stop 2 "$1: missing or empty"
    [ "$(tail -c 1 "$1" | od -An -tx1 | tr -d ' ')" = 0a ] || stop 2 "$1: the last line does not end in LF: Verilator would drop it"
    ! grep -q "$(printf '\r')" "$1" || stop 2 "$1: carriage return: lines end in LF alone"
}

check_files() {
    for file in "$SUITE.svh" "$SUITE.mem" "$neg.neg.mem" "$neg.json"; do check_text "$file"; done
    entry=$(grep -F "\"file\":\"$name.mem\"" "$neg.json") || stop 2 "$neg.json: knows no $name.mem"
    rows=$(macro N) digest=$(macro ROWS_SHA256)
    case $entry in
        *"\"rows\":$rows,\"sha256\":\"$digest\""*) ;;
        *) stop 2 "$SUITE.svh: its count or digest is not that of $neg.json: build the suite again" ;;
    esac
    [ "$(macro STEM)" = "$name" ] || stop 2 "$SUITE.svh: made for $(macro STEM)"
    found=$(rows_of "$SUITE.mem" | sha256)
    [ "$found" = "$digest" ] || stop 2 "$SUITE.mem: edited or truncated: its rows have digest $found, not $digest"
    negative=$(macro NEG_N)
    [ "$(macro BASE)" = 1 ] || return 0
    rows_of "$SUITE.mem" | head -n "$negative" >"$BUILD/first"
    rows_of "$neg.neg.mem" | diff "$BUILD/first" - >"$BUILD/flipped"
    [ "$(grep -c '^>' "$BUILD/flipped")" = 1 ] && [ "$(grep -c '^<' "$BUILD/flipped")" = 1 ] \
        || stop 2 "$neg.neg.mem: must be the first $negative rows with one bit flipped"
}

expected_rows() { # how many rows have a mask that is not 0 among the compared columns
    lists=$(macro OUTS) && [ -z "$STAGES" ] || lists="$lists$(macro STAGES)"
    names=$(printf '%s' "$lists" | tr '`' '\n' | sed -n 's/EMU_OUT(\([a-z0-9_]*\),.*/m_\1/p' | tr '\n' ' ')
    columns=$(sed -n 's/^`define TC_\([A-Z0-9_]*\)_LSB .*/\1/p' "$SUITE.svh" | tr 'A-Z\n' 'a-z ')
    rows_of "$SUITE.mem" | awk -v columns="$columns" -v names="$names" '
        BEGIN {
            count = split(columns, column, " ")
            total = split(names, name, " ")
            for (i = 1; i <= count; i++) at[column[i]] = i + 1
        }
        {
            for (i = 1; i <= total; i++) if ($(at[name[i]]) ~ /[1-9a-f]/) { compared++; break }
        }
        END { print compared + 0 }'
}

compiled() { # FOLDER OPTIONS AND FILES...: compiles module bench there
    folder=$1; shift
    mkdir -p "$folder" && rm -rf "$folder/bench.vvp" "$folder/obj_dir"
    if [ "$SIM" = icarus ]; then
        limited iverilog -g2012 -s bench -o "$folder/bench.vvp" "$@" >"$folder/compile.log" 2>&1 && [ -f "$folder/bench.vvp" ]
    else
        limited verilator --binary --timing -fno-life -Wno-fatal -Wno-lint -Wno-style --x-initial unique --x-assign unique \
            --timescale 1ns/1ps --top-module bench --Mdir "$folder/obj_dir" "$@" >"$folder/compile.log" 2>&1 && [ -x "$folder/obj_dir/Vbench" ]
    fi
}

compile() {
    set -- "-I$kit" "$SUITE.svh" "$kit/$op.sv"
    for word in $DEFINES ${STAGES:+EMU_STAGES=1}; do set -- "-D$word" "$@"; done
    for file in $DUT $WRAP; do
        [ -f "$file" ] || stop 2 "$file: no such file"
        set -- "-I$(dirname "$file")" "$@" "$file"
    done
    compiled "$BUILD" "$@" && return 0
    grep -i error "$BUILD/compile.log" | head -n 5
    echo 'module bench; initial $finish; endmodule' >"$BUILD/probe.sv"
    compiled "$BUILD/probe" "$BUILD/probe.sv" || stop 5 "$SIM does not work, not even with an empty module: $BUILD/probe/compile.log"
    stop 2 "the design does not compile: $BUILD/compile.log"
}

simulate() { # LOG PLUSARGS...: exit code of the simulator; 124 after LIMIT seconds
    log=$1; shift
    if [ "$SIM" = icarus ]; then
        limited vvp -n "$BUILD/bench.vvp" "$@" $ARGS ${STALL:+"+stall=$STALL"} >"$log" 2>&1
    else
        limited "$BUILD/obj_dir/Vbench" "$@" $ARGS ${STALL:+"+stall=$STALL"} +verilator+rand+reset+2 >"$log" 2>&1
    fi
}

result_of() { # LOG: its RESULT line; nothing unless there is exactly one
    [ "$(grep -c '^RESULT ' "$1")" = 1 ] && grep '^RESULT ' "$1"
}

judged() { # LOG CODE: says and returns what a run is worth
    result=$(result_of "$1") || { [ "$2" = 124 ] && stop 1 "the simulation did not end within $LIMIT seconds"; stop 2 "not exactly one RESULT line: $1"; }
    if [ "$result" != "$first" ]; then
        grep '^MISMATCH ' "$1"
        echo "$result"
    fi
    case $result in
        "RESULT BADFILE "*) stop 2 "the bench refused the file" ;;
        "RESULT FAIL reason=x "*) stop 4 "X or Z on an output" ;;
        "RESULT FAIL "*) stop 1 "the design differs" ;;
        *" compared=0 "*) stop 3 "nothing was compared" ;;
    esac
    [ "$2" = 0 ] || stop 1 "the simulator ended with code $2"
    [ "$result" = "RESULT PASS reason=none suite=$name rows_sha256=$digest compared=$expected mismatch=0 x=0 masked=$((rows - expected))" ] \
        || stop 2 "the RESULT line is not that of a pass of these $expected compared rows"
}

[ -n "$SUITE" ] && [ -n "$WRAP$DUT" ] || stop 2 "say SUITE=<path without ending> and DUT=<files> WRAP=<file>"
case $ARGS in *+vec=*|*+n=*|*+min=*) stop 2 "ARGS: the file and the counts are chosen here" ;; esac
name=${SUITE##*/} op=${SUITE##*/} neg=$SUITE
op=${op%%__*}
case $name in *.s[0-9]*of[0-9]*) neg=${SUITE%.s*} ;; esac
case $SIM in
    icarus) tools="iverilog vvp" ;;
    verilator) tools="verilator make" ;;
    *) stop 2 "SIM=$SIM: icarus or verilator" ;;
esac
[ -f "$kit/$op.sv" ] || stop 2 "$SUITE: no bench for operation $op"
for tool in $tools; do command -v "$tool" >/dev/null || stop 5 "$tool is not installed (Debian: apt-get install iverilog verilator g++ make)"; done
mkdir -p "$BUILD" || stop 2 "$BUILD: cannot be made"

check_files
expected=$(expected_rows)
compile
code=0
simulate "$BUILD/self_test.log" "+vec=$neg.neg.mem" "+n=$negative" || code=$?
self=$(result_of "$BUILD/self_test.log") || self="no RESULT line"
first=
for seed in $SEEDS; do
    code=0
    simulate "$BUILD/run.log" "+vec=$SUITE.mem" "+verilator+seed+$seed" || code=$?
    judged "$BUILD/run.log" "$code"
    [ -z "$first" ] || [ "$first" = "$result" ] || stop 4 "RESULT lines differ from seed to seed"
    first=$result
    [ "$SIM" = verilator ] || break
done
case $self in
    "RESULT FAIL reason=mismatch suite=$name rows_sha256=$digest compared="*" mismatch=1 x=0 masked="*) ;;
    *) stop 2 "the suite passes, yet the self-test on one flipped bit says: $self" ;;
esac
echo "judge: passed: $name"
