// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// Searches the beginning of a message for the first text that starts with `token:`, while the message arrives.
///
/// Pure value. It decides only how much of the message is received: the dispatcher checks each call. So it does not parse
/// the message, but recognises JSON's strings, or the character data between XML's tags.
struct TokenScan {
    private enum State {
        case outside
        /// In a text that can still be a token.
        case inside
        /// In another text.
        case skipping
        case ended
    }

    private let dialect: RPCDialect
    private var state = State.outside
    private var isEscaped = false
    private var text: [UInt8] = []
    private static let prefix = Array("token:".utf8)

    /// Creates a search at the beginning of a message.
    init(_ dialect: RPCDialect) { self.dialect = dialect }

    /// Examines the next bytes; returns the token when the text with it ends.
    ///
    /// Later texts are not examined.
    mutating func next(_ bytes: UnsafeRawBufferPointer) -> String? {
        for byte in bytes {
            switch self.state {
            case .ended: return nil
            case .outside:
                guard byte == (self.dialect == .json ? 0x22 : 0x3E) else { continue }
                self.state = .inside
                self.text.removeAll(keepingCapacity: true)
            case .inside, .skipping:
                if self.isEscaped {
                    self.isEscaped = false
                } else if byte == (self.dialect == .json ? 0x22 : 0x3C) {
                    let isToken = self.state == .inside && self.text.count >= Self.prefix.count
                    self.state = isToken ? .ended : .outside
                    if isToken { return self.decoded() }
                    continue
                } else if self.dialect == .json, byte == 0x5C {
                    self.isEscaped = true
                }
                if self.state == .inside { self.append(byte) }
            }
        }
        return nil
    }

    private mutating func append(_ byte: UInt8) {
        if self.text.count < Self.prefix.count, byte != Self.prefix[self.text.count] {
            self.state = .skipping
        } else {
            self.text.append(byte)
        }
    }

    /// The token in the text, with escapes or references resolved; `nil` if they are malformed.
    private func decoded() -> String? {
        let text: String?
        switch self.dialect {
        case .json: text = (try? JSON(parsing: [0x22] + self.text + [0x22]))?.string
        case .xml:
            guard var scanner = try? XMLScanner(self.text), case .text(let value)? = try? scanner.next() else {
                return nil
            }
            text = value
        }
        return text.map { String($0.dropFirst(Self.prefix.count)) }
    }
}

/// Admits content with the right token.
struct TokenScreen: ContentScreen {
    private var scan: TokenScan
    private let gate: TokenGate
    private let sender: TokenSender

    init(_ dialect: RPCDialect, _ gate: TokenGate, _ sender: TokenSender) {
        self.scan = TokenScan(dialect)
        self.gate = gate
        self.sender = sender
    }

    mutating func admits(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let token = self.scan.next(bytes) else { return false }
        return self.gate.verdict(token, from: self.sender) == .right
    }
}
