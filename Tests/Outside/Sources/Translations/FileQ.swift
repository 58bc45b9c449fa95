// SPDX-License-Identifier: Apache-2.0
import Foundation
#if MARTLET
import MartletURLSession
#else
import FoundationNetworking
#endif

// `@unchecked Sendable`: the handlers are set before the first upload.
/// The upload screen of FileQ: a file in a background session, with the user's session in a cookie.
final class FileQUploader: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let uploadURL: URL
    private let sessionID: String
    var maximumAtOnce = 1
    var progressHandler: (Int64, Int64) -> Void = { _, _ in }
    var completionHandler: (URLResponse?, (any Error)?) -> Void = { _, _ in }
    var allEventsHandler: () -> Void = {}

    init(uploadURL: URL, sessionID: String) {
        self.uploadURL = uploadURL
        self.sessionID = sessionID
    }

    // snippet: translation-upload
    lazy var session: URLSession = {
        let configuration = URLSessionConfiguration.background(withIdentifier: "com.fileq.upload")
        configuration.httpMaximumConnectionsPerHost = self.maximumAtOnce
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }()

    func upload(_ fileURL: URL) -> URLSessionUploadTask {
        var request = URLRequest(url: self.uploadURL)
        request.httpMethod = "POST"
        request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
        let cookie = HTTPCookie(properties: [
            .name: "session", .value: self.sessionID, .domain: self.uploadURL.host ?? "", .path: "/",
        ])
        request.allHTTPHeaderFields?.merge(HTTPCookie.requestHeaderFields(with: cookie.map { [$0] } ?? [])) { $1 }
        let task = self.session.uploadTask(with: request, fromFile: fileURL)
        task.resume()
        return task
    }
    // end

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        self.progressHandler(totalBytesSent, totalBytesExpectedToSend)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.completionHandler(task.response, error)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { self.allEventsHandler() }
}
