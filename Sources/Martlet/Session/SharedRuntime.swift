// SPDX-License-Identifier: Apache-2.0
internal import HTTPTransport

/// The threads of all sessions of this process: the event loops that move data, and the pool for blocking disk calls.
///
/// The first session starts them, and they are never stopped, so that another session costs no thread.
enum SharedRuntime {
    static let loops = SharedLoops(laneCount: HTTPTransport.Configuration().laneCount)
    static let pool = NIOBlockingPool(threadCount: 4)
}
