// SPDX-License-Identifier: Apache-2.0
import Platform
import NIOCore
import NIOPosix
import NIOSSL
import Testing
import TransferTesting

@testable import HTTPServer
@testable import Receiver

@Suite("Encrypted connections")
struct EncryptionTests {
    @Test("a self-made certificate can be parsed, names where it is reached, and has the fingerprint that is printed")
    func certificate() throws {
        let made = try SelfSignedCertificate.make(for: ListenAddress(host: "192.0.2.7", port: 1))
        let certificate = try #require(try NIOSSLCertificate.fromPEMBytes(Array(made.certificate.chain.utf8)).first)
        // The key belongs to it, or there would be no context.
        _ = try TLSContext.make(chain: made.certificate.chain, key: made.certificate.key)
        let names = certificate._subjectAlternativeNames()
        #expect(names.contains { $0.nameType == .dnsName && $0.contents.elementsEqual(Array("localhost".utf8)) })
        #expect(names.contains { $0.nameType == .ipAddress && $0.contents.elementsEqual([192, 0, 2, 7]) })
        let digest = PlainDigests.sha256(try certificate.toDERBytes())
        let hex = digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16).uppercased() }
        #expect(made.fingerprint.certificate == hex.joined(separator: ":"))
    }

    @Test("a certificate's times are UTCTime through 2049 and GeneralizedTime from 2050")
    func times() throws {
        #expect(DER.time(2_524_607_999) == [0x17, 13] + Array("491231235959Z".utf8))
        #expect(DER.time(2_524_608_000) == [0x18, 15] + Array("20500101000000Z".utf8))
        // Its start is in 2049, its end in 2050.
        let directory = try TemporaryDirectory()
        let now: Int64 = 2_524_600_000
        let made = try StoredCertificate(in: directory.path, for: ListenAddress(), names: [], now: now).certificate
        let certificate = try #require(try NIOSSLCertificate.fromPEMBytes(Array(made.certificate.chain.utf8)).first)
        #expect(Int64(certificate.notValidBefore) == now - 3600)
        #expect(Int64(certificate.notValidAfter) == now + SelfSignedCertificate.lifetime)
    }

    @Test("a stored certificate persists, and is replaced with the same key before it expires or when it lacks a name")
    func stored() throws {
        let directory = try TemporaryDirectory()
        let address = ListenAddress(host: "192.0.2.7", port: 1)
        func load(_ names: [String] = [], after days: Int64 = 0) throws -> SelfSignedCertificate {
            try StoredCertificate(
                in: directory.path,
                for: address,
                names: names,
                now: Timestamp.now + days * 86400
            )
            .certificate
        }
        let first = try load()
        let path = directory.path("serve-certificate.pem")
        for file in [path, directory.path("serve-key")] {
            var status = stat()
            #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
        #expect(try load(after: 300).fingerprint == first.fingerprint)
        let renewed = try load(after: 340)
        #expect(renewed.fingerprint.certificate != first.fingerprint.certificate)
        #expect(renewed.fingerprint.pin == first.fingerprint.pin)
        let named = try load(["box.example"], after: 340)
        #expect(named.fingerprint.certificate != renewed.fingerprint.certificate)
        #expect(named.fingerprint.pin == first.fingerprint.pin)
        // Its names include those of before.
        #expect(try load(after: 340).fingerprint == named.fingerprint)
        _ = try TLSContext.make(chain: named.certificate.chain, key: named.certificate.key)
        try directory.write(Array("damaged".utf8), to: "serve-certificate.pem")
        #expect(try load().fingerprint.pin == first.fingerprint.pin)
        chmod(directory.path("serve-key"), 0o644)
        #expect(throws: ReceiverError.self) { try load() }
    }

    @Test("carry files of every size, and uploads", arguments: [0, 100, 70_000, 3_000_000])
    func files(length: Int64) async throws {
        let made = try SelfSignedCertificate.make(for: ListenAddress())
        let bench = try await ReceiverBench { $0.certificate = made.certificate }
        let content = TestPattern(seed: 2).bytes(0..<length)
        try bench.directory.write(content, to: "f")
        let got = try await TLSClient.exchange(
            port: bench.receiver.address.port,
            "GET /f HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        #expect(got.suffix(Int(length)).elementsEqual(content))
        let put = try await TLSClient.exchange(
            port: bench.receiver.address.port,
            "PUT /g HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
        )
        #expect(String(decoding: put, as: UTF8.self).hasPrefix("HTTP/1.1 201"))
        await bench.receiver.stop()
    }

    @Test("an invalid certificate is an error at the start")
    func badCertificate() async throws {
        await #expect { try await ReceiverBench { $0.certificate = ServerCertificate(chain: "x", key: "y") } } throws: {
            ($0 as? ReceiverError)?.code == .certificate
        }
    }

    @Test("that end before a shared file was sent give its place back")
    func sharePlace() async throws {
        let made = try SelfSignedCertificate.make(for: ListenAddress())
        let directory = try TemporaryDirectory()
        let content = [UInt8](repeating: 7, count: 12_000_000)
        try directory.write(content, to: "f")
        let bench = try await ReceiverBench {
            $0.certificate = made.certificate
            $0.directory = nil
            $0.shares = [ShareOffer(path: directory.path("f"), downloads: 1)]
        }
        let port = bench.receiver.address.port
        let path = try #require(bench.receiver.sharePaths.first)
        let text = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        let lazy = try await TLSClient.begin(port: port, text)
        #expect(try await TLSClient.exchange(port: port, text).starts(with: "HTTP/1.1 503".utf8))
        try await TLSClient.drop(lazy)
        var answer: [UInt8] = []
        // The receiver notices soon.
        let end = ContinuousClock.now + .seconds(60)
        repeat {
            answer = try await TLSClient.exchange(port: port, text)
        } while answer.starts(with: "HTTP/1.1 503".utf8) && ContinuousClock.now < end
        #expect(answer.suffix(1000) == content.suffix(1000))
        await bench.receiver.stop()
    }

    @Test("an idle encrypted connection is closed for a new one, though its client reads nothing more")
    func idle() async throws {
        let made = try SelfSignedCertificate.make(for: ListenAddress())
        let bench = try await ReceiverBench {
            $0.certificate = made.certificate
            $0.limits.connections = 1
        }
        let port = bench.receiver.address.port
        let text = "GET / HTTP/1.1\r\nHost: localhost\r\n"
        let lazy = try await TLSClient.begin(port: port, text + "\r\n")
        // Until the first response has ended, new clients are refused without TLS.
        var answer: [UInt8] = []
        while !answer.starts(with: "HTTP/1.1 200".utf8) {
            answer = (try? await TLSClient.exchange(port: port, text + "Connection: close\r\n\r\n")) ?? []
        }
        // It may have noticed its end already.
        try? await TLSClient.drop(lazy)
        await bench.receiver.stop()
    }
}

/// One exchange over TLS.
enum TLSClient {
    /// Reads once and then no more.
    private final class FirstBytes: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let promise: EventLoopPromise<Void>

        init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            try? context.channel.syncOptions?.setOption(.autoRead, value: false)
            self.promise.succeed()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
        func channelInactive(context: ChannelHandlerContext) { self.promise.fail(ChannelError.eof) }
    }

    /// Sends text and reads the first bytes of the answer.
    static func begin(port: Int, _ text: String) async throws -> any Channel {
        let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
        let channel = try await Self.connect(port: port) { FirstBytes(promise) }
        try await channel.writeAndFlush(ByteBuffer(string: text))
        try await promise.futureResult.get()
        return channel
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private var bytes: [UInt8] = []
        private let promise: EventLoopPromise<[UInt8]>

        init(_ promise: EventLoopPromise<[UInt8]>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var buffer = self.unwrapInboundIn(data)
            self.bytes += buffer.readBytes(length: buffer.readableBytes) ?? []
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
        func channelInactive(context: ChannelHandlerContext) { self.promise.succeed(self.bytes) }
    }

    /// Sends text and reads to the end.
    static func exchange(port: Int, _ text: String) async throws -> [UInt8] {
        let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: [UInt8].self)
        let channel = try await Self.connect(port: port) { Collector(promise) }
        try await channel.writeAndFlush(ByteBuffer(string: text))
        return try await promise.futureResult.get()
    }

    /// Ends a connection without TLS's goodbye.
    static func drop(_ channel: any Channel) async throws {
        try await channel.eventLoop
            .submit {
                try channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self).close(promise: nil)
            }
            .get()
    }

    private static func connect(
        port: Int,
        _ handler: @escaping @Sendable () -> any ChannelHandler
    ) async throws -> any Channel {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // HTTPTransport's tests verify the certificate.
        configuration.certificateVerification = .none
        let context = try NIOSSLContext(configuration: configuration)
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                    try pipeline.addHandler(handler())
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .get()
    }
}
