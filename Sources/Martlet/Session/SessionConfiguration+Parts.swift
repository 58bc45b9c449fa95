// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
package import HTTPTransport
package import TransferEngine

/// The configurations of the parts of a session.
extension SessionConfiguration {
    /// The engine's limits.
    package var forEngine: TransferEngine.Configuration {
        var engine = TransferEngine.Configuration()
        engine.concurrentTransfers = max(1, self.concurrentTransfers)
        engine.connectionsPerHost = self.connectionsPerHost.map { max(1, $0) }
        let limits = [self.rateLimit, self.discretion?.rateCeiling].compactMap(\.self).filter { $0 > 0 }
        engine.rateLimit = limits.min()
        engine.releasesNames = true
        return engine
    }

    /// The transport's configuration; proxies from the environment are those of this process.
    package var forTransport: HTTPTransport.Configuration {
        var transport = HTTPTransport.Configuration()
        transport.tls = self.tls
        transport.reportsConnections = self.onConnection != nil
        switch self.proxy {
        case .environment: transport.proxy = .fromProcess()
        case .none: break
        case .custom(let settings): transport.proxy = settings
        }
        return transport
    }

    /// Refuses settings that a transport of the system does not have.
    ///
    /// A pinned key that is not checked would be worse than an error.
    func checkSystemSettings(of transport: TransportOverride) throws(TransferError) {
        guard transport.usesSystemSettings else { return }
        if self.tls != TLSOptions() {
            throw TransferError(
                .badConfiguration,
                "the system's URLSession cannot have the TLS options of this configuration: its own settings decide",
                remedy: "leave tls at its default, or do not replace the transport"
            )
        }
        if self.proxy != .environment {
            throw TransferError(
                .badConfiguration,
                "the system's URLSession cannot have the proxy of this configuration: its own settings decide",
                remedy: "leave proxy at .environment and set it in the system, or do not replace the transport"
            )
        }
    }

    /// The options common to all downloads.
    package var forDownloads: DownloadOptions {
        var options = DownloadOptions()
        options.connections =
            self.connectionsPerDownload > 1 ? .adaptive(most: self.connectionsPerDownload) : .fixed(1)
        options.retries = self.retries.attempts
        options.retryStatuses = self.retries.statuses
        options.maximumRedirects = max(0, self.maximumRedirects)
        options.allowsDowngrade = self.allowsDowngrade
        // Zero disables the timeout; a year represents no timeout.
        options.connectTimeout = self.connectTimeout > .zero ? self.connectTimeout : .seconds(365 * 86_400)
        options.stallTimeout = self.requestTimeout
        options.totalTimeout = self.resourceTimeout
        options.outageTimeout = self.outageTimeout.flatMap { $0 > .zero ? $0 : nil }
        options.durable = self.isDurable
        options.keepBad = false
        return options
    }

    /// The header fields of a request without header fields.
    package var baseFields: [(String, String)] {
        var fields = self.headers.map { ($0.name, $0.value) }
        if !self.headers.contains("User-Agent") { fields.append(("User-Agent", "martlet/\(MartletVersion.text)")) }
        return fields
    }
}
