public import TransferCore

/// A request's content, as the transport pulls it: the next piece only when there is room for it.
///
/// Every member is called on the exchange's lane, one call at a time.
public protocol RequestContent: AnyObject, Sendable {
    /// The bytes in all, or `nil` where only the end tells; then they go in chunks (RFC 9112 §7.1).
    var length: Int64? { get }

    /// Gives the piece that follows.
    ///
    /// - Parameter later: Takes the piece once, from any thread, where `nil` was returned; it is not called before that.
    /// - Returns: The piece, or `nil` where it comes later. After `end` and `failed` nothing more is asked.
    func next(_ later: @escaping @Sendable (ContentPiece) -> Void) -> ContentPiece?

    /// The kernel has taken so many more bytes.
    func sent(_ count: Int)
}

/// A piece of a request's content.
public enum ContentPiece: Sendable {
    /// These bytes, at least one.
    case bytes([UInt8])
    /// So many bytes of a file from an offset on, at least one; the transport may let the kernel send them.
    case file(any SourceFile, offset: Int64, count: Int)
    /// There is no more.
    case end
    /// It cannot be gone on with: the exchange ends with the code `content`.
    case failed
}

/// A regular file that is open for its bytes to be sent.
public protocol SourceFile: AnyObject, Sendable {
    /// The number by which the kernel knows it, or `nil` where there is none; open as long as this object lives.
    var descriptor: Int32? { get }

    /// What the file is now.
    func identity() throws(StorageError) -> FileIdentity

    /// Reads until the buffer is full or the file ends.
    ///
    /// - Returns: The bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int
}
