// SPDX-License-Identifier: Apache-2.0
/// One request of an upload.
package struct UploadStep: Hashable, Sendable {
    /// The target of a request.
    package enum Place: Hashable, Sendable {
        /// The initial URL of the upload.
        case endpoint
        /// The URL at which uploads are created; by default the initial one.
        case collection
        /// The upload's own resource.
        case resource(HTTPURL)
    }

    /// A header field of the protocol.
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    package var method: String
    /// The target.
    package var place: Place
    /// The protocol's own fields.
    package var fields: [Field]
    /// The range of the upload's content that it carries; `nil` for a request without content.
    package var content: Range<Int64>?
    /// Whether the fields that describe the caller's content are included.
    package var describesContent = false
    /// Whether the request is safe to repeat.
    package var isRepeatable = true
    /// The digest of its content to include, or `nil`.
    package var checksum: DigestAlgorithm?

    package init(
        _ method: String,
        _ place: Place,
        _ fields: KeyValuePairs<String, String> = [:],
        content: Range<Int64>? = nil
    ) {
        self.method = method
        self.place = place
        self.fields = fields.map { Field(name: $0.key, value: $0.value) }
        self.content = content
    }

    mutating func add(_ name: String, _ value: String) { self.fields.append(Field(name: name, value: value)) }
}

/// The next action of an upload.
package enum UploadAction: Hashable, Sendable {
    /// Send this request.
    case ask(UploadStep)
    /// Store the location of the upload's resource, then send this request.
    case remember(UploadResource, then: UploadStep)
    /// The server has lost the resource: forget it, then send this request.
    case forget(then: UploadStep)
    /// The upload is complete; the body of this response is the result.
    case accept
    /// The upload is complete, as reported by the server to a status request; no result follows.
    case complete
    /// The protocol does not define this status.
    case judge
    /// The upload cannot continue.
    case fail(UploadFault)
}

/// The location of an upload's own resource.
package struct UploadResource: Hashable, Sendable {
    /// The protocol that it supports.
    package var speaks: ResumableProtocol
    package var url: HTTPURL
    /// The expiry time in seconds since 1970, if the server reported it.
    package var expires: Int64?
}

/// The reason why an upload cannot continue.
package struct UploadFault: Hashable, Sendable {
    /// The kind of error.
    package enum Code: Hashable, Sendable {
        /// The content is larger than the server accepts.
        case tooLarge
        /// The server violates the protocol.
        case brokenProtocol
        /// The server does not support the requested protocol.
        case notSpoken
        /// The server is still processing it, or disagrees about the offset: a later attempt may succeed.
        case busy
    }

    /// The kind of error.
    package var code: Code
    /// A description of the error.
    package var message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
