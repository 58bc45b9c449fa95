// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import NIOCore
import TransferTesting

/// A WebSocket client that can also do what no client should.
struct RawWebSocket: Sendable {
    let connection: RawConnection

    struct Frame: Sendable, Equatable {
        var opcode: UInt8
        var isFinal: Bool
        var data: [UInt8]
        var text: String { String(decoding: self.data, as: UTF8.self) }
        /// The code of a close frame.
        var code: Int? { self.data.count >= 2 ? Int(self.data[0]) << 8 | Int(self.data[1]) : nil }
    }

    static func handshake(_ target: String = "/jsonrpc", fields: [String] = []) -> String {
        let more = fields.map { $0 + "\r\n" }.joined()
        return "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(more)\r\n"
    }

    /// Shakes hands; fails where the answer is not 101 with the right key.
    static func open(
        _ connection: RawConnection,
        _ target: String = "/jsonrpc",
        fields: [String] = []
    ) async throws -> RawWebSocket {
        try await connection.send(self.handshake(target, fields: fields))
        let reply = try await connection.reply()
        // RFC 6455 §1.3's own example.
        guard reply.status == 101, reply.field("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" else {
            throw RawConnection.Failure.closed(received: reply.head + reply.body)
        }
        return RawWebSocket(connection: connection)
    }

    static func bytes(_ opcode: UInt8, _ data: [UInt8], isFinal: Bool = true, isMasked: Bool = true) -> [UInt8] {
        let mask: [UInt8] = [1, 2, 3, 4]
        var bytes: [UInt8] = [opcode | (isFinal ? 0x80 : 0)]
        let flag: UInt8 = isMasked ? 0x80 : 0
        if data.count < 126 {
            bytes.append(flag | UInt8(data.count))
        } else if data.count < 65_536 {
            bytes += [flag | 126, UInt8(data.count >> 8), UInt8(data.count & 255)]
        } else {
            bytes += [flag | 127] + (0..<8).map { UInt8(truncatingIfNeeded: data.count >> (56 - 8 * $0)) }
        }
        guard isMasked else { return bytes + data }
        return bytes + mask + data.enumerated().map { $0.element ^ mask[$0.offset % 4] }
    }

    func send(_ opcode: UInt8, _ data: [UInt8], isFinal: Bool = true, isMasked: Bool = true) async throws {
        try await self.connection.send(Self.bytes(opcode, data, isFinal: isFinal, isMasked: isMasked))
    }

    func send(_ text: String) async throws { try await self.send(1, Array(text.utf8)) }

    /// Waits for a frame, whatever it is.
    func frame() async throws -> Frame {
        let bytes = try await self.connection.receive { bytes in
            guard let (head, length) = Self.layout(bytes), bytes.count >= head + length else { return nil }
            return head + length
        }
        guard let (head, _) = Self.layout(bytes) else { throw RawConnection.Failure.closed(received: "") }
        return Frame(opcode: bytes[0] & 15, isFinal: bytes[0] & 0x80 != 0, data: Array(bytes[head...]))
    }

    private static func layout(_ bytes: [UInt8]) -> (head: Int, length: Int)? {
        guard bytes.count >= 2 else { return nil }
        switch bytes[1] & 127 {
        case 126: return bytes.count < 4 ? nil : (4, Int(bytes[2]) << 8 | Int(bytes[3]))
        case 127: return bytes.count < 10 ? nil : (10, bytes[2..<10].reduce(0) { $0 << 8 | Int($1) })
        case let length: return (2, Int(length))
        }
    }

    /// Waits for a message, pings left out.
    func message() async throws -> JSON {
        while true {
            let frame = try await self.frame()
            if frame.opcode == 9 { continue }
            return try JSON(parsing: frame.data)
        }
    }

    /// Makes a call and waits for its answer.
    func call(_ method: String, _ params: JSON = []) async throws -> JSON {
        try await self.send((["id": 1, "method": .string(method), "params": params] as JSON).text)
        return try await self.message()
    }
}
