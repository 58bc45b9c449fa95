import HTTPTransport
import Martlet
import TransferEngine

/// Makes the engine of a plan: the one place that names the composition root.
enum EngineAssembly {
    /// Makes an engine over real sockets and files.
    static func make(_ plan: GetPlan) throws -> TransferEngine {
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = plan.jobs
        configuration.connectionsPerHost = plan.perHost
        configuration.rateLimit = plan.rateLimit
        var transport = HTTPTransport.Configuration()
        transport.caFile = plan.caFile
        transport.verifiesCertificates = plan.verifiesCertificates
        return try LiveEngine.make(configuration, transport: transport)
    }
}
