# SPDX-License-Identifier: Apache-2.0
# Shared by ./martlet, ./test and Scripts/*: finds Swift and the system packages the build needs.
# Sourced, not run. Speaks on standard error only.

say() { printf 'martlet: %s\n' "$*" >&2; }

# Prints what is wrong with Swift here, and the commands that install one; nothing if it is 6.3 or later.
swift_advice() {
    local environment="${SWIFTLY_HOME_DIR:-${HOME:-/nonexistent}/.local/share/swiftly}/env.sh" version
    if ! command -v swift >/dev/null 2>&1 && [ -r "$environment" ]; then
        echo "\`swift\` is not on PATH, but swiftly is installed. In this shell:"
        echo "  . $environment"
        return
    fi
    if ! command -v swift >/dev/null 2>&1; then
        echo "Swift 6.3 or later is missing. Install it for this user with swiftly (https://www.swift.org/install/linux/):"
    else
        version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1 || true)
        # Without a version the toolchain lacks a library, which the packages may provide.
        [ -n "$version" ] || return 0
        awk -F . '{ exit !($1 > 6 || $1 == 6 && $2 >= 3) }' <<<"$version" && return 0
        echo "Swift 6.3 or later is needed, and $(command -v swift) is $version. Install it with swiftly (https://www.swift.org/install/linux/):"
        if command -v swiftly >/dev/null 2>&1; then
            echo "  swiftly install latest && swiftly use latest"
            return
        fi
    fi
    # shellcheck disable=SC2016
    printf '  %s\n' "curl -O https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz" \
        "tar zxf swiftly-$(uname -m).tar.gz && ./swiftly init --assume-yes" \
        '. "${SWIFTLY_HOME_DIR:-$HOME/.local/share/swiftly}/env.sh"'
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

# Installs Debian packages as root: succeeds if they are installed.
install_packages() {
    local log
    say "installing Debian packages that the build needs: $*"
    log=$(mktemp)
    if ! {
        apt-get update &&
            DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"
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

# Succeeds if everything that the build needs is there, after installing missing packages as root. Otherwise prints one
# message with the commands for all that is missing. `$@` are further packages a script wants.
require_toolchain() {
    local advice missing=
    advice=$(swift_advice)
    # On another distribution the build itself says what it lacks.
    if command -v dpkg-query >/dev/null 2>&1; then
        # Without Swift, its installation with swiftly needs these.
        if [ -n "$advice" ]; then set -- "$@" curl gnupg; fi
        missing=$(missing_packages "$@" | sort -u | tr '\n' ' ')
        missing=${missing% }
    fi
    if [ -n "$missing" ] && [ "$(id -u)" -eq 0 ] && [ -z "${MARTLET_NO_INSTALL:-}" ]; then
        # shellcheck disable=SC2086
        install_packages $missing || return
        missing=
    fi
    if [ -n "$missing$advice" ]; then
        say "the build cannot start yet."
        if [ -n "$missing" ]; then
            printf '%s\n' "Debian packages are missing. Install them as root, or with sudo:" \
                "  sudo apt-get update && sudo apt-get install --no-install-recommends $missing" >&2
        fi
        if [ -n "$advice" ]; then printf '%s\n' "$advice" >&2; fi
        echo "Then run the same command again." >&2
        return 1
    fi
    require_libraries || return
    if ! swift --version >/dev/null 2>&1; then
        say "\`swift --version\` fails:"
        swift --version 2>&1 | tail -n 5 >&2
        return 1
    fi
}

# MiB of memory that the build can use: what is free here, and what the limits of its control groups leave.
available_memory() {
    local available line root path limit used
    if [ "$(uname -s)" = Darwin ]; then
        echo $(($(sysctl -n hw.memsize) / 1048576))
        return
    fi
    available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null || true)
    available=${available:-4096}
    # Version 2 of control groups has the line 0::PATH, version 1 the line NUMBER:memory:PATH.
    while IFS= read -r line; do
        case $line in
        0::*) root=/sys/fs/cgroup ;;
        *:memory:*) root=/sys/fs/cgroup/memory ;;
        *) continue ;;
        esac
        path=$root/${line#*:*:}
        # In a container, the path may be one of the host; then the root is the group.
        [ -d "$path" ] || path=$root/
        while [ -n "${path#"$root"}" ]; do
            limit=$(cat "$path/memory.max" 2>/dev/null || cat "$path/memory.limit_in_bytes" 2>/dev/null || echo max)
            if [ "$limit" != max ] && [ "${#limit}" -lt 16 ]; then
                # Without pages of files, which are dropped when memory is needed.
                used=$(awk '$1 == "anon" || $1 == "total_rss" { print $2; exit }' "$path/memory.stat" 2>/dev/null || true)
                limit=$(((limit - ${used:-0}) / 1048576))
                if [ "$limit" -lt "$available" ]; then available=$limit; fi
            fi
            path=${path%/*}
        done
    done < <(cat /proc/self/cgroup 2>/dev/null || true)
    echo "$available"
}

# How many compilers the build runs at once: as many as there are processors, and as memory allows; `$1` is how many MiB
# each takes. SwiftPM itself takes 300. MARTLET_JOBS overrides it.
build_jobs() {
    local jobs processors
    jobs=$((($(available_memory) - 300) / $1))
    processors=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
    if [ "$jobs" -gt "$processors" ]; then jobs=$processors; fi
    if [ "$jobs" -lt 1 ]; then jobs=1; fi
    echo "${MARTLET_JOBS:-$jobs}"
}
