internal import Control

/// Dispatches messages to methods and writes the responses.
struct RPCDispatcher: Sendable {
    let service: any TransferService
    let configuration: ServerConfiguration
    let access: TokenCheck?
    let metrics: ServerMetrics
    var methods = RPCMethods.standard

    /// Performs the calls of one message.
    ///
    /// - Parameters:
    ///   - envelope: The message.
    ///   - caller: The sender.
    ///   - subscription: The subscription of the sending WebSocket, which a valid token authenticates.
    /// - Returns: The response to send.
    func answer(
        _ envelope: RPCEnvelope,
        from caller: Caller,
        subscription: EventSubscription? = nil
    ) async -> RPCAnswer {
        var answer = RPCAnswer()
        switch envelope {
        case .single(let item):
            let result = await self.result(item.call, caller, subscription, &answer)
            answer.append(item, result)
            if case .failure(let failure) = result { answer.status = failure.status }
        case .batch(let items):
            answer.beginArray()
            for item in items {
                // A short batch may have a long response: beyond the limit its other calls are not performed.
                guard answer.bytes.count < self.configuration.limits.answer else {
                    answer.append(item, .failure(.tooMuch("The batch's answer is too large", remedy: "ask for less")))
                    continue
                }
                let result = await self.result(item.call, caller, subscription, &answer)
                answer.append(item, result)
            }
            answer.endArray()
        }
        return answer
    }

    private func result(
        _ item: Result<RPCCall, RPCFailure>,
        _ caller: Caller,
        _ subscription: EventSubscription?,
        _ answer: inout RPCAnswer
    ) async -> Result<JSON, RPCFailure> {
        switch item {
        case .failure(let failure): return .failure(failure)
        case .success(let call):
            if call.method == SystemMethods.multicall {
                return await self.multicall(call, caller, subscription, &answer)
            }
            return await self.result(call, caller, subscription, &answer)
        }
    }

    private func result(
        _ call: RPCCall,
        _ caller: Caller,
        _ subscription: EventSubscription?,
        _ answer: inout RPCAnswer
    ) async -> Result<JSON, RPCFailure> {
        var parameters = call.parameters
        let token = parameters.takeToken()
        let method = self.methods[call.method]
        if method?.isOpen != true {
            guard self.isAllowed(token, caller, subscription) else {
                answer.hasFailedAuthentication = true
                self.metrics.called(method?.name, isError: true)
                return .failure(.unauthorized)
            }
        }
        guard let method else {
            self.metrics.called(nil, isError: true)
            return .failure(
                RPCFailure(
                    ControlError(
                        .unknownMethod,
                        "No such method: \(call.method.prefix(128))",
                        remedy: "system.listMethods names those there are"
                    )
                )
            )
        }
        let result = await self.perform(method, parameters, caller, subscription)
        if case .failure = result {
            self.metrics.called(method.name, isError: true)
        } else {
            self.metrics.called(method.name, isError: false)
        }
        return result
    }

    private func perform(
        _ method: RPCMethod,
        _ parameters: RPCParameters,
        _ caller: Caller,
        _ subscription: EventSubscription?
    ) async -> Result<JSON, RPCFailure> {
        let arguments: RPCArguments
        switch parameters {
        case .positional(let elements): arguments = RPCArguments(elements)
        case .named(let object) where method.isOwn: arguments = RPCArguments(named: object)
        case .named, .malformed: return .failure(.invalidParameters)
        }
        let context = RPCContext(
            service: self.service,
            configuration: self.configuration,
            caller: caller,
            methods: self.methods,
            subscription: subscription
        )
        do throws(ControlError) {
            return .success(try await method.handler(context, arguments))
        } catch {
            return .failure(RPCFailure(error))
        }
    }

    /// Returns whether a call is permitted: always over the Unix socket, otherwise with the token.
    private func isAllowed(_ token: String?, _ caller: Caller, _ subscription: EventSubscription?) -> Bool {
        if caller.isLocal || caller.isAuthenticated { return true }
        guard let access = self.access, let token, access.accepts(token) else { return false }
        subscription?.authenticated()
        return true
    }
}

extension RPCDispatcher {
    /// Performs several calls in order, each with its own token.
    private func multicall(
        _ call: RPCCall,
        _ caller: Caller,
        _ subscription: EventSubscription?,
        _ answer: inout RPCAnswer
    ) async -> Result<JSON, RPCFailure> {
        var parameters = call.parameters
        _ = parameters.takeToken()
        guard case .positional(let elements) = parameters else { return .failure(.invalidParameters) }
        let calls: [JSON]
        do throws(ControlError) {
            calls = try RPCArguments(elements).array(0)
        } catch {
            return .failure(RPCFailure(error))
        }
        guard calls.count <= RPCEnvelope.batchLimit else {
            return .failure(
                .tooMuch("\(calls.count) calls are too many", remedy: "send at most \(RPCEnvelope.batchLimit) at once")
            )
        }
        var results: [JSON] = []
        var weight = answer.bytes.count
        for inner in calls {
            let result: JSON
            if weight < self.configuration.limits.answer {
                result = await self.inner(inner, caller, subscription, &answer)
            } else {
                result = RPCFailure.tooMuch("The answer is too large").json(withData: false)
            }
            weight += result.weight
            results.append(result)
        }
        self.metrics.called(SystemMethods.multicall, isError: false)
        return .success(.array(results))
    }

    private func inner(
        _ json: JSON,
        _ caller: Caller,
        _ subscription: EventSubscription?,
        _ answer: inout RPCAnswer
    ) async -> JSON {
        guard json.object != nil else { return Self.bare("system.multicall expected struct.") }
        guard let name = json["methodName"]?.string else { return Self.bare("Missing methodName.") }
        guard name != SystemMethods.multicall else { return Self.bare("Recursive system.multicall forbidden.") }
        let call = RPCCall(id: .null, method: name, parameters: RPCParameters(json["params"]))
        switch await self.result(call, caller, subscription, &answer) {
        case .success(let value): return .array([value])
        case .failure(let failure): return failure.json(withData: name.hasPrefix("martlet."))
        }
    }

    private static func bare(_ message: String) -> JSON { RPCFailure(code: 1, message).json(withData: false) }
}
