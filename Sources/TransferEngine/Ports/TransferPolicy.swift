public import TransferCore

/// What a session has to say about its transfers' requests and responses: cookies, credentials, its delegates' decisions.
///
/// It is called on the lanes, so nothing here may block; a decision that takes its time is given later, and only the one
/// response waits for it.
public protocol TransferPolicy: AnyObject, Sendable {
    /// Fields for one request beside the transfer's own, such as `Cookie` and `Authorization`.
    ///
    /// A field that the transfer has itself is not replaced. It may be called under a run's lock: it must not call the
    /// engine.
    func fields(for request: RequestFacts) -> [(String, String)]

    /// Hears of the head of every final response, redirects and challenges included, before anything is done about it.
    func received(_ head: ResponseHead, to request: RequestFacts)

    /// Decides about a response.
    ///
    /// - Parameters:
    ///   - question: What is to be decided.
    ///   - request: The request that was answered.
    ///   - later: Takes the decision once, from any thread, where `nil` was returned.
    /// - Returns: The decision, or `nil` where it is given later. Until then nothing more is read of this response.
    func decide(
        _ question: PolicyQuestion,
        about request: RequestFacts,
        later: @escaping @Sendable (PolicyDecision) -> Void
    ) -> PolicyDecision?
}

/// One request, as a policy sees it.
public struct RequestFacts: Sendable {
    /// The transfer.
    public var id: TransferID
    /// The caller's own information.
    public var userInfo: (any Sendable)?
    /// The method.
    public var method: String
    /// The URL asked.
    public var url: HTTPURL
    /// The URL that the transfer began with.
    public var source: HTTPURL
    /// How often credentials were refused on the way here.
    public var refusals: Int
}

/// What a policy is asked.
public enum PolicyQuestion: Sendable {
    /// The first response whose body is to be taken came; asked once for each transfer.
    ///
    /// `proceed` takes it, `divert` takes it to a file instead of to memory, `cancel` ends the transfer.
    case response(ResponseHead, length: Int64?)
    /// The server redirects to this URL, asked by this method.
    ///
    /// `proceed` follows, `refuse` takes the redirect for the answer, `cancel` ends the transfer.
    case redirect(ResponseHead, to: HTTPURL, method: String)
    /// The server wants credentials (401).
    ///
    /// `repeat` asks again, with what `fields(for:)` gives then, `proceed` fails with the status, `cancel` ends.
    case challenge(ResponseHead)
}

/// What a policy decides.
public enum PolicyDecision: Sendable {
    /// As if there were no policy.
    case proceed
    /// Do not follow.
    case refuse
    /// Ask the same again.
    case `repeat`
    /// Take the body to a file.
    case divert(Diversion)
    /// End the transfer as cancelled.
    case cancel
}

/// Where a body goes that was to go to memory.
public struct Diversion: Sendable {
    /// The file's directory.
    public var directory: String
    /// The file's name, or `nil` to take it from the response or the URL.
    public var name: String?
    /// What to do where the name is taken.
    public var ifExists: DownloadOptions.IfExists

    /// Creates a diversion.
    public init(directory: String, name: String?, ifExists: DownloadOptions.IfExists) {
        self.directory = directory
        self.name = name
        self.ifExists = ifExists
    }
}
