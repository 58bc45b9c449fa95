// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform

extension UploadArea {
    /// Atomically replaces a small file with mode 0600 in a directory of the tree; errors are ignored.
    func writeOwn(_ bytes: [UInt8], as name: String, in path: TreePath) {
        guard case .success(let directory) = BeneathOpen.open(self.tree.root, path.names, O_RDONLY | O_DIRECTORY) else {
            return
        }
        // Through the open directory, so that no component of the path can be exchanged meanwhile.
        let handle = DirectoryHandle(path: self.tree.path, descriptor: directory)
        try? AtomicFile.replace(name, in: handle, with: bytes)
    }
}
