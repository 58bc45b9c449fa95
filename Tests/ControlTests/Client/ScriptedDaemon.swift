// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

@testable import Control

/// A state directory with something on its socket that answers as a script says.
final class ScriptedDaemon: Sendable {
    let temporary: TemporaryDirectory
    let state: StateDirectory
    let server: ScriptedServer

    /// Starts one.
    static func start(_ handler: @escaping ScriptedServer.Script) async throws -> ScriptedDaemon {
        let temporary = try TemporaryDirectory()
        let state = try StateDirectory(temporary.path + "/state")
        try state.make()
        return ScriptedDaemon(
            temporary,
            state,
            try await ScriptedServer.start(socketPath: state.socketPath, handler: handler)
        )
    }

    /// Starts one that answers every call with a result or an error object.
    static func answering(
        _ answer: @escaping @Sendable (String, JSON) -> Result<JSON, ControlError>
    ) async throws -> ScriptedDaemon {
        try await self.start { request in
            guard let call = try? JSON(parsing: request.body), let method = call["method"]?.string else {
                return .response(400)
            }
            switch answer(method, call["params"] ?? .null) {
            case .success(let result): return .answer(result)
            case .failure(let error): return .failure(error)
            }
        }
    }

    private init(_ temporary: TemporaryDirectory, _ state: StateDirectory, _ server: ScriptedServer) {
        self.temporary = temporary
        self.state = state
        self.server = server
    }
}

extension Reply {
    /// A whole JSON-RPC answer with a result.
    static func answer(_ result: JSON) -> Reply {
        .response(200, text: JSON.object([.init("jsonrpc", "2.0"), .init("id", 1), .init("result", result)]).text)
    }

    /// A whole JSON-RPC answer with an error.
    static func failure(_ error: ControlError, status: Int = 400) -> Reply {
        let object: JSON = [
            "code": 1, "message": .string(error.message),
            "data": ["reason": .string(error.code.rawValue), "remedy": .string(error.remedy)],
        ]
        return .response(status, text: JSON.object([.init("id", 1), .init("error", object)]).text)
    }

    /// A stream of events, of pieces that are sent as chunks.
    static func events(_ pieces: [String]) -> Reply {
        let head = Self.headBytes(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
        return Reply([.head(head)] + pieces.map { .head(Self.chunk($0)) })
    }

    /// One chunk.
    static func chunk(_ text: String) -> [UInt8] {
        Array("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n".utf8)
    }
}
