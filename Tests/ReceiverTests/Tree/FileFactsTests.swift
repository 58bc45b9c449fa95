// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing

@testable import Receiver

@Suite("File facts")
struct FileFactsTests {
    @Test(
        "the entity tag has the size, both times and the inode number in hexadecimal digits",
        arguments: [
            (0, 0, 0, 0, 0, "\"0-0-0-0\""), (0x5000, 1, 2, 15, 16, "\"5000-3b9aca02-37e11d600-10\""),
            (.max, 0, 0, 0, .max, "\"7fffffffffffffff-0-0-ffffffffffffffff\""),
        ] as [(Int, Int, Int, Int, UInt64, String)]
    )
    func entityTag(size: Int, modified: Int, nanoseconds: Int, changed: Int, inode: UInt64, tag: String) {
        var status = stat()
        status.st_size = off_t(size)
        status.modificationTime = timespec(tv_sec: modified, tv_nsec: nanoseconds)
        status.statusChangeTime = timespec(tv_sec: changed, tv_nsec: 0)
        status.st_ino = ino_t(inode)
        #expect(FileFacts(status).entityTag == tag)
    }
}
