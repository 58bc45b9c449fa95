// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Datasets
import TransferCore
import TransferEngine

/// Options for files that exist already, and for the digests that files must have.
struct NameOptions: ParsableArguments {
    @Flag(
        name: [.customShort("N"), .long],
        help: ArgumentHelp(
            "Fetch a file only if the server has another version; replace it once the new one is complete.",
            discussion: """
                One conditional request per file, with the entity tag or the Last-Modified that martlet stored with it, \
                else with its modification time. The same as --if-exists update.
                """
        )
    )
    var timestamping = false

    @Option(
        help: ArgumentHelp(
            "Verify every file by its line in a list of digests: SHA256SUMS, MD5SUMS and their like.",
            discussion: """
                A file, '-' for standard input, or a URL, which is fetched first. The lines are those of sha256sum or \
                of BSD's sha256. A file is looked up by its name and by the path of its URL; one without a line fails \
                before its transfer, unless a checksum= line of the input file gives its digest.
                """,
            valueName: "list"
        ),
        completion: .file()
    )
    var checksumsFrom: String?

    /// Sets the options for existing files and digests.
    ///
    /// - Throws: ``BadValue`` if options cannot be used together.
    func apply(to plan: inout GetPlan) throws(BadValue) {
        if self.timestamping {
            guard plan.options.ifExists == .auto || plan.options.ifExists == .update else {
                throw BadValue("--timestamping and --if-exists cannot be used together; leave one out")
            }
            plan.options.ifExists = .update
        }
        let isFile = !plan.toStandardOutput && plan.device == nil && plan.dataset?.shards == nil
        guard plan.options.ifExists != .update || isFile else {
            throw BadValue("--timestamping is for files, not for standard output, devices or shards; leave it out")
        }
        guard let list = self.checksumsFrom else { return }
        guard !list.isEmpty else { throw BadValue("--checksums-from is empty; name a file or a URL") }
        guard plan.dataset == nil else {
            throw BadValue("--checksums-from is for URLs; in a table, name the column of digests with --column")
        }
        guard list != "-" || plan.sources != .file("-") else {
            throw BadValue("--checksums-from and --input-file cannot both be standard input; put one into a file")
        }
        guard list.utf8.contains(0x3A), list.contains("://") else {
            plan.checksums = .file(list)
            return
        }
        do { plan.checksums = .url(try HTTPURL(list)) } catch { throw BadValue("--checksums-from: \(error.message)") }
    }
}
