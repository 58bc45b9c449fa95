// SPDX-License-Identifier: Apache-2.0
/// The rest of an unwanted response, read so that its connection can be reused, and the step that follows it.
package struct Draining<Next: Sendable>: Sendable {
    /// The step that follows.
    package var next: Next
    /// The response's head, if a policy may inspect the failed response.
    package private(set) var head: ResponseHead?
    /// The first bytes of its body, if they are kept.
    package private(set) var prefix: [UInt8] = []
    private var drained = 0
    private let limit: Int

    /// The maximum number of bytes worth reading to keep a connection.
    package static var worthReading: Int { 65_536 }

    /// Starts draining a response; `nil` if the connection must be closed and the step performed immediately.
    ///
    /// - Parameters:
    ///   - head: The response's head.
    ///   - keepsPrefix: Whether its first bytes are wanted for the record of a failure.
    ///   - next: The step that follows.
    package init?(_ head: ResponseHead, keepsPrefix: Bool, then next: Next) {
        let isShort =
            switch head.framing {
            case .none, .chunked: true
            case .length(let length): length <= Int64(Self.worthReading)
            case .untilClose: false
            }
        guard isShort || keepsPrefix else { return nil }
        self.next = next
        self.limit = isShort ? Self.worthReading : FailedResponse.prefixLimit
        self.head = keepsPrefix ? head : nil
    }

    /// Processes bytes of the body.
    ///
    /// - Returns: Whether to continue reading; if not, the connection is closed and the step follows.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.drained += bytes.count
        if self.head != nil { self.prefix += bytes.prefix(FailedResponse.prefixLimit - self.prefix.count) }
        return self.drained <= self.limit
    }

    /// The record of the failed response, if it was kept.
    package func failedResponse(from url: HTTPURL) -> FailedResponse? {
        self.head.map { FailedResponse(url: url, head: $0, prefix: self.prefix) }
    }
}
