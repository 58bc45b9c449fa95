internal import Control
internal import TransferCore

/// A call in the query of a GET request, as pages that cannot POST make it.
///
/// `method`, `id`, `params` (Base64 of a JSON array) and `jsoncallback`; without method and id, `params` is a batch.
struct RPCQuery: Sendable, Hashable {
    /// What is asked.
    var envelope: RPCEnvelope
    /// The function that the answer is to be wrapped in, or `nil` for plain JSON.
    var callback: String?

    /// Reads the query, the part of the URL behind `?`.
    init(_ query: QueryItems, depth: Int = JSON.defaultDepth) {
        let name = query["jsoncallback"]
        self.callback = name.flatMap { Self.isCallback($0) ? $0 : nil }
        guard name == nil || self.callback != nil else {
            // Whatever is no identifier would be a program of the asker's choice under our address.
            self.envelope = Self.refused
            return
        }
        let method = query["method"]
        let id = query["id"]
        var parameters: JSON?
        if let text = query["params"], !text.isEmpty {
            // A `+` of Base64 that was not percent-encoded is read as a space by some.
            guard let bytes = Base64.decode(text.utf8.map { $0 == 0x20 ? 0x2B : $0 }.filter { $0 > 0x20 }),
                let json = try? JSON(parsing: bytes, depth: depth)
            else {
                self.envelope = .single(RPCItem(id: id.map { .string($0) } ?? .null, call: .failure(.parseError)))
                return
            }
            parameters = json
        }
        if method == nil, id == nil, let json = parameters {
            self.envelope = RPCEnvelope(json)
            return
        }
        guard let method, let id, !id.isEmpty else {
            self.envelope = Self.refused
            return
        }
        let call = RPCCall(id: .string(id), method: method, parameters: RPCParameters(parameters))
        self.envelope = .single(RPCItem(id: call.id, call: .success(call)))
    }

    private static let refused = RPCEnvelope.single(RPCItem(id: .null, call: .failure(.invalidRequest)))

    /// Whether a text is a function's name, or a path of such names: nothing that could be more than that.
    static func isCallback(_ text: String) -> Bool {
        guard (1...128).contains(text.utf8.count), let first = text.utf8.first else { return false }
        guard !(first >= 0x30 && first <= 0x39), first != 0x2E else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x24, 0x2E: true
            default: false
            }
        }
    }
}
