// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// One response of the alphabet from which the exhaustive search makes all sequences.
struct ModelLetter: Sendable {
    enum Answer: Sendable {
        /// 200 with all bytes.
        case whole
        /// 206.
        case part(Placement)
        /// Another status, without a body that matters.
        case status(Int, [(String, String)] = [])
        /// No response.
        case lost(TransportError.Code)
        /// The response of a correct server: ranges, `If-Range`, 416.
        case correct
    }

    /// The begin and the end of a part.
    enum Placement: Sendable {
        case asRequested
        /// Only the first half of what was requested.
        case half
        /// One unit later than requested.
        case shifted
        /// All bytes, as a part.
        case fromZero
        /// As requested, but the fields do not say so.
        case unstated
    }

    enum Total: Sendable {
        case right
        case unknown
        case wrong
    }

    enum Framing: Sendable {
        case length
        case chunked
        case untilClose
    }

    /// How much of the body arrives.
    enum Arrival: Hashable, Sendable {
        case complete
        /// The connection is lost after this many half units.
        case cut(Int64)
        /// The body ends after this many half units, as far as its framing shows.
        case end(Int64)
    }

    enum Digest: Sendable {
        case none
        case right
        case wrong
    }

    let name: String
    let answer: Answer
    var version = ModelVersion.a
    var validators = ModelValidators.none
    var total = Total.right
    var framing = Framing.length
    var arrival = Arrival.complete
    var digest = Digest.none
    var partDigest = Digest.none
    var isCompressed = false

    init(
        _ name: String,
        _ answer: Answer,
        _ version: ModelVersion = .a,
        _ change: (inout ModelLetter) -> Void = { _ in }
    ) {
        self.name = name
        self.answer = answer
        self.version = version
        self.validators = .right(version)
        change(&self)
    }

    /// A correct server of one version.
    static func correct(_ version: ModelVersion) -> ModelLetter { ModelLetter("correct", .correct, version) }

    /// The responses of which the search makes all sequences.
    static let alphabet: [ModelLetter] = Self.wholes + Self.parts + Self.others

    private static let wholes: [ModelLetter] = [
        ModelLetter("200 A", .whole),
        ModelLetter("200 A cut after 2 units", .whole) { $0.arrival = .cut(4) },
        ModelLetter("200 A chunked, cut after 3 units", .whole) {
            $0.framing = .chunked
            $0.arrival = .cut(6)
        },
        ModelLetter("200 A until close, ends after 4 units", .whole) {
            $0.framing = .untilClose
            $0.arrival = .end(8)
        },
        ModelLetter("200 A weak tag, cut after 3 units", .whole) {
            $0.validators = ModelValidators(tag: .weakA, time: .none)
            $0.arrival = .cut(6)
        },
        ModelLetter("200 A only time, cut after 3 units", .whole) {
            $0.validators.tag = .none
            $0.arrival = .cut(6)
        },
        ModelLetter("200 A without validators", .whole) { $0.validators = .none },
        ModelLetter("200 A with its digest, cut after 3 units", .whole) {
            $0.digest = .right
            $0.arrival = .cut(6)
        },
        ModelLetter("200 A with a wrong digest", .whole) { $0.digest = .wrong },
        ModelLetter("200 A compressed, cut after 3 units", .whole) {
            $0.isCompressed = true
            $0.arrival = .cut(6)
        },
        ModelLetter("200 B", .whole, .b),
        ModelLetter("200 B cut after 3 units", .whole, .b) { $0.arrival = .cut(6) },
        ModelLetter("200 B with A's validators, cut after 4 units", .whole, .b) {
            $0.validators = .right(.a)
            $0.arrival = .cut(8)
        },
        ModelLetter("200 B without validators, cut after 3 units", .whole, .b) {
            $0.validators = .none
            $0.arrival = .cut(6)
        },
        ModelLetter("200 login page", .whole, .page),
    ]

    private static let parts: [ModelLetter] = [
        ModelLetter("206 A", .part(.asRequested)),
        ModelLetter("206 A cut after 2 units", .part(.asRequested)) { $0.arrival = .cut(4) },
        ModelLetter("206 A chunked, ends after 1.5 units", .part(.asRequested)) {
            $0.framing = .chunked
            $0.arrival = .end(3)
        },
        ModelLetter("206 A total unknown", .part(.asRequested)) { $0.total = .unknown },
        ModelLetter("206 A wrong total", .part(.asRequested)) { $0.total = .wrong },
        ModelLetter("206 A without Content-Range", .part(.unstated)),
        ModelLetter("206 A half of the range", .part(.half)),
        ModelLetter("206 A shifted", .part(.shifted)),
        ModelLetter("206 A from 0", .part(.fromZero)) { $0.arrival = .cut(6) },
        ModelLetter("206 A without validators", .part(.asRequested)) { $0.validators = .none },
        ModelLetter("206 A tag of another node", .part(.asRequested)) { $0.validators.tag = .otherNode },
        ModelLetter("206 A with digests", .part(.asRequested)) {
            $0.digest = .right
            $0.partDigest = .right
        },
        ModelLetter("206 A with a wrong Content-Digest", .part(.asRequested)) { $0.partDigest = .wrong },
        ModelLetter("206 B", .part(.asRequested), .b),
        ModelLetter("206 B with A's validators", .part(.asRequested), .b) { $0.validators = .right(.a) },
        ModelLetter("206 B with A's tag, but its own time", .part(.asRequested), .b) { $0.validators.tag = .a },
        ModelLetter("206 B with A's tag, weak", .part(.asRequested), .b) {
            $0.validators = ModelValidators(tag: .weakA, time: .none)
        },
        ModelLetter("206 B without validators", .part(.asRequested), .b) { $0.validators = .none },
        ModelLetter("206 B with A's validators and A's digest", .part(.asRequested), .b) {
            $0.validators = .right(.a)
            $0.digest = .wrong
        },
    ]

    private static let others: [ModelLetter] = [
        ModelLetter("302 to another host", .status(302, [("Location", "http://c/moved")])),
        ModelLetter("403", .status(403)),
        ModelLetter("412", .status(412)),
        ModelLetter("416", .status(416)),
        ModelLetter("429", .status(429, [("Retry-After", "3")])),
        ModelLetter("no response", .lost(.reset)),
    ]

    /// Further ones, which differ little from those.
    static let further: [ModelLetter] = [
        ModelLetter("200 A cut after 3.5 units", .whole) { $0.arrival = .cut(7) },
        ModelLetter("200 A until close", .whole) { $0.framing = .untilClose },
        ModelLetter("200 A tag of another node, cut after 4 units", .whole) {
            $0.validators.tag = .otherNode
            $0.arrival = .cut(8)
        },
        ModelLetter("200 B with A's validators", .whole, .b) { $0.validators = .right(.a) },
        ModelLetter("206 A cut at once", .part(.asRequested)) { $0.arrival = .cut(0) },
        ModelLetter("206 A cut after half a unit", .part(.asRequested)) { $0.arrival = .cut(1) },
        ModelLetter("206 A half, total unknown", .part(.half)) { $0.total = .unknown },
        ModelLetter("206 A weak tag", .part(.asRequested)) {
            $0.validators = ModelValidators(tag: .weakA, time: .none)
        },
        ModelLetter("206 A time of this second", .part(.asRequested)) {
            $0.validators = ModelValidators(tag: .none, time: .now)
        },
        ModelLetter("206 A compressed", .part(.asRequested)) { $0.isCompressed = true },
        ModelLetter("206 B cut after 2 units", .part(.asRequested), .b) { $0.arrival = .cut(4) },
        ModelLetter("302 to the same host", .status(302, [("Location", "/moved")])),
        ModelLetter("304", .status(304)),
        ModelLetter("401", .status(401)),
        ModelLetter("404", .status(404)),
        ModelLetter("503", .status(503)),
        ModelLetter("206 of several parts", .status(206, [("Content-Type", "multipart/byteranges; boundary=x")])),
    ]
}
