// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import TransferCore

/// A call in the query of a GET request, for web pages that cannot use POST.
///
/// `method`, `id`, `params` (Base64 of a JSON array) and `jsoncallback`; without method and id, `params` is a batch.
struct RPCQuery: Sendable, Hashable {
    /// The calls.
    var envelope: RPCEnvelope
    /// The JSONP function around the response, or `nil` for plain JSON.
    var callback: String?

    /// Parses the query, the part of the URL after `?`.
    init(_ query: QueryItems, depth: Int = JSON.defaultDepth) {
        let name = query["jsoncallback"]
        self.callback = name.flatMap { Self.isCallback($0) ? $0 : nil }
        guard name == nil || self.callback != nil else {
            // Anything else but a function name would let the caller serve its own script from this address.
            self.envelope = Self.refused
            return
        }
        let method = query["method"]
        let id = query["id"]
        var parameters: JSON?
        if let text = query["params"], !text.isEmpty {
            // Some decoders turn a `+` of Base64 into a space if it was not percent-encoded.
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

    /// Returns whether a text is only a JavaScript function's name, or a path of such names with dots.
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
