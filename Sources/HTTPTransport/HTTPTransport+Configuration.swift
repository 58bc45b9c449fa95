internal import NIOCore
public import TransferCore

extension HTTPTransport {
    /// What a transport is built with.
    public struct Configuration: Sendable {
        /// The number of lanes, each a thread; by default two, or one where there is one processor.
        public var laneCount: Int

        /// How servers are trusted, and how this side shows who it is.
        public var tls: TLSOptions

        /// The proxies; by default none, whatever the environment says.
        public var proxy: ProxySettings

        /// How long an unused connection is kept, in nanoseconds.
        public var idleTimeout: Int64

        /// The most unused connections kept for one origin, or one proxy, on one lane.
        public var maximumIdlePerHost: Int

        /// The most bytes of a response's heads, interim ones included.
        public var maximumHeadSize: Int

        /// Creates the default configuration.
        public init() {
            self.laneCount = min(2, max(1, System.coreCount))
            self.tls = TLSOptions()
            self.proxy = .none
            self.idleTimeout = 15_000_000_000
            self.maximumIdlePerHost = 64
            self.maximumHeadSize = 256 * 1024
        }
    }
}
