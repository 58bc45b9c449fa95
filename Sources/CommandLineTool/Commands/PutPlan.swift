// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferEngine

/// The validated arguments of `martlet put`.
struct PutPlan {
    /// An upload.
    struct Item: Equatable {
        /// The content of an upload.
        enum Content: Equatable {
            case file(String)
            /// The files below a directory: its path, and the names that precede theirs in the URL.
            case tree(String, names: [String])
            case standardInput
            case form([Field])
        }

        /// The content to send.
        var content: Content
        /// The target URL.
        var url: HTTPURL
        /// The URL at which a resumable protocol creates the upload, if it is not ``url``.
        var collection: HTTPURL?
        /// The name for display.
        var name: String

        /// Whether it is a directory.
        var isTree: Bool { if case .tree = self.content { true } else { false } }
        /// Whether a later run can resume it.
        var isResumable: Bool {
            switch self.content {
            case .file, .tree: true
            case .standardInput, .form: false
            }
        }
    }

    /// A field of a form.
    struct Field: Equatable {
        /// The field's name.
        var name: String
        /// The text, or the path of the file.
        var value: String
        /// Whether the value is the path of a file.
        var isFile: Bool
    }

    /// The settings that this run shares with `martlet get`.
    var run = GetPlan(sources: .urls([]))
    /// The URL as given.
    var url: HTTPURL
    /// The uploads named on the command line.
    var items: [Item] = []
    /// A file that lists more uploads, one per line; `-` is standard input.
    var list: String?
    /// The HTTP method.
    var method = "PUT"
    /// The media type.
    var type = "application/octet-stream"
    /// The protocol for resuming interrupted uploads.
    var way = UploadWay.automatic
    /// The algorithm of the digest to send, or `nil`.
    var checksum: DigestAlgorithm?
    /// Whether large uploads use `Expect: 100-continue`.
    var asksFirst = true
    /// Whether the state for resuming is kept after this run.
    var keepsState = true
    /// Whether response contents are written to standard output.
    var writesAnswers = false
}

extension PutPlan {
    /// Creates the upload of a file or directory that is named on the command line.
    ///
    /// As with rsync, a directory with a slash at its end stands for its entries.
    ///
    /// - Throws: ``SyntaxError`` if the path does not name a file or directory.
    static func item(_ file: String, to url: HTTPURL, by method: String) throws(SyntaxError) -> Item {
        guard !file.utf8.contains(0), !file.isEmpty else {
            throw SyntaxError("a file name is empty, or contains a NUL")
        }
        if Self.isDirectory(file) {
            guard url.isFolder, method != "POST" else {
                throw SyntaxError(
                    "\"\(DisplayText.clean(file))\" is a directory; it needs PUT and a URL that ends in a slash"
                )
            }
            let last = file.lastComponent
            let names = ["", ".", ".."].contains(last) ? [] : [last]
            return Item(content: .tree(file, names: names), url: url, name: file)
        }
        let (_, name) = try FilePath.split(file, otherwise: "there is no such directory")
        return try self.item(file, named: [name], to: url, by: method)
    }

    /// Creates the upload of a file that a list names.
    ///
    /// The directories of a relative path are kept; an absolute path is sent under its last name.
    ///
    /// - Throws: ``SyntaxError`` if the path does not name a file, or leads out of the working directory.
    static func item(listed file: String, to url: HTTPURL, by method: String) throws(SyntaxError) -> Item {
        let (_, name) = try FilePath.split(file, otherwise: "list the files in it, as 'find DIR -type f' does")
        if file.hasPrefix("/") { return try self.item(file, named: [name], to: url, by: method) }
        let names = file.split(separator: "/").map(String.init).filter { $0 != "." }
        guard !names.contains("..") else {
            throw SyntaxError(
                "\"\(DisplayText.clean(file))\" has .., so its place below the URL is not known; list it from the "
                    + "directory that contains it, or as an absolute path"
            )
        }
        return try self.item(file, named: names, to: url, by: method)
    }

    /// Creates the upload of a file.
    ///
    /// - Parameters:
    ///   - file: The path.
    ///   - names: The folders below the URL, and the name in the last one.
    ///   - url: The URL.
    ///   - method: The method.
    /// - Returns: The upload.
    /// - Throws: ``SyntaxError`` if the URL is too long.
    static func item(
        _ file: String,
        named names: [String],
        to url: HTTPURL,
        by method: String
    ) throws(SyntaxError) -> Item {
        // A POST to a folder lets the server choose the name.
        guard url.isFolder, method != "POST", let name = names.last else {
            return Item(content: .file(file), url: url, name: file)
        }
        do throws(SyntaxError) {
            var folder = url
            for name in names.dropLast() { folder = try folder.folder(name) }
            return Item(content: .file(file), url: try folder.entry(name), collection: folder, name: file)
        } catch {
            throw SyntaxError(error.message)
        }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return FileCalls.stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

extension PutCommand {
    /// Validates the arguments and combines them.
    ///
    /// - Throws: ``SyntaxError`` with the problem and how to fix it.
    func plan() throws(SyntaxError) -> PutPlan {
        let sending = self.sending
        guard let last = self.arguments.last else {
            throw SyntaxError("no URL given; write martlet put FILE URL")
        }
        let url = try PutPlan.url(last, isAlone: self.arguments.count == 1)
        var plan = PutPlan(url: url)
        plan.run.afterStop = "run the same command again to resume uploads that the server can continue"
        plan.list = sending.inputFile
        plan.method = try PutPlan.method(sending.content.method, isForm: !sending.content.form.isEmpty)
        if let type = sending.content.type { plan.type = type }
        plan.way = sending.content.protocol ?? .automatic
        plan.checksum = sending.checksum
        plan.asksFirst = !sending.content.noExpect
        plan.keepsState = !sending.noState
        plan.writesAnswers = sending.answer
        plan.items = try PutPlan.items(
            self.arguments.dropLast(),
            form: sending.content.form,
            list: sending.inputFile,
            to: url,
            by: plan.method
        )
        if !plan.keepsState || plan.way == .plain
            || plan.items.contains(where: { !$0.isResumable })
        {
            plan.run.afterStop = "incomplete uploads restart from the beginning when the same command is run again"
        }
        plan.run.family = try self.requests.family()
        try self.requests.trust(in: &plan.run)
        try self.display.apply(to: &plan.run)
        guard !plan.writesAnswers || plan.list == nil else {
            throw SyntaxError("--answer is for files named on the command line, not for those of --input-file")
        }
        guard !plan.writesAnswers || !plan.items.contains(where: { $0.isTree }) else {
            throw SyntaxError("--answer is for files, not for directories; name the files")
        }
        guard !plan.writesAnswers || plan.run.display != .json else {
            throw SyntaxError("--answer and --json both write to standard output; leave one out")
        }
        plan.run.options.fields = try self.requests.fields()
        plan.run.access = try self.requests.accessPlan(fields: plan.run.options.fields)
        self.requests.apply(to: &plan.run.options)
        plan.run.options.connections = .fixed(1)
        try self.failures.apply(to: &plan.run.options)
        plan.run.options.addresses = try self.requests.addressRule()
        plan.run.proxy = try self.requests.proxySettings()
        plan.run.directHosts = self.requests.noProxy
        plan.run.jobs = sending.jobs
        plan.run.perHost = sending.perHost ?? sending.jobs
        plan.run.limitsHosts = sending.perHost != nil
        plan.run.rateLimit = sending.limitRate > 0 ? sending.limitRate : nil
        return plan
    }
}
