// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import TransferCore
import Control

@testable import Daemon

/// A dispatcher over the service that only remembers.
struct RPCBench {
    let service: MemoryService
    let dispatcher: RPCDispatcher

    static let token = "s3cret"

    init(directory: String = "/downloads", roots: [String] = [], limits: ServerLimits = ServerLimits()) {
        self.service = MemoryService(directory: directory)
        var configuration = ServerConfiguration(
            listen: .init(port: 6800),
            token: Self.token,
            directory: directory
        )
        configuration.moreRoots = roots
        configuration.limits = limits
        configuration.stateDirectory = "/state"
        self.dispatcher = RPCDispatcher(
            service: self.service,
            configuration: configuration,
            access: TokenGate(Self.token),
            metrics: ServerMetrics()
        )
    }

    static let local = Caller(isLocal: true, isAuthenticated: true)
    static let remote = Caller(isLocal: false, isAuthenticated: true)
    static let stranger = Caller(isLocal: false, isAuthenticated: false)

    /// Sends a text as it is.
    func send(_ text: String, from caller: Caller = Self.local) async -> (status: Int, body: String) {
        let answer = await self.dispatcher.answer(RPCEnvelope(parsing: Array(text.utf8)), from: caller)
        return (answer.status, String(decoding: answer.bytes, as: UTF8.self))
    }

    /// Calls a method.
    func call(_ method: String, _ params: JSON = [], from caller: Caller = Self.local) async -> Answer {
        let json: JSON = ["jsonrpc": "2.0", "id": 1, "method": .string(method), "params": params]
        let answer = await self.dispatcher.answer(RPCEnvelope(parsing: json.bytes), from: caller)
        return Answer(status: answer.status, json: (try? JSON(parsing: answer.bytes)) ?? .null)
    }

    struct Answer {
        let status: Int
        let json: JSON
        var result: JSON? { self.json["result"] }
        var message: String? { self.json["error"]?["message"]?.string }
        var reason: String? { self.json["error"]?["data"]?["reason"]?.string }
    }
}
