// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

/// Options for upload content, shared by `martlet put` and `martlet add --upload`.
struct ContentOptions: ParsableArguments {
    @Option(
        name: [.customShort("X", allowingJoined: true), .customLong("request")],
        help: ArgumentHelp("HTTP method. (default: PUT, POST for a form)", valueName: "method")
    )
    var method: String?

    @Option(
        help: ArgumentHelp("Media type of the files. (default: application/octet-stream)", valueName: "type")
    )
    var type: String?

    @Option(
        help: ArgumentHelp(
            "Form field, as 'name=value', or 'name=@file' for a file; may be repeated.",
            discussion: "The whole form is one upload (multipart/form-data); files are read while they are sent.",
            valueName: "field"
        ),
        completion: .file()
    )
    var form: [String] = []

    @Option(
        help: ArgumentHelp(
            "Protocol for resuming interrupted uploads: auto, none, tus, ietf-3, ietf-5 or ietf-6. (default: auto)",
            discussion: """
                auto asks the server about uploads by PUT of at least 1M. none restarts from the beginning. The others \
                are tus 1.0 and the interop versions of the IETF draft for resumable uploads.
                """,
            valueName: "protocol"
        ),
        completion: .list(["auto", "none"] + ResumableProtocol.allCases.map(\.rawValue)),
        transform: { try ContentOptions.way($0) }
    )
    var `protocol`: UploadWay?

    @Flag(help: "Do not send Expect: 100-continue before the content of large files.")
    var noExpect = false

    /// Parses the name of a resumption protocol.
    static func way(_ text: String) throws(BadValue) -> UploadWay {
        guard let way = UploadWay(name: text) else {
            throw BadValue("\"\(DisplayText.clean(text))\" is not a protocol; use \(UploadWay.names)")
        }
        return way
    }
}
