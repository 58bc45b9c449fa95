// SPDX-License-Identifier: Apache-2.0
// What is reported about jobs: changes for the readers of events, log lines, and spans. The metrics are the library's.
import Logging
import Martlet
import Tracing

/// The list calls these methods in order, on a thread of its own.
extension Jobs: OfflineDownloads.Observer {
    func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {
        self.changes.note(download.id)
        if state == .failed { self.ended(Job(download)) }
    }

    func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?) {
        self.changes.note(download.id)
    }

    func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) { self.ended(Job(download)) }

    func ended(_ job: Job) {
        self.log("job \(job.state)", job)
        JobTrace.end(job)
    }

    func log(_ message: Logger.Message, _ job: Job) {
        var metadata: Logger.Metadata = ["job": "\(job.id)", "url": "\(job.url)", "bytes": "\(job.bytes)"]
        metadata["error"] = job.error.map { "\($0)" }
        self.logger.info(message, metadata: metadata)
    }
}

/// The span of a job, from its acceptance to its end.
///
/// A span that was started would be lost with the process. The list therefore stores when the job was accepted and the
/// trace of the request, and the run of the service that ends the job makes its span.
enum JobTrace {
    private struct Carrier: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into fields: inout [String: String]) { fields[key] = value }
        func extract(key: String, from fields: [String: String]) -> String? { fields[key] }
    }

    /// The values that a new job stores.
    static func start() -> [String: String] {
        var fields: [String: String] = [:]
        InstrumentationSystem.instrument.inject(.current ?? .topLevel, into: &fields, using: Carrier())
        fields["accepted"] = "\(DefaultTracerClock.now.nanosecondsSinceEpoch)"
        return fields
    }

    /// Makes the span of a job that has ended.
    static func end(_ job: Job) {
        var context = InstrumentationContext.topLevel
        InstrumentationSystem.instrument.extract(job.trace, into: &context, using: Carrier())
        let now = DefaultTracerClock.now
        let accepted = job.trace["accepted"].flatMap { UInt64($0) } ?? now.nanosecondsSinceEpoch
        let start = DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: accepted)
        let span = startSpan("job", context: context, ofKind: .consumer, at: start)
        span.attributes["job.id"] = job.id
        span.attributes["url.full"] = job.url
        span.attributes["job.status"] = job.state
        span.attributes["job.bytes"] = Int(job.bytes)
        if let error = job.error { span.setStatus(SpanStatus(code: .error, message: error)) }
        span.end(at: now)
    }
}
