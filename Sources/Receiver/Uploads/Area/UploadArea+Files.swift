internal import FileStorage
internal import Glibc
internal import TransferEngine

extension UploadArea {
    /// Replaces a small file of ours in a directory of the tree, whole and for the owner alone; quiet where it cannot.
    func writeOwn(_ bytes: [UInt8], as name: String, in path: TreePath) {
        guard case .success(let directory) = BeneathOpen.open(self.tree.root, path.names, O_RDONLY | O_DIRECTORY) else {
            return
        }
        // Through the open directory, so that no name on the way can be exchanged meanwhile.
        try? AtomicFile.replace("/proc/self/fd/\(directory.raw)/\(name)", with: bytes, mode: 0o600)
    }
}
