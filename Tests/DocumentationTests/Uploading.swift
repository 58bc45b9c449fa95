// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Uploading {
    static func file(_ session: TransferSession) async throws {
        // snippet: upload-file
        let answer = try await session.upload(.file("a.iso"), to: "https://example.org/in/a.iso")
        print(answer.status, answer.text)
        // end
    }

    static func request(_ session: TransferSession) async throws {
        // snippet: upload-request
        var request = try TransferRequest("https://example.org/in")
        request.method = "POST"
        request.headers = ["Content-Type": "image/png"]
        request.referer = try HTTPURL("https://example.org/")
        session.configuration.cookies?
            .set(try Cookie(name: "session", value: "7c1f", domain: "example.org", path: "/in", created: 0))
        let answer = try await session.upload(.file("a.png"), to: request)
        // end
        print(answer.status)
    }

    static func form(_ session: TransferSession) async throws {
        // snippet: upload-form
        let form = UploadBody.form([
            .field("title", "Swifts"), .file("picture", "swift.jpg", type: "image/jpeg"),
        ])
        let answer = try await session.upload(form, to: "https://example.org/form")
        // end
        print(answer.status)
    }

    static func stream(_ session: TransferSession, _ pieces: AsyncStream<[UInt8]>) async throws {
        // snippet: upload-stream
        let answer = try await session.upload(.stream(pieces), to: "https://example.org/log")
        // end
        print(answer.status)
    }

    static func progress(_ session: TransferSession) async throws {
        // snippet: upload-progress
        let task = try session.uploadTask(for: "https://example.org/in/a.iso", from: .file("a.iso"))
        let events = task.events
        task.resume()
        for await event in events {
            switch event {
            case .sent(let progress): print(progress.bytesSent, progress.bytesAcknowledged ?? 0, progress.rate)
            case .finished(.data(let answer)): print("stored:", answer.status)
            case .failed(let error): print(error)
            default: break
            }
        }
        // end
    }

    static func keep(_ session: TransferSession, _ task: UploadTask) async throws {
        // snippet: upload-resume
        guard let data = await task.cancelKeepingUpload() else { return }
        let bytes: [UInt8] = data.bytes  // keep these: who has them can add to the upload
        let kept = try UploadResumeData(bytes)
        let other = try session.uploadTask(resuming: kept, for: kept.url)
        other.resume()
        print(try await other.value.status)
        // end
    }
}
