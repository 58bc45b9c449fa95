// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// The content of a request, pulled by the transport: the next piece only when there is room for it.
///
/// Every member is called on the exchange's lane, one call at a time.
public protocol RequestContent: AnyObject, Sendable {
    /// The length in bytes, or `nil` if it is not known in advance; the content is then sent in chunks (RFC 9112 §7.1).
    var length: Int64? { get }

    /// Returns the next piece.
    ///
    /// Called at least once, also for content of length 0.
    ///
    /// - Parameter later: Called once with the piece, on any thread, if `nil` was returned; not before that.
    /// - Returns: The piece, or `nil` if it is passed to `later`. Not called again after `end` or `failed`.
    func next(_ later: @escaping @Sendable (ContentPiece) -> Void) -> ContentPiece?

    /// The kernel accepted `count` more bytes.
    func sent(_ count: Int)
}

/// A piece of a request's content.
public enum ContentPiece: Sendable {
    /// Bytes, at least one.
    case bytes([UInt8])
    /// `count` bytes of a file from `offset` on, at least one; the transport may let the kernel send them.
    case file(any SourceFile, offset: Int64, count: Int)
    /// No bytes yet: `next` is called again once all earlier pieces were read, or were sent from the file.
    case afterwards
    case end
    /// The content cannot continue: the exchange fails with the code `content`.
    case failed
}

/// A regular file that is open for sending.
public protocol SourceFile: AnyObject, Sendable {
    /// The file descriptor, or `nil` if there is none; open as long as this object exists.
    var descriptor: Int32? { get }

    /// The identity of the file now: size, times, device and inode.
    func identity() throws(StorageError) -> FileIdentity

    /// Reads until the buffer is full or the file ends.
    ///
    /// - Returns: The number of bytes read; less than the buffer's size at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int
}
