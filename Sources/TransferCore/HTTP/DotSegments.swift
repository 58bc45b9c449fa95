// SPDX-License-Identifier: Apache-2.0
/// Removal of `.` and `..` from a path.
///
/// - Source: RFC 3986 §5.2.4; `%2e` counts as a dot, as in browsers.
enum DotSegments {
    /// Removes the dot segments from the path from `start` to the end; it starts with `/`.
    static func remove(from bytes: inout [UInt8], at start: Int) {
        var path: [UInt8] = []
        path.reserveCapacity(bytes.count - start)
        let segments = bytes[start...].dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch self.dots(segment) {
            case 1:
                if isLast { path.append(0x2F) }
            case 2:
                path.removeSubrange((path.lastIndex(of: 0x2F) ?? 0)...)
                if isLast { path.append(0x2F) }
            default:
                path.append(0x2F)
                path.append(contentsOf: segment)
            }
        }
        bytes.replaceSubrange(start..., with: path)
    }

    /// 1 for `.`, 2 for `..`, otherwise 0.
    private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
        var count = 0
        var rest = segment
        while let byte = rest.popFirst() {
            if byte == 0x25, rest.first == 0x32, let digit = rest.dropFirst().first, ASCII.lowercase(digit) == 0x65 {
                rest = rest.dropFirst(2)
            } else if byte != 0x2E {
                return 0
            }
            count += 1
            if count > 2 { return 0 }
        }
        return count
    }
}
