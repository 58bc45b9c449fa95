// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore
internal import TransferEngine

/// Plans of uploads.
extension RequestPlan {
    /// Returns the option that limits the rate of a download (`nil`) or an upload.
    static func rateOption(_ upload: UploadSource?) -> OptionName {
        upload == nil ? .maxDownloadLimit : .maxUploadLimit
    }

    /// Returns the request of an upload.
    ///
    /// - Parameters:
    ///   - source: The stored content and protocol.
    ///   - common: The request parsed as that of a download.
    ///   - reader: The options.
    /// - Returns: The request, without journal, policy and user information.
    /// - Throws: `badParameter` that names the member or the option.
    static func upload(
        _ source: UploadSource,
        _ common: DownloadRequest,
        _ reader: OptionReader
    ) throws(ControlError) -> UploadRequest {
        guard common.sources.count == 1 else {
            throw ControlError(.badParameter, "an upload has several URLs", remedy: "add one upload per URL")
        }
        guard try reader.flag(.dryRun) != true else {
            throw ControlError(.badParameter, "an upload cannot have 'dry-run'", remedy: "leave it out")
        }
        guard reader.options[.body] == nil, common.conditions.isEmpty else {
            throw ControlError(.badParameter, "an upload cannot have 'body' or 'conditions'", remedy: "leave it out")
        }
        var request = UploadRequest(common.sources[0], try Self.content(source), options: common.options)
        request.options.rateLimit = try reader.limit(.maxUploadLimit)
        request.fields = common.fields
        request.type = source.type
        guard OptionReader.isValue(source.type), !source.type.isEmpty else {
            throw ControlError(.badParameter, "\"type\" is not a media type", remedy: "give a type such as text/plain")
        }
        request.method = reader.options[.method].flatMap { $0.isEmpty ? nil : $0 } ?? (source.isForm ? "POST" : "PUT")
        request.collection = try Self.collection(source.collection)
        request.way = try Self.way(source.resumption)
        request.checksum = try Self.algorithm(source.checksum)
        if !source.asksFirst { request.asksFrom = nil }
        if let kept = source.record {
            guard let record = UploadRecord(encoded: kept) else {
                throw ControlError(
                    .badParameter,
                    "\"record\" is not the resumption record of an upload",
                    remedy: "leave it out"
                )
            }
            request.record = record
        }
        if let path = source.path {
            request.name = path
            let name = path.split(separator: "/").last.map(String.init) ?? path
            request.metadata = [("filename", name), ("filetype", source.type)]
        }
        return request
    }

    private static func content(_ source: UploadSource) throws(ControlError) -> UploadContent {
        guard !source.parts.isEmpty else {
            throw ControlError(.badParameter, "the upload has nothing to send", remedy: "give \"file\"")
        }
        guard source.byteCount <= UploadSource.mostBytes else {
            throw ControlError(
                .tooMuch,
                "an upload has more than \(UploadSource.mostBytes) bytes in addition to its files",
                remedy: "put them into a file"
            )
        }
        if let path = source.files.first(where: { !$0.hasPrefix("/") || $0.utf8.contains(0) || $0.hasSuffix("/") }) {
            throw ControlError(
                .badParameter,
                "'\(path.prefix(256))' is not the absolute path of a file",
                remedy: "start it with '/'"
            )
        }
        return .parts(
            source.parts.map { part in
                switch part {
                case .file(let path): .file(path)
                case .bytes(let bytes): .bytes(bytes)
                }
            }
        )
    }

    private static func collection(_ text: String?) throws(ControlError) -> HTTPURL? {
        guard let text else { return nil }
        do throws(SyntaxError) {
            return try HTTPURL(text)
        } catch {
            throw ControlError(.badParameter, "\"collection\": \(error.message)")
        }
    }

    private static func way(_ text: String) throws(ControlError) -> UploadWay {
        guard let way = UploadWay(name: text) else {
            throw ControlError(
                .badParameter,
                "\"protocol\": '\(text.prefix(64))' is not a supported protocol",
                remedy: "give \(UploadWay.names)"
            )
        }
        return way
    }

    private static func algorithm(_ text: String?) throws(ControlError) -> DigestAlgorithm? {
        guard let text else { return nil }
        guard let algorithm = DigestAlgorithm(rawValue: text) else {
            throw ControlError(
                .badParameter,
                "\"checksum\": '\(text.prefix(64))' is not a supported algorithm",
                remedy: "give \(DigestAlgorithm.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        return algorithm
    }
}
