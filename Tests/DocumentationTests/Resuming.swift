// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Resuming {
    static func cancel(_ session: TransferSession, _ task: DownloadTask) async throws {
        // snippet: resume-cancel
        if let resumeData = await task.cancelProducingResumeData() {
            print("\(resumeData.bytesReceived) bytes are kept")
            let file = try await session.download(resuming: resumeData)
            print(file.path)
        }
        // end
    }

    static func failure(_ session: TransferSession) async throws -> DownloadedFile? {
        // snippet: resume-failure
        do {
            return try await session.download(from: "https://example.org/a.iso", to: .file("a.iso"))
        } catch let error as TransferError {
            guard error.isRetryable, let resumeData = error.resumeData else { throw error }
            return try await session.download(resuming: resumeData)
        }
        // end
    }

    static func keep(_ resumeData: ResumeData) throws -> ResumeData {
        // snippet: resume-keep
        let bytes: [UInt8] = resumeData.bytes  // keep these anywhere
        let read = try ResumeData(bytes)
        print(read.url, read.bytesReceived)
        // end
        return read
    }

    static func discard(_ resumeData: ResumeData) {
        // snippet: resume-discard
        resumeData.discard()
        // end
    }
}
