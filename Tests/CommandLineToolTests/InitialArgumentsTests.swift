// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing

@Suite("The arguments on the initial stack")
struct InitialArgumentsTests {
    /// Memory as the kernel lays it out: the number of arguments, the arguments, null, the environment.
    private func words(count: UInt, _ arguments: [String], hasEnd: Bool = true) -> [String]? {
        let strings = arguments.map { strdup($0) }
        defer { for string in strings { free(string) } }
        let pointers = strings.map { UInt(bitPattern: $0) }
        let stack: [UInt] = [UInt(1) << 40, count] + pointers + (hasEnd ? [0] : [UInt(1) << 40]) + [UInt(1) << 41, 0]
        return stack.withUnsafeBytes { bytes in
            bytes.baseAddress.flatMap {
                InitialArguments.words(before: $0 + (3 + arguments.count) * MemoryLayout<UInt>.size)
            }
        }
    }

    @Test("precede the environment")
    func found() {
        for words in [["martlet"], ["martlet", "get", "", "http://a/b c"]] {
            #expect(self.words(count: UInt(words.count), words) == words)
        }
    }

    @Test("are not invented where the memory has another layout")
    func refused() {
        #expect(self.words(count: 3, ["martlet"]) == nil)
        #expect(self.words(count: 1, ["martlet"], hasEnd: false) == nil)
        #expect(self.words(count: 0, []) == nil)
    }
}
