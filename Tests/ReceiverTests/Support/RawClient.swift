// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferTesting

/// A client that sends what a test writes, byte for byte, and reads what comes; blocks.
final class RawClient {
    /// An answer as it came.
    struct Response {
        var status: Int
        var fields: HeaderFields
        var body: [UInt8]
        /// Whether the body was complete.
        var isWhole: Bool

        var text: String { String(decoding: self.body, as: UTF8.self) }
    }

    private let socket: Int32
    private var input: [UInt8] = []

    /// Connects; nothing that is read or written takes longer than 20 seconds.
    init(port: Int, receiveBuffer: Int32? = nil, from host: UInt8 = 1) throws {
        self.socket = Platform.socket(AF_INET, SocketType.stream, 0)
        if host != 1 { try Self.bind(self.socket, host) }
        if var size = receiveBuffer { setsockopt(self.socket, SOL_SOCKET, SO_RCVBUF, &size, 4) }
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(self.socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(self.socket, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw TestSupportError("cannot connect: \(String(cString: strerror(errno)))") }
    }

    deinit { close(self.socket) }

    /// Sends from 127.0.0.HOST.
    private static func bind(_ socket: Int32, _ host: UInt8) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = (UInt32(0x7F00_0000) + UInt32(host)).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Platform.bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw TestSupportError("cannot bind: \(String(cString: strerror(errno)))") }
    }

    /// Sends bytes; false where the server does not take them.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...]
                .withUnsafeBytes { Platform.send(self.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Sends text.
    @discardableResult
    func send(_ text: String) -> Bool { self.send(Array(text.utf8)) }

    /// Closes this side.
    func finish() { shutdown(self.socket, Int32(SHUT_WR)) }

    /// Breaks the connection off, as a crash would.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Platform.linger>.size))
        shutdown(self.socket, Int32(SHUT_RDWR))
    }

    /// Reads some bytes; empty at the end.
    func read() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var count: Int
        repeat { count = recv(self.socket, &buffer, buffer.count, 0) } while count < 0 && errno == EINTR
        return count > 0 ? Array(buffer[..<count]) : []
    }

    /// Reads up to and with a blank line: an interim response.
    func readHead() -> String {
        while true {
            if let end = self.input.indices.first(where: { self.input[$0...].starts(with: Array("\r\n\r\n".utf8)) }) {
                defer { self.input.removeFirst(end + 4) }
                return String(decoding: self.input[..<(end + 4)], as: UTF8.self)
            }
            let more = self.read()
            if more.isEmpty { return String(decoding: self.input, as: UTF8.self) }
            self.input += more
        }
    }

    /// Reads what there is to the connection's end.
    func readToEnd() -> [UInt8] {
        var all = self.input
        self.input = []
        while true {
            let more = self.read()
            if more.isEmpty { return all }
            all += more
        }
    }

    /// Whether the server closes the connection without another byte.
    func isAtEnd() -> Bool { self.input.isEmpty && self.read().isEmpty }

    /// Reads a final response.
    func response(isHead: Bool = false) throws -> Response {
        var parser = ResponseParser(isHeadRequest: isHead)
        var response: Response?
        while true {
            var consumed = 0
            var isOver = false
            let input = self.input
            try input.withUnsafeBytes { bytes in
                parsing: while true {
                    switch try parser.next(bytes, consumed: &consumed) {
                    case .needMore: break parsing
                    case .interim: break
                    case .head(let head):
                        response = Response(status: head.status, fields: head.fields, body: [], isWhole: false)
                    case .body(let range): response?.body += bytes[range]
                    case .end:
                        response?.isWhole = true
                        isOver = true
                        break parsing
                    }
                }
            }
            self.input.removeFirst(consumed)
            if isOver, let response { return response }
            let more = self.read()
            if more.isEmpty {
                guard let response else { throw TestSupportError("the connection ended without a response") }
                return response
            }
            self.input += more
        }
    }

    /// Sends a request with `Host` and a content, and reads the response.
    func request(
        _ method: String,
        _ path: String,
        _ fields: [(String, String)] = [],
        body: [UInt8]? = nil,
        host: String = "localhost"
    ) throws -> Response {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Length: \(body.count)\r\n" }
        self.send(Array((text + "\r\n").utf8) + (body ?? []))
        return try self.response(isHead: method == "HEAD")
    }
}
