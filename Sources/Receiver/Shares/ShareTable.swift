// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import FileStorage
internal import Platform
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

    /// The name of the cookie with the ticket of a download.
    static let ticketCookie = "martlet-share"

    /// Responds to a request for a link.
    ///
    /// HEAD, and programs that show a preview of the link, get no content and do not count.
    ///
    /// - Parameters:
    ///   - path: The path of the link.
    ///   - request: The request.
    ///   - now: The current time, in seconds since 1970.
    /// - Returns: The response, with its meter if it counts.
    func response(_ path: TreePath, _ request: Request, now: Int64) -> Response {
        let fields = request.head.fields
        guard request.isRead else { return .message(405, "a link supports GET and HEAD", ["Allow": "GET, HEAD"]) }
        guard path.names.count == 3 else { return .failure(.notFound) }
        let token = path.names[1]
        return self.entries.withLock { entries in
            guard var entry = entries[token], entry.name == path.names[2] else { return .failure(.notFound) }
            // The file may be written to while it is shared: use its current metadata.
            if let status = entry.file.status() { entry.facts = FileFacts(status) }
            let length = entry.facts.length
            var plan = FileResponse(name: entry.name, facts: entry.facts, isAttachment: true)
            plan.hasRanges = request.head.method == "GET"
            var response = plan.response(fields, entry.file, now: now)
            if LinkPreview.isUserAgent(fields["User-Agent"]) {
                response = .message(
                    200,
                    "\(entry.name) (\(ByteCount.binary(length)))",
                    ["Cache-Control": "no-store"]
                )
            }
            let isHead = request.head.method == "HEAD"
            let count = isHead ? 0 : response.content.fileLength
            let client = Share.Client(
                ticket: RequestCookies.all(fields).first { $0.name == Self.ticketCookie }?.value,
                address: request.peer
            )
            var share = entry.share
            // A response without content of the file claims nothing, but there must be something to claim.
            let wanted = count > 0 ? count : isHead ? length : 1
            switch share.requested(wanted, of: length, by: client, offering: Self.token(), now: now) {
            case .serve: return response
            case .gone: return .message(410, "this link has been used up or has expired")
            case .busy: return .message(503, "the last download is running", ["Retry-After": "10"])
            case .claim(let claim):
                guard count > 0 else { return response }
                entry.share = share
                entries[token] = entry
                response.meter = ShareMeter(self, token: token, claim: claim, length: length)
                response.fields.append("Cache-Control", "private, no-store")
                if let ticket = share.ticket(claim) {
                    response.fields.append(
                        "Set-Cookie",
                        "\(Self.ticketCookie)=\(ticket); Path=/\(ShareLink.directory)/\(token)/; HttpOnly; SameSite=Lax"
                            + (request.isSecure ? "; Secure" : "")
                    )
                }
                return response
            }
        }
    }

    /// Counts bytes of a download that are about to be sent; returns false if they must not be.
    func take(_ count: Int64, of length: Int64, _ token: String, _ claim: Share.ClaimID) -> Bool {
        self.entries.withLock { $0[token]?.share.take(count, of: length, for: claim) ?? false }
    }

    /// Reports the end of a response of a download.
    func ended(_ token: String, _ claim: Share.ClaimID, unsent: Int64) {
        self.entries.withLock { $0[token]?.share.ended(claim, unsent: unsent, now: Timestamp.now) }
    }
}
