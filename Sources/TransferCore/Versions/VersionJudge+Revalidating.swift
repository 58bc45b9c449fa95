// SPDX-License-Identifier: Apache-2.0
/// Updating a finished file (`--timestamping`): the condition of the request, and what its response says.
extension VersionJudge {
    /// How a finished file relates to the server's.
    package enum Freshness: Hashable, Sendable {
        /// It has the server's content; see ``VersionJudge/isCurrent(_:_:)``.
        case current
        /// It has no record, so it may not be a copy at all, and was modified after the server's.
        case newer
        /// Nothing shows that it has the server's content.
        case different
    }

    /// The meaning of a 304 for a finished file.
    package enum Confirmation: Hashable, Sendable {
        /// It has the server's content.
        case current
        /// Only a response that describes the representation can show it.
        case unknown
        /// The server's validators are others.
        case different
    }

    /// Relates a finished file to the representation that a response describes.
    package static func freshness(of file: FinishedFile, by response: ResourceFacts) -> Freshness {
        if self.isCurrent(file, response) { return .current }
        guard file.recorded == nil, let modified = response.lastModified.flatMap(HTTPDate.parse),
            modified < file.modified
        else { return .different }
        return .newer
    }

    /// The field that makes a request conditional on another version than that of a finished file.
    ///
    /// One validator: the recorded entity tag, else the recorded Last-Modified, else the modification time. A server that
    /// evaluates only the second of two fields would confirm more than is asked.
    ///
    /// - Returns: A name and a value; empty if the modification time is none of HTTP.
    /// - Source: RFC 9110 §13.1.2, §13.1.3.
    package static func condition(for file: FinishedFile) -> [(String, String)] {
        if let tag = file.recorded?.entityTag, EntityTag.isValid(tag) { return [("If-None-Match", tag)] }
        if let date = file.recorded?.lastModified, HTTPDate.parse(date) != nil { return [("If-Modified-Since", date)] }
        guard 0...Self.lastSecond ~= file.modified else { return [] }
        return [("If-Modified-Since", HTTPDate.format(file.modified))]
    }

    /// The last second of the year 9999.
    private static let lastSecond: Int64 = 253_402_300_799

    /// Interprets the 304 to a request with ``condition(for:)``.
    ///
    /// A strong entity tag stands for the length, which a 304 rarely carries. `If-Modified-Since` compares times by their
    /// order, not for equality: without a record, only a response with length and Last-Modified shows that the file is
    /// the server's.
    package static func confirmation(of file: FinishedFile, by response: ResourceFacts) -> Confirmation {
        // Some servers send a length of 0 with every 304.
        if let length = response.length, length != 0, length != file.size { return .different }
        guard let recorded = file.recorded else {
            var described = response
            if described.length == 0 { described.length = nil }
            guard described.length == file.size, described.lastModified != nil else { return .unknown }
            return self.isCurrent(file, described) ? .current : .unknown
        }
        let (known, sent) = (Validators(recorded), Validators(response))
        let modified = known.lastModifiedMatch(sent)
        if modified == .different { return .different }
        switch known.entityTagMatch(sent) {
        case .different: return .different
        case .strong: return .current
        case .weak: return modified == .strong ? .current : .unknown
        case .absent, .incomparable:
            // The server compared what it was asked: the strong tag, or the time, and repeats no other.
            if known.strongEntityTag != nil { return .current }
            if known.entityTag.map({ EntityTag.isValid($0) }) ?? false { return .unknown }
            return known.isLastModifiedStrong ? .current : .unknown
        }
    }
}
