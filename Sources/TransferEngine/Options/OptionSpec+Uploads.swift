// SPDX-License-Identifier: Apache-2.0
package import TransferCore

// The content of uploads.

extension OptionSpec<String> {
    /// The method of uploads.
    package static var method: Self {
        Self("request", letters: "X", .text("method"), "HTTP method.", standard: "PUT, POST for a form")
    }

    /// The media type of the files.
    package static var type: Self {
        Self(
            "type",
            .value(of: "Content-Type", "type"),
            "Media type of the files.",
            standard: "application/octet-stream"
        )
    }

    /// A field of a form.
    package static var form: Self {
        Self(
            "form",
            .file("field"),
            "Form field, as 'name=value', or 'name=@file' for a file; may be repeated.",
            details: "The whole form is one upload (multipart/form-data); files are read while they are sent."
        )
    }
}

extension OptionSpec<UploadWay> {
    /// The protocol for resuming.
    package static var `protocol`: Self {
        Self(
            "protocol",
            .uploadWay,
            "Protocol for resuming interrupted uploads: auto, none, tus, ietf-3, ietf-5 or ietf-6.",
            standard: "auto",
            details: """
                auto asks the server about uploads by PUT of at least 1M. none restarts from the beginning. The others \
                are tus 1.0 and the interop versions of the IETF draft for resumable uploads.
                """
        )
    }
}

extension OptionSpec<DigestAlgorithm> {
    /// The algorithm of a digest to send.
    package static var uploadChecksum: OptionSpec<DigestAlgorithm> {
        Self(
            "upload-checksum",
            .algorithm,
            "Send the digest of each part with this algorithm if the server supports tus checksums."
        )
    }
}

extension OptionSpec<Bool> {
    /// Whether the server is not asked before large contents.
    package static var noExpect: Self {
        Self("no-expect", .flag, "Do not send Expect: 100-continue before the content of large files.")
    }

    /// Whether no state is stored.
    package static var noState: Self {
        Self("no-state", .flag, "Do not store the state for resuming in a later run.")
    }

    /// Whether responses are written to standard output.
    package static var answer: Self {
        Self("answer", .flag, "Write the contents of successful responses to standard output at the end.")
    }
}

extension OptionSyntax<UploadWay> {
    /// The name of a resumption protocol, `auto` or `none`.
    static var uploadWay: Self {
        let words = ["auto", "none"] + ResumableProtocol.allCases.map(\.rawValue)
        return Self("protocol", completion: .words(words)) { text throws(SyntaxError) in
            guard let way = UploadWay(name: text) else {
                throw SyntaxError.option("is not a protocol", write: "one of \(UploadWay.names)")
            }
            return way
        }
    }
}
