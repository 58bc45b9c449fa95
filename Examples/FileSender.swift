// SPDX-License-Identifier: Apache-2.0
// Files are sent in the background, as raw bytes with the service's cookies, and the sender hands over a link. The program is
// killed halfway; the transfers continue, and the program finds them again.

import Foundation
import Martlet

/// Prints what happens to the uploads.
///
/// Its methods are called on the main thread.
@MainActor
final class SenderScreen: @preconcurrency TransferDelegate {
    /// The number of uploads that have ended.
    private(set) var ended = 0

    func task(_ task: UploadTask, didSend progress: UploadProgress) {
        let percent = progress.fraction.map { Int($0 * 100) } ?? 0
        print("\(task.persistentInfo) \(percent) %, \(ByteCount.compact(progress.bytesSent)) sent")
    }

    func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>) {
        switch result {
        case .success(let answer):
            print("\(task.persistentInfo) was sent: \(answer.status)")
            // The service answers with a link for whoever shall have the file.
            print("\(task.persistentInfo) link: \(answer.response.headers["Share-Link"] ?? "none")")
        case .failure(let error): print("\(task.persistentInfo) was not sent: \(error)")
        }
        self.ended += 1
    }

    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        print("everything that happened before was told")
        completion()
    }
}

enum FileSender {
    /// The program: sends files to a service, or continues with those of its earlier runs.
    ///
    /// - Parameter words: The service's URL, the session's cookie as the service gave it, and the files.
    /// - Throws: `TransferError`, or the usage.
    @MainActor
    static func program(_ words: [String]) async throws {
        guard words.count > 2 else { throw Stage.Failure("usage: file-sender --program URL COOKIE FILE…") }
        var request = try TransferRequest(words[0])
        request.method = "POST"
        var configuration = SessionConfiguration.background(identifier: "example.file-sender")
        configuration.headers["User-Agent"] = "file-sender/1"
        configuration.rateLimit = 20_000_000
        configuration.cookies = CookieStorage()
        configuration.cookies?.set(setCookie: words[1], from: request.url)
        configuration.cookies?.set(setCookie: "theme=dark; Path=/", from: request.url)

        let screen = SenderScreen()
        let session = try await TransferSession.open(configuration, delegate: screen, on: .main)
        var tasks = await session.tasks().upload
        for task in tasks { print("\(task.persistentInfo) continues, \(ByteCount.compact(task.bytesSent)) were sent") }
        if tasks.isEmpty {
            for file in words.dropFirst(2) {
                let name = URL(filePath: file).lastPathComponent
                var upload = request
                upload.headers["Content-Disposition"] = "attachment; filename=\"\(name)\""
                let task = try session.uploadTask(for: upload, from: .file(file))
                task.persistentInfo = name
                task.resume()
                tasks.append(task)
                print("\(name) is queued")
            }
        }
        while screen.ended < tasks.count { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// The example.
    @MainActor
    static func run(_ stage: Stage) async throws -> String {
        let files = [("film.bin", 50 << 20), ("cover.bin", 5 << 20)]
        var paths: [String] = []
        for (name, size) in files { paths.append(try stage.write("phone/\(name)", randomBytes: size)) }
        try stage.write("inbox/.keep", [])
        let secret = "7c1f0b5e2a9d4866b3c0"
        let credentials = try stage.write("credentials", Array("write session \(secret)\n".utf8))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: credentials)
        let server = try await stage.serve(
            "inbox",
            ["--credentials", credentials, "--records", "--record-cookie", "theme", "--share-uploads"]
        )
        let words = ["\(server)/", "martlet-session=\(secret); Path=/"] + paths

        stage.say("the program sends a file of 50 MB and one of 5 MB, in a background session")
        let program = try stage.program(words, as: "sender")
        try await program.line { $0.hasPrefix("film.bin 4") || $0.hasPrefix("film.bin 5") }
        await program.kill()
        stage.say("kill -9 halfway; the daemon continues, and the program starts again")
        let again = try stage.program(words, as: "sender")
        try stage.check(await again.ended() == 0, "the program has the ends of both files")
        let told = (program.lines + again.lines).filter { $0.contains(" link: ") }
        let links = Dictionary(told.map { ($0.components(separatedBy: " ")[0], $0.components(separatedBy: ": ")[1]) }) {
            $1
        }

        stage.say("at the receiving side:")
        for (name, size) in files {
            let digest = try stage.digest("phone/\(name)")
            try stage.check(
                try stage.digest("inbox/\(name)") == digest,
                "\(name) came as raw bytes, sha256 \(digest.prefix(16))…"
            )
            let record = try stage.record(of: "inbox/\(name)")
            stage.say("record: \(record)")
            let facts = ["application/octet-stream", "\"theme\":\"dark\"", "\(size)", digest]
            try stage.check(
                facts.allSatisfy { record.contains($0) } && !record.contains(secret),
                "the record has type, cookie, size and digest, and not the session's secret"
            )
        }

        stage.say("the link is handed over; a second client, without any credentials, fetches the file")
        let link = links["film.bin"] ?? ""
        let receiver = try TransferSession(configuration: .ephemeral)
        let file = try await receiver.download(from: link, to: .file(stage.directory + "/friend.bin"))
        try stage.check(file.size == Int64(50 << 20), "the second client has \(ByteCount.compact(file.size))")
        try stage.check(try stage.digest("friend.bin") == stage.digest("phone/film.bin"), "the digests are equal")
        let direct = try? await receiver.data(from: "\(server)/film.bin")
        try stage.check(direct == nil, "without the link the file is not to be had")
        return "\(link), equal digests"
    }
}
