// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Martlet
import MartletFoundation
import MartletHTTPTypes

enum GettingStarted {
    static func overview() async throws {
        // snippet: overview
        let session = try TransferSession()
        let file = try await session.download(from: "https://example.org/a.iso", to: .directory("downloads"))
        print(file.path, file.size)
        // end
    }

    static func data() async throws {
        // snippet: started-data
        let answer = try await TransferSession.shared.data(from: "https://example.org/list.json")
        print(answer.status, answer.response.mediaType ?? "no type", answer.body.count, "bytes")
        print(answer.text)
        // end
    }

    static func file() async throws {
        // snippet: started-file
        let file = try await TransferSession.shared.download(
            from: "https://example.org/a.iso",
            to: .file("downloads/a.iso")
        )
        print(file.path, file.size)
        // end
    }

    static func temporary() async throws {
        // snippet: started-temporary
        let file = try await TransferSession.shared.download(from: "https://example.org/a.iso")
        try file.move(to: "a.iso")
        // end
    }

    static func json() async throws {
        // snippet: started-json
        struct Order: Codable {
            var id: Int?
            var title: String
        }

        let session = TransferSession.shared
        let orders = try await session.value(of: [Order].self, from: "https://example.org/orders").value
        let made = try await session.value(
            of: Order.self,
            sending: Order(title: "tea"),
            to: "https://example.org/orders"
        )
        print(orders.count, made.status, made.value.id ?? 0)
        // end
    }

    static func types() async throws {
        // snippet: started-http-types
        let request = HTTPRequest(
            method: .get,
            scheme: "https",
            authority: "example.org",
            path: "/list.json",
            headerFields: [.accept: "application/json"]
        )
        let (body, response) = try await TransferSession.shared.data(for: request)
        print(response.status, response.headerFields[.contentType] ?? "no type", body.count)
        // end
    }

    static func request() async throws {
        // snippet: started-request
        var request = try TransferRequest("https://example.org/search")
        request.method = "POST"
        request.headers = ["Content-Type": "application/json", "Accept": "application/json"]
        request.body = Array(#"{"q": "swift"}"#.utf8)
        request.requestTimeout = .seconds(5)
        let answer = try await TransferSession.shared.data(from: request, maximumBytes: 1 << 20)
        print(answer.text)
        // end
    }

    static func conditional(_ entityTag: String) async throws -> String? {
        // snippet: started-conditional
        let request = try TransferRequest("https://example.org/list.json").ifNoneMatch(entityTag)
        let answer = try await TransferSession.shared.data(from: request)
        return answer.isNotModified ? nil : answer.text
        // end
    }

    static func task() async throws {
        // snippet: started-task
        let session = TransferSession.shared
        let task = try session.downloadTask(for: "https://example.org/a.iso", to: .directory("downloads"))
        task.description = "the image"
        task.priority = .high
        task.resume()
        // … elsewhere:
        task.suspend()
        task.resume()
        // …
        print(task.state, task.bytesReceived, task.bytesExpected ?? -1)
        let file = try await task.value
        print(file.path)
        // end
    }

    static func digest() async throws {
        // snippet: started-digest
        var request = try TransferRequest("https://example.org/a.iso")
        request.mirrors = [try HTTPURL("https://mirror.example.net/a.iso")]
        request.expectedDigests = [
            try ExpectedDigest(
                parsing: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                source: "the release notes"
            )
        ]
        let file = try await TransferSession.shared.download(from: request, to: .file("a.iso", ifExists: .keepIfSame))
        print(file.alreadyExisted ? "was there already" : "is there now")
        // end
    }
}
