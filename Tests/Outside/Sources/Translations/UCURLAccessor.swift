// SPDX-License-Identifier: Apache-2.0
import Foundation
#if MARTLET
import MartletURLSession
#else
import FoundationNetworking
#endif

// `@unchecked Sendable`: the condition guards what the handler writes and the waiting thread reads.
/// A blocking fetch over the asynchronous interface.
final class UCURLAccessor: @unchecked Sendable {
    private let session: URLSession
    private let condition = NSCondition()
    private var isFinished = false
    private var successHandler: (Data) -> Void = { _ in }
    private var errorHandler: (String) -> Void = { _ in }

    private(set) var contentData: Data?
    private(set) var errorMessage: String?

    /// - Parameter resourceTimeout: The seconds that a fetch may take.
    init(resourceTimeout: TimeInterval = 30) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = resourceTimeout
        self.session = URLSession(configuration: configuration)
    }

    func getContentOfURL(
        _ url: URL,
        referer: String?,
        successHandler: @escaping (Data) -> Void,
        errorHandler: @escaping (String) -> Void
    ) {
        self.successHandler = successHandler
        self.errorHandler = errorHandler
        var request = URLRequest(url: url)
        request.setValue(referer, forHTTPHeaderField: "Referer")
        self.session.dataTask(with: request, completionHandler: self.completed).resume()
    }

    private func completed(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        if let error {
            self.errorHandler(error.localizedDescription)
        } else if let data, status == 200 || status == 206 {
            self.successHandler(data)
        } else {
            self.errorHandler("HTTP status \(status)")
        }
    }

    // snippet: translation-blocking
    func getContentOfURLSynchronously(_ url: URL, referer: String?) -> Bool {
        self.condition.lock()
        defer { self.condition.unlock() }
        self.isFinished = false
        self.getContentOfURL(url, referer: referer) {
            self.signal($0, nil)
        } errorHandler: {
            self.signal(nil, $0)
        }
        while !self.isFinished { self.condition.wait() }
        return self.errorMessage == nil
    }

    private func signal(_ data: Data?, _ message: String?) {
        self.condition.lock()
        defer { self.condition.unlock() }
        self.contentData = data
        self.errorMessage = message
        self.isFinished = true
        self.condition.signal()
    }
    // end
}
