// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import FileStorage
internal import TransferEngine

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Data for resuming a download: the resource, the bytes received, and the location of the partial file.
///
/// The partial file stays on disk as `NAME.part`, next to its journal; this value refers to it. ``bytes`` can be stored
/// anywhere and used by another run of the program. The download restarts if the partial file has been deleted, or if
/// the file changed on the server. Header fields with credentials or cookies are not included.
public struct ResumeData: Sendable, Hashable {
    struct Contents: Codable, Hashable {
        var version = 1
        var url: String
        var mirrors: [String]
        var headers: [[String]]
        var directory: String
        var name: String
        var isTemporary: Bool
        var rule: String
        var received: Int64
        var length: Int64?
        var entityTag: String?
        var lastModified: String?
        /// The expected digests of the file, as algorithm and hexadecimal digits.
        var digests: [[String]]?
    }

    let contents: Contents

    /// The encoded form, for storage.
    public let bytes: [UInt8]

    /// The URL of the download, without user information.
    public var url: String { self.contents.url }
    /// The number of bytes received.
    public var bytesReceived: Int64 { self.contents.received }
    /// The length of the complete file in bytes, or `nil` if it is unknown.
    public var bytesExpected: Int64? { self.contents.length }

    /// Decodes stored resume data.
    ///
    /// - Throws: ``TransferError`` with `badResumeData` if the bytes are not resume data of this version.
    public init(_ bytes: [UInt8]) throws(TransferError) {
        guard let contents = try? JSONDecoder().decode(Contents.self, from: Data(bytes)), contents.version == 1 else {
            throw TransferError(
                .badResumeData,
                "these \(bytes.count) bytes are not resume data of this version",
                remedy: "restart the download"
            )
        }
        self.contents = contents
        self.bytes = bytes
    }

    private init?(_ contents: Contents) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let data = try? encoder.encode(contents) else { return nil }
        self.contents = contents
        self.bytes = Array(data)
    }

    /// Deletes the partial file, so that the download cannot be resumed.
    public func discard() {
        try? DiskStore().discardPartial(FileTarget(directory: self.contents.directory, name: self.contents.name))
    }

    /// Finds the partial file of a task's transfer; may block.
    static func survey(_ target: FileTarget, of task: DownloadTask) -> ResumeData? {
        guard let survey = try? task.session.store.survey(target), case .ours(let facts, let written) = survey.partial,
            written > 0, Self.isOwn(facts, of: task)
        else { return nil }
        return ResumeData(
            Contents(
                url: task.request.url.withoutUserInfo,
                mirrors: task.request.mirrors.map(\.withoutUserInfo),
                headers: Self.headers(of: task.request),
                directory: target.directory,
                name: target.name,
                isTemporary: task.place.isTemporary,
                rule: task.place.rule.rawValue,
                received: written,
                length: facts.length,
                entityTag: facts.entityTag,
                lastModified: facts.lastModified,
                digests: task.request.expectedDigests.map { [$0.algorithm.rawValue, Hexadecimal.encode($0.bytes)] }
            )
        )
    }

    /// Whether a partial file is of the task's resource, apart from its query, or was continued by the task's response.
    private static func isOwn(_ facts: ResourceFacts, of task: DownloadTask) -> Bool {
        if task.response.map({ (200..<300).contains($0.status) }) ?? false { return true }
        func path(_ url: String) -> Substring { url.prefix { $0 != "?" } }
        return ([task.request.url] + task.request.mirrors).contains { path($0.withoutUserInfo) == path(facts.url) }
    }

    private static func headers(of request: TransferRequest) -> [[String]] {
        var headers = request.headers.filter { !Self.isSecret($0.name) }.map { [$0.name, $0.value] }
        if let referer = request.referer { headers.append(["Referer", referer.withoutUserInfo]) }
        return headers
    }

    private static func isSecret(_ name: String) -> Bool {
        switch name.lowercased() {
        case "authorization", "cookie", "proxy-authorization": true
        default: false
        }
    }

    /// The request for the resumed download.
    func request() throws(TransferError) -> TransferRequest {
        var request = try TransferRequest(self.contents.url)
        for mirror in self.contents.mirrors { request.mirrors.append(try TransferRequest(mirror).url) }
        for field in self.contents.headers where field.count == 2 { request.headers.append(field[0], field[1]) }
        for digest in self.contents.digests ?? [] where digest.count == 2 {
            guard let expected = try? ExpectedDigest(parsing: digest.joined(separator: ":")) else { continue }
            request.expectedDigests.append(expected)
        }
        return request
    }

    var place: DownloadPlace {
        DownloadPlace(
            directory: self.contents.directory,
            name: self.contents.name,
            rule: Destination.ExistingFileRule(rawValue: self.contents.rule) ?? .fail,
            isTemporary: self.contents.isTemporary
        )
    }
}
