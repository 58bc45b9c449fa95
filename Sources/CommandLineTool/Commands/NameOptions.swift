// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Datasets
import TransferCore
import TransferEngine

/// Options for files that exist already, and for the digests that files must have.
struct NameOptions: ParsableArguments {
    @Flag(.timestamping) var timestamping = false
    @Option(.checksumsFrom) var checksumsFrom: String?

    /// Sets the options for existing files and digests.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - rule: The rule for existing files, if one is given.
    /// - Throws: ``SyntaxError`` if options cannot be used together.
    func apply(to plan: inout GetPlan, _ rule: IfExistsRule?) throws(SyntaxError) {
        guard !self.timestamping || rule == nil || rule == .update else {
            throw SyntaxError("--timestamping and --if-exists cannot be used together; leave one out")
        }
        OptionSpec.timestamping.apply(self.timestamping, to: &plan.options)
        let isFile = !plan.toStandardOutput && plan.device == nil && plan.dataset?.shards == nil
        guard plan.options.ifExists != .update || isFile else {
            throw SyntaxError("--timestamping is for files, not for standard output, devices or shards; leave it out")
        }
        guard let list = self.checksumsFrom else { return }
        guard !list.isEmpty else { throw SyntaxError("--checksums-from is empty; name a file or a URL") }
        guard plan.dataset == nil else {
            throw SyntaxError("--checksums-from is for URLs; in a table, name the column of digests with --column")
        }
        guard list != "-" || plan.sources != .file("-") else {
            throw SyntaxError("--checksums-from and --input-file cannot both be standard input; put one into a file")
        }
        guard list.contains("://") else {
            plan.checksums = .file(list)
            return
        }
        do { plan.checksums = .url(try HTTPURL(list)) } catch {
            throw SyntaxError("--checksums-from: \(error.message)")
        }
    }
}
