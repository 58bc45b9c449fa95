// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Platform
internal import Synchronization
package import TransferCore

/// A D-Bus message bus with a notification service, of which it knows the few messages that the daemon sends.
package final class StubBus: Sendable {
    /// A notification as the service received it.
    package struct Posted: Hashable {
        package var application: String
        package var replaced: UInt32
        package var summary: String
        package var body: String

        package init(application: String, replaced: UInt32, summary: String, body: String) {
            self.application = application
            self.replaced = replaced
            self.summary = summary
            self.body = body
        }
    }

    package enum Behaviour: Sendable {
        case works
        case hasNoService
        case isSilent
        case closes
        case sendsNoise
    }

    package let path: String
    private let behaviour: Behaviour
    private let descriptor: Int32
    private let posted = Mutex<[Posted]>([])
    private let stream: AsyncStream<Posted>
    private let continuation: AsyncStream<Posted>.Continuation

    /// Listens on a path, or in the abstract namespace if the name begins with `@`.
    package init(_ path: String, _ behaviour: Behaviour = .works) throws {
        self.path = path
        self.behaviour = behaviour
        (self.stream, self.continuation) = AsyncStream.makeStream()
        self.descriptor = socket(AF_UNIX, SocketType.stream, 0)
        let descriptor = self.descriptor
        guard UnixSocketAddress.with(path, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 16) == 0 else {
            throw TestSupportError("no bus can listen on \(path): errno \(errno)")
        }
        DispatchQueue.global()
            .async {
                while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                    DispatchQueue.global().async { self.serve(connection) }
                }
            }
    }

    /// To be called at the end.
    package func stop() {
        shutdown(self.descriptor, Int32(SHUT_RDWR))
        _ = close(self.descriptor)
        self.continuation.finish()
    }

    /// The environment in which this is the session bus.
    package func variable(_ name: String) -> String? {
        guard name == "DBUS_SESSION_BUS_ADDRESS" else { return nil }
        return self.path.hasPrefix("@") ? "unix:abstract=\(self.path.dropFirst())" : "unix:path=\(self.path)"
    }

    /// Waits for the next notifications.
    package func next(_ count: Int = 1) async -> [Posted] {
        var all: [Posted] = []
        for await posted in self.stream {
            all.append(posted)
            if all.count == count { break }
        }
        return all
    }

    private func serve(_ connection: Int32) {
        defer { _ = close(connection) }
        var received: [UInt8] = []
        var isAuthenticated = false
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(connection, &buffer, buffer.count), count > 0 {
            received += buffer[..<count]
            switch self.behaviour {
            case .closes: return
            case .isSilent: continue
            case .sendsNoise:
                Self.send(Array("OK 12\r\n".utf8) + [0x6C, 2, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF] + buffer, connection)
            case .works, .hasNoService: break
            }
            if !isAuthenticated, let end = received.firstIndex(of: 0x0A) {
                isAuthenticated = true
                let uid = "\(geteuid())".utf8
                let expected = "\0AUTH EXTERNAL \(Hexadecimal.encode(Array(uid)))\r\n"
                let isRight = received[...end].elementsEqual(expected.utf8)
                Self.send(Array((isRight ? "OK 0123456789abcdef\r\n" : "REJECTED EXTERNAL\r\n").utf8), connection)
                received.removeFirst(end + 1)
            }
            let begin = Array("BEGIN\r\n".utf8)
            if received.starts(with: begin) { received.removeFirst(begin.count) }
            while isAuthenticated, case .message(let message, let size) = DBusMessage.parse(received[...]) {
                self.answer(message, Array(received[..<size]), connection)
                received.removeFirst(size)
            }
        }
    }

    private func answer(_ message: DBusMessage, _ bytes: [UInt8], _ connection: Int32) {
        let serial = UInt32(bytes[8])
        guard let application = message.text else {
            Self.send(Self.message(2, serial, "s") { $0.string(":1.7") }, connection)
            // NameAcquired.
            return Self.send(Self.message(4, 0, "s") { $0.string(":1.7") }, connection)
        }
        guard self.behaviour != .hasNoService else {
            let name = "org.freedesktop.DBus.Error.ServiceUnknown"
            return Self.send(Self.message(3, serial, "s", error: name) { $0.string("no such name") }, connection)
        }
        var body = DBusReader(bytes.suffix(Int(bytes[4]) | Int(bytes[5]) << 8), isLittleEndian: true)
        _ = body.string()
        let replaced = body.integer() ?? 0
        _ = body.string()
        let one = Posted(
            application: application,
            replaced: replaced,
            summary: body.string() ?? "",
            body: body.string() ?? ""
        )
        let number = self.posted.withLock { posted in
            posted.append(one)
            return replaced == 0 ? UInt32(posted.count) + 100 : replaced
        }
        Self.send(Self.message(2, serial, "u") { $0.integer(number) }, connection)
        self.continuation.yield(one)
    }

    /// A message of a bus, in reply to another one.
    package static func message(
        _ kind: UInt8,
        _ serial: UInt32,
        _ signature: StaticString,
        error: String? = nil,
        _ body: (inout DBusWriter) -> Void
    ) -> [UInt8] {
        var arguments = DBusWriter()
        body(&arguments)
        var message = DBusWriter()
        for byte in [0x6C, kind, 1, 1] { message.byte(byte) }
        message.integer(UInt32(arguments.bytes.count))
        message.integer(5)
        message.array(alignedTo: 8) { fields in
            fields.byte(5)
            fields.signature("u")
            fields.integer(serial)
            fields.align(to: 8)
            fields.byte(8)
            fields.signature("g")
            fields.signature(signature)
            guard let error else { return }
            fields.align(to: 8)
            fields.byte(4)
            fields.signature("s")
            fields.string(error)
        }
        message.align(to: 8)
        message.append(arguments.bytes)
        return message.bytes
    }

    private static func send(_ bytes: [UInt8], _ connection: Int32) {
        _ = bytes.withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
    }
}
