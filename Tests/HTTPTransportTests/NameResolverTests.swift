// SPDX-License-Identifier: Apache-2.0
import Dispatch
import NIOCore
import Synchronization
import Testing
import TransferCore

@testable import HTTPTransport

@Suite("The resolver of names", .timeLimit(.minutes(1)))
struct NameResolverTests {
    private static func address(_ last: Int) throws -> [SocketAddress] {
        [try SocketAddress(ipAddress: "127.0.0.\(last)", port: 0)]
    }

    private static func resolve(_ resolver: NameResolver, _ name: String) async -> NameResolver.Outcome {
        await withCheckedContinuation { continuation in
            _ = resolver.resolve(name, maximumAge: 60_000_000_000) { continuation.resume(returning: $0) }
        }
    }

    @Test("a slow name does not delay the others")
    func slowName() async throws {
        let gate = DispatchSemaphore(value: 0)
        let four = try Self.address(4)
        let resolver = NameResolver { name in
            if name == "slow.test" { gate.wait() }
            return .success(four)
        }
        async let slow = Self.resolve(resolver, "slow.test")
        for number in 0..<50 { #expect(await Self.resolve(resolver, "n\(number).test") == .success(four)) }
        gate.signal()
        #expect(await slow == .success(four))
    }

    @Test("many requests are completed by a bounded number of threads, with one lookup for each name")
    func bounded() async throws {
        let lookups = Mutex<[String: Int]>([:])
        let four = try Self.address(4)
        let resolver = NameResolver { name in
            lookups.withLock { $0[name, default: 0] += 1 }
            return name.hasPrefix("n7") ? .failure(NameFailure(.unknownName)) : .success(four)
        }
        let failures = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<5_000 {
                group.addTask {
                    await Self.resolve(resolver, "n\(number % 1_000)") == .failure(NameFailure(.unknownName))
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 5 * 111)
        #expect(lookups.withLock { $0.count == 1_000 && $0.values.allSatisfy { $0 == 1 } })
        #expect(resolver.threadCount <= NameResolver.maximumThreads)
    }

    @Test("a cancelled request is not completed, and its lookup serves later ones")
    func cancelled() async throws {
        let (began, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let four = try Self.address(4)
        let resolver = NameResolver { _ in
            began.signal()
            gate.wait()
            return .success(four)
        }
        let calls = Mutex(0)
        let ticket = resolver.resolve("a.test", maximumAge: 1) { _ in calls.withLock { $0 += 1 } }
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    began.wait()
                    continuation.resume()
                }
        }
        resolver.cancel(ticket)
        async let other = Self.resolve(resolver, "a.test")
        gate.signal()
        gate.signal()
        #expect(await other == .success(four))
        #expect(calls.withLock { $0 } == 0)
    }

    @Test("localhost has addresses without a name server")
    func localhost() async throws {
        let outcome = await Self.resolve(NameResolver(), "localhost")
        let addresses = try outcome.get()
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { $0.port == 0 && ["127.0.0.1", "::1"].contains($0.ipAddress) })
    }
}
