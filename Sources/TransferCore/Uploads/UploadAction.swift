/// One request that an upload wants made.
package struct UploadStep: Hashable, Sendable {
    /// Whom a request asks.
    package enum Place: Hashable, Sendable {
        /// The URL that the upload began with.
        case endpoint
        /// The URL at which uploads are made: the same, where there is no other.
        case collection
        /// The upload's own resource.
        case resource(HTTPURL)
    }

    /// A header field of the protocol.
    package struct Field: Hashable, Sendable {
        /// The name.
        package var name: String
        /// The value.
        package var value: String
    }

    /// The method.
    package var method: String
    /// Whom it asks.
    package var place: Place
    /// The protocol's own fields.
    package var fields: [Field]
    /// The bytes of the upload's content that it carries; `nil` for a request without content.
    package var content: Range<Int64>?
    /// Whether the fields that describe the caller's content go along.
    package var describesContent = false
    /// Whether asking twice does no harm.
    package var isRepeatable = true
    /// The digest of its content to send along, or `nil`.
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

/// What an upload does next.
package enum UploadAction: Hashable, Sendable {
    /// Make this request.
    case ask(UploadStep)
    /// Keep where the upload's resource is, then make this request.
    case remember(UploadResource, then: UploadStep)
    /// The server has lost the resource: forget it, then make this request.
    case forget(then: UploadStep)
    /// Everything is there; the body of this response is the answer.
    case accept
    /// Everything is there, as the server said to a question; there is no answer to take.
    case complete
    /// The protocol has nothing to say about this status.
    case judge
    /// It cannot go on.
    case fail(UploadFault)
}

/// Where an upload's own resource is.
package struct UploadResource: Hashable, Sendable {
    /// The protocol that it speaks.
    package var speaks: ResumableProtocol
    /// Its URL.
    package var url: HTTPURL
    /// When it goes away, seconds since 1970, where the server told.
    package var expires: Int64?
}

/// Why an upload cannot go on.
package struct UploadFault: Error, Hashable, Sendable {
    /// The kind of fault.
    package enum Code: Hashable, Sendable {
        /// The content is larger than the server takes.
        case tooLarge
        /// The server does not keep to the protocol.
        case brokenProtocol
        /// The server does not speak the protocol that was asked for.
        case notSpoken
        /// The server is at it still, or disagrees about the offset: later it may be otherwise.
        case busy
    }

    /// The kind of fault.
    package var code: Code
    /// What happened.
    package var message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
