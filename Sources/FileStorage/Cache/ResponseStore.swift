// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The storage of a response cache.
///
/// Every method may be called from any thread and may block. The caller performs the operations on one key one after
/// another; other processes may perform theirs at any time.
package protocol ResponseStore: AnyObject, Sendable {
    /// Finds a response; `nil` if there is none, or if it is damaged, in which case it is removed.
    func open(_ key: CacheKey) -> CachedEntry?

    /// The selection of the stored response, which identifies it, because its salt is random; `nil` if there is none.
    func selection(of key: CacheKey) -> CacheSelection?

    /// When the request of the stored response was sent, in seconds since 1970; `nil` if there is none.
    func requestTime(of key: CacheKey) -> Int64?

    /// Begins to store a response; it replaces the stored one when it is committed.
    ///
    /// - Throws: ``StorageError`` if it cannot be written.
    func makeWriter(
        _ key: CacheKey,
        _ response: StoredResponse,
        _ selection: CacheSelection
    ) throws(StorageError) -> any CacheEntryWriter

    func remove(_ key: CacheKey)

    /// Removes the responses that arrived, or were validated, at this time or later; all of them for `nil`.
    ///
    /// - Parameter time: Seconds since 1970.
    func removeAll(since time: Int64?)

    /// The size of all entries in bytes.
    var size: Int64 { get }

    /// Removes the least recently used responses if the size exceeds a limit.
    ///
    /// - Parameters:
    ///   - limit: The limit in bytes.
    ///   - added: The size of an entry that was committed.
    func trim(to limit: Int64, added: Int64)
}

/// Writes one stored response.
///
/// Used by one thread at a time.
package protocol CacheEntryWriter: AnyObject {
    /// Appends bytes of the body.
    ///
    /// - Throws: ``StorageError``.
    func write(_ bytes: [UInt8]) throws(StorageError)

    /// Completes the body, so that ``commit()`` is fast.
    ///
    /// - Returns: The size of the entry in bytes.
    /// - Throws: ``StorageError``.
    func finish() throws(StorageError) -> Int64

    /// Makes the response available in place of an earlier one.
    ///
    /// - Throws: ``StorageError``; the earlier one is then unchanged.
    func commit() throws(StorageError)

    /// Deletes what was written.
    func discard()
}
