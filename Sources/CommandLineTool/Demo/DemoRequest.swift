// SPDX-License-Identifier: Apache-2.0
/// One request in the access log of `martlet serve`.
///
/// - Source: the Common Log Format of NCSA's and Apache's httpd.
struct DemoRequest: Sendable, Equatable {
    var path: String
    /// The status of the response.
    var status: Int
    /// The number of content bytes sent, or `nil` if the server does not know it.
    var bytes: Int64?

    /// The responses that continue a file.
    enum Resumed: Equatable {
        /// There is none.
        case none
        /// There is one, and none has its size.
        case unknown
        /// The sum of the sizes.
        case sent(Int64)

        /// The sum, or `nil`.
        var bytes: Int64? {
            if case .sent(let bytes) = self { bytes } else { nil }
        }
    }

    /// The partial responses (206) among requests for one file.
    static func resumed(_ requests: [DemoRequest]) -> Resumed {
        let partial = requests.filter { $0.status == 206 }
        let sizes = partial.compactMap(\.bytes)
        guard sizes.isEmpty else { return .sent(sizes.reduce(0, +)) }
        return partial.isEmpty ? .none : .unknown
    }

    /// The complete lines of a log.
    static func complete(_ log: String) -> Substring {
        log.lastIndex(of: "\n").map { log[...$0] } ?? ""
    }

    /// The GET requests in a log; other lines, and an incomplete last one, are left out.
    static func parse(_ log: String) -> [DemoRequest] {
        self.complete(log).split(separator: "\n")
            .compactMap { line in
                // PEER - USER [TIME] "GET PATH HTTP/1.1" STATUS SIZE
                let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
                guard parts.count == 3 else { return nil }
                let request = parts[1].split(separator: " ")
                let result = parts[2].split(separator: " ")
                guard request.count == 3, request[0] == "GET", result.count == 2, let status = Int(result[0]) else {
                    return nil
                }
                return DemoRequest(path: String(request[1]), status: status, bytes: Int64(result[1]))
            }
    }
}
