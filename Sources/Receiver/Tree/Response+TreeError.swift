// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

extension Response {
    /// Creates the response for a file that cannot be served.
    static func failure(_ error: TreeError) -> Response {
        switch error {
        case .notFound: .message(404, "there is nothing here")
        case .forbidden: .message(403, "this cannot be read")
        case .busy: .message(503, "too many files are open; try again", ["Retry-After": "5"])
        case .failed: .message(500, "reading failed")
        }
    }
}
