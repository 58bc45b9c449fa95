// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletFoundation

/// The replacements of code for NSURLConnection; the original is Objective-C, which the article only quotes.
enum MovingFromConnections {
    enum Whole {
        // snippet: connection-delegate
        final class Page: TransferDelegate {
            func task(_ task: DataTask, didEndWith result: Result<DataResponse, TransferError>) {
                switch result {
                case .success(let answer): print(answer.status, answer.data.count)
                case .failure(let error): print(error)
                }
            }
        }
        // end

        static func start(_ url: URL, _ page: Page) throws {
            // snippet: connection-start
            let session = try TransferSession()
            session.addDelegate(page, on: .main)  // `page` is retained elsewhere: the session does not
            try session.dataTask(for: url).resume()
            // end
        }

        static func onQueue(_ session: TransferSession, _ page: Page, _ queue: OperationQueue) {
            // snippet: connection-operation-queue
            session.addDelegate(page, on: CallbackContext { work in queue.addOperation(work) })
            // end
        }
    }

    enum Pieces {
        // snippet: connection-pieces
        final class Table: TransferDelegate {
            func task(
                _ task: TransferTask,
                didReceive response: TransferResponse,
                decide: @escaping @Sendable (TransferResponse.Decision) -> Void
            ) {
                decide(response.mediaType == "text/csv" ? .allow : .cancel)
            }

            func task(_ task: DataTask, didReceive bytes: [UInt8]) {
                print(bytes.count)
            }
        }
        // end

        static func start(_ url: URL, _ session: TransferSession) throws {
            // snippet: connection-pieces-start
            try session.dataTask(for: url, collectsBody: false).resume()
            // end
        }
    }

    static func handler(_ url: URL) throws {
        // snippet: connection-handler
        var configuration = SessionConfiguration.default
        configuration.callbackContext = .main
        let session = try TransferSession(configuration: configuration)
        try session.data(from: url) { result in
            switch result {
            case .success(let answer): print(answer.status, answer.data.count)
            case .failure(let error): print(error)
            }
        }
        // end
    }

    static func blocking(_ url: URL) {
        // snippet: connection-blocking
        do {
            let answer = try TransferSession.shared.dataBlocking(from: url, timeout: .seconds(30))
            print(answer.status, answer.data.count)
        } catch {
            print(error.status ?? 0, error)
        }
        // end
    }

    static func timeouts(_ url: URL) throws -> TransferRequest {
        // snippet: connection-timeouts
        var request = try url.transferRequest()
        request.requestTimeout = .seconds(10)  // without a byte, for each attempt
        request.resourceTimeout = .seconds(300)  // for the whole transfer, from its first start
        // end
        return request
    }

    enum Saving {
        // snippet: connection-download
        final class Magazine: TransferDelegate {
            func task(_ task: DownloadTask, didResumeAt offset: Int64, expected: Int64?) {
                print("continues at", offset)
            }

            func task(_ task: TransferTask, didMake progress: TransferProgress) {
                print(progress.bytesSinceLast, progress.bytesReceived, progress.bytesExpected ?? -1)
            }

            func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
                switch result {
                case .success(let file): print(file.path)
                case .failure(let error): print(error)
                }
            }
        }
        // end
    }

    enum Sending {
        // snippet: connection-upload
        final class Sender: TransferDelegate {
            func task(_ task: UploadTask, didSend progress: UploadProgress) {
                print(progress.bytesSinceLast, progress.bytesSent, progress.bytesExpected ?? -1)
            }

            func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>) {
                switch result {
                case .success(let answer): print(answer.status, answer.text)
                case .failure(let error): print(error)
                }
            }
        }
        // end

        static func start(_ url: URL, _ file: URL, _ session: TransferSession, _ sender: Sender) throws {
            // snippet: connection-upload-start
            let task = try session.uploadTask(for: url, from: .file(file))
            task.addDelegate(sender, on: .main)  // `sender` is retained elsewhere: the task does not
            task.resume()
            // end
        }
    }
}
