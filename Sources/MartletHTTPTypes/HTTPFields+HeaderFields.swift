// SPDX-License-Identifier: Apache-2.0
public import HTTPTypes
public import Martlet

extension HTTPFields {
    /// The maximum number of fields that the type accepts.
    private static let maximumCount = Int(UInt16.max) - 1

    /// Creates fields from Martlet's, line by line and in order.
    ///
    /// Fields of the same name are not joined. The bytes of a value that is not UTF-8 are kept. Names that are not tokens
    /// are left out, and so is everything beyond 65,534 fields.
    public init(_ headers: HeaderFields) {
        self.init()
        headers.forEachLine { name, value in
            // Appending more is a trap in HTTPFields, and the number of a response's fields is the server's choice.
            guard self.count < Self.maximumCount,
                let name = HTTPField.Name(String(decoding: name, as: UTF8.self))
            else { return }
            self.append(HTTPField(name: name, lenientValue: value))
        }
    }
}

extension HeaderFields {
    /// Creates fields from those of swift-http-types, in order.
    ///
    /// Fields of the same name are not joined, except `Cookie`: `HTTPFields` splits it for HTTP/2, and a request of
    /// HTTP/1.1 has at most one. Its parts are joined with "; " at the place of the first.
    ///
    /// - Source: RFC 6265 §5.4, RFC 9113 §8.2.3.
    public init(_ fields: HTTPFields) {
        self.init()
        let cookies = fields[.cookie]
        for field in fields {
            if field.name != .cookie {
                self.append(field.name.rawName, field.value)
            } else if let cookies, !self.contains("Cookie") {
                self.append(field.name.rawName, cookies)
            }
        }
    }
}
