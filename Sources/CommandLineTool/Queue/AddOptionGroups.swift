// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import TransferCore
import TransferEngine

// The groups of options of `martlet add`, each with what its options set in the daemon's queue.

extension AddCommand {
    /// Options for the sources and destinations of files.
    struct Files: ParsableArguments {
        @Option(
            .inputFile.described(
                "Read URLs (with --upload, file names) from a file, or standard input if it is '-'; see martlet get."
            )
        )
        var inputFile: String?
        @Option(.output.described("File name; for one URL only.")) var output: String?
        @Option(.directory.described("Directory for the files.", standard: "the daemon's")) var directory: String?
        @Option(
            .ifExists.described(
                "What to do if the file already exists: auto, update, skip, resume, rename, overwrite or fail.",
                standard: "auto"
            )
        )
        var ifExists: IfExistsRule?
        @Flag(.timestamping) var timestamping = false
        @Option(
            .ifRunning.described(
                "What to do if another process is downloading the file: wait, fail or rename.",
                standard: "wait"
            )
        )
        var ifRunning: IfRunningRule?
        @Option(.checksum.described("Expected digest of the file, as ALGORITHM:DIGEST.")) var checksum: ExpectedDigest?

        /// Sets the options in the daemon's queue.
        ///
        /// - Throws: ``SyntaxError`` if options cannot be used together.
        func store(in options: inout TransferOptions) throws(SyntaxError) {
            if let directory = self.directory {
                guard !directory.isEmpty else { throw SyntaxError("--directory is empty; name a directory") }
                options.set(.directory, PosixPath.absolute(directory))
            }
            guard !self.timestamping || self.ifExists == nil else {
                throw SyntaxError("--timestamping and --if-exists cannot be used together; leave one out")
            }
            options.set(.ifExists, self.timestamping ? .update : self.ifExists)
            options.set(.ifRunning, self.ifRunning)
        }
    }

    /// Options for the place in the queue and the output.
    struct Queue: ParsableArguments {
        @Flag(.paused) var paused = false
        @Option(.queuePriority) var priority: Int?
        @Option(.position) var position: Int?
        @Option(.id) var id: GID?
        @Flag(.json.described("Print one JSON object per transfer instead of its id; see Docs/rpc.md.")) var json =
            false
        @Flag(.wait) var wait = false
        @Flag(.quiet.described("Do not print ids.")) var quiet = false

        /// Sets the options in the daemon's queue.
        func store(in options: inout TransferOptions) { options.set(.queuePriority, self.priority) }
    }

    /// The options of `martlet get` that apply to a single file.
    struct Fetching: ParsableArguments, LoginOptions {
        @Option(.header) var header: [HeaderLine] = []
        @Option(.referer) var referer: String?
        @Option(.userAgent) var userAgent: String?
        @Option(.cookie) var cookie: String?
        @Flag(.noCache) var noCache = false
        @Option(.user) var user: String?
        @Flag(.netrc) var netrc = false
        @Option(.netrcFile) var netrcFile: String?
        @Option(.bearerFile) var bearerFile: String?
        @Option(.loadCookies) var loadCookies: String?
        @Option(.proxy.described("Proxy, as http://user:password@host:port.")) var proxy: String?
        @Option(.connections) var connections: Int?
        @Option(.mirror.described("Another URL of the same file, for one URL only; may be repeated."))
        var mirror: [String] = []
        @Option(.limitRate.described("Maximum bytes per second for each file.")) var limitRate: Int64?
        @Option(.retries.standard(nil)) var retries: Int?
        @Option(.retryWait.standard("0")) var retryWait: Duration?
        @Option(.connectTimeout.standard("60")) var connectTimeout: Duration?
        @Option(.stallTimeout.standard("60")) var stallTimeout: Duration?
        @Option(.maxTime.standard(nil)) var maxTime: Duration?
        @Option(
            .minRate.described(
                "Fail a transfer that is slower than this many bytes per second for ten seconds, if it can be continued."
            )
        )
        var minRate: Int64?
        @Flag(
            .denyPrivateAddresses.described(
                "Refuse hosts at loopback, private and other special addresses; see martlet get."
            )
        )
        var denyPrivateAddresses = false
        @Option(
            .outageTimeout.described(
                "Seconds to wait while the host or the network is unreachable.",
                standard: "the daemon's, 86400"
            )
        )
        var outageTimeout: Duration?

        /// Sets the options in the daemon's queue.
        ///
        /// - Throws: ``SyntaxError`` if the proxy's URL is not one.
        func store(in options: inout TransferOptions, isUpload: Bool) throws(SyntaxError) {
            if let proxy = self.proxy {
                do { _ = try ProxyServer(proxy, from: "--proxy") } catch { throw SyntaxError(error.message) }
            }
            for field in self.header { options.set(.header, field) }
            options.set(.cookie, self.cookie)
            options.set(.noCache, self.noCache ? true : nil)
            options.set(.referer, self.referer)
            options.set(.userAgent, self.userAgent)
            options.set(.proxy, self.proxy)
            options.set(.connections, self.connections)
            options[.maxConnectionPerServer] = options[.split]
            if isUpload {
                options[.maxUploadLimit] = self.limitRate.map { "\($0)" }
            } else {
                options.set(.limitRate, self.limitRate)
            }
            options.set(.retries, self.retries)
            options.set(.retryWait, self.retryWait)
            options.set(.connectTimeout, self.connectTimeout)
            options.set(.stallTimeout, self.stallTimeout)
            options.set(.denyPrivateAddresses, self.denyPrivateAddresses ? true : nil)
            options.set(.minRate, self.minRate)
            options.set(.maxTime, self.maxTime)
            options.set(.outageTimeout, self.outageTimeout)
        }
    }

    /// Options that apply only to uploads.
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
