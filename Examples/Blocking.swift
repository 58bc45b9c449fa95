// SPDX-License-Identifier: Apache-2.0
// Straight-line code: one call fetches, waits, and returns the answer or throws what to tell the user. It waits on the main
// thread, on dispatch queues, and refuses where waiting would block others.

import Foundation
import Martlet
import Synchronization
import TransferTesting

enum Blocking {
    /// Fetches a page on behalf of another page, and waits for it.
    ///
    /// - Returns: The status, or the error's code, and a message for the user.
    static func fetch(_ url: String, referer: HTTPURL, range: String? = nil) -> (status: String, message: String) {
        do {
            var configuration = SessionConfiguration.ephemeral
            configuration.retries = .none
            let session = try TransferSession(configuration: configuration)
            let answer = try session.dataBlocking(
                from: url,
                referer: referer,
                headers: range.map { ["Range": $0] } ?? [:],
                timeout: .seconds(10)
            )
            return ("\(answer.status)", answer.text)
        } catch {
            return ("\(error.status.map(String.init) ?? "\(error.code)")", error.message)
        }
    }

    /// Runs a function on a queue's thread, and waits for it.
    private static func on(
        _ queue: DispatchQueue,
        _ work: @escaping @Sendable () -> (status: String, message: String)
    ) -> (status: String, message: String) {
        let group = DispatchGroup()
        let result = Mutex((status: "", message: ""))
        queue.async(group: group) {
            let answer = work()
            result.withLock { $0 = answer }
        }
        group.wait()
        return result.withLock { $0 }
    }

    /// The example.
    @MainActor
    static func run(_ stage: Stage) async throws -> String {
        let text = "The common swift sleeps in flight."
        let server = try await ScriptedServer.start { request in
            switch (request.path, request["Range"]) {
            case ("/swift", let range?):
                .response(206, [("Content-Range", "\(range.replacing("=", with: " "))/34")], text: "The")
            case ("/swift", nil): .response(200, text: text)
            default: .response(404, text: "No such bird.")
            }
        }
        let base = "http://127.0.0.1:\(server.port)"
        let referer = try HTTPURL("http://birds.example/list")
        let free = try RefusingPort()
        stage.say("a server is at \(base); nothing listens at port \(free.port)")

        var rows: [(place: String, url: String, status: String, message: String)] = []
        func add(_ place: String, _ path: String, _ answer: (status: String, message: String)) {
            rows.append((place, path, answer.status, answer.message))
            stage.say("\(place): \(answer.status) \(answer.message)")
        }
        // The main thread of a script; this is it.
        add("main thread", "/swift", self.fetch(base + "/swift", referer: referer))

        // A queue of the system, with several threads.
        let global = DispatchQueue.global()
        add(
            "global queue",
            "/swift",
            self.on(global) { self.fetch(base + "/swift", referer: referer, range: "bytes=0-2") }
        )

        // A serial queue.
        let serial = DispatchQueue(label: "birds")
        add("serial queue", "/dodo", self.on(serial) { self.fetch(base + "/dodo", referer: referer) })
        add("serial queue", ":\(free.port)", self.on(serial) { self.fetch(free.text(""), referer: referer) })

        // Asynchronous code must not block: its threads are few, and the call says so at once.
        let refused = await Task.detached { self.fetch(base + "/swift", referer: referer) }.value
        add("async code", "/swift", refused)

        try stage.check(rows[0].status == "200" && rows[0].message == text, "200 on the main thread, with the text")
        try stage.check(rows[1].status == "206" && rows[1].message == "The", "206 in a global queue, with the part")
        try stage.check(rows[2].status == "404", "404 is an error with its status: \(rows[2].message)")
        try stage.check(rows[3].status == "network", "an unreachable host is an error that says so: \(rows[3].message)")
        try stage.check(rows[4].status == "wouldDeadlock", "asynchronous code is refused: \(rows[4].message)")
        let requests = server.requests
        try stage.check(requests.count == 3, "the server had three requests: the refused call sent none")
        try stage.check(requests.allSatisfy { $0["Referer"] == "\(referer)" }, "each named the page it came from")

        print("")
        print("thread".padding(to: 16) + "url".padding(to: 12) + "status".padding(to: 16) + "message")
        for row in rows {
            print(row.place.padding(to: 16) + row.url.padding(to: 12) + row.status.padding(to: 16) + row.message)
        }
        print("")
        await server.stop()
        return "\(rows.count) calls: \(rows.map(\.status).joined(separator: ", "))"
    }
}
