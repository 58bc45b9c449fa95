// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What code for URLSession looks like, beside what it becomes; the first of each pair is compiled, too.
enum Moving {
    static func dataBefore(_ url: URL) async throws -> Data {
        // snippet: moving-data-before
        let (data, response) = try await URLSession.shared.data(from: url)
        guard let http = response as? HTTPURLResponse, (200..<300).contains(http.statusCode) else {
            throw URLError(.badServerResponse)
        }
        return data
        // end
    }

    static func dataAfter(_ url: URL) async throws -> Data {
        // snippet: moving-data-after
        try await TransferSession.shared.data(from: url).data
        // end
    }

    static func handlerBefore(_ url: URL) {
        // snippet: moving-handler-before
        let task = URLSession.shared.dataTask(with: url) { data, response, error in
            if let error {
                print(error)
            } else if let data, let http = response as? HTTPURLResponse {
                print(http.statusCode, data.count)
            }
        }
        task.resume()
        // end
    }

    static func handlerAfter(_ url: URL) throws {
        // snippet: moving-handler-after
        let task = try TransferSession.shared.dataTask(for: url)
        task.onCompletion { result in
            switch result {
            case .success(let answer): print(answer.status, answer.body.count)
            case .failure(let error): print(error)
            }
        }
        task.resume()
        // end
    }

    static func downloadBefore(_ url: URL, _ destination: URL) {
        // snippet: moving-download-before
        let task = URLSession.shared.downloadTask(with: url) { location, _, error in
            guard let location else { return print(error as Any) }
            try? FileManager.default.moveItem(at: location, to: destination)
        }
        task.resume()
        // end
    }

    static func downloadAfter(_ url: URL, _ destination: URL) throws {
        // snippet: moving-download-after
        try TransferSession.shared.download(from: url, to: .file(destination)) { result in
            if case .failure(let error) = result { print(error) }
        }
        // end
    }

    static func requestBefore(_ url: URL) async throws {
        // snippet: moving-request-before
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(#"{"q": "swift"}"#.utf8)
        request.timeoutInterval = 5
        let (data, _) = try await URLSession.shared.data(for: request)
        print(data.count)
        // end
    }

    static func requestAfter(_ url: URL) async throws {
        // snippet: moving-request-after
        var request = try url.transferRequest()
        request.method = "POST"
        request.headers = ["Content-Type": "application/json"]
        request.body = Array(#"{"q": "swift"}"#.utf8)
        request.requestTimeout = .seconds(5)
        let answer = try await TransferSession.shared.data(from: request)
        print(answer.data.count)
        // end
    }

    enum Before {
        // snippet: moving-delegate-before
        final class Downloads: NSObject, URLSessionDownloadDelegate {
            func urlSession(
                _ session: URLSession,
                downloadTask: URLSessionDownloadTask,
                didWriteData bytesWritten: Int64,
                totalBytesWritten: Int64,
                totalBytesExpectedToWrite: Int64
            ) { print(totalBytesWritten, totalBytesExpectedToWrite) }

            func urlSession(
                _ session: URLSession,
                downloadTask: URLSessionDownloadTask,
                didFinishDownloadingTo location: URL
            ) { print("done", location.path) }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                if let error { print("failed", error) }
            }
        }
        // end

        static func use(_ url: URL) {
            // snippet: moving-session-before
            let configuration = URLSessionConfiguration.default
            configuration.httpAdditionalHeaders = ["Accept-Language": "en"]
            configuration.timeoutIntervalForRequest = 20
            configuration.httpMaximumConnectionsPerHost = 2
            let session = URLSession(configuration: configuration, delegate: Downloads(), delegateQueue: .main)
            session.downloadTask(with: url).resume()
            session.finishTasksAndInvalidate()
            // end
        }
    }

    enum After {
        // snippet: moving-delegate-after
        final class Downloads: TransferDelegate {
            func task(_ task: TransferTask, didMake progress: TransferProgress) {
                print(progress.bytesReceived, progress.bytesExpected ?? -1)
            }

            func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
                switch result {
                case .success(let file): print("done", file.path)
                case .failure(let error): print("failed", error)
                }
            }
        }
        // end

        static func use(_ url: URL, _ downloads: Downloads) throws {
            // snippet: moving-session-after
            var configuration = SessionConfiguration.default
            configuration.headers = ["Accept-Language": "en"]
            configuration.requestTimeout = .seconds(20)
            configuration.connectionsPerHost = 2
            let session = try TransferSession(configuration: configuration)
            session.addDelegate(downloads, on: .main)  // `downloads` is kept elsewhere: the session does not
            try session.downloadTask(for: url).resume()
            // end
        }
    }

    static func resumeBefore(_ task: URLSessionDownloadTask, _ session: URLSession) {
        // snippet: moving-resume-before
        task.cancel { resumeData in
            guard let resumeData else { return }
            session.downloadTask(withResumeData: resumeData).resume()
        }
        // end
    }

    static func resumeAfter(_ task: DownloadTask, _ session: TransferSession) async throws {
        // snippet: moving-resume-after
        guard let resumeData = await task.cancelProducingResumeData() else { return }
        try session.downloadTask(resuming: resumeData).resume()
        // end
    }

    enum ChallengeBefore {
        // snippet: moving-challenge-before
        final class Login: NSObject, URLSessionTaskDelegate {
            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                guard challenge.previousFailureCount == 0 else {
                    return completionHandler(.performDefaultHandling, nil)
                }
                completionHandler(
                    .useCredential,
                    URLCredential(user: "anna", password: "secret", persistence: .forSession)
                )
            }
        }
        // end
    }

    enum ChallengeAfter {
        // snippet: moving-challenge-after
        final class Login: TransferDelegate {
            func task(
                _ task: TransferTask,
                didReceive challenge: Challenge,
                decide: @escaping @Sendable (Challenge.Decision) -> Void
            ) {
                guard challenge.refusals == 0 else { return decide(.useDefault) }
                decide(.use(.password(user: "anna", password: "secret"), remember: .session))
            }
        }
        // end
    }

    static func progress(_ task: DownloadTask) -> Progress {
        // snippet: moving-progress-after
        let progress = task.makeProgress()
        progress.pause()
        progress.resume()
        // end
        return progress
    }
}
