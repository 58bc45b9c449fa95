// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

extension AddCommand {
    struct Uploading: ParsableArguments {
        @Flag(.upload) var upload = false
        @OptionGroup var content: ContentOptions
        @Option(.uploadChecksum) var uploadChecksum: DigestAlgorithm?

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
