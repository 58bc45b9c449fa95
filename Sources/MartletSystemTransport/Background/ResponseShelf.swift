// SPDX-License-Identifier: Apache-2.0
internal import Foundation

/// The directory of responses that have arrived and were not delivered, and of what tasks can be resumed with.
///
/// A response is complete once its body has its name: the head is written before.
///
/// `@unchecked Sendable`: the variables are used on the lane only.
final class ResponseShelf: @unchecked Sendable {
    private struct Leftover: Codable {
        var key: BackgroundKey
        var resumption: SystemResumption
    }

    private let directory: URL
    private var lastNumber = 0
    private(set) var responses: [Int: ShelvedResponse] = [:]
    private(set) var resumable: [Int: BackgroundKey] = [:]

    /// Opens the directory, and removes what is incomplete.
    init(_ directory: URL) {
        self.directory = directory
        try? FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        for name in names.sorted() { self.recover(name, Set(names)) }
    }

    private func recover(_ name: String, _ names: Set<String>) {
        let parts = name.split(separator: ".")
        guard parts.count == 2, let number = Int(parts[0]) else { return }
        self.lastNumber = max(self.lastNumber, number)
        switch parts[1] {
        case "head" where names.contains("\(number).body"):
            self.responses[number] = self.read(ShelvedResponse.self, number, "head")
        case "resume": self.resumable[number] = self.read(Leftover.self, number, "resume")?.key
        case "body" where names.contains("\(number).head"): return
        default: break
        }
        if self.responses[number] == nil, self.resumable[number] == nil { self.remove(number) }
    }

    private func place(_ number: Int, _ kind: String) -> URL {
        self.directory.appendingPathComponent("\(number).\(kind)")
    }

    private func read<Value: Decodable>(_ type: Value.Type, _ number: Int, _ kind: String) -> Value? {
        guard let data = try? Data(contentsOf: self.place(number, kind)) else { return nil }
        return try? JSONDecoder().decode(type, from: data)
    }

    private func write(_ value: some Encodable, _ number: Int, _ kind: String) throws {
        try JSONEncoder().encode(value).write(to: self.place(number, kind), options: .atomic)
    }

    /// Takes the file of a finished task, which the system deletes otherwise.
    ///
    /// - Returns: Its number.
    func store(_ response: ShelvedResponse, body: URL) throws -> Int {
        self.lastNumber += 1
        let number = self.lastNumber
        try self.write(response, number, "head")
        try FileManager.default.moveItem(at: body, to: self.place(number, "body"))
        self.responses[number] = response
        return number
    }

    /// Stores what a task can be resumed with.
    ///
    /// - Returns: Its number, or `nil` if it cannot be written.
    func store(_ resumption: SystemResumption, _ key: BackgroundKey) -> Int? {
        self.lastNumber += 1
        let number = self.lastNumber
        guard (try? self.write(Leftover(key: key, resumption: resumption), number, "resume")) != nil else { return nil }
        self.resumable[number] = key
        return number
    }

    /// Returns and removes what a task can be resumed with.
    func takeResumption(_ number: Int) -> SystemResumption? {
        defer { self.remove(number) }
        return self.read(Leftover.self, number, "resume")?.resumption
    }

    /// Opens a body for reading.
    func open(_ number: Int) throws -> FileHandle { try FileHandle(forReadingFrom: self.place(number, "body")) }

    /// Removes a response, or what a task could be resumed with.
    func remove(_ number: Int) {
        self.responses[number] = nil
        self.resumable[number] = nil
        for kind in ["body", "head", "resume"] { try? FileManager.default.removeItem(at: self.place(number, kind)) }
    }
}
