// SPDX-License-Identifier: Apache-2.0
/// A directory and a name in it.
public struct FileTarget: Hashable, Sendable {
    /// The directory's path, absolute or relative to the working directory.
    ///
    /// Created, with its parents, by the first write.
    public var directory: String
    /// The final name: one safe path component (see `FileName`).
    public var name: String

    /// Creates a target.
    public init(directory: String, name: String) {
        self.directory = directory
        self.name = name
    }

    /// The path of the final file.
    public var path: String {
        if self.directory.isEmpty || self.directory == "." { return self.name }
        let (directory, name) = (self.directory.utf8, self.name.utf8)
        let separator = directory.last == 0x2F ? 0 : 1
        // Each file's path is created several times: one allocation and two copies.
        return String(unsafeUninitializedCapacity: directory.count + separator + name.count) { bytes in
            let end = bytes[...].initialize(from: directory).index
            if separator == 1 { bytes[end] = 0x2F }
            return bytes[(end + separator)...].initialize(from: name).index
        }
    }
}
