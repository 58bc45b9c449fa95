// SPDX-License-Identifier: Apache-2.0
/// The arguments with which this process was started.
package enum InitialArguments {
    /// The words, the program's name first; `nil` if they cannot be found.
    ///
    /// On Linux, the standard library's `CommandLine` reads /proc, and has no arguments if that is not mounted. The words
    /// are then read from the process's initial stack, where they precede the environment.
    ///
    /// - Precondition: The environment was not changed yet.
    package static var words: [String]? {
        let arguments = CommandLine.arguments
        if !arguments.isEmpty { return arguments }
        #if os(Linux)
        return Self.words(before: UnsafeRawPointer(environ))
        #else
        return nil
        #endif
    }

    /// Overwrites parts of the arguments with asterisks, so that the list of processes no longer shows them (proc(5)).
    ///
    /// - Precondition: ``words`` was read, and the environment was not changed yet.
    ///
    /// - Parameter parts: The index of a word, 0 for the program's name, and a range of its bytes.
    package static func hide(_ parts: [(index: Int, bytes: Range<Int>)]) {
        guard !parts.isEmpty else { return }
        #if os(Linux)
        // `CommandLine` has copies of the words.
        let pointers = Self.pointers(before: UnsafeRawPointer(environ)) ?? []
        #else
        let pointers = (0..<Int(CommandLine.argc)).map { UInt(bitPattern: CommandLine.unsafeArgv[$0]) }
        #endif
        for part in parts where pointers.indices.contains(part.index) {
            guard let word = UnsafeMutablePointer<CChar>(bitPattern: pointers[part.index]),
                part.bytes.lowerBound >= 0, part.bytes.upperBound <= strlen(word)
            else { continue }
            memset(word + part.bytes.lowerBound, Int32(UInt8(ascii: "*")), part.bytes.count)
        }
    }

    /// The words before an environment in memory; `nil` if the memory has another layout.
    ///
    /// The number of arguments, the pointers to them, and a null pointer are in front of the environment.
    ///
    /// - Source: System V ABI, AMD64 supplement, §3.4.1 (process initialization); the same on other architectures.
    package static func words(before environment: UnsafeRawPointer) -> [String]? {
        self.pointers(before: environment)?
            .compactMap { address in
                UnsafePointer<CChar>(bitPattern: address).map { String(cString: $0) }
            }
    }

    /// The addresses of the words before an environment in memory, as for ``words(before:)``.
    private static func pointers(before environment: UnsafeRawPointer) -> [UInt]? {
        let size = MemoryLayout<UInt>.size
        func word(_ index: Int) -> UInt { (environment - index * size).loadUnaligned(as: UInt.self) }
        guard word(1) == 0 else { return nil }
        var count = 0
        while count < Self.most {
            // No pointer is as small as a number of arguments.
            let next = word(count + 2)
            if next == UInt(count) { break }
            guard next > UInt(Self.most) else { return nil }
            count += 1
        }
        guard count > 0, count < Self.most else { return nil }
        return (0..<count).map { word(count + 1 - $0) }
    }

    /// Above the number of arguments of any process; the kernel limits their size to a quarter of the stack.
    private static let most = 1 << 20
}
