// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore
import TransferEngine

/// The validated arguments of `martlet add`.
struct AddPlan {
    /// The transfers named on the command line.
    var transfers: [NewTransfer] = []
    /// An input file; `-` is standard input.
    var inputFile: String?
    /// The options that all transfers share.
    var options = TransferOptions()
    /// The credentials and the cookies.
    var access = AccessPlan()
    /// Whether the transfers are added paused.
    var isPaused = false
    /// The position of the first transfer, or `nil` for the end.
    var position: Int?
    /// Whether JSON objects are printed.
    var printsJSON = false
    /// Whether nothing is printed.
    var isQuiet = false
    /// Whether the command waits for the transfers to end.
    var waits = false
    /// The command on whose behalf the input file is read.
    var reader = InputReader.add
    /// The settings for uploading the files of the input file; `nil` if that lists URLs.
    var sending: Sending?

    /// Creates the transfer of an input file's entry.
    func transfer(_ entry: InputEntry) -> NewTransfer {
        var options = self.options.merging(entry.options)
        let id = options[.gid].flatMap { GID($0) } ?? GID.random()
        let isPaused = options[.pause].map { $0 == "true" } ?? self.isPaused
        options.remove([.gid, .pause])
        if let path = options[.loadCookies], !path.isEmpty { options[.loadCookies] = PosixPath.absolute(path) }
        if let directory = entry.directory { options[.dir] = PosixPath.absolute(directory) }
        if let name = entry.name { options.set(name: name) }
        if let digest = entry.expected.last { options.set(.checksum, digest) }
        for field in entry.fields {
            switch field.name.lowercased() {
            case "referer": options[.referer] = field.value
            case "user-agent": options[.userAgent] = field.value
            default: options[all: .header].append("\(field.name): \(field.value)")
            }
        }
        return NewTransfer(
            id: id,
            urls: entry.urls.map(\.text),
            options: options,
            isPaused: isPaused
        )
    }
}

extension AddCommand {
    /// Validates the arguments, combines them, and makes paths absolute.
    ///
    /// - Throws: ``SyntaxError`` with the problem and how to fix it.
    func plan() throws(SyntaxError) -> AddPlan {
        if !self.uploading.upload, let option = self.uploading.firstGiven {
            throw SyntaxError("\(option) is for uploads; add --upload, or leave it out")
        }
        var plan = AddPlan(options: try self.sharedOptions())
        try self.fetching.fillLogin(of: &plan.access, fields: self.fetching.header.map { ($0.name, $0.value) })
        plan.isPaused = self.queue.paused
        plan.position = self.queue.position
        plan.printsJSON = self.queue.json
        plan.isQuiet = self.queue.quiet
        plan.waits = self.queue.wait
        if self.uploading.upload {
            try self.fillUploads(&plan)
            return plan
        }
        if let file = self.files.inputFile {
            guard self.urls.isEmpty else {
                throw SyntaxError("--input-file and URLs cannot be used together; put the URLs into the file")
            }
            guard !file.isEmpty else {
                throw SyntaxError("--input-file is empty; name a file, or - for standard input")
            }
            plan.inputFile = file
        } else if self.urls.isEmpty {
            throw SyntaxError("no URL given; write martlet add URL, or martlet add --input-file FILE")
        }
        let isSingle = self.urls.count == 1
        for (isGiven, option, way) in [
            (self.files.output != nil, "--output", "out= lines in an input file"),
            (self.files.checksum != nil, "--checksum", "checksum= lines in an input file"),
            (!self.fetching.mirror.isEmpty, "--mirror", "several URLs on a line of an input file"),
            (self.queue.id != nil, "--id", "the printed ids"),
        ] where isGiven && !isSingle {
            throw SyntaxError("\(option) is for one URL; for several URLs, use \(way)")
        }
        for url in self.urls {
            var transfer = NewTransfer(id: GID.random(), urls: [try Self.url(url)], options: plan.options)
            transfer.isPaused = plan.isPaused
            plan.transfers.append(transfer)
        }
        if isSingle { try self.fillSingle(&plan.transfers[0]) }
        return plan
    }

    private func fillSingle(_ transfer: inout NewTransfer) throws(SyntaxError) {
        if let id = self.queue.id { transfer.id = id }
        for mirror in self.fetching.mirror { transfer.urls.append(try Self.url(mirror)) }
        if let digest = self.files.checksum { transfer.options.set(.checksum, digest) }
        guard let output = self.files.output else { return }
        guard output != "-" else {
            throw SyntaxError(
                "the daemon cannot write to this command's standard output; name a file, or use martlet get"
            )
        }
        let (directory, name) = try FilePath.split(output)
        transfer.options.set(name: name)
        if let directory {
            transfer.options[.dir] = PosixPath.absolute(FilePath.join(self.files.directory ?? ".", directory))
        }
    }

    private func sharedOptions() throws(SyntaxError) -> TransferOptions {
        var options = TransferOptions()
        try self.files.store(in: &options)
        self.queue.store(in: &options)
        try self.fetching.store(in: &options, isUpload: self.uploading.upload)
        return options
    }

    private static func url(_ text: String) throws(SyntaxError) -> String {
        try BareHost.url(text).text
    }
}

extension TransferOptions {
    /// Sets the name of the file, which gets no number if it is taken.
    ///
    /// Without this, the daemon follows aria2's default (`auto-file-renaming`).
    fileprivate mutating func set(name: String) {
        self[.out] = name
        if self[.ifExists] == nil { self[.ifExists] = DownloadOptions.IfExists.auto.rawValue }
        self[.autoFileRenaming] = "false"
    }
}
