// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

extension AddCommand {
    /// Options for uploads.
    struct Uploading: ParsableArguments {
        @Flag(help: "Upload files: the arguments are files followed by the URL.")
        var upload = false

        @OptionGroup
        var content: ContentOptions

        @Option(
            help: ArgumentHelp(
                "Send the digest of each part with this algorithm if the server supports tus checksums.",
                valueName: "algorithm"
            ),
            completion: .list(DigestAlgorithm.allCases.map(\.rawValue)),
            transform: { try ChecksumArgument.algorithm($0) }
        )
        var uploadChecksum: DigestAlgorithm?

        /// The first given option that applies only to uploads, or `nil`.
        var firstGiven: String? {
            let given: [(Bool, String)] = [
                (self.content.method != nil, "--request"), (self.content.type != nil, "--type"),
                (!self.content.form.isEmpty, "--form"),
                (self.content.protocol != nil, "--protocol"), (self.uploadChecksum != nil, "--upload-checksum"),
                (self.content.noExpect, "--no-expect"),
            ]
            return given.first { $0.0 }?.1
        }
    }
}
