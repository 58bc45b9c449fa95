// SPDX-License-Identifier: Apache-2.0
import Platform
import Control
import TransferCore
import TransferEngine

extension AddPlan {
    /// The settings that all uploads share.
    struct Sending {
        /// The URL as given.
        var url: HTTPURL
        /// The HTTP method.
        var method: String
        /// The source of each upload, without its content.
        var source: UploadSource
    }

    /// Creates the upload of an item.
    ///
    /// - Throws: ``SyntaxError`` if a file cannot be read; the daemon would detect that only later.
    func upload(_ item: PutPlan.Item, _ sending: Sending) throws(SyntaxError) -> NewTransfer {
        var source = sending.source
        switch item.content {
        case .tree(let path, _):
            throw SyntaxError(
                "\"\(DisplayText.clean(path))\" is a directory; list its files with --input-file, or use martlet put"
            )
        case .standardInput:
            throw SyntaxError("the daemon cannot read this command's standard input; name a file, or use martlet put")
        case .file(let path): source.parts = [.file(PosixPath.absolute(path))]
        case .form(let fields):
            let form = PutPlan.form(fields)
            source.parts = form.parts.map { part in
                switch part {
                case .file(let path): .file(PosixPath.absolute(path))
                case .bytes(let bytes): .bytes(bytes)
                }
            }
            source.type = form.type
        }
        for path in source.files {
            guard let problem = PosixPath.problem(reading: path) else { continue }
            throw SyntaxError("\(DisplayText.clean(path)) \(problem)")
        }
        source.collection = item.collection?.text
        var transfer = NewTransfer(id: GID.random(), urls: [item.url.text], options: self.options)
        transfer.isPaused = self.isPaused
        transfer.upload = source
        return transfer
    }

    /// Creates the upload of a line of an input file.
    func upload(listed name: String, _ sending: Sending) throws(SyntaxError) -> NewTransfer {
        try self.upload(try PutPlan.item(listed: name, to: sending.url, by: sending.method), sending)
    }
}

extension AddCommand {
    /// Adds uploads to a plan: the arguments are files, followed by the URL.
    ///
    /// - Throws: ``SyntaxError`` with the problem and how to fix it.
    func fillUploads(_ plan: inout AddPlan) throws(SyntaxError) {
        for (isGiven, option) in [
            (self.files.output != nil, "--output"), (self.files.directory != nil, "--directory"),
            (self.files.ifExists != nil, "--if-exists"), (self.files.timestamping, "--timestamping"),
            (self.files.ifRunning != nil, "--if-running"),
            (self.files.checksum != nil, "--checksum"),
            (self.fetching.connections != nil, "--connections"), (!self.fetching.mirror.isEmpty, "--mirror"),
        ] where isGiven {
            throw SyntaxError("\(option) is for downloads; leave it out, or leave out --upload")
        }
        guard let last = self.urls.last else {
            throw SyntaxError("no URL given; write martlet add --upload FILE URL")
        }
        let uploading = self.uploading
        guard self.urls.count > 1 || !uploading.content.form.isEmpty || self.files.inputFile != nil else {
            throw SyntaxError("no file given; write martlet add --upload FILE URL")
        }
        let url = try PutPlan.url(last, isAlone: self.urls.count == 1)
        let method = try PutPlan.method(uploading.content.method, isForm: !uploading.content.form.isEmpty)
        if uploading.content.method != nil { plan.options[.method] = method }
        var source = UploadSource([])
        if let type = uploading.content.type { source.type = type }
        switch uploading.content.protocol {
        case .automatic, nil: source.resumption = "auto"
        case .plain: source.resumption = "none"
        case .by(let speaks): source.resumption = speaks.rawValue
        }
        source.checksum = uploading.uploadChecksum?.rawValue
        source.asksFirst = !uploading.content.noExpect
        let sending = AddPlan.Sending(url: url, method: method, source: source)
        let items = try PutPlan.items(
            self.urls.dropLast(),
            form: uploading.content.form,
            list: self.files.inputFile,
            to: url,
            by: method
        )
        guard self.queue.id == nil || (items.count == 1 && self.files.inputFile == nil) else {
            throw SyntaxError("--id is for one upload; for several uploads, use the printed ids")
        }
        for item in items { plan.transfers.append(try plan.upload(item, sending)) }
        if let id = self.queue.id { plan.transfers[0].id = id }
        plan.inputFile = self.files.inputFile
        plan.sending = sending
    }
}
