internal import FileStorage
internal import Glibc
internal import Synchronization
internal import TransferCore

/// The shared files, by the tokens of their links.
final class ShareTable: Sendable {
    private struct Entry {
        var share: Share
        var file: OpenFile
        var facts: FileFacts
        var name: String
    }

    private let entries: Mutex<[String: Entry]>
    /// The paths of the links, in the order of the offers.
    let paths: [String]

    /// Opens the files and creates their tokens.
    ///
    /// The files stay open: a link refers to the file that was opened here, even if it is renamed or replaced later.
    ///
    /// - Throws: ``ReceiverError`` with `directory` if a file cannot be opened or is not a regular file.
    init(_ offers: [ShareOffer], now: Int64) throws(ReceiverError) {
        var entries: [String: Entry] = [:]
        var paths: [String] = []
        for offer in offers {
            let raw = open(offer.path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
            guard raw >= 0 else {
                throw ReceiverError(.directory, "cannot share '\(offer.path)': \(String(cString: strerror(errno)))")
            }
            let file = OpenFile(raw)
            guard let status = file.status(), status.st_mode & S_IFMT == S_IFREG else {
                throw ReceiverError(.directory, "cannot share '\(offer.path)': it is no plain file")
            }
            let name = String(offer.path.split(separator: "/").last ?? "file")
            let token = Self.token()
            let expires = offer.lifetime.map { now + $0.components.seconds }
            entries[token] = Entry(
                share: Share(expires: expires, downloads: offer.downloads),
                file: file,
                facts: FileFacts(status),
                name: name
            )
            paths.append(ShareLink.path(token: token, name: name))
        }
        self.entries = Mutex(entries)
        self.paths = paths
    }

    /// Returns 128 random bits as text for a URL.
    private static func token() -> String { UploadName().id }

    /// Responds to a request for a link.
    ///
    /// - Parameters:
    ///   - path: The path of the link.
    ///   - request: The request.
    ///   - now: The current time, in seconds since 1970.
    /// - Returns: The response, and the token if the response counts as a download: the caller must then report its end
    ///   with ``ended(_:arrived:)``.
    func answer(_ path: TreePath, _ request: Request, now: Int64) -> (answer: Answer, token: String?) {
        let fields = request.head.fields
        guard request.isRead else { return (.message(405, "a link knows GET and HEAD", ["Allow": "GET, HEAD"]), nil) }
        guard path.names.count == 3 else { return (.failure(.notFound), nil) }
        let token = path.names[1]
        return self.entries.withLock { entries in
            guard var entry = entries[token], entry.name == path.names[2] else { return (.failure(.notFound), nil) }
            // The file may be written to while it is shared: use its current metadata.
            if let status = entry.file.status() { entry.facts = FileFacts(status) }
            var plan = FileAnswer(name: entry.name, facts: entry.facts, isAttachment: true)
            plan.hasRanges = request.head.method == "GET"
            let answer = plan.answer(fields, entry.file, now: now)
            let reachesEnd =
                if request.head.method == "GET", case .file(_, let range) = answer.content {
                    range.upperBound == entry.facts.length
                } else {
                    request.head.method == "GET" && answer.status == 200
                }
            let verdict = entry.share.requested(reachesEnd: reachesEnd, by: request.peer, now: now)
            entries[token] = entry
            switch verdict {
            case .serve(let counts): return (answer, counts ? token : nil)
            case .gone: return (.message(410, "this link has been used up or has expired"), nil)
            case .busy: return (.message(503, "the last download is on its way", ["Retry-After": "10"]), nil)
            }
        }
    }

    /// Reports the end of a response that counts as a download.
    func ended(_ token: String, arrived: Bool) { self.entries.withLock { $0[token]?.share.ended(arrived: arrived) } }
}
