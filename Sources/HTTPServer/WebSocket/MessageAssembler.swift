// SPDX-License-Identifier: Apache-2.0
/// Assembles messages from frames.
///
/// Pure value: each decoded frame is an event that returns the action to perform.
///
/// - Source: RFC 6455 §5.4, §5.5, §7.4.
struct MessageAssembler: Sendable {
    /// The type of a frame.
    enum Opcode: Sendable, Hashable {
        case continuation
        case text
        case binary
        case close
        case ping
        case pong
        case unknown
    }

    /// The action after a frame.
    enum Action: Sendable, Hashable {
        /// No action.
        case wait
        /// Handle a complete message.
        case message([UInt8])
        /// Send a pong with these bytes.
        case pong([UInt8])
        /// Close the socket with this code, because the peer closed it or violated the protocol.
        case close(code: UInt16)
    }

    private enum State: Sendable {
        case between
        case inside([UInt8])
        case closed
    }

    /// The maximum size of a message in bytes.
    let limit: Int
    private var state = State.between

    init(limit: Int) { self.limit = limit }

    /// Handles a received frame, whose data are unmasked.
    mutating func frameReceived(
        _ opcode: Opcode,
        isFinal: Bool,
        isMasked: Bool,
        hasReservedBits: Bool,
        _ data: some Collection<UInt8>
    ) -> Action {
        if case .closed = self.state { return .wait }
        guard isMasked, !hasReservedBits else { return self.fail(1002) }
        switch opcode {
        case .ping, .pong, .close:
            guard isFinal, data.count <= 125 else { return self.fail(1002) }
            return self.control(opcode, Array(data))
        case .unknown: return self.fail(1002)
        case .binary: return self.fail(1003)
        case .text:
            guard case .between = self.state else { return self.fail(1002) }
            return self.append([], data, isFinal)
        case .continuation:
            guard case .inside(let bytes) = self.state else { return self.fail(1002) }
            self.state = .between
            return self.append(bytes, data, isFinal)
        }
    }

    private mutating func control(_ opcode: Opcode, _ data: [UInt8]) -> Action {
        switch opcode {
        case .ping: return .pong(data)
        case .close:
            guard data.count >= 2 else { return self.fail(data.isEmpty ? 1000 : 1002) }
            let code = UInt16(data[0]) << 8 | UInt16(data[1])
            return self.fail(Self.mayBeSent(code) ? code : 1002)
        default: return .wait
        }
    }

    private mutating func append(_ before: [UInt8], _ data: some Collection<UInt8>, _ isFinal: Bool) -> Action {
        guard before.count + data.count <= self.limit else { return self.fail(1009) }
        var bytes = before
        bytes.append(contentsOf: data)
        guard isFinal else {
            self.state = .inside(bytes)
            return .wait
        }
        self.state = .between
        guard String(validating: bytes, as: UTF8.self) != nil else { return self.fail(1007) }
        return .message(bytes)
    }

    private mutating func fail(_ code: UInt16) -> Action {
        self.state = .closed
        return .close(code: code)
    }

    private static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
