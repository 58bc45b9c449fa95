// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
public import TransferCore

extension HTTPTransport {
    /// The configuration of a transport.
    public struct Configuration: Sendable {
        /// The number of event loops, each with a thread; by default two, or one on a single processor.
        public var laneCount: Int

        /// The trust settings and the client's certificate.
        public var tls: TLSOptions

        /// The proxies; by default none, regardless of the environment.
        public var proxy: ProxySettings

        /// The time for which an idle connection is kept, in nanoseconds.
        public var idleTimeout: Int64

        /// The maximum number of idle connections per origin or proxy, on each event loop.
        public var maximumIdlePerHost: Int

        /// The maximum numbers of open connections, over all event loops.
        package var openConnections = OpenConnectionLimits()

        /// The maximum size of a response's heads including interim ones, in bytes.
        public var maximumHeadSize: Int

        /// The time for which the addresses of a name are used without another lookup, in nanoseconds.
        public var nameCacheTime: Int64

        /// The only family of addresses to connect to, or `nil` for both.
        package var family: AddressFamily?

        /// Whether a ``ConnectionReceiver`` gets a report of each request's connection.
        package var reportsConnections = false

        /// The processors are counted once: a program can create many transports.
        private static let defaultLaneCount = min(2, max(1, System.coreCount))

        /// Creates the default configuration.
        public init() {
            self.laneCount = Self.defaultLaneCount
            self.tls = TLSOptions()
            self.proxy = .none
            self.idleTimeout = 15_000_000_000
            self.maximumIdlePerHost = 64
            self.maximumHeadSize = 256 * 1024
            self.nameCacheTime = 60_000_000_000
        }
    }
}
