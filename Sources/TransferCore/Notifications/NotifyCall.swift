// SPDX-License-Identifier: Apache-2.0
/// The conversation with a D-Bus message bus that posts one notification.
///
/// It authenticates as the process's user, says `Hello`, and calls `org.freedesktop.Notifications.Notify`. Pure value:
/// bytes in, bytes out.
///
/// - Source: D-Bus Specification 0.42, "Authentication Protocol" and "Message Bus Messages"; Desktop Notifications
///   Specification 1.3, `org.freedesktop.Notifications.Notify`.
package struct NotifyCall: Sendable {
    /// The driver's next action.
    package enum Action: Hashable, Sendable {
        /// Reads more bytes.
        case receive
        /// Sends bytes, then reads.
        case send([UInt8])
        /// The notification is posted and has this number.
        case posted(UInt32)
        /// The conversation has failed.
        case failed(Failure)
    }

    /// The reason why a notification was not posted.
    package enum Failure: Hashable, Sendable {
        /// No notification service is on the bus, and none can be started.
        case noService
        /// The bus refused, or did not keep to the protocol.
        case refused(String)
    }

    private enum State {
        case authenticating
        case greeting
        case notifying
        case ended
    }

    private static let helloSerial: UInt32 = 1
    private static let notifySerial: UInt32 = 2
    /// The maximum length of a line of the authentication, in bytes.
    private static let longestLine = 1024

    private let notification: DesktopNotification
    private let replaced: UInt32
    private let user: UInt32
    private var state = State.authenticating
    private var received: [UInt8] = []

    /// Creates a conversation.
    ///
    /// - Parameters:
    ///   - notification: What to post.
    ///   - replaced: The number of the notification that it replaces, or 0.
    ///   - user: The effective user of this process.
    package init(_ notification: DesktopNotification, replacing replaced: UInt32, user: UInt32) {
        self.notification = notification
        self.replaced = replaced
        self.user = user
    }

    /// The first bytes to send: the zero byte, and the user as hexadecimal digits of the decimal number.
    package var opening: [UInt8] {
        [0] + Array("AUTH EXTERNAL \(Hexadecimal.encode(Array("\(self.user)".utf8)))\r\n".utf8)
    }

    /// Handles received bytes.
    ///
    /// - Returns: What to do next; after `posted` and `failed` nothing is left to do.
    package mutating func received(_ bytes: some Collection<UInt8>) -> Action {
        self.received += bytes
        while true {
            switch self.state {
            case .authenticating:
                guard let action = self.readLine() else { return .receive }
                return action
            case .greeting, .notifying:
                switch DBusMessage.parse(self.received[...]) {
                case .incomplete: return .receive
                case .invalid: return self.fail("the bus sent a malformed message")
                case .message(let message, let size):
                    self.received.removeFirst(size)
                    if let action = self.handle(message) { return action }
                }
            case .ended: return .receive
            }
        }
    }

    /// Handles the response to the authentication; `nil` if it is incomplete.
    private mutating func readLine() -> Action? {
        guard let end = self.received.firstIndex(of: 0x0A) else {
            return self.received.count > Self.longestLine ? self.fail("the bus sent no line") : nil
        }
        guard end <= Self.longestLine else { return self.fail("the bus sent too long a line") }
        let line = String(decoding: self.received[..<end], as: UTF8.self)
        self.received.removeFirst(end + 1)
        guard line.hasPrefix("OK ") else { return self.fail("the bus refused the authentication") }
        self.state = .greeting
        let hello = DBusMessage.call(
            serial: Self.helloSerial,
            destination: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "Hello"
        )
        return .send(Array("BEGIN\r\n".utf8) + hello)
    }

    /// Handles a message; `nil` if it is not a reply to the last call, such as the signal `NameAcquired`.
    private mutating func handle(_ message: DBusMessage) -> Action? {
        let serial = self.state == .greeting ? Self.helloSerial : Self.notifySerial
        guard message.replySerial == serial else { return nil }
        switch message.kind {
        case .reply where self.state == .greeting:
            self.state = .notifying
            return .send(self.notify)
        case .reply:
            guard let number = message.number else { return self.fail("the notification service sent no number") }
            self.state = .ended
            return .posted(number)
        case .error:
            self.state = .ended
            switch message.errorName {
            case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
                return .failed(.noService)
            default:
                let text = DesktopNotification.clean(message.text ?? message.errorName ?? "", limit: 200)
                return .failed(.refused("the notification service failed: \(text)"))
            }
        case .call, .signal, nil: return nil
        }
    }

    private mutating func fail(_ text: String) -> Action {
        self.state = .ended
        self.received = []
        return .failed(.refused(text))
    }

    private var notify: [UInt8] {
        DBusMessage.call(
            serial: Self.notifySerial,
            destination: "org.freedesktop.Notifications",
            path: "/org/freedesktop/Notifications",
            interface: "org.freedesktop.Notifications",
            member: "Notify",
            signature: "susssasa{sv}i"
        ) { body in
            body.string(self.notification.application)
            body.integer(self.replaced)
            // The icon is the application's, if the desktop knows one.
            body.string("")
            body.string(self.notification.summary)
            body.string(self.notification.body)
            body.array(alignedTo: 4) { _ in }
            body.array(alignedTo: 8) { hints in
                hints.align(to: 8)
                hints.string("category")
                hints.signature("s")
                hints.string(self.notification.isFailure ? "transfer.error" : "transfer.complete")
                hints.align(to: 8)
                hints.string("urgency")
                hints.signature("y")
                hints.byte(1)
            }
            // The desktop decides how long it is shown.
            body.integer(UInt32.max)
        }
    }
}
