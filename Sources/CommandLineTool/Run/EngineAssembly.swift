import HTTPTransport
import TransferAssembly
import TransferCore
import TransferEngine

/// Creates the engine of a plan; the only user of the composition root in this module.
enum EngineAssembly {
    /// Creates an engine with real sockets and files.
    static func make(_ plan: GetPlan) throws -> TransferEngine {
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = plan.jobs
        configuration.connectionsPerHost = plan.perHost
        configuration.rateLimit = plan.rateLimit
        var transport = HTTPTransport.Configuration()
        if let file = plan.caFile { transport.tls.roots = .pemFile(file) }
        if !plan.verifiesCertificates { transport.tls.verification = .none }
        transport.proxy = plan.proxy ?? .fromProcess()
        if let hosts = plan.directHosts { transport.proxy.exceptions = ProxyExceptions(hosts) }
        return try LiveEngine.make(configuration, transport: transport)
    }
}
