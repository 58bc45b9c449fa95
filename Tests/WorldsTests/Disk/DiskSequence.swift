// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferTesting

/// A random sequence of system calls, which gives the same results on a real file system and on a simulated one.
struct DiskSequence {
    private static let names = [
        "a", "b", "d", "d/a", "d/e", "d/e/a", "l", "m", "k", "k/b", "b/", "d/", ".", "d/..", "n/a", "d/./b",
    ]
    private static let mostFiles = 5

    private var random: SeededGenerator
    private let root: String
    private var files: [Int32] = []
    /// What each call returned.
    private(set) var results: [String] = []

    init(seed: UInt64, root: String) {
        self.random = SeededGenerator(seed: seed)
        self.root = root
    }

    /// Makes some calls and closes all files.
    mutating func run(_ count: Int) {
        for _ in 0..<count { self.results.append(self.step()) }
        while let file = self.files.popLast() { FileCalls.close(file) }
    }

    private mutating func draw(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self.random) }

    private mutating func path() -> String { Self.names[self.draw(Self.names.count)] }

    private func outcome(_ text: String, _ result: Int) -> String {
        "\(text) = " + (result < 0 ? "error \(errno)" : "\(result)")
    }

    private mutating func opened(_ text: String, _ file: Int32) -> String {
        guard file >= 0 else { return "\(text) = error \(errno)" }
        self.files.append(file)
        if self.files.count > Self.mostFiles { FileCalls.close(self.files.removeFirst()) }
        return "\(text) = open"
    }

    private mutating func step() -> String {
        let (kind, name, other) = (self.draw(26), self.path(), self.path())
        let (path, target) = (self.root + "/" + name, self.root + "/" + other)
        let (offset, size, choice) = (self.draw(20_000), self.draw(9_000), self.draw(8))
        let index = self.draw(Self.mostFiles)
        if kind < 9 || self.files.isEmpty { return self.name(kind % 9, path, target, choice, size, "\(name) \(other)") }
        let file = self.files[index % self.files.count]
        switch kind {
        case 9, 10: return self.transfer(file, offset, size, isWriting: true, choice: choice)
        case 11: return self.transfer(file, offset, size, isWriting: false, choice: choice)
        case 12:
            return self.outcome("truncate \(offset)", Int(FileCalls.ftruncate(file, off_t(choice == 0 ? -1 : offset))))
        case 13:
            let position = self.files.firstIndex(of: file) ?? 0
            self.files.remove(at: position)
            return self.outcome("close", Int(FileCalls.close(file)))
        case 14: return self.opened("dup", FileCalls.dup(file))
        case 15: return "fstat " + Self.describe { FileCalls.fstat(file, &$0) }
        case 16 where choice < 2:
            return self.outcome("fsync", Int(choice < 1 ? FileCalls.fsync(file) : FileSync.syncData(file)))
        case 17:
            let result = FileLock.lock(file)
            return self.outcome("lock", Int(result))
        case 18:
            if choice < 4 { FileLock.unlock(file) }
            return "unlock \(FileLock.isLockedElsewhere(file))"
        case 19:
            let other = self.files[choice % self.files.count]
            return self.outcome("copy \(size)", KernelCalls.copyRange(file, other, size))
        case 20: return self.attribute(file, choice)
        case 21:
            let times = [timespec.omitted, timespec(tv_sec: 1000 + choice, tv_nsec: 5)]
            return self.outcome("futimens", Int(FileCalls.futimens(file, times)))
        case 22: return self.outcome("fchmod", Int(FileCalls.fchmod(file, choice < 4 ? 0o600 : 0o640)))
        case 23:
            let result =
                choice < 4
                ? KernelCalls.allocateKeepingSize(file, length: Int64(size))
                : KernelCalls.punchHole(file, Int64(offset), length: Int64(size))
            let text = self.outcome("allocate \(choice)", Int(result))
            FileCalls.futimens(file, [timespec.omitted, timespec(tv_sec: 77, tv_nsec: 0)])
            return text
        case 24: return self.outcome("link fd \(name)", Int(KernelCalls.link(file, in: AT_FDCWD, as: path)))
        default: return self.opened("openat \(name)", FileCalls.openat(file, name, Self.flags[choice], 0o644))
        }
    }

    private static let flags: [Int32] = [
        O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_EXCL, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
        O_RDONLY | O_DIRECTORY, O_RDWR | O_APPEND | O_CREAT, O_RDONLY | O_NOFOLLOW | O_CREAT | O_EXCL,
    ]

    private mutating func name(
        _ kind: Int,
        _ path: String,
        _ target: String,
        _ choice: Int,
        _ size: Int,
        _ text: String
    ) -> String {
        switch kind {
        case 0, 1, 2:
            return self.opened("open \(choice) \(text)", FileCalls.open(path, Self.flags[choice] | O_CLOEXEC, 0o644))
        case 3:
            let unnamed = FileCalls.open(self.root + (choice < 4 ? "" : "/d"), O_RDONLY | O_DIRECTORY)
            guard unnamed >= 0 else { return "unnamed = error \(errno)" }
            defer { FileCalls.close(unnamed) }
            return self.opened("unnamed", KernelCalls.openUnnamed(in: unnamed, O_RDWR, mode: 0o644))
        case 4:
            if choice == 0 { return self.outcome("truncate \(text)", Int(FileCalls.truncate(path, off_t(size)))) }
            if choice == 1 { return self.outcome("access \(text)", Int(FileCalls.access(path, F_OK))) }
            if choice == 2 { return "stat \(text) " + Self.describe { FileCalls.stat(path, &$0) } }
            return "lstat \(text) " + Self.describe { FileCalls.lstat(path, &$0) }
        case 5: return self.outcome("mkdir \(text)", Int(FileCalls.mkdir(path, 0o755)))
        case 6:
            return self.outcome(
                "unlink \(choice) \(text)",
                Int(FileCalls.unlinkat(AT_FDCWD, path, choice < 4 ? 0 : Int32(AT_REMOVEDIR)))
            )
        case 7:
            if choice < 4 { return self.outcome("rename \(text)", Int(FileCalls.rename(path, target))) }
            let result = KernelCalls.renameWithoutReplacing(AT_FDCWD, path, AT_FDCWD, target)
            return self.outcome("rename2 \(text)", Int(result))
        default:
            let flags = choice < 6 ? 0 : Int32(AT_SYMLINK_FOLLOW)
            return self.outcome("link \(text) \(flags)", Int(FileCalls.linkat(AT_FDCWD, path, AT_FDCWD, target, flags)))
        }
    }

    private mutating func transfer(_ file: Int32, _ offset: Int, _ size: Int, isWriting: Bool, choice: Int) -> String {
        var status = stat()
        guard FileCalls.fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return "no file" }
        var bytes = [UInt8](repeating: 0, count: size)
        if isWriting {
            let first = UInt8(truncatingIfNeeded: self.draw(256))
            for index in stride(from: 0, to: size, by: 31) { bytes[index] = first &+ UInt8(truncatingIfNeeded: index) }
            if choice == 0 { return self.outcome("write \(size)", FileCalls.write(file, bytes, size)) }
            return self.outcome("pwrite \(size) \(offset)", FileCalls.pwrite(file, bytes, size, off_t(offset)))
        }
        switch choice {
        case 0: return self.outcome("seek", Int(FileCalls.lseek(file, off_t(offset), SEEK_SET)))
        case 1: return self.outcome("seek end", Int(FileCalls.lseek(file, off_t(-size), SEEK_END)))
        default: break
        }
        let count = bytes.withUnsafeMutableBytes { buffer in
            choice < 5
                ? FileCalls.read(file, buffer.baseAddress, size)
                : FileCalls.pread(file, buffer.baseAddress, size, off_t(offset))
        }
        return self.outcome("read \(size) \(offset)", count) + " \(Self.hash(bytes))"
    }

    private func attribute(_ file: Int32, _ choice: Int) -> String {
        let name = "user.test.\(choice % 2)"
        switch choice {
        case 0..<4:
            return self.outcome("set \(name)", Int(KernelCalls.setAttribute(file, name, [1, 2, UInt8(choice)])))
        case 4, 5: return self.outcome("remove \(name)", Int(KernelCalls.removeAttribute(file, name)))
        default:
            let value = KernelCalls.attribute(of: file, name)
            return "get \(name) = " + (value.map { "\($0)" } ?? "error \(errno)")
        }
    }

    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        stride(from: 0, to: bytes.count, by: 31)
            .reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64(bytes[$1])) &* 0x100_0000_01B3 }
    }

    private static func describe(_ call: (inout stat) -> Int32) -> String {
        var status = stat()
        guard call(&status) == 0 else { return "error \(errno)" }
        return self.describe(status)
    }

    private static func describe(_ status: stat) -> String {
        let type = status.st_mode & S_IFMT
        // What directories have differs between file systems.
        if type == S_IFDIR { return "directory \(status.st_nlink == 0)" }
        if type == S_IFLNK { return "link \(status.st_size)" }
        let time = status.modificationTime.tv_sec
        return
            "file \(status.st_size) \(status.st_nlink) \(String(status.st_mode, radix: 8)) \(time < 10_000 ? time : 0)"
    }

    /// All names below a directory, with what is there.
    static func tree(_ path: String) -> [String] {
        guard let entries = DirectoryEntries(path: path) else { return ["\(path): error \(errno)"] }
        var names: [String] = []
        while let name = entries.next() { names.append(name) }
        return names.sorted().filter { $0 != "." && $0 != ".." }
            .flatMap { name -> [String] in
                let (line, isDirectory) = self.entry(path + "/" + name)
                return ["\(name): \(line)"] + (isDirectory ? self.tree(path + "/" + name).map { "  " + $0 } : [])
            }
    }

    private static func entry(_ path: String) -> (String, isDirectory: Bool) {
        var status = stat()
        guard FileCalls.lstat(path, &status) == 0 else { return ("error \(errno)", false) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return (self.describe(status), status.st_mode & S_IFMT == S_IFDIR)
        }
        let file = FileCalls.open(path, O_RDONLY)
        defer { FileCalls.close(file) }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = bytes.withUnsafeMutableBytes { FileCalls.pread(file, $0.baseAddress, $0.count, 0) }
        return ("\(self.describe(status)) \(count) \(self.hash(bytes))", false)
    }
}
