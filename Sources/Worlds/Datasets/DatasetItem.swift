// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferTesting

/// One resource of a dataset's server: its versions, and what its responses say of them.
struct DatasetItem {
    /// The constant response to requests for an item.
    enum Nature: String {
        case there, missing, forbidden, failing, moved, login
    }

    /// The validators of the responses.
    enum Validators: String, CaseIterable {
        case strong = "a strong ETag of the version"
        case dated = "a strong ETag of the version and an old Last-Modified"
        case weak = "a weak ETag of the version"
        case onlyDated = "an old Last-Modified of the version"
        case missing = "no validator"
        case repeated = "the same strong ETag for all versions"
    }

    /// When an item gets its next version.
    enum Change {
        /// After so many responses with its content.
        case responses(Int)
        /// Before a run.
        case run(Int)
    }

    static let hosts = ["data.example", "more.example"]

    var number: Int
    var nature: Nature
    /// The content of each version.
    var contents: [SimulatedContent]
    var type: String
    var validators: Validators
    /// The changes to the next version, in any order.
    var changes: [Change]

    /// The content of the first version, which the table knows.
    var content: SimulatedContent { self.contents[0] }
    var hasContent: Bool { self.nature == .there || self.nature == .moved }
    var greatestLength: Int64 { self.contents.map(\.length).max() ?? 0 }
    var path: String { "/items/\(self.number)" }
    var url: String { "http://\(Self.hosts[self.number % Self.hosts.count])\(self.path)" }
    /// Whether responses of several versions can look like those of one.
    var isLiar: Bool { self.contents.count > 1 && self.validators == .repeated }

    init(_ recipe: inout Recipe, number: Int, largest: Int, _ validators: Validators, changes: Bool) {
        self.number = number
        self.nature = recipe.pick([
            .there, .there, .there, .there, .there, .there, .missing, .forbidden, .failing, .moved, .login,
        ])
        let size = recipe.draw(0...9) == 0 ? 0 : recipe.draw(1...largest)
        self.contents = [SimulatedContent(SimulatedContent.random(size, using: &recipe.random))]
        self.type = recipe.pick(["image/jpeg", "application/octet-stream", "text/plain; charset=utf-8"])
        self.validators = validators
        self.changes = []
        guard changes else { return }
        for _ in 0..<recipe.draw(0...2) {
            // Of the same length, mostly: otherwise the length distinguishes the versions.
            let length = recipe.draw(0...3) == 0 ? recipe.draw(1...largest) : size
            self.contents.append(SimulatedContent(SimulatedContent.random(length, using: &recipe.random)))
            let (count, run) = (recipe.draw(1...4), recipe.draw(2...4))
            self.changes.append(recipe.draw(0...2) == 0 ? .run(run) : .responses(count))
        }
    }

    /// The version after so many responses, in a run.
    func version(after responses: Int, in run: Int) -> Int {
        self.changes.count { change in
            switch change {
            case .responses(let count): responses >= count
            case .run(let first): run >= first
            }
        }
    }

    /// The ETag of a version.
    func tag(of version: Int) -> String? {
        switch self.validators {
        case .strong, .dated: "\"item-\(self.number)-\(version)\""
        case .weak: "W/\"item-\(self.number)-\(version)\""
        case .repeated: "\"item-\(self.number)\""
        case .onlyDated, .missing: nil
        }
    }

    /// The Last-Modified of a version.
    func modified(of version: Int) -> String? {
        guard self.validators == .dated || self.validators == .onlyDated else { return nil }
        return HTTPDate.format(1_750_000_000 + 86_400 * Int64(version))
    }

    /// Whether a condition of a range is fulfilled by a version.
    func fulfills(_ condition: String?, _ version: Int) -> Bool {
        guard let condition else { return true }
        if condition == self.modified(of: version) { return true }
        return condition.hasPrefix("\"") && condition == self.tag(of: version)
    }

    /// The versions with a digest, which is that of a row's content.
    func versions(withDigest digest: String?) -> [Int] {
        self.contents.indices.filter { Hexadecimal.encode(self.contents[$0].sha256) == digest }
    }
}
