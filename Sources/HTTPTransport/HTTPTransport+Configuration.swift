internal import NIOCore

extension HTTPTransport {
    /// What a transport is built with.
    public struct Configuration: Sendable {
        /// The number of lanes, each a thread; by default two, or one where there is one processor.
        public var laneCount: Int

        /// A PEM file of the certificates to trust instead of the system's, or `nil`.
        public var caFile: String?

        /// Whether a server's certificate must be valid and name the host.
        public var verifiesCertificates: Bool

        /// How long an unused connection is kept, in nanoseconds.
        public var idleTimeout: Int64

        /// The most unused connections kept for one origin on one lane.
        public var maximumIdlePerHost: Int

        /// The most bytes of a response's heads, interim ones included.
        public var maximumHeadSize: Int

        /// Creates the default configuration.
        public init() {
            self.laneCount = min(2, max(1, System.coreCount))
            self.caFile = nil
            self.verifiesCertificates = true
            self.idleTimeout = 15_000_000_000
            self.maximumIdlePerHost = 64
            self.maximumHeadSize = 256 * 1024
        }
    }
}
