// SPDX-License-Identifier: Apache-2.0
package import Platform

extension SimulatedDisk {
    /// The path under which a descriptor was opened.
    func path(_ descriptor: Int32) -> String { (try? self.file(descriptor))?.path ?? "" }

    /// close(2).
    package func close(_ descriptor: Int32) -> Int32 {
        let owner = self.owner(descriptor)
        // A failed close releases the descriptor, as on Linux.
        let onFault: (DiskFault) -> Void = { _ in _ = self.attempt { () throws(DiskError) in try self.drop(descriptor) }
        }
        return self.call("close", owner, self.path(descriptor), changes: false, failed: -1, onFault: onFault) { _ in
            self.attempt { () throws(DiskError) in try self.drop(descriptor) }
        }
    }

    private func drop(_ descriptor: Int32) throws(DiskError) -> Int32 {
        let file = try self.file(descriptor)
        let index = Int(descriptor - Self.firstDescriptor)
        self.tables[index / Self.mostDescriptors][index % Self.mostDescriptors] = nil
        self.release(file)
        return 0
    }

    /// dup(2).
    package func duplicate(_ descriptor: Int32) -> Int32 {
        let owner = self.owner(descriptor)
        return self.call("dup", owner, self.path(descriptor), changes: false, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                let file = try self.file(descriptor)
                let duplicate = try self.install(file, owner)
                file.descriptors += 1
                return duplicate
            }
        }
    }

    // MARK: Bytes

    /// pread(2).
    package func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int, at offset: Int64) -> Int {
        self.read("pread", descriptor, bytes, count, offset)
    }

    /// read(2).
    package func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        self.read("read", descriptor, bytes, count, nil)
    }

    private func read(
        _ name: StaticString,
        _ descriptor: Int32,
        _ bytes: UnsafeMutableRawPointer?,
        _ count: Int,
        _ offset: Int64?
    ) -> Int {
        let owner = self.owner(descriptor)
        return self.call(name, owner, self.path(descriptor), changes: false, count: count, failed: -1) { count in
            do throws(DiskError) {
                let file = try self.file(descriptor)
                guard file.isReadable else { throw DiskError(EBADF) }
                guard file.node.kind != .directory else { throw DiskError(EISDIR) }
                guard offset ?? 0 >= 0 else { throw DiskError(EINVAL) }
                guard let bytes else { return 0 }
                let done = file.node.content.read(bytes, count, at: offset.map { Int($0) } ?? file.offset)
                if offset == nil { file.offset += done }
                return done
            } catch {
                return Int(self.fail(error.number))
            }
        }
    }

    /// pwrite(2).
    package func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, at offset: Int64) -> Int {
        self.write("pwrite", descriptor, bytes, count, offset)
    }

    /// write(2).
    package func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        self.write("write", descriptor, bytes, count, nil)
    }

    private func write(
        _ name: StaticString,
        _ descriptor: Int32,
        _ bytes: UnsafeRawPointer?,
        _ count: Int,
        _ offset: Int64?
    ) -> Int {
        let owner = self.owner(descriptor)
        let onFault: (DiskFault) -> Void = { fault in
            if case .short(_, let number) = fault { (try? self.file(descriptor))?.nextError = number }
        }
        return self.call(
            name,
            owner,
            self.path(descriptor),
            changes: true,
            count: count,
            failed: -1,
            onFault: onFault
        ) { allowed in
            do throws(DiskError) {
                let file = try self.file(descriptor)
                guard file.isWritable else { throw DiskError(EBADF) }
                guard offset ?? 0 >= 0 else { throw DiskError(EINVAL) }
                if file.nextError != 0, allowed == count {
                    let number = file.nextError
                    file.nextError = 0
                    throw DiskError(number)
                }
                guard let bytes, allowed > 0 else { return 0 }
                if self.isReadOnly { throw DiskError(EROFS) }
                let start = file.appends ? file.node.content.size : offset.map { Int(clamping: $0) } ?? file.offset
                let done = try self.write(file.node, bytes, allowed, start)
                if offset == nil { file.offset = start + done }
                return done
            } catch {
                return Int(self.fail(error.number))
            }
        }
    }

    /// Writes as many bytes as there is space for.
    private func write(_ node: DiskNode, _ bytes: UnsafeRawPointer, _ count: Int, _ start: Int) throws(DiskError) -> Int
    {
        guard start < Int(Self.longestFile) else { throw DiskError(EFBIG) }
        var count = min(count, Int(Self.longestFile) - start)
        // Files of others can have taken more than there was.
        let free = max(0, Int(clamping: self.capacity / Int64(Self.page)) - self.usedPages)
        if count / Self.page + 2 > free {
            while count > 0, node.content.missingPages(start, count) > free {
                // To the end of the page before.
                count = max(0, (start + count - 1) / Self.page * Self.page - start)
            }
            guard count > 0 else { throw DiskError(ENOSPC) }
        }
        let before = node.content.size
        self.usedPages += node.content.write(bytes, count, at: start)
        self.changedContent(of: node, sizeBefore: before)
        return count
    }

    /// lseek(2).
    package func seek(_ descriptor: Int32, _ offset: Int64, _ whence: Int32) -> Int64 {
        self.call("lseek", self.owner(descriptor), self.path(descriptor), changes: false, failed: -1) { _ in
            do throws(DiskError) {
                let file = try self.file(descriptor)
                let base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.offset : file.node.content.size
                let (sum, overflow) = Int64(base).addingReportingOverflow(offset)
                guard !overflow, sum >= 0, [SEEK_SET, SEEK_CUR, SEEK_END].contains(whence) else {
                    throw DiskError(EINVAL)
                }
                file.offset = Int(sum)
                return sum
            } catch {
                return Int64(self.fail(error.number))
            }
        }
    }

    /// copy_file_range(2).
    package func copyRange(_ from: Int32, _ to: Int32, _ count: Int) -> Int {
        self.call("copy_file_range", self.owner(to), self.path(to), changes: true, count: count, failed: -1) { count in
            do throws(DiskError) {
                let (source, target) = (try self.file(from), try self.file(to))
                guard source.node.kind == .file, target.node.kind == .file else { throw DiskError(EISDIR) }
                guard source.isReadable, target.isWritable, !target.appends else { throw DiskError(EBADF) }
                guard self.features.copyRange else { throw DiskError(EOPNOTSUPP) }
                if self.isReadOnly { throw DiskError(EROFS) }
                let length = min(count, source.node.content.size - source.offset)
                guard length > 0 else { return 0 }
                if source.node === target.node, abs(source.offset - target.offset) < length { throw DiskError(EINVAL) }
                var error: DiskError?
                let done = withUnsafeTemporaryAllocation(byteCount: length, alignment: 16) { buffer -> Int in
                    guard let base = buffer.baseAddress else { return 0 }
                    _ = source.node.content.read(base, length, at: source.offset)
                    do throws(DiskError) {
                        return try self.write(target.node, base, length, target.offset)
                    } catch let failure {
                        error = failure
                        return 0
                    }
                }
                if let error { throw error }
                source.offset += done
                target.offset += done
                return done
            } catch {
                return Int(self.fail(error.number))
            }
        }
    }

    // MARK: Lengths and space

    func truncate(_ node: DiskNode, _ length: Int) {
        let before = node.content.size
        self.usedPages -= node.content.truncate(length)
        self.changedContent(of: node, sizeBefore: before)
    }

    /// Makes a call that changes a file.
    private func changing(
        _ name: StaticString,
        _ descriptor: Int32,
        needsWriting: Bool = true,
        onFault: (DiskFault) -> Void = { _ in },
        _ body: (DiskNode) throws(DiskError) -> Void
    ) -> Int32 {
        self.call(name, self.owner(descriptor), self.path(descriptor), changes: true, failed: -1, onFault: onFault) {
            _ in
            self.attempt { () throws(DiskError) in
                let file = try self.file(descriptor)
                if needsWriting, !file.isWritable { throw DiskError(name.description == "ftruncate" ? EINVAL : EBADF) }
                try body(file.node)
                return 0
            }
        }
    }

    /// ftruncate(2).
    package func truncate(_ descriptor: Int32, _ length: Int64) -> Int32 {
        guard length >= 0 else { return self.fail(EINVAL) }
        return self.changing("ftruncate", descriptor) { (node) throws(DiskError) in
            if self.isReadOnly { throw DiskError(EROFS) }
            guard length <= Self.longestFile else { throw DiskError(EFBIG) }
            self.truncate(node, Int(length))
        }
    }

    /// fallocate(2) that keeps the size.
    package func allocate(_ descriptor: Int32, length: Int64) -> Int32 {
        self.changing("fallocate", descriptor) { (node) throws(DiskError) in
            guard self.features.allocation else { throw DiskError(EOPNOTSUPP) }
            guard length > 0 else { throw DiskError(EINVAL) }
            guard length <= Self.longestFile else { throw DiskError(EFBIG) }
            if self.isReadOnly { throw DiskError(EROFS) }
            // Files of others can have taken more than there was.
            let free = max(0, Int(clamping: self.capacity / Int64(Self.page)) - self.usedPages)
            guard node.content.missingPages(0, Int(length)) <= free else { throw DiskError(ENOSPC) }
            self.usedPages += node.content.allocate(Int(length))
            node.changed = self.now
        }
    }

    /// fallocate(2) that makes a hole.
    package func punchHole(_ descriptor: Int32, _ offset: Int64, length: Int64) -> Int32 {
        self.changing("fallocate", descriptor) { (node) throws(DiskError) in
            guard self.features.allocation else { throw DiskError(EOPNOTSUPP) }
            guard offset >= 0, length > 0 else { throw DiskError(EINVAL) }
            if self.isReadOnly { throw DiskError(EROFS) }
            let end = min(offset.addingReportingOverflow(length).partialValue, Self.longestFile)
            self.usedPages -= node.content.punch(Int(offset)..<max(Int(offset), Int(end)))
            self.changedContent(of: node, sizeBefore: node.content.size)
        }
    }

    /// fstatvfs(3).
    package func space(_ descriptor: Int32, _ space: UnsafeMutablePointer<statvfs>) -> Int32 {
        self.call("fstatvfs", self.owner(descriptor), self.path(descriptor), changes: false, failed: -1) { _ in
            self.attempt { () throws(DiskError) in
                _ = try self.file(descriptor)
                let pages = max(0, self.capacity / Int64(Self.page))
                space.pointee = statvfs()
                space.pointee.f_bsize = numericCast(Self.page)
                space.pointee.f_frsize = numericCast(Self.page)
                space.pointee.f_blocks = numericCast(pages)
                space.pointee.f_bfree = numericCast(max(0, pages - Int64(self.usedPages)))
                space.pointee.f_bavail = space.pointee.f_bfree
                return 0
            }
        }
    }

    // MARK: Syncs

    /// fsync(2) or fdatasync(2).
    package func sync(_ descriptor: Int32, dataOnly: Bool) -> Int32 {
        let onFault: (DiskFault) -> Void = { fault in
            // An interrupted call has failed to write nothing.
            if fault != .error(EINTR) { (try? self.file(descriptor))?.node.content.failSync() }
        }
        return self.changing(dataOnly ? "fdatasync" : "fsync", descriptor, needsWriting: false, onFault: onFault) {
            (node) throws(DiskError) in
            self.makeDurable(node, dataOnly: dataOnly)
        }
    }

    /// syncfs(2).
    package func syncFilesystem(_ descriptor: Int32) -> Int32 {
        self.changing("syncfs", descriptor, needsWriting: false) { (_) throws(DiskError) in
            guard self.features.syncFilesystem else { throw DiskError(ENOSYS) }
            self.syncAll()
        }
    }
}
