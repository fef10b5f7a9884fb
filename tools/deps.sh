#!/bin/sh
# deps.sh [build] [test] [all] [bench]: sees to it that the packages of these groups are there: to build, for `make
# test`, for `make test-all` besides, and for `make bench`.
#
# Looks first and does nothing when all is there. What is missing is installed with apt, as root or through sudo; where
# that cannot be done, one sentence lists it and the status is 1.
set -eu

# group | Debian package | how to tell that it is there without dpkg | why
list() {
    cat <<'END'
build|gcc|command -v cc|compiles heed
build|libc6-dev|cc -E -x c -include stdio.h /dev/null|the C library's headers
build|cmake|command -v cmake|configures the build
build|ninja-build|command -v ninja|runs the build
build|pkg-config|command -v pkg-config|finds the libraries
build|libjansson-dev|pkg-config --exists jansson|reads JSON
build|zlib1g-dev|pkg-config --exists zlib|reads .gz files
build|libcairo2-dev|pkg-config --exists cairo|draws pictures
build|libutf8proc-dev|pkg-config --exists libutf8proc|knows Unicode's letters
build|libpcre2-dev|pkg-config --exists libpcre2-8|matches the patterns of tokenizers
build|libpng-dev|pkg-config --exists libpng|reads and writes PNG
build|libjpeg62-turbo-dev|pkg-config --exists libjpeg|reads and writes JPEG
build|fonts-dejavu-core|test -n "$(fc-list)"|letters in pictures
test|libcmocka-dev|pkg-config --exists cmocka|runs the unit tests
test|clang-format-14|command -v clang-format-14|checks the code's layout
all|clang-14|command -v clang-14|the second compiler that must build heed without a warning
all|libclang-rt-14-dev|test -e "$(clang-14 -print-runtime-dir)/libclang_rt.fuzzer-$(uname -m).a"|fuzzes the file readers
all|chromium|for b in chromium chromium-browser google-chrome; do if command -v $b; then exit; fi; done; exit 1|shows the page that heed attend writes
all|python3|command -v python3|drives Chromium
bench|python3|command -v python3|runs the peer
bench|python3-venv|python3 -c 'import ensurepip, venv'|keeps the peer (PyTorch) in an environment of its own
END
}

installed() { # PACKAGE PROBE
    if sh -c "$2" >/dev/null 2>&1; then return 0; fi
    case $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) in *' installed') return 0 ;; esac
    return 1
}

missing=
reasons=
for group in "$@"; do
    while IFS='|' read -r of package probe why; do
        if [ "$of" = "$group" ] && ! installed "$package" "$probe"; then
            missing="$missing $package"
            reasons="$reasons  $package: $why
"
        fi
    done <<END
$(list)
END
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "heed needs these packages (Debian's names), which this system must provide:$missing" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    sudo=
elif command -v sudo >/dev/null 2>&1; then
    sudo=sudo
else
    echo "heed needs these packages, and installing them takes root or sudo: apt-get install$missing" >&2
    exit 1
fi
printf 'Installing with apt%s:\n%s' "${sudo:+, through sudo}" "$reasons"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # the list is words
{ $sudo apt-get -qq update && $sudo apt-get -qq -y --no-install-recommends install $missing; } >/dev/null || {
    echo "apt-get could not install:$missing" >&2
    exit 1
}
