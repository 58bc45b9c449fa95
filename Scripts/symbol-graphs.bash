# SPDX-License-Identifier: Apache-2.0
# The public interface of modules as symbol graphs, for Scripts/check-docs and Scripts/check-api. To be sourced.

toolchain_information=$(swift -print-target-info)
toolchain_fact() { sed -n 's/.*"'"$1"'": "\([^"]*\)".*/\1/p' <<<"$toolchain_information" | head -n 1; }
# The toolchain's own folder: `swift` on PATH may be swiftly's.
tools=$(toolchain_fact runtimeResourcePath)
tools=${tools%/lib/swift*}/bin

# Ends the script if the toolchain lacks one of the named tools.
require_tools() {
    local tool
    for tool; do
        if [ ! -x "$tools/$tool" ]; then
            echo "$(basename "$0"): the toolchain has no \`$tool\` in $tools; take a whole one from https://www.swift.org/install/" >&2
            exit 1
        fi
    done
}

# symbol_graphs FOLDER MODULE…: builds the libraries and writes MODULE.symbols.json for each; ends the script if it fails.
symbol_graphs() {
    local output=$1 log binaries map maps=() module
    shift
    log=$(mktemp)
    for module; do
        if ! swift build --target "$module" </dev/null >"$log" 2>&1; then
            tail -n 20 "$log"
            rm -f "$log"
            echo "$(basename "$0"): $module does not build"
            exit 1
        fi
    done
    binaries=$(swift build --show-bin-path)
    # The C modules below the Swift ones; those in `include` are generated from Swift ones, for Objective-C.
    while IFS= read -r map; do
        maps+=(-Xcc "-fmodule-map-file=$map")
    done < <(find .build/checkouts/*/Sources Sources/CZlib "$binaries"/*.build -maxdepth 3 -name module.modulemap \
        -not -path "$binaries/*/include/*")
    for module; do
        if ! "$tools/swift-symbolgraph-extract" -module-name "$module" -target "$(toolchain_fact triple)" \
            -I "$binaries/Modules" "${maps[@]}" -minimum-access-level public -skip-inherited-docs \
            -skip-synthesized-members -output-dir "$output" >"$log" 2>&1; then
            cat "$log"
            rm -f "$log"
            echo "$(basename "$0"): no symbol graph of $module"
            exit 1
        fi
    done
    rm -f "$log"
}
