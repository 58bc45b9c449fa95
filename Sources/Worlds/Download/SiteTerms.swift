// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// A fault of a site in one response.
enum Quirk: String, CaseIterable {
    // Ranges.
    case ignoresRange = "ignores the range"
    case shortensRange = "sends less of a range than asked for"
    case hidesTotal = "sends * as the total length"
    case shiftsRange = "begins a range elsewhere, and says so"
    case omitsContentRange = "omits Content-Range"
    case garblesContentRange = "sends a malformed Content-Range"
    case lyingTotal = "sends a wrong total length"
    case wholeAsPart = "sends the whole as a 206"
    case multipart = "sends multipart/byteranges"
    case notSatisfiable = "says that the range cannot be satisfied"
    // Other content.
    case loginPage = "sends a login page"
    case emptyPage = "sends 200 without content"
    case noContent = "sends 204"
    case notModified = "sends 304 unasked"
    case encoding = "sends Content-Encoding: gzip"
    // Statuses.
    case serverError = "sends 5xx"
    case serverErrorWithDelay = "sends 503 with Retry-After"
    case tooMany = "sends 429"
    case tooManyWithDate = "sends 429 with a date in Retry-After"
    case gone = "sends 404 or 410"
    case forbidden = "sends 401, 403 or 451"
    case teapot = "sends 418"
    // Framing.
    case chunked = "sends chunks"
    case untilClose = "ends the body by closing"
    case shortLength = "declares a length that is too short"
    case longLength = "declares a length that is too long"
    case malformed = "sends what is not HTTP"
    case hugeHead = "sends a head without an end"
    case interim = "sends interim responses"
    // The connection.
    case silent = "sends nothing"
    case stalls = "stops in the body"
    case breaksFirst = "breaks the connection before the head"
    case cutsFirst = "breaks the connection after the head"
    case cutsLast = "breaks the connection before the last byte"
    case drips = "sends slowly"
    case hesitates = "pauses in the body"
    // Redirects.
    case redirectsToLogin = "redirects to a login page"
    case redirectsForEver = "redirects to itself"
    case redirectsDown = "redirects from https to http"
    case redirectsToNothing = "redirects without a Location"
    // Digests.
    case lyingDigest = "sends the digest of other bytes"
    case trailingDigest = "sends the digest in a trailer"

    /// Whether a user cannot expect that a transfer survives any number of these responses.
    var isFinal: Bool {
        switch self {
        case .gone, .forbidden, .teapot, .noContent, .notModified, .emptyPage, .loginPage, .redirectsToLogin,
            .redirectsForEver, .redirectsDown, .redirectsToNothing, .lyingDigest, .encoding, .shortLength, .multipart,
            .malformed, .hugeHead, .wholeAsPart:
            true
        default: false
        }
    }
}

/// The rule by which a site makes entity tags.
enum TagMode: String {
    case version, weak
    case weakSame = "weak and always equal"
    case unquoted
    case unquotedSame = "unquoted and always equal"
    case none
    case flicker = "at times"
    case onlyWhole = "in whole responses alone"
    case onlyParts = "in ranges alone"
    case node = "by node"
    case each = "another one in each response"
    case same = "always equal"
    case firstWhole = "the first version's, in whole responses alone"
    case firstLater = "the first version's, but not in the first range"
}

/// The rule by which a site makes Last-Modified.
enum DateMode: String {
    case old
    case same = "always equal"
    case nodeOld = "by node"
    case each = "another one in each response"
    case young
    case youngSame = "always equal, and young"
    case youngLate = "always equal, and young for the first versions alone"
    case futureSame = "in the future"
    case none
    case flicker = "at times"
    case onlyWhole = "in whole responses alone"
    case onlyParts = "in ranges alone"
    case firstWhole = "the first version's, in whole responses alone"
}

/// When a site has which version.
enum VersionSchedule {
    /// There is one version.
    case one
    /// The next version after so many requests.
    case requests([Int])
    /// The next version after so many bytes were sent.
    case bytes([Int64])
    /// The next version at a time.
    case times([Int64])
    /// The version of a node, which requests, or connections, reach in turn.
    case nodes(pattern: [Int], byConnection: Bool)
    /// Any node for each request.
    case random
    /// A host for each node: mirrors, or the targets of a redirector.
    case hosts
    /// The next version when the user starts the command again after it has finished.
    case steps

    var text: String {
        switch self {
        case .one: "one version"
        case .requests(let counts): "versions change after requests \(counts)"
        case .bytes(let counts): "versions change after bytes \(counts)"
        case .times(let times): "versions change after milliseconds \(times.map { $0 / 1_000_000 })"
        case .nodes(let pattern, let byConnection):
            "nodes \(pattern) in turn, by \(byConnection ? "connection" : "request")"
        case .random: "any node for each request"
        case .hosts: "one node for each host"
        case .steps: "another version for the second run"
        }
    }
}

/// The difference between the versions.
enum Difference: String {
    case none, everywhere, length, appended, tail, head, region, zeros
}

/// The contents of versions that differ in the way named.
func makeContents(
    _ count: Int,
    _ size: Int,
    _ difference: Difference,
    using generator: inout SeededGenerator
) -> [SimulatedContent] {
    var base = SimulatedContent.random(size, using: &generator)
    if difference == .zeros { putZeros(&base, size, using: &generator) }
    var contents = [SimulatedContent(base)]
    while contents.count < count {
        var bytes = base
        switch difference {
        case .none, .everywhere: bytes = SimulatedContent.random(size, using: &generator)
        case .length:
            let length = max(1, Int(Double(size) * Double.random(in: 0.7...1.3, using: &generator)) + contents.count)
            bytes = SimulatedContent.random(length, using: &generator)
        case .appended:
            let more = max(1, Int(Double(size) * Double.random(in: 0.05...0.3, using: &generator)))
            bytes = (contents.last?.bytes ?? base) + SimulatedContent.random(more, using: &generator)
        case .tail:
            let start = Int(Double(size) * Double.random(in: 0.3...0.9, using: &generator))
            bytes.replaceSubrange(start..., with: SimulatedContent.random(size - start, using: &generator))
        case .head:
            let end = Int(Double(size) * Double.random(in: 0.1...0.7, using: &generator))
            bytes.replaceSubrange(..<end, with: SimulatedContent.random(end, using: &generator))
        case .region:
            let length = min(size - 1, [1, 1, 16, 256, 2048].randomElement(using: &generator) ?? 1)
            let start = Int.random(in: 0..<size - length, using: &generator)
            for index in start..<start + length { bytes[index] ^= UInt8.random(in: 1...255, using: &generator) }
        case .zeros:
            bytes = SimulatedContent.random(size, using: &generator)
            for start in stride(from: 0, to: size - 1024, by: 1024) where base[start] == 0 && base[start + 1023] == 0 {
                bytes.replaceSubrange(start..<start + 1024, with: repeatElement(0, count: 1024))
            }
        }
        contents.append(SimulatedContent(bytes))
    }
    return contents
}

/// Puts long regions of zeros into bytes.
private func putZeros(_ bytes: inout [UInt8], _ size: Int, using generator: inout SeededGenerator) {
    for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let length = Int(Double(size) * Double.random(in: 0.2...0.4, using: &generator))
        let start = Int.random(in: 0...size - length, using: &generator)
        bytes.replaceSubrange(start..<start + length, with: repeatElement(0, count: length))
    }
}
