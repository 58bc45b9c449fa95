// SPDX-License-Identifier: Apache-2.0
/// The facts in the fields of a head that determine the body's length and the reuse of the connection.
///
/// - Source: RFC 9112 §6 and §9.3.
struct FramingFacts: Sendable {
    /// The declared length.
    private(set) var contentLength: Int64?
    /// Whether there is a Transfer-Encoding field.
    private(set) var hasTransferEncoding = false
    /// Whether Connection contains `close`.
    private(set) var saysClose = false
    /// Whether Connection contains `keep-alive`.
    private(set) var saysKeepAlive = false
    private var chunkedCount = 0
    private var identityCount = 0
    private var otherCodingCount = 0

    /// Whether the only transfer coding is `chunked`.
    var isChunked: Bool { self.chunkedCount == 1 && self.otherCodingCount == 0 && self.identityCount == 0 }

    /// Whether Transfer-Encoding has only the obsolete `identity`: the body ends with the connection.
    var isIdentity: Bool { self.identityCount > 0 && self.chunkedCount == 0 && self.otherCodingCount == 0 }

    /// Records the facts in one field.
    mutating func note(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) throws(HTTP1Error) {
        switch name.count {
        case 10 where name.matches("connection"):
            self.noteConnection(value)
        case 14 where name.matches("content-length"):
            try self.noteContentLength(value)
        case 17 where name.matches("transfer-encoding"):
            self.noteTransferEncoding(value)
        default:
            break
        }
    }

    private mutating func noteConnection(_ value: UnsafeRawBufferPointer) {
        value.forEachListElement { element in
            if element.matches("close") { self.saysClose = true }
            if element.matches("keep-alive") { self.saysKeepAlive = true }
        }
    }

    private mutating func noteTransferEncoding(_ value: UnsafeRawBufferPointer) {
        self.hasTransferEncoding = true
        value.forEachListElement { element in
            if element.matches("chunked") {
                self.chunkedCount += 1
            } else if element.matches("identity") {
                self.identityCount += 1
            } else {
                self.otherCodingCount += 1
            }
        }
    }

    private mutating func noteContentLength(_ value: UnsafeRawBufferPointer) throws(HTTP1Error) {
        var isEmpty = true
        try value.forEachListElement { (element) throws(HTTP1Error) in
            isEmpty = false
            let length = try Self.number(element)
            if let known = self.contentLength, known != length { throw .conflictingContentLengths }
            self.contentLength = length
        }
        if isEmpty { throw .invalidContentLength }
    }

    private static func number(_ digits: UnsafeRawBufferPointer) throws(HTTP1Error) -> Int64 {
        var number: Int64 = 0
        for byte in digits {
            guard byte >= Byte.zero, byte <= Byte.zero + 9 else { throw .invalidContentLength }
            let (product, tooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = product.addingReportingOverflow(Int64(byte - Byte.zero))
            guard !tooLarge, !overflow else { throw .invalidContentLength }
            number = sum
        }
        return number
    }
}
