// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// The files of others in the directory: some are there from the beginning, others appear or change meanwhile.
final class Hands {
    private struct Gift {
        var time: Int64?
        var path: String
        var bytes: [UInt8]
        /// Whether it is (a part of) the resource under its final name.
        var isOfResource: Bool
    }

    private let disk: SimulatedDisk
    private let scheduler: Scheduler
    private var gifts: [Gift] = []
    private var replacement: [UInt8]?
    private var takesNames = false
    /// The bytes that another program writes into its file when a response has arrived.
    private var rewriting: [UInt8]?
    /// The files of others that exist: Martlet must not touch them.
    private(set) var foreign: [String: [UInt8]] = [:]
    /// The files that appear while a command runs.
    private(set) var late: Set<String> = []
    /// The files that Martlet may take for (a part of) the resource.
    private(set) var ofResource: Set<String> = []
    /// Whether anything of others was there at any time.
    var isEmpty: Bool {
        self.gifts.isEmpty && self.replacement == nil && !self.takesNames && self.foreign.isEmpty
    }
    /// Whether there was a file under one of the final names.
    private(set) var hadFinal = false

    init(_ recipe: inout Recipe, sites: [Site], disk: SimulatedDisk, scheduler: Scheduler) {
        self.disk = disk
        self.scheduler = scheduler
        let site = sites[0]
        let name = "\(DownloadLife.directory)/file.bin"
        let version = recipe.draw(0...site.contents.count - 1)
        let content = site.contents[version].bytes
        let kind = recipe.pick(["half", "half", "half", "foreign half", "complete", "complete", "longer"])
        let part = Int(Double(content.count) * Double(recipe.draw(1...99)) / 100)
        let foreign = SimulatedContent.random(part, using: &recipe.random)
        let more = SimulatedContent.random(5000, using: &recipe.random)
        if recipe.has(oneIn: site.kind == .exists ? 1 : 25, "a file is there already: \(kind) of version \(version)") {
            if kind != "foreign half" {
                // Its bytes have no validators: only a comparison can join them with a response.
                let shown = Shown(version: version, url: "", isOld: false)
                let count = Int64(kind == "half" ? part : content.count)
                site.deliveries[-1] = Delivery(shown: shown, start: 0, count: count)
            }
            let bytes =
                switch kind {
                case "half": Array(content[..<part])
                case "foreign half": foreign
                case "longer": content + more
                default: content
                }
            self.gifts.append(Gift(time: nil, path: name, bytes: bytes, isOfResource: true))
        }
        let replacement = SimulatedContent.random(recipe.draw(1...300_000), using: &recipe.random)
        if recipe.has(oneIn: 20, "another program replaces the partial file between two runs") {
            self.replacement = replacement
        }
        self.takesNames = recipe.has(oneIn: 20, "another program takes the name right before the file gets it")
        let rewriting = SimulatedContent.random(recipe.draw(1...70_000), using: &recipe.random)
        if recipe.has(oneIn: site.kind == .exists ? 4 : 25, "another program rewrites its file.bin after a response") {
            self.rewriting = rewriting
        }
        for suffix in ["", ".part", ".part.journal", ".1"] {
            let time = Int64(recipe.draw(0...2000)) * 1_000_000
            let isThere = recipe.draw(0...1) == 0
            let bytes = SimulatedContent.random(recipe.draw(0...70_000), using: &recipe.random)
            let when = isThere ? "is there" : "appears after \(time / 1_000_000) ms"
            if recipe.has(oneIn: 30, "another program's file.bin\(suffix) \(when)") {
                self.gifts.append(
                    Gift(time: isThere ? nil : time, path: name + suffix, bytes: bytes, isOfResource: false)
                )
            }
        }
    }

    /// A process has ended: another program replaces its partial file.
    func processEnded() {
        let path = "\(DownloadLife.directory)/file.bin.part"
        guard let replacement, self.foreign[path] == nil, self.disk.contents(path) != nil else { return }
        _ = self.disk.remove(path)
        self.disk.put(path, replacement)
        self.foreign[path] = replacement
        self.replacement = nil
    }

    /// A response has been accepted: another program rewrites its file, which was examined before.
    func responded() {
        let path = "\(DownloadLife.directory)/file.bin"
        guard let rewriting, let bytes = self.foreign[path], self.disk.contents(path) == bytes else { return }
        self.rewriting = nil
        _ = self.disk.remove(path)
        self.disk.put(path, rewriting)
        self.foreign[path] = rewriting
        self.ofResource.remove(path)
        self.late.insert(path)
    }

    /// A call is about to give a file a name: another program is faster.
    func naming(_ call: String) {
        let path = "\(DownloadLife.directory)/file.bin"
        guard self.takesNames, call == "file.bin" || call.hasSuffix("/file.bin") || call.hasSuffix("-> file.bin"),
            self.disk.contents(path) == nil
        else { return }
        self.takesNames = false
        self.disk.put(path, [1, 2, 3])
        self.foreign[path] = [1, 2, 3]
        self.late.insert(path)
        self.hadFinal = true
    }

    /// Puts what is there from the beginning, and schedules the rest.
    func prepare() {
        for gift in self.gifts {
            if let time = gift.time {
                self.scheduler.schedule(after: time) { self.put(gift) }
            } else {
                self.put(gift)
            }
        }
    }

    private func put(_ gift: Gift) {
        // Another program does not replace a file of ours.
        guard self.disk.contents(gift.path) == nil else { return }
        self.disk.put(gift.path, gift.bytes)
        if gift.time != nil { self.late.insert(gift.path) }
        if !gift.path.hasSuffix(".part"), !gift.path.hasSuffix(".journal") { self.hadFinal = true }
        if gift.isOfResource {
            self.ofResource.insert(gift.path)
            self.foreign[gift.path] = gift.bytes
        } else {
            self.foreign[gift.path] = gift.bytes
        }
    }
}
