// SPDX-License-Identifier: Apache-2.0
import Files
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("The book of links")
struct LinkBookTests {
    /// The records by token, as text.
    ///
    /// Without the times of the claims' last events: a request within the stored count changes nothing else, and is not stored.
    private func contents(_ book: LinkBook) -> [String: String] {
        book.entries.mapValues { entry in
            let text = JSON.object([JSON.Member("l", entry.link.json)] + entry.share.record).text
            return text.replacing(/"last":[0-9]+/, with: "")
        }
    }

    private func link(_ random: inout SeededGenerator, now: Int64) -> StoredLink {
        StoredLink(
            [.option, .request, .upload].randomElement(using: &random) ?? .request,
            path: ["d", "f \(Int.random(in: 0...9, using: &random))"],
            file: FileIdentity(size: 1_000_000, modified: -1, changed: nil, device: 0, inode: .max),
            created: now,
            lifetime: Bool.random(using: &random) ? .seconds(Int64.random(in: 1...5000, using: &random)) : nil,
            downloads: Bool.random(using: &random) ? Int.random(in: 1...3, using: &random) : nil,
            creator: Bool.random(using: &random) ? "anna \"a\"\n" : nil,
            upload: Bool.random(using: &random) ? UploadName().id : nil
        )
    }

    @Test("is restored to what was written last, whatever was written", arguments: 0..<12)
    func walks(seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        var random = SeededGenerator(seed: seed)
        var now: Int64 = 1000
        var log = LineLog(directory.path("log"), format: "test", version: 1)
        var book = LinkBook(owner: "/d", most: 40)
        try log.replace(book.takeSnapshot())
        var written = self.contents(book)
        for _ in 0..<300 {
            now += Int64.random(in: 0...20_000, using: &random)
            let token = book.entries.keys.sorted().randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<3: _ = book.put(self.link(&random, now: now), now: now)
            case 3..<6:
                let client = Share.Client(ticket: nil, address: "\(Int.random(in: 0...5, using: &random))")
                let count = Int64.random(in: 1...1_000_000, using: &random)
                _ = book.use(token) { share in
                    let verdict = share.requested(count, of: 1_000_000, by: client, offering: "t\(now)", now: now)
                    guard case .claim(let id) = verdict, share.take(count, of: 1_000_000, for: id) else { return false }
                    let isRaised = share.lease(id, ahead: 0, of: 1_000_000)
                    share.ended(id, unsent: 0, now: now)
                    return isRaised
                }
            case 6: _ = book.revoke(token, now: now)
            case 7: book.prune(now: now)
            case 8:
                // Another process.
                #expect(try log.append(LinkBook.revocation(of: [token, "unknown"], now: now)))
                for record in try log.readAppended() { #expect(book.apply(record) == true) }
                #expect(book.apply(LinkBook.revocation(of: [token, "unknown"], now: now)) == true)
            case 9: book.settle()
            case 10:
                try log.replace(book.takeSnapshot())
                written = self.contents(book)
            default:
                // A crash: what is not written is lost.
                var other = LineLog(log.path, format: "test", version: 1)
                var restored = LinkBook(most: 40)
                for record in try #require(try other.read()) { #expect(restored.apply(record) == true) }
                for (token, entry) in restored.entries {
                    // A revocation may be younger than the rest.
                    guard entry.link.revoked == nil else { continue }
                    #expect(self.contents(restored)[token] == written[token])
                }
                #expect(Set(restored.entries.keys) == Set(written.keys))
                #expect(restored.owner == "/d")
                (book, log) = (restored, other)
            }
            if Int.random(in: 0..<3, using: &random) == 0, let record = book.takeChanges() {
                #expect(try log.append(record))
                written = self.contents(book)
            }
        }
    }

    @Test("puts the batch of a change before the use of it")
    func batches() throws {
        var random = SeededGenerator(seed: 1)
        var book = LinkBook()
        var link = self.link(&random, now: 0)
        (link.downloads, link.expires) = (2, nil)
        let made = try #require(book.put(link, now: 0) as UInt64?)
        #expect(made == book.batch)
        _ = book.takeChanges()
        #expect(book.batch == made + 1)
        let used = book.use(link.token) { share in
            guard case .claim(let id) = share.requested(10, of: 100, by: .init(address: "a"), offering: "t", now: 0)
            else {
                return false
            }
            return share.lease(id, ahead: 10, of: 100)
        }
        #expect(used == made + 1)
        // A second request waits for the same batch, also while it is being written.
        _ = book.takeChanges()
        #expect(book.use(link.token) { _ in false } == used)
        #expect(book.takeChanges() == nil)
    }
}
