// SPDX-License-Identifier: Apache-2.0
// A download service: POST a list of URLs, follow the jobs, kill the service at any moment and start it again.
import Hummingbird
import Logging
import Martlet
import Metrics
import ServiceLifecycle

@main
struct Program {
    static func main() async throws {
        // Bootstrap LoggingSystem, MetricsSystem and InstrumentationSystem here; without, logs are on standard error.
        let (directory, port) = Arguments.parse(CommandLine.arguments)
        let logger = Logger(label: "service")
        let jobs = try Jobs(directory: directory, logger: logger)
        // SIGTERM stops the services in reverse order: first the server, then the jobs.
        var services = ServiceGroupConfiguration(services: [jobs, self.server(jobs, port: port)], logger: logger)
        services.gracefulShutdownSignals = [.sigterm, .sigint]
        services.maximumGracefulShutdownDuration = .seconds(10)
        try await ServiceGroup(configuration: services).run()
    }

    static func server(_ jobs: Jobs, port: Int) -> some ApplicationProtocol {
        let router = Router()
        router.addMiddleware {
            TracingMiddleware()
            MetricsMiddleware()
        }
        router.post("jobs", use: jobs.add)
        router.get("jobs") { _, _ in jobs.all.map(Job.init) }
        router.get("jobs/events", use: jobs.events)
        router.delete("jobs/:id", use: jobs.cancel)
        return Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            logger: jobs.logger
        )
    }
}

/// The jobs: a list on disk whose downloads run while the service runs, and continue when it is started again.
final class Jobs: Service {
    let list: OfflineDownloads
    let changes = Changes()
    let logger: Logger

    init(directory: String, logger: Logger) throws {
        var configuration = SessionConfiguration.default
        configuration.concurrentTransfers = 16
        configuration.outageTimeout = .seconds(86_400)  // a job waits a day for a server that is down
        configuration.metrics = MetricsSystem.factory  // martlet.tasks by outcome, martlet.bytes.received
        self.logger = logger
        self.list = try OfflineDownloads(
            list: "\(directory)/.jobs/list",
            directory: directory,
            configuration: configuration,
            finishedLimit: 10_000
        )
        self.list.addObserver(self)
        for job in self.all { self.changes.note(job.id) }
    }

    func run() async throws {
        for job in try self.list.resumeInterrupted() { self.log("job resumed", Job(job)) }
        try? await gracefulShutdown()
        await self.list.close()  // interrupts the downloads; their bytes stay
    }

    var all: [OfflineDownload] { self.list.downloads + self.list.finishedDownloads }

    /// Accepts all URLs of a request or none; when this returns, they are in the list on disk.
    func add(_ request: Request, _ context: BasicRequestContext) async throws -> EditedResponse<[Job]> {
        let (body, trace) = (try await request.body.collect(upTo: 4 << 20), JobTrace.start())
        let requests = try URLList.parse(body) { try OfflineDownload.Request($0, userInfo: trace) }
        let added = try HTTPError.catching { try self.list.add(contentsOf: requests) }.map(Job.init)
        for job in added {
            self.changes.note(job.id)
            self.log("job accepted", job)
        }
        return EditedResponse(status: .accepted, response: added)
    }

    /// Cancels a job and deletes its bytes; a finished one is only removed from the list.
    func cancel(_ request: Request, _ context: BasicRequestContext) async throws -> HTTPResponse.Status {
        guard let download = self.list.download(id: try context.parameters.require("id")) else {
            throw HTTPError(.notFound, message: "no such job")
        }
        var job = Job(download)
        try HTTPError.catching { try download.remove() }
        self.changes.note(job.id)
        if job.state == "downloading" {
            job.state = "cancelled"
            self.ended(job)
        }
        return .noContent
    }
}
