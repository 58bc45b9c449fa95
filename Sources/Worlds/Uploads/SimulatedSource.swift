// SPDX-License-Identifier: Apache-2.0
import TransferTesting

/// The content that is uploaded, and the programs that change its file meanwhile.
final class SimulatedSource {
    /// A change of the file by another program.
    enum Change: String {
        case overwrites = "overwrites a part of the file"
        case appends = "appends to the file"
        case shortens = "shortens the file"
        case empties = "empties the file"
        case replaces = "replaces the file"
        case removes = "removes the file"
        case rewrites = "writes the same bytes again"
    }

    static let path = "/source/file.bin"

    /// The bytes before and after the file's, as of a form.
    let prefix: [UInt8]
    let suffix: [UInt8]
    /// The complete content at each time, the present one last.
    private(set) var versions: [[UInt8]]
    /// The changes that were made.
    private(set) var changes: [Change] = []

    private var file: [UInt8]
    private let disk: SimulatedDisk

    init(_ recipe: inout Recipe, _ disk: SimulatedDisk) {
        let large = recipe.draw((1 << 20) - 10...(1 << 20) + 300_000)
        let size = recipe.pick([
            (weight: 1, value: 0), (weight: 1, value: 1), (weight: 10, value: recipe.draw(2...20_000)),
            (weight: 20, value: recipe.draw(20_000...300_000)), (weight: 2, value: large),
        ])
        let isForm = recipe.draw(0...5) == 0
        self.prefix = isForm ? Array("--boundary\r\n\r\n".utf8) : []
        self.suffix = isForm ? Array("\r\n--boundary--\r\n".utf8) : []
        self.file = SimulatedContent.random(size, using: &recipe.random)
        self.disk = disk
        self.versions = [self.prefix + self.file + self.suffix]
        disk.put(Self.path, self.file)
    }

    /// The present length of the content in bytes.
    var length: Int { self.versions[self.versions.count - 1].count }
    /// The greatest length that it had.
    var greatestLength: Int { self.versions.map(\.count).max() ?? 0 }
    var wasRemoved: Bool { self.changes.contains(.removes) }

    func has(_ bytes: [UInt8]) -> Bool { self.versions.contains { $0 == bytes } }

    /// A loss of power may have left the file as it was before a change, or between two.
    func lostPower() {
        guard let bytes = self.disk.contents(Self.path), bytes != self.file else { return }
        self.changes.append(.overwrites)
        self.file = bytes
        self.versions.append(self.prefix + bytes + self.suffix)
    }

    /// Changes the file.
    func perform(_ change: Change, using generator: inout SeededGenerator) {
        guard self.disk.exists(Self.path) else { return }
        self.changes.append(change)
        switch change {
        case .overwrites:
            guard !self.file.isEmpty else { return }
            // Mostly all of it: a mixture shows only where the versions differ on both sides of what was read.
            let isWhole = Int.random(in: 0..<3, using: &generator) > 0
            let start = isWhole ? 0 : Int.random(in: 0..<self.file.count, using: &generator)
            let most = isWhole ? self.file.count : Int.random(in: 1...10_000, using: &generator)
            let end = min(self.file.count, start + most)
            let bytes = SimulatedContent.random(end - start, using: &generator)
            self.file.replaceSubrange(start..<end, with: bytes)
            self.disk.change(Self.path, bytes, at: start)
        case .appends:
            let bytes = SimulatedContent.random(Int.random(in: 1...20_000, using: &generator), using: &generator)
            self.disk.change(Self.path, bytes, at: self.file.count)
            self.file += bytes
        case .shortens, .empties:
            let length = change == .empties ? 0 : Int.random(in: 0...self.file.count, using: &generator)
            // On a file system that is read-only, other programs cannot, either.
            guard self.disk.truncate(Self.path, Int64(length)) == 0 else {
                self.changes.removeLast()
                return
            }
            self.file.removeLast(self.file.count - length)
        case .replaces:
            self.file = SimulatedContent.random(
                Int.random(in: 0...max(1, self.file.count * 2), using: &generator),
                using: &generator
            )
            self.disk.put(Self.path, self.file)
        case .removes: self.disk.remove(Self.path)
        case .rewrites: self.disk.change(Self.path, Array(self.file.prefix(1)), at: 0)
        }
        self.versions.append(self.prefix + self.file + self.suffix)
    }
}
