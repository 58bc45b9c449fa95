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

    /// What is between directory and name in the path; `nil` if the path is the name, because the directory is empty or `.`.
    var separator: String? {
        var directory = self.directory
        return directory.withUTF8 { bytes in
            guard let last = bytes.last, bytes.count > 1 || last != 0x2E else { return nil }
            return last == 0x2F ? "" : "/"
        }
    }

    /// The path of the final file.
    public var path: String {
        var (directory, name) = (self.directory, self.name)
        // Each file's path is created several times: one allocation and two copies.
        return directory.withUTF8 { directory in
            guard let last = directory.last, directory.count > 1 || last != 0x2E else { return self.name }
            return name.withUTF8 { name in
                let separator = last == 0x2F ? 0 : 1
                let count = directory.count + separator + name.count
                return String(unsafeUninitializedCapacity: count) { bytes in
                    // Bounds: there is room for `count` bytes.
                    let end = bytes[...].initialize(fromContentsOf: directory)
                    if separator == 1 { bytes[end] = 0x2F }
                    return bytes[(end + separator)...].initialize(fromContentsOf: name)
                }
            }
        }
    }
}
