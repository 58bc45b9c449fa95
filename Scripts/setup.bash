# SPDX-License-Identifier: Apache-2.0
# Shared by ./martlet, ./test and Scripts/*: finds Swift and the system packages the build needs.
# Sourced, not run. Speaks on standard error only.

say() { printf 'martlet: %s\n' "$*" >&2; }

# Succeeds when Swift 6.3 or later is on PATH; otherwise says how to get it.
require_swift() {
    local environment="${SWIFTLY_HOME_DIR:-${HOME:-/nonexistent}/.local/share/swiftly}/env.sh"
    if ! command -v swift >/dev/null 2>&1 && [ -r "$environment" ]; then
        # shellcheck disable=SC1090
        . "$environment"
    fi
    if ! command -v swift >/dev/null 2>&1; then
        cat >&2 <<MESSAGE
martlet: building needs Swift 6.3 or later, and there is no \`swift\` on PATH.
  Get it with swiftly (https://www.swift.org/install/linux/):
    curl -O https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz
    tar zxf swiftly-$(uname -m).tar.gz
    ./swiftly init
  or unpack a toolchain from that page and put its usr/bin on PATH. Then run this again.
MESSAGE
        return 1
    fi
    local version major minor
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1 || true)
    if [ -z "$version" ]; then
        # The toolchain itself lacks a library: the packages may mend that, so it is not an error yet.
        return 0
    fi
    major=${version%%.*}
    minor=${version#*.}
    minor=${minor%%.*}
    if [ "$major" -lt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -lt 3 ]; }; then
        say "building needs Swift 6.3 or later; \`swift\` here is $version. https://www.swift.org/install/linux/ has newer ones."
        return 1
    fi
}

debian_has() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# The Debian package for a shared library that the Swift toolchain lacks.
package_of_library() {
    case $1 in
    libcurl.so.4) apt_first libcurl4t64 libcurl4 ;;
    libxml2.so.2) echo libxml2 ;;
    libxml2.so.16) echo libxml2-16 ;;
    libsqlite3.so.0) echo libsqlite3-0 ;;
    libncurses.so.6) echo libncurses6 ;;
    libtinfo.so.6) echo libtinfo6 ;;
    libz.so.1) echo zlib1g ;;
    libuuid.so.1) echo libuuid1 ;;
    libstdc++.so.6) echo libstdc++6 ;;
    libgcc_s.so.1) echo libgcc-s1 ;;
    libedit.so.2) echo libedit2 ;;
    esac
}

# The first of the named packages that apt knows; the last one when it knows none.
apt_first() {
    local name
    for name in "$@"; do
        if apt-cache show "$name" >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
    echo "$name"
}

# Prints the Debian packages that are missing, one a line. `$@` are commands' packages a script wants besides.
missing_packages() {
    local package tool library binaries
    # swift-nio-ssl and swift-crypto carry BoringSSL, which is C and C++: headers and start files of both.
    if ! compgen -G '/usr/include/c++/*/vector' >/dev/null || ! compgen -G '/usr/lib/gcc/*/*/crtbegin.o' >/dev/null; then
        apt_first libstdc++-14-dev libstdc++-12-dev libstdc++-13-dev g++
    fi
    # libsqlite3-dev: the daemon's queue; zlib1g-dev: compressed tables. See require_static.
    for package in libc6-dev binutils git ca-certificates libsqlite3-dev zlib1g-dev "$@"; do
        debian_has "$package" || echo "$package"
    done
    # Libraries are asked of the loader, not by package name: names differ between releases.
    tool=$(command -v swift) || return 0
    binaries=$(dirname "$(readlink -f "$tool")")
    for tool in swift-build swift-frontend swift-driver lld; do
        [ -e "$binaries/$tool" ] || continue
        ldd "$binaries/$tool" 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' || true
    done | sort -u | while read -r library; do
        package_of_library "$library"
    done
}

# Sees to it that every system package the build needs is there: says which are missing, then installs them as root,
# or says what to run. `$@` are further packages a script wants.
require_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        # Another distribution: the build itself will say what it lacks.
        return 0
    fi
    local missing
    missing=$(missing_packages "$@" | sort -u | tr '\n' ' ')
    missing=${missing% }
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ] || [ -n "${MARTLET_NO_INSTALL:-}" ]; then
        say "the build needs these Debian packages: $missing"
        say "install them with:  sudo apt-get update && sudo apt-get install --no-install-recommends $missing"
        return 1
    fi
    say "the build needs these Debian packages; installing them now with apt-get: $missing"
    local log
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! {
        apt-get update &&
            DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing
    } </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        say "apt-get could not install them; see above"
        return 1
    fi
    rm -f "$log"
}

# SQLite and zlib are linked statically, so that the executable is one file. Debian has the libraries in libsqlite3-dev
# and zlib1g-dev; other distributions have them in packages of their own, or not at all.
require_static() {
    [ "$(uname -s)" = Linux ] || return 0
    local library=$1 header=$2 advice=$3 tool clang
    tool=$(command -v swift) || return 0
    clang=$(dirname "$(readlink -f "$tool")")/clang
    # swiftly's `swift` is a proxy with no compiler beside it: the build itself will say what it lacks.
    [ -x "$clang" ] || return 0
    # The compiler prints the bare name of a library that it does not find.
    if [ "$("$clang" -print-file-name="$library" 2>/dev/null)" = "$library" ] ||
        ! printf '#include <%s>\n' "$header" | "$clang" -fsyntax-only -x c - >/dev/null 2>&1; then
        say "the build needs a static library and its header: $library and $header."
        printf '%s\n' "$advice" | while IFS= read -r line; do say "$line"; done
        return 1
    fi
}

require_libraries() {
    require_static libsqlite3.a sqlite3.h \
        "Debian and Ubuntu have them in libsqlite3-dev, Alpine in sqlite-static and sqlite-dev. Elsewhere build them from
https://sqlite.org/download.html:  ./configure --disable-shared && make && sudo make install"
    require_static libz.a zlib.h \
        "Debian and Ubuntu have them in zlib1g-dev, Alpine in zlib-static and zlib-dev. Elsewhere build them from
https://zlib.net:  ./configure --static && make && sudo make install"
}

require_toolchain() {
    require_swift
    require_packages "$@"
    require_libraries
    if ! swift --version >/dev/null 2>&1; then
        say "\`swift --version\` fails:"
        swift --version 2>&1 | tail -n 5 >&2
        return 1
    fi
}
