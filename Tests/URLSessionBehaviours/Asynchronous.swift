// SPDX-License-Identifier: Apache-2.0
import Foundation
#if FOUNDATION_SESSION
import FoundationNetworking
#else
import MartletURLSession
#endif
import TransferTesting

extension Behaviour {
    /// The methods with async.
    static var asynchronous: [Behaviour] {
        [
            Behaviour("dataFor", .apple("data(for:delegate:)")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let request = try server.request("redirect/1")
                let (data, response) = try await context.session().data(for: request, delegate: recorder)
                try context.equal(data, Data(StandardRoutes.hello.utf8), "the content")
                try context.equal((response as? HTTPURLResponse)?.statusCode, 200, "the status")
                try context.equal(recorder.record.redirects.count, 1, "the number of redirects of the delegate")
            },
            Behaviour("dataFrom", .apple("data(from:delegate:)")) { context in
                let server = try await context.serve()
                let (data, response) = try await context.session().data(from: try server.url("hello"))
                try context.equal(data, Data(StandardRoutes.hello.utf8), "the content")
                try context.equal((response as? HTTPURLResponse)?.statusCode, 200, "the status")
                let port = context.keep(try RefusingPort())
                let closed = try context.unwrap(URL(string: port.text("hello")), "URL")
                do {
                    _ = try await context.session().data(from: closed)
                    throw BehaviourFailure("there is no error")
                } catch {
                    try context.code(error, .cannotConnectToHost)
                }
            },
            Behaviour("downloadFor", .apple("download(for:delegate:)")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let request = try server.request("file")
                let (file, response) = try await context.session().download(for: request, delegate: recorder)
                try context.equal((response as? HTTPURLResponse)?.statusCode, 200, "the status")
                try Self.checkContent(try? Data(contentsOf: file), context)
            },
            Behaviour("downloadFrom", .apple("download(from:delegate:)")) { context in
                let server = try await context.serve()
                let (file, response) = try await context.session().download(from: try server.url("file"))
                try context.equal((response as? HTTPURLResponse)?.statusCode, 200, "the status")
                let destination = URL(fileURLWithPath: context.directory.path("file"))
                try FileManager.default.moveItem(at: file, to: destination)
                try Self.checkContent(try? Data(contentsOf: destination), context)
            },
            Behaviour("uploadForFrom", .apple("upload(for:from:delegate:)")) { context in
                let server = try await context.serve()
                let recorder = Recorder()
                let body = Data(StandardRoutes.pattern.bytes(0..<100_000))
                let request = try server.request("echo", "PUT", fields: ["Content-Type": "text/plain"])
                let (data, _) = try await context.session().upload(for: request, from: body, delegate: recorder)
                try context.check(data == body, "the response differs")
                try context.equal(recorder.record.sent.last?.total, 100_000, "the number of sent bytes")
            },
            Behaviour("uploadForFromFile", .apple("upload(for:fromFile:delegate:)")) { context in
                let server = try await context.serve()
                let body = StandardRoutes.pattern.bytes(0..<100_000)
                let file = try context.file("source", body)
                let request = try server.request("echo", "PUT", fields: ["Content-Type": "text/plain"])
                let (data, _) = try await context.session().upload(for: request, fromFile: file)
                try context.check(Array(data) == body, "the response differs")
            },
            Behaviour("cancelledTaskCancelsRequest", .apple("data(for:delegate:)")) { context in
                let server = try await context.serve { _ in Reply([.stall]) }
                let request = try server.request("silent")
                let session = context.session()
                let ended = Expectation<(any Error)?>("end of data(for:)")
                let task = Task {
                    do {
                        _ = try await session.data(for: request)
                        ended.fulfill(nil)
                    } catch {
                        ended.fulfill(error)
                    }
                }
                await server.server.waitForRequests(1)
                task.cancel()
                try context.code(try await ended.value(within: 3), .cancelled)
                await server.server.waitForOpenConnections(0)
            },
            Behaviour("bytesFrom", .apple("bytes(from:delegate:)")) { context in
                #if FOUNDATION_SESSION
                throw BehaviourFailure.doesNotCompile("bytes(from:)")
                #else
                let server = try await context.serve()
                let (bytes, response) = try await context.session().bytes(from: try server.url("hello"))
                try context.equal((response as? HTTPURLResponse)?.statusCode, 200, "the status")
                var received: [UInt8] = []
                for try await byte in bytes { received.append(byte) }
                try context.equal(String(decoding: received, as: UTF8.self), StandardRoutes.hello, "the content")
                #endif
            },
        ]
    }
}
