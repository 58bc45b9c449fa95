// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore
internal import Control

/// Dispatches messages to methods and writes the responses.
struct RPCDispatcher: Sendable {
    let service: any TransferService
    let configuration: ServerConfiguration
    let access: TokenGate?
    let metrics: ServerMetrics
    var methods = RPCMethods.standard
    /// The access to the daemon's page, if it has one.
    var page: PageAccess?

    /// Performs the calls of one JSON message.
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
        var run = RPCRun(caller: caller, subscription: subscription)
        var answer = RPCAnswer()
        switch envelope {
        case .single(let item):
            let result = await self.result(item.call, &run)
            answer.append(item, result)
            if case .failure(let failure) = result { answer.status = failure.status }
        case .batch(let items):
            answer.beginArray()
            // A short batch may have a long response: beyond the limit its other calls are not performed.
            await self.perform(
                items.map(\.call),
                &run,
                overflow: .tooMuch("The response to the batch is too large", remedy: "request less data"),
                hasRoom: { answer.bytes.count < self.configuration.limits.answer },
                take: { index, result in answer.append(items[index], result) }
            )
            answer.endArray()
        }
        answer.hasFailedAuthentication = run.hasFailedAuthentication
        answer.refusal = run.refusal
        return answer
    }

    /// Performs one call.
    func result(_ call: Result<RPCCall, RPCFailure>, _ run: inout RPCRun) async -> Result<JSON, RPCFailure> {
        switch self.admit(call, &run) {
        case .failure(let failure): return .failure(failure)
        case .success(let admitted): return await self.perform(admitted, &run)
        }
    }

    /// Checks a call's token and looks up its method.
    private func admit(
        _ given: Result<RPCCall, RPCFailure>,
        _ run: inout RPCRun
    ) -> Result<AdmittedCall, RPCFailure> {
        let call: RPCCall
        switch given {
        case .failure(let failure): return .failure(failure)
        case .success(let success): call = success
        }
        var parameters = call.parameters
        let token = parameters.takeToken()
        let method = self.methods[call.method]
        if method?.isOpen != true, let failure = self.authenticationFailure(token, &run) {
            self.metrics.called(method?.name, isError: true)
            return .failure(failure)
        }
        guard let method else {
            self.metrics.called(nil, isError: true)
            return .failure(
                RPCFailure(
                    ControlError(
                        .unknownMethod,
                        "No such method: \(call.method.prefix(128))",
                        remedy: "system.listMethods lists the available methods"
                    )
                )
            )
        }
        let context = RPCContext(
            service: self.service,
            configuration: self.configuration,
            caller: run.caller,
            methods: self.methods,
            subscription: run.subscription,
            page: self.page
        )
        return .success(AdmittedCall(method: method, parameters: parameters, context: context))
    }

    /// Returns why a call is not permitted; it always is over the Unix socket, otherwise with the token.
    private func authenticationFailure(_ token: String?, _ run: inout RPCRun) -> RPCFailure? {
        if run.caller.isLocal || run.caller.isAuthenticated { return nil }
        let verdict = token.flatMap { self.access?.verdict($0, from: run.caller.sender) }
        switch verdict {
        case .right:
            run.subscription?.authenticated()
            return nil
        case .refused(let wait):
            run.hasFailedAuthentication = true
            run.refusal = wait
            return .refused(wait)
        case .wrong, nil:
            run.hasFailedAuthentication = true
            return .unauthorized
        }
    }

    private func perform(_ call: AdmittedCall, _ run: inout RPCRun) async -> Result<JSON, RPCFailure> {
        let result: Result<JSON, RPCFailure>
        if call.method.name == SystemMethods.multicall {
            result = await self.multicall(call, &run)
        } else {
            result = await call.result()
        }
        self.metrics.called(call.method.name, isError: result.isFailure)
        return result
    }
}

// MARK: Several calls

extension RPCDispatcher {
    /// Performs several calls in order; consecutive ones that only add a transfer share a transaction.
    ///
    /// - Parameters:
    ///   - calls: The calls.
    ///   - run: The state of the message.
    ///   - overflow: The error for the remaining calls if the response is full.
    ///   - hasRoom: Whether the response may grow.
    ///   - take: Receives the index and the result of each call, in order.
    private func perform(
        _ calls: [Result<RPCCall, RPCFailure>],
        _ run: inout RPCRun,
        overflow: RPCFailure,
        hasRoom: () -> Bool,
        take: (Int, Result<JSON, RPCFailure>) -> Void
    ) async {
        var additions = PendingAdditions()
        for (index, call) in calls.enumerated() {
            guard hasRoom() else {
                additions.append(.failure(overflow), of: nil, index)
                continue
            }
            switch self.admit(call, &run) {
            case .failure(let failure): additions.append(.failure(failure), of: nil, index)
            case .success(let admitted):
                if let addition = admitted.addition() {
                    additions.append(addition, of: admitted.method, index)
                } else {
                    await self.finish(&additions, take)
                    take(index, await self.perform(admitted, &run))
                }
            }
        }
        await self.finish(&additions, take)
    }

    /// Adds the pending transfers in one transaction, and reports the results of their calls.
    private func finish(
        _ additions: inout PendingAdditions,
        _ take: (Int, Result<JSON, RPCFailure>) -> Void
    ) async {
        guard !additions.items.isEmpty else { return }
        let items = additions.items
        additions = PendingAdditions()
        let entries = items.compactMap { try? $0.entry.get() }
        var added = (entries.isEmpty ? [] : await self.service.addEach(entries))[...]
        for item in items {
            let result: Result<JSON, RPCFailure> = item.entry.flatMap { _ in
                switch added.popFirst() {
                case .success(let gid)?: .success(.string(gid.description))
                case .failure(let error)?: .failure(RPCFailure(error))
                case nil: .failure(RPCFailure(ControlError(.unknown, "The transfer was not added")))
                }
            }
            if let method = item.method { self.metrics.called(method.name, isError: result.isFailure) }
            take(item.index, result)
        }
    }

    /// Performs the calls of `system.multicall` in order, each with its own token.
    private func multicall(_ call: AdmittedCall, _ run: inout RPCRun) async -> Result<JSON, RPCFailure> {
        let elements: [JSON]
        do throws(RPCFailure) {
            let arguments = try call.arguments()
            do throws(ControlError) { elements = try arguments.array(0) } catch { throw RPCFailure(error) }
        } catch {
            return .failure(error)
        }
        guard elements.count <= RPCEnvelope.batchLimit else {
            return .failure(
                .tooMuch(
                    "\(elements.count) calls are too many",
                    remedy: "send at most \(RPCEnvelope.batchLimit) in one message"
                )
            )
        }
        let dialect = run.dialect
        var results: [JSON] = []
        results.reserveCapacity(elements.count)
        var weight = 0
        await self.perform(
            elements.map { RPCCall.inner($0) },
            &run,
            overflow: .tooMuch("The response is too large"),
            hasRoom: { weight < self.configuration.limits.answer },
            take: { index, result in
                let json: JSON
                switch result {
                case .success(let value): json = .array([value])
                case .failure(let failure):
                    json = failure.json(dialect, withData: elements[index]["methodName"]?.string?.isOwnMethod == true)
                }
                weight += json.weight
                results.append(json)
            }
        )
        return .success(.array(results))
    }
}

extension RPCCall {
    /// Parses a call inside `system.multicall`.
    fileprivate static func inner(_ json: JSON) -> Result<RPCCall, RPCFailure> {
        guard json.object != nil else { return .failure(RPCFailure(code: 1, "system.multicall expected struct.")) }
        guard let name = json["methodName"]?.string else { return .failure(RPCFailure(code: 1, "Missing methodName.")) }
        guard name != SystemMethods.multicall else {
            return .failure(RPCFailure(code: 1, "Recursive system.multicall forbidden."))
        }
        return .success(RPCCall(id: .null, method: name, parameters: RPCParameters(json["params"])))
    }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
