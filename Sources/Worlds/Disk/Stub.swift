import Platform
import TransferTesting
import TransferCore

struct DiskCall { var process = 0; var changes = false }
enum DiskFault { case none, error(Int32), killBefore, killAfter }
enum FileCalls { static func simulating<R>(_ d: SimulatedDisk, _ body: () -> R) -> R { body() } }
final class SimulatedDisk {
    struct Features: OptionSet { let rawValue: Int
        static let unnamedFiles = Features(rawValue: 1), attributes = Features(rawValue: 2), renameWithoutReplacing = Features(rawValue: 4), allocation = Features(rawValue: 8), locks = Features(rawValue: 16) }
    let store = MemoryStore()
    var process = 0
    var onCall: ((DiskCall) -> DiskFault)?
    var onKill: ((Int) -> Void)?
    var capacity: Int64?
    var isReadOnly = false
    var features: Features = []
    init(seed: UInt64, nanoseconds: @escaping () -> Int64) {}
    func endProcess(_ n: Int) {}
    func losePower() {}
    func put(_ p: String, _ b: [UInt8]) { store.add(MemoryStore.File(b), at: p) }
    func contents(_ p: String) -> [UInt8]? { store.files[p]?.bytes }
    func names(_ d: String) -> [String] { [] }
}
