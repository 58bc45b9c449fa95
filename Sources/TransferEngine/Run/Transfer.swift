// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// One transfer from its addition to its end: its request, and the facts that its runs learned about the resource.
///
/// A waiting transfer uses little memory; the state of a running one is in its ``TransferRun``, and its place in the
/// queue in the ``EngineMachine``.
final class Transfer: Sendable {
    /// The request of a transfer.
    enum Work: Sendable {
        case download(Download)
        case upload(Upload)
    }

    /// The request of a download, on the heap because it is large and shared with the run.
    final class Download: Sendable {
        let request: DownloadRequest
        init(_ request: consuming DownloadRequest) { self.request = request }
    }

    /// The request of an upload, on the heap for the same reasons.
    final class Upload: Sendable {
        let request: UploadRequest
        init(_ request: consuming UploadRequest) { self.request = request }
    }

    let id: TransferID
    let work: Work
    /// The options common to downloads and uploads.
    var options: DownloadOptions {
        _read {
            switch self.work {
            case .download(let download): yield download.request.options
            case .upload(let upload): yield upload.request.options
            }
        }
    }
    /// The authorizer among the options, which is notified of the end; read for each transfer, so not through ``options``.
    var authorizer: (any Authorizer)? {
        switch self.work {
        case .download(let download): download.request.shared.options.authorizer
        case .upload(let upload): upload.request.options.authorizer
        }
    }
    let policy: (any TransferPolicy)?
    let userInfo: (any Sendable)?
    /// The initial URL.
    let source: HTTPURL
    /// The directory and the name taken when the transfer was added, before any response could propose a name.
    let reserved: FileTarget
    /// The name without a number.
    let baseName: String
    /// Whether the user chose the name.
    let isNamedByUser: Bool
    /// The origin in whose queue the transfer waits.
    let origin: Origin
    let memory: Mutex<Memory>
    let limiter: Mutex<RateLimiter>

    /// The state that is kept from one run to the next.
    struct Memory: Sendable {
        /// The target of the file, once a response or the user has determined it.
        var target: FileTarget?
        /// The history of a download's runs.
        var download = DownloadHistory()
        /// The last bytes of a stream, for comparing an overlap.
        var streamTail = StreamTail(capacity: Int(VersionJudge.overlap))
        /// The digests of a stream's bytes so far, if any are expected or requested.
        var streamDigests: (any DigestComputation)?
        /// The history of an upload's runs.
        var upload = UploadHistory()
        /// The lowest rate; below it the transfer ends if it can be continued later.
        var speedFloor: SpeedFloor?

        init(_ options: borrowing DownloadOptions) { self.speedFloor = options.speedFloor }
    }

    /// The partial file that a cancellation deletes, if there may be one.
    var deletable: FileTarget? { self.memory.withLock { $0.target } }

    /// Cancels an upload's stream, which is not read any more; idempotent.
    func letGoOfSource() {
        if case .upload(let upload) = self.work, case .stream(let stream) = upload.request.content { stream.cancel() }
    }

    init(id: TransferID, upload: Upload, origin: Origin) {
        self.id = id
        self.work = .upload(upload)
        self.policy = upload.request.policy
        self.userInfo = upload.request.userInfo
        self.source = upload.request.url
        self.reserved = FileTarget(directory: "", name: "")
        self.baseName = ""
        self.isNamedByUser = false
        self.origin = origin
        self.asksForWhole = false
        self.memory = Mutex(Memory(upload.request.options))
        self.limiter = Mutex(RateLimiter(rate: upload.request.options.rateLimit))
    }

    init(
        id: TransferID,
        download: Download,
        origin: Origin,
        reserved: FileTarget,
        baseName: String,
        isNamedByUser: Bool
    ) {
        let request = download.request
        self.id = id
        self.work = .download(download)
        self.policy = request.policy
        self.userInfo = request.userInfo
        self.source = request.sources[0]
        self.asksForWhole = Self.asksForWhole(request)
        self.reserved = reserved
        self.baseName = baseName
        self.isNamedByUser = isNamedByUser
        self.origin = origin
        self.memory = Mutex(Memory(request.options))
        self.limiter = Mutex(RateLimiter(rate: request.options.rateLimit))
    }

    /// Whether the transfer fetches a whole representation, so that parts of it may be requested and compared.
    ///
    /// False for an unsafe method such as POST, and for a request with the caller's own `Range`.
    let asksForWhole: Bool

    private static func asksForWhole(_ request: DownloadRequest) -> Bool {
        RequestMethod.isSafe(request.method)
            && !request.fields.contains { $0.0.utf8.count == 5 && $0.0.lowercased() == "range" }
    }

    func event(_ kind: consuming TransferEvent.Kind, target: FileTarget? = nil) -> TransferEvent {
        TransferEvent(id: self.id, source: self.source, userInfo: self.userInfo, kind: kind, target: target)
    }
}
