// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// Reads a directory and streams its listing.
///
/// The reading ends when the client disconnects. A client that has only closed its side may still expect the listing,
/// but is dropped if other listings wait.
final class ListingHandler: RequestHandler {
    private let directory: OpenFile
    private let path: TreePath
    private let tree: ServedTree
    private let place: ListingPlace
    private let accept: String?
    private let visitor: PageVisitor
    private let base: BasePath
    private let interest = Interest()

    /// Whether the client still wants the listing.
    private final class Interest: Sendable {
        let isLost = Atomic<Bool>(false)
        let isHalfClosed = Atomic<Bool>(false)

        func isWanted(_ place: ListingPlace) -> Bool {
            if self.isLost.load(ordering: .relaxed) { return false }
            return !self.isHalfClosed.load(ordering: .relaxed) || !place.isBusy
        }
    }

    /// - Parameters:
    ///   - directory: The open directory.
    ///   - path: Its path.
    ///   - tree: The tree that contains it.
    ///   - place: The threads and limits of listings.
    ///   - accept: The value of `Accept`.
    ///   - visitor: The visitor of the page.
    ///   - base: The prefix of all URLs.
    init(
        _ directory: OpenFile,
        at path: TreePath,
        of tree: ServedTree,
        place: ListingPlace,
        accept: String?,
        visitor: PageVisitor,
        base: BasePath
    ) {
        self.directory = directory
        self.path = path
        self.tree = tree
        self.place = place
        self.accept = accept
        self.visitor = visitor
        self.base = base
    }

    func begin(_ connection: any RequestContext) {
        guard self.place.enter() else {
            connection.respond(Self.busy)
            return
        }
        let (directory, path, tree, place) = (self.directory, self.path, self.tree, self.place)
        let (accept, visitor, interest, base) = (self.accept, self.visitor, self.interest, self.base)
        connection.blocking(on: place.pool) { () -> Response? in
            defer { place.leave() }
            do throws(TreeError) {
                let listing = try DirectoryListing.read(directory, of: tree, at: path.names) {
                    interest.isWanted(place)
                }
                guard let listing else { return nil }
                guard let charge = place.charge(listing.memory) else { return Self.busy }
                let response = ListingResponse(
                    path: path,
                    listing: listing,
                    visitor: visitor,
                    base: base
                )
                return response.response(accept: accept, place: place, charge: charge)
            } catch {
                return .failure(error)
            }
        } then: { response in
            if let response { connection.respond(response) } else { connection.abort() }
        }
    }

    private static let busy = Response.message(503, "too many listings are running; try again", ["Retry-After": "5"])

    func received(_ bytes: UnsafeRawBufferPointer) {}
    func ended() {}
    func inputClosed() { self.interest.isHalfClosed.store(true, ordering: .relaxed) }
    func lost() { self.interest.isLost.store(true, ordering: .relaxed) }
}
