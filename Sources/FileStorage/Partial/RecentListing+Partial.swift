// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import TransferCore

extension RecentListing {
    /// Whether a name, and those of its partial file and journal, are missing.
    func lacksFiles(of name: String, in directory: DirectoryHandle) -> Bool {
        // Only a long name's partial file has a name that does not begin with it.
        if PartialNames.isShortened(name) {
            let names = PartialNames(name)
            return [name, names.part, names.journal].allSatisfy { self.lacks($0, in: directory) }
        }
        return self.lacks(in: directory) { names in
            let hash = NameHash.of(name)
            return !names.contains(hash) && !names.contains(NameHash.of(ReservedName.partial, after: hash))
                && !names.contains(NameHash.of(ReservedName.journal, after: hash))
        }
    }
}
