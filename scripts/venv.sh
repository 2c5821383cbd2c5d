# Sourced by the other scripts: makes .venv in the checkout, and sets PY to its Python.
# Works with a Debian or Ubuntu that has nothing but python3.

say() { printf 'protatlas: %s\n' "$1" >&2; }

find_python() {
    for python in python3 python3.13 python3.12 python3.11; do
        if command -v "$python" >/dev/null 2>&1 &&
            "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$python"
            return
        fi
    done
    say "Python 3.11 or newer is needed, and no python3 here is one. Debian and Ubuntu: apt-get install python3 python3-venv"
    return 1
}

make_venv() {
    python=$(find_python) || return 1
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
            say "installing python3-venv with apt-get"
            apt-get update -qq >&2 && apt-get install -y -qq python3-venv >&2 || true
        fi
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            say "Python's venv module is missing. Debian and Ubuntu: apt-get install python3-venv"
            return 1
        fi
    fi
    say "making .venv with $("$python" --version)"
    if ! { "$python" -m venv .venv && .venv/bin/python -m pip install --quiet --upgrade pip >&2; }; then
        rm -rf .venv
        return 1
    fi
}

# PyMOL, which draws the structures, is linked to libGL though it draws without it. Everything else works without.
find_libgl() {
    "$PY" -c 'import ctypes; ctypes.CDLL("libGL.so.1")' 2>/dev/null
}

want_libgl() {
    [ "$(uname -s)" = Linux ] || return 0
    find_libgl && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing libgl1 with apt-get"
        apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends libgl1 >&2 || true
    fi
    find_libgl || say "structures will come without pictures: libGL.so.1 is missing. Debian and Ubuntu: apt-get install libgl1"
}

# BLAST+, which runs the programs that translate, and is what the tests compare with. All else works without.
want_blast() {
    command -v blastp >/dev/null 2>&1 && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing ncbi-blast+ with apt-get"
        apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends ncbi-blast+ >&2 || true
    fi
    command -v blastp >/dev/null 2>&1 || say "tests of BLAST+ are skipped: it is missing. Debian and Ubuntu: apt-get install ncbi-blast+"
}

[ -x .venv/bin/python ] || make_venv || exit 1
PY=$PWD/.venv/bin/python
want_libgl
