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
