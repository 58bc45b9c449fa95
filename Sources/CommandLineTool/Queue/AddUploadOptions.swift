import ArgumentParser
import TransferCore
import TransferEngine

extension AddCommand {
    /// Whether and how files are sent.
    struct Uploading: ParsableArguments {
        @Flag(help: "Send files: the arguments are the files and, last, the URL.")
        var upload = false

        @Option(
            name: [.customShort("X", allowingJoined: true), .customLong("request")],
            help: ArgumentHelp("The method of uploads. (default: PUT, POST for a form)", valueName: "method")
        )
        var method: String?

        @Option(
            help: ArgumentHelp("The media type of the files. (default: application/octet-stream)", valueName: "type")
        )
        var type: String?

        @Option(
            help: ArgumentHelp(
                "A field of a form, as 'name=value', or 'name=@file' for a file; may be repeated.",
                valueName: "field"
            ),
            completion: .file()
        )
        var form: [String] = []

        @Option(
            help: ArgumentHelp(
                "How a broken upload goes on: auto, none, tus, ietf-3, ietf-5 or ietf-6. (default: auto)",
                valueName: "protocol"
            ),
            completion: .list(["auto", "none"] + ResumableProtocol.allCases.map(\.rawValue)),
            transform: { try SendingOptions.way($0) }
        )
        var `protocol`: UploadWay?

        @Option(
            help: ArgumentHelp(
                "Send the digest of each part by this algorithm, where the server speaks tus and takes it.",
                valueName: "algorithm"
            ),
            completion: .list(DigestAlgorithm.allCases.map(\.rawValue)),
            transform: { try ChecksumArgument.algorithm($0) }
        )
        var uploadChecksum: DigestAlgorithm?

        @Flag(help: "Do not ask the server first whether it wants a large file (Expect: 100-continue).")
        var noExpect = false

        /// The first option that says something of uploads alone, or `nil`.
        var firstGiven: String? {
            let given: [(Bool, String)] = [
                (self.method != nil, "--request"), (self.type != nil, "--type"), (!self.form.isEmpty, "--form"),
                (self.protocol != nil, "--protocol"), (self.uploadChecksum != nil, "--upload-checksum"),
                (self.noExpect, "--no-expect"),
            ]
            return given.first { $0.0 }?.1
        }
    }
}
