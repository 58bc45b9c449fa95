// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// One event of a stream of server-sent events.
package struct ServerSentEvent: Sendable, Hashable {
    /// The identifier of the event, or `nil`.
    package var id: String?
    /// The event's name; `message` if it has none.
    package var name: String
    package var data: JSON

    package init(id: String? = nil, name: String = "message", data: JSON) {
        self.id = id
        self.name = name
        self.data = data
    }

    /// The identifier as a number, as in the events of background sessions.
    package var number: Int64? { self.id.flatMap { Int64($0) } }
}

/// Parses a stream of server-sent events with JSON data, split at any point.
///
/// Pure value. Memory is bounded: a line or an event larger than ``limit`` is an error.
///
/// - Source: WHATWG HTML §9.2.6; `retry` is ignored, because the caller decides when to reconnect.
package struct ServerSentEventParser: Sendable {
    /// The maximum size of one event in bytes.
    package static let limit = 64 << 20

    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var name: [UInt8] = []
    private var id: [UInt8]?
    private var isAtStart = true
    /// Whether a CR has just ended a line, so that an LF belongs to it.
    private var followsReturn = false

    /// Creates a parser for a new stream.
    package init() {}

    /// Parses bytes and appends the completed events.
    ///
    /// - Throws: ``ControlError`` with `protocolMismatch` if an event's data is not JSON, `tooMuch` if it is too large.
    ///   The parser must not be used after an error.
    package mutating func take(
        _ bytes: some Collection<UInt8>,
        into events: inout [ServerSentEvent]
    ) throws(ControlError) {
        var rest = bytes[...]
        while let first = rest.first {
            if self.followsReturn {
                self.followsReturn = false
                if first == 0x0A {
                    rest.removeFirst()
                    continue
                }
            }
            let end = rest.firstIndex { $0 == 0x0A || $0 == 0x0D }
            self.line.append(contentsOf: rest[..<(end ?? rest.endIndex)])
            guard self.line.count + self.data.count <= Self.limit else {
                throw ControlError(.tooMuch, "the daemon sent an event of more than \(Self.limit >> 20) MiB")
            }
            guard let end else { return }
            self.followsReturn = rest[end] == 0x0D
            rest = rest[rest.index(after: end)...]
            if let event = try self.endLine() { events.append(event) }
        }
    }

    private mutating func endLine() throws(ControlError) -> ServerSentEvent? {
        defer { self.line.removeAll(keepingCapacity: self.line.count < 1 << 16) }
        if self.isAtStart {
            self.isAtStart = false
            if self.line.starts(with: [0xEF, 0xBB, 0xBF]) { self.line.removeFirst(3) }
        }
        guard !self.line.isEmpty else { return try self.endEvent() }
        let colon = self.line.firstIndex(of: 0x3A) ?? self.line.endIndex
        let field = self.line[..<colon]
        var value = self.line[min(colon + 1, self.line.endIndex)...]
        if value.first == 0x20 { value.removeFirst() }
        if field.elementsEqual("data".utf8) {
            if self.hasData { self.data.append(0x0A) }
            self.hasData = true
            self.data.append(contentsOf: value)
        } else if field.elementsEqual("event".utf8) {
            self.name = Array(value)
        } else if field.elementsEqual("id".utf8), !value.contains(0) {
            self.id = Array(value)
        }
        return nil
    }

    private mutating func endEvent() throws(ControlError) -> ServerSentEvent? {
        defer {
            self.data.removeAll(keepingCapacity: self.data.count < 1 << 16)
            self.hasData = false
            self.name = []
            self.id = nil
        }
        guard self.hasData else { return nil }
        let data: JSON
        do {
            data = try JSON(parsing: self.data)
        } catch {
            throw ControlError(.protocolMismatch, "the daemon sent an event that is no JSON: \(error.description)")
        }
        return ServerSentEvent(
            id: self.id.map { String(decoding: $0, as: UTF8.self) },
            name: self.name.isEmpty ? "message" : String(decoding: self.name, as: UTF8.self),
            data: data
        )
    }
}
