#!/bin/sh
# Is this delivery whole, and does it work here? Compares every file with SHA256SUMS, compiles the C reference and lets it derive the rows
# again, and runs the benches in a simulator where one is there. No Python.
# Variables: SIM icarus, verilator or none (default: the first that is there), CC and CFLAGS for the C compiler, BUILD a folder for what is made.
# Exit codes: 0 fine, 1 a row differs, 2 a bad file, 3 nothing was compared, 4 X or Z, 5 a tool is missing.
set -u
export LC_ALL=C
cd "$(dirname "$0")" || exit 2
BUILD=${BUILD:-self_test.out} SIM=${SIM:-} CC=${CC:-cc}
codes= derived=0 rows=0 designs=0 stand_ins=0 skipped=0

note() { # CODE WORDS...: something is wrong
    codes="$codes $1"; shift
    echo "self_test: $*"
}

verdict() { # 2 beats 1 beats 4 beats 3 beats 5
    code=0
    for one in 5 3 4 1 2; do case "$codes " in *" $one "*) code=$one ;; esac; done
    word=PASS
    [ "$code" = 0 ] || word=FAIL
    echo "SELF-TEST $word code=$code suites=$derived rows=$rows derived by the C reference; benches: $designs on reference designs, $stand_ins on stand-ins; simulator=${SIM:-none}; not derived here: $skipped"
    exit "$code"
}

sums() {
    if command -v sha256sum >/dev/null; then sha256sum -c "$1"; else shasum -a 256 -c "$1"; fi 2>&1 | grep -v ': OK$' | grep -v WARNING
}

[ -s SHA256SUMS ] && [ -s suites.txt ] || { note 2 "SHA256SUMS or suites.txt is missing: this is not a whole delivery"; verdict; }
wrong=$(sums SHA256SUMS)
if [ -n "$wrong" ]; then
    echo "$wrong" | head -n 5
    note 2 "a file is not the one that was delivered: copy the delivery again"
    verdict
fi
mkdir -p "$BUILD" && BUILD=$(cd "$BUILD" && pwd) || { note 2 "$BUILD: cannot be made"; verdict; }

if [ -z "$SIM" ]; then
    if command -v iverilog >/dev/null && command -v vvp >/dev/null; then SIM=icarus
    elif command -v verilator >/dev/null; then SIM=verilator
    else SIM=none; echo "self_test: no simulator here (iverilog, verilator): the benches are not run"
    fi
fi

reference=
if command -v make >/dev/null && command -v "$CC" >/dev/null; then
    rm -rf "$BUILD/c_ref"
    if cp -R c_ref "$BUILD/c_ref" && make -s -C "$BUILD/c_ref" CC="$CC" ${CFLAGS:+"CFLAGS=$CFLAGS"} emu_ref >"$BUILD/make.log" 2>&1; then
        reference=$BUILD/c_ref/emu_ref
    else
        note 5 "the C reference does not compile with $CC: $BUILD/make.log"
    fi
else
    note 5 "make or a C compiler ($CC) is not there: the C reference derives nothing"
fi

derive() { # FOLDER SHARD DESC DESCRIPTOR: the rows of one shard once more
    if [ "$4" = - ]; then said=$("$reference" check --desc "$3" <"$1/$2.tv" 2>"$BUILD/check.log")
    else said=$("$reference" check --desc "$3" --descriptor "descriptors/$4" <"$1/$2.tv" 2>"$BUILD/check.log"); fi
    code=$?
    echo "$said" | grep -v '^RESULT PASS'
    case "$code $said" in
        0*"RESULT PASS "*" mismatch=0 "*) compared=$(echo "$said" | sed -n 's/.* compared=\([0-9]*\) .*/\1/p'); rows=$((rows + compared)) ;;
        0*) note 2 "$2: emu_ref gave no verdict" ;;
        *) cat "$BUILD/check.log"; note "$code" "$2: the C reference does not agree" ;;
    esac
}

while read -r op stem shards count descriptor design wrapper defines; do
    folder=vectors/$op
    for shard in $(echo "$shards" | tr , ' '); do
        if [ "$descriptor" = skip ]; then skipped=$((skipped + 1))
        elif [ -n "$reference" ]; then derive "$folder" "$shard" "$folder/$stem.desc" "$descriptor"; derived=$((derived + 1))
        fi
        [ "$SIM" != none ] || continue
        files= macros= extra="+replay=$folder/$shard.mem"
        if [ "$design" != - ]; then
            extra=
            [ "$design" = none ] || for file in $(echo "$design" | tr , ' '); do files="$files vectors/bench/$file"; done
            designs=$((designs + 1))
        else
            stand_ins=$((stand_ins + 1))
        fi
        [ "$defines" = - ] || macros=$(echo "$defines" | tr , ' ')
        said=$(SUITE=$folder/$shard SIM=$SIM DUT=$files WRAP=vectors/bench/$wrapper DEFINES=$macros ARGS=$extra SEEDS=1 STALL= STAGES= \
            BUILD=$BUILD/$SIM sh vectors/bench/judge.sh 2>&1 </dev/null)
        code=$?
        [ "$code" = 0 ] || { echo "$said"; note "$code" "$shard: the bench does not pass"; }
    done
done <suites.txt
[ "$rows" -gt 0 ] || [ "$((designs + stand_ins))" -gt 0 ] || [ -n "$codes" ] || note 3 "nothing was compared"
verdict
