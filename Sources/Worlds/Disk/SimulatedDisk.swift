// SPDX-License-Identifier: Apache-2.0
package import Platform
import TransferTesting

/// A file system in memory, with the system calls of POSIX and Linux, that can fail, lose power and be full.
///
/// A descriptor acts in the name of the process that has opened it; a path acts in the name of ``process``. Permissions
/// are not checked: inject `EACCES` by ``onCall``. Names are listed in their order.
///
/// After a loss of power, every unsynced page is old, new, a mixture by sectors, or zero if it is new; the
/// length is that of some moment since the last sync. Pages are also written in the background at any time. Names and
/// attributes survive as ``order`` says. A failed sync drops what it should have written, as Linux does.
///
/// `@unchecked Sendable`: a world runs on one thread. The ports of the engine require a sendable type.
package final class SimulatedDisk: SystemSimulation, @unchecked Sendable {
    static let page = DiskContent.page
    /// The first descriptor, which no real file has.
    static let firstDescriptor: Int32 = 1 << 20
    /// The most descriptors of a process.
    static let mostDescriptors = 1 << 12
    /// The longest file: a bug must not fill the memory.
    static let longestFile: Int64 = 1 << 30

    /// The process in whose name paths are used.
    package var process = 0
    /// Decides what happens to each call of a process.
    package var onCall: ((DiskCall) -> DiskFault)?
    /// Called when a fault kills a process.
    package var onKill: ((Int) -> Void)?
    /// The space of the file system in bytes.
    package var capacity: Int64 = 1 << 40
    /// Whether changes fail with `EROFS`.
    package var isReadOnly = false
    /// The most open files of a process.
    package var descriptorLimit = 1024
    /// The supported features.
    package var features = DiskFeatures()
    /// The order in which unsynced changes survive a loss of power.
    package var order = DiskMetadataOrder.journaled
    /// The number of calls that were made.
    package private(set) var calls = 0
    /// The number of the boot, from 1.
    package private(set) var boot = 0

    let root: DiskNode
    private let clock: () -> Int64
    private var numbers: SeededGenerator
    var random: SeededGenerator
    private var nextNode: UInt64 = 2
    /// The open files of each process.
    var tables: [[DiskOpenFile?]] = []
    private var dead: Set<Int> = []
    /// The occupied pages.
    var usedPages = 0
    /// Changes of names and attributes before they are durable.
    var log: [DiskChange] = []
    var nextSequence = 1
    /// The files that were written, for writing back.
    var written: [DiskNode] = []

    /// Creates an empty disk with the directories `/proc` and `/tmp`.
    ///
    /// - Parameters:
    ///   - seed: Decides what a loss of power destroys, and the random numbers of processes.
    ///   - nanoseconds: The time since 1970.
    package init(seed: UInt64, nanoseconds: @escaping () -> Int64) {
        self.clock = nanoseconds
        self.random = SeededGenerator(seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ 1)
        self.numbers = SeededGenerator(seed: seed &* 0xBF58_476D_1CE4_E5B9 &+ 2)
        self.root = DiskNode(number: 1, kind: .directory, mode: 0o755, now: nanoseconds())
        self.root.links = 1
        self.put("/proc/self/fd/0", [])
        self.makeDirectories("/tmp")
        self.startBoot()
    }

    /// Gives the system a new boot id.
    func startBoot() {
        self.boot += 1
        let digits = (0..<32).map { _ in String(Int.random(in: 0..<16, using: &self.random), radix: 16) }
        self.put("/proc/sys/kernel/random/boot_id", Array((digits.joined() + "\n").utf8))
    }

    var now: Int64 { self.clock() }

    func makeNode(_ kind: DiskNode.Kind, mode: UInt32) -> DiskNode {
        self.nextNode += 1
        let node = DiskNode(number: self.nextNode, kind: kind, mode: mode, now: self.now)
        node.changeSequence = self.nextSequence
        node.sizeSequence = self.nextSequence
        return node
    }

    // MARK: Processes

    /// Whether a process was killed or has ended.
    package func isDead(_ process: Int) -> Bool { self.dead.contains(process) }

    /// Ends a process: its descriptors and locks are gone, and its later calls fail with `EIO` and change nothing.
    package func endProcess(_ process: Int) {
        self.dead.insert(process)
        guard process < self.tables.count else { return }
        for file in self.tables[process] { if let file { self.release(file) } }
        self.tables[process] = []
    }

    package func openDescriptors(of process: Int) -> Int {
        process < self.tables.count ? self.tables[process].reduce(0) { $0 + ($1 == nil ? 0 : 1) } : 0
    }

    /// The paths under which a process has opened files, without directories, in the order of the descriptors.
    package func openFiles(of process: Int) -> [String] {
        guard process < self.tables.count else { return [] }
        return self.tables[process].compactMap { $0.flatMap { $0.node.kind == .file ? $0.path : nil } }
    }

    package func locks(of process: Int) -> Int {
        guard process < self.tables.count else { return 0 }
        return self.tables[process].reduce(0) { $0 + ($1.map { $0.node.lock === $0 } ?? false ? 1 : 0) }
    }

    func kill(_ process: Int) {
        self.endProcess(process)
        self.onKill?(process)
    }

    // MARK: Calls

    /// The process in whose name a call with a directory's descriptor is made.
    func owner(_ descriptor: Int32) -> Int {
        descriptor < Self.firstDescriptor
            ? self.process : Int(descriptor - Self.firstDescriptor) / Self.mostDescriptors
    }

    /// Makes a call, unless the process is dead or the call fails.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - process: The process that makes it.
    ///   - path: The path that it concerns.
    ///   - changes: Whether it changes something.
    ///   - count: The number of bytes.
    ///   - failed: The result of a failed call.
    ///   - onFault: Called before a failed or shortened call.
    ///   - body: Makes the call with at most the given number of bytes.
    /// - Returns: The result of the call.
    @inline(__always)
    func call<Result>(
        _ name: StaticString,
        _ process: Int,
        _ path: @autoclosure () -> String,
        changes: Bool,
        count: Int = 0,
        failed: Result,
        onFault: (DiskFault) -> Void = { _ in },
        _ body: (Int) -> Result
    ) -> Result {
        self.calls += 1
        if !self.dead.isEmpty, self.dead.contains(process) {
            errno = EIO
            return failed
        }
        guard let onCall else { return body(count) }
        let call = DiskCall(name: name.description, path: path(), process: process, changes: changes, count: count)
        let fault = onCall(call)
        switch fault {
        case .none: return body(count)
        case .error(let number):
            onFault(fault)
            errno = number
            return failed
        case .short(let bytes, _):
            // Only reads and writes can be short.
            guard count > 0 else { return body(count) }
            onFault(fault)
            return body(min(count, max(1, bytes)))
        case .killBefore:
            self.kill(process)
            errno = EIO
            return failed
        case .killAfter:
            let result = body(count)
            self.kill(process)
            return result
        }
    }

    func fail(_ number: Int32) -> Int32 {
        errno = number
        return -1
    }

    // MARK: Time and chance

    package func nanoseconds(of clock: clockid_t) -> Int64 { self.clock() }
    package func sleep(microseconds: Int) {}
    package func randomNumber() -> UInt64 { self.numbers.next() }
}
