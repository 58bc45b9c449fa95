// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import NIOPosix
internal import Synchronization
internal import TransferCore

/// The response for a directory: an HTML page or JSON.
struct ListingResponse: Sendable {
    /// The directory's path.
    var path: TreePath
    /// The directory's contents.
    var listing: DirectoryListing
    var visitor: PageVisitor
    /// The prefix of all URLs.
    var base = BasePath.none

    /// Creates the response in the format that the client prefers.
    ///
    /// - Parameters:
    ///   - accept: The value of `Accept`.
    ///   - place: The threads that write the listing.
    ///   - charge: The memory of the listing; released with the response.
    /// - Returns: The response.
    func response(accept: String?, place: ListingPlace, charge: ListingPlace.Charge) -> Response {
        let format = AcceptedFormat.choose(accept, preferring: .html)
        var fields =
            switch format {
            case .json: ["Content-Type": "application/json", "X-Content-Type-Options": "nosniff"] as HeaderFields
            case .html: PageAssets.fields()
            }
        fields.append("Vary", "Accept")
        fields.append("Cache-Control", "no-cache")
        return Response(200, fields, .stream(Source(Text(listing: self, format: format), place.pool, charge)))
    }

    private final class Source: ContentSource {
        private let text: Mutex<Text>
        private let charge: ListingPlace.Charge
        let pool: NIOThreadPool?

        init(_ text: Text, _ pool: NIOThreadPool, _ charge: ListingPlace.Charge) {
            self.text = Mutex(text)
            self.pool = pool
            self.charge = charge
        }

        func next() -> [UInt8] { self.text.withLock { $0.next() } }
    }

    /// The text of a listing, in pieces.
    ///
    /// Pure value.
    struct Text: Sendable {
        let listing: ListingResponse
        let format: AcceptedFormat
        private let page: ListingPage
        private var index = 0
        private var state = State.start

        private enum State { case start, entries, end }

        /// The size above which a piece ends, in bytes.
        static let piece = 32 << 10

        init(listing: ListingResponse, format: AcceptedFormat) {
            self.listing = listing
            self.format = format
            self.page = ListingPage(path: listing.path, visitor: listing.visitor)
        }

        /// The next piece; empty at the end.
        mutating func next() -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(Self.piece + 1024)
            if self.state == .start {
                self.state = .entries
                bytes += self.format == .json ? self.listing.jsonHead : self.pageHead
            }
            let entries = self.listing.listing.entries
            while self.state == .entries, bytes.count < Self.piece {
                guard self.index < entries.count else {
                    self.state = .end
                    bytes += self.format == .json ? Array("]}\n".utf8) : Array(ListingPage.listingTail.utf8)
                    break
                }
                let entry = entries[self.index]
                switch self.format {
                case .json: bytes += (self.index == 0 ? [] : [0x2C]) + self.listing.json(entry).bytes
                case .html:
                    if self.index > 0, self.index % ListingPage.group == 0 { bytes += Array(ListingPage.groupEnd.utf8) }
                    bytes += Array(self.page.row(entry).utf8)
                }
                self.index += 1
            }
            return bytes
        }

        private var pageHead: [UInt8] {
            let contents = self.listing.listing
            return Array(self.page.listingHead(count: contents.entries.count, isCut: contents.isCut).utf8)
        }
    }

    /// The JSON text before the first entry.
    private var jsonHead: [UInt8] {
        let path = JSON.string(self.path.url).bytes
        return Array("{\"path\":".utf8) + path
            + Array(",\"truncated\":\(self.listing.isCut),\"entries\":[".utf8)
    }

    private func json(_ entry: DirectoryListing.Entry) -> JSON {
        .object(
            [
                JSON.Member("name", .string(entry.name)),
                JSON.Member("type", entry.isDirectory ? "directory" : "file"),
                JSON.Member("url", .string(self.url(entry))),
                JSON.Member("modified", .string(Timestamp.text(entry.modified))),
            ] + (entry.isDirectory ? [] : [JSON.Member("size", .integer(entry.size))])
        )
    }

    private func url(_ entry: DirectoryListing.Entry) -> String {
        var path = self.path
        path.names.append(entry.name)
        path.endsWithSlash = entry.isDirectory
        return self.base.url(path.url)
    }
}
