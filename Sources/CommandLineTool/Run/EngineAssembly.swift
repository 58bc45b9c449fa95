// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import FileStorage
import TransferCore
import TransferEngine

/// Creates the engine of a plan.
enum EngineAssembly {
    /// Creates an engine with real sockets and files.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - identity: The client's certificate, or `nil`.
    /// - Returns: The engine, not started.
    /// - Throws: `TransportError` if a file with certificates cannot be used.
    static func make(_ plan: GetPlan, identity: TLSOptions.ClientCertificate? = nil) throws -> TransferEngine {
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = plan.jobs
        configuration.connectionsPerHost = plan.perHost
        configuration.rateLimit = plan.rateLimit
        // The names of a billion finished rows would need memory; their files are found on the disk.
        configuration.releasesNames = plan.dataset != nil
        // A fault of this machine fails no row.
        configuration.waitsForMachine = plan.dataset != nil
        configuration.keepsHostsOnLanes = plan.limitsHosts
        configuration.politeness = plan.politeness
        if plan.politeness.connectionsPerDomain != nil || plan.politeness.domainInterval > 0 {
            configuration.suffixes = InstalledSuffixes.system.list
        }
        if let agent = plan.options.fields.last(where: { $0.0.lowercased() == "user-agent" }) {
            configuration.robotsAgent = agent.1
        }
        var transport = HTTPTransport.Configuration()
        transport.tls = self.trust(plan)
        transport.tls.clientCertificate = identity
        transport.family = plan.family
        transport.openConnections = OpenConnectionLimits(
            perHost: plan.limitsHosts ? plan.perHost : nil,
            perDomain: plan.politeness.connectionsPerDomain,
            suffixes: configuration.suffixes
        )
        transport.proxy = plan.proxy ?? .fromProcess()
        if let hosts = plan.directHosts { transport.proxy.exceptions = ProxyExceptions(hosts) }
        return try LiveEngine.make(configuration, transport: transport, store: DiskStore())
    }

    static func trust(_ plan: GetPlan) -> TLSOptions {
        var tls = TLSOptions()
        if let file = plan.caFile { tls.roots = .pemFile(file) }
        tls.pins = plan.pins
        if !plan.pins.isEmpty, plan.caFile == nil { tls.verification = .pinned }
        if !plan.verifiesCertificates { tls.verification = .none }
        return tls
    }
}
