// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

/// Part of a reader's program, which the tests of the article examine.
enum Prices {
    // snippet: testing-program
    struct PriceList {
        var session: TransferSession

        func price(of item: String) async throws -> Int? {
            let answer = try await self.session.data(from: "https://shop.example.org/prices/\(item)")
            return Int(answer.text)
        }
    }
    // end
}

@Suite("The article on testing a program", .timeLimit(.minutes(1)))
struct TestingYourProgram {
    typealias PriceList = Prices.PriceList

    // snippet: testing-first
    @Test func aPriceIsRead() async throws {
        let network = ScriptedResponses { request in
            .response(200, ["Content-Type": "text/plain"], text: "42")
        }
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = network.transport
        let list = PriceList(session: try TransferSession(configuration: configuration))

        #expect(try await list.price(of: "swift") == 42)
        #expect(network.requests.map(\.url.description) == ["https://shop.example.org/prices/swift"])
    }
    // end

    // snippet: testing-failures
    @Test(arguments: [ScriptedResponse.failure(.unknownHost), .failure(.certificateExpired), .response(503)])
    func aFailureIsThrown(response: ScriptedResponse) async throws {
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = ScriptedResponses { _ in response }.transport
        configuration.retries = .none
        let list = PriceList(session: try TransferSession(configuration: configuration))

        await #expect(throws: TransferError.self) { try await list.price(of: "swift") }
    }
    // end

    // snippet: testing-file
    @Test func aDownloadIsResumed() async throws {
        let bytes = [UInt8](repeating: 7, count: 600_000)
        let network = ScriptedResponses { request in
            let file = ScriptedResponse.file(bytes, entityTag: "\"1\"", for: request)
            return request.index == 0 ? file.failing(after: 400_000) : file
        }
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = network.transport
        let session = try TransferSession(configuration: configuration)

        let file = try await session.download(from: "https://example.org/a.bin")
        #expect(file.size == 600_000)
        #expect(network.requests.contains { $0["Range"] != nil })
    }
    // end

    // snippet: testing-waiting
    @Test func aTaskIsCancelled() async throws {
        let network = ScriptedResponses { _ in .silence }
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = network.transport
        let task = try TransferSession(configuration: configuration).dataTask(for: "https://example.org/slow")
        task.resume()
        await network.waitForRequests(1)
        task.cancel()

        await #expect(throws: TransferError.self) { try await task.value }
    }
    // end

    // snippet: readme-testing
    @Test func aListIsLoaded() async throws {
        let network = ScriptedResponses { request in .response(200, ["ETag": "\"1\""], text: "one\ntwo") }
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = network.transport
        let session = try TransferSession(configuration: configuration)
        let list = try await session.data(from: "https://example.org/list.txt")
        #expect(list.text == "one\ntwo" && network.requests.map(\.method) == ["GET"])
    }
    // end
}
