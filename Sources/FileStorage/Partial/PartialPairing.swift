// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import TransferCore
import TransferEngine

/// The proof that a partial file and a journal belong together.
///
/// A random number is in the journal and in an extended attribute of the data file, which no server can set. On
/// filesystems without attributes, the journal has the number of the data file's inode instead; never that of the device,
/// which changes when the filesystem is mounted again.
struct PartialPairing: Equatable {
    /// The random number.
    var number: UInt64
    /// The inode of the data file, if it has no attribute.
    var inode: UInt64?

    /// The data file's attribute, with the number in hexadecimal digits.
    static let attribute = "user.martlet.partial"

    /// Creates a new number.
    static func random() -> Self {
        var random = SystemRandom()
        return PartialPairing(number: random.next(), inode: nil)
    }

    private var text: [UInt8] { Array(String(self.number, radix: 16).utf8) }

    /// Binds a data file to the journal: stores the number with it, or its inode in the journal.
    func bind(_ data: FileDescriptor, _ journal: JournalFile) {
        if KernelCalls.setAttribute(data.raw, Self.attribute, self.text) == 0 { return }
        guard let status = data.status() else { return }
        journal.store(PartialPairing(number: self.number, inode: UInt64(status.st_ino)))
    }

    /// Removes the number from a finished file.
    func unbind(_ data: FileDescriptor) {
        if self.inode == nil { _ = KernelCalls.removeAttribute(data.raw, Self.attribute) }
    }

    /// Whether a data file is that of the journal.
    ///
    /// - Throws: ``StorageError`` if the attribute cannot be read.
    func matches(_ data: FileDescriptor, _ status: stat, path: String) throws(StorageError) -> Bool {
        if let value = KernelCalls.attribute(of: data.raw, Self.attribute) { return value == self.text }
        switch errno {
        case ENODATA, ENOTSUP, ENOSYS, ERANGE: return self.inode == UInt64(status.st_ino)
        case let number:
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot examine", path)
        }
    }
}

extension DiskStore {
    /// The reason why a data file does not belong to a journal, or `nil` if it does.
    ///
    /// Journals of builds before November 2026 have no number. They are believed only under the boot that wrote them,
    /// whose random id no server knows. Nothing is believed of an empty file, so it needs no proof.
    func mismatch(
        _ contents: JournalContents,
        _ data: FileDescriptor,
        _ status: stat,
        path: String
    ) throws(StorageError) -> String? {
        if status.st_size == 0 { return nil }
        guard let pairing = contents.pairing else {
            return self.bootID.isKnown && contents.bootID == self.bootID
                ? nil : "nothing shows that '\(path)' belongs to its journal, which an older version wrote"
        }
        return try pairing.matches(data, status, path: path) ? nil : "'\(path)' does not belong to its journal"
    }
}
