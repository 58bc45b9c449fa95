import NIOCore
import NIOPosix
import NIOSSL
import Testing
import TransferTesting

@testable import Receiver

@Suite("Encrypted connections")
struct EncryptionTests {
    @Test("a self-made certificate can be parsed, names where it is reached, and has the fingerprint that is printed")
    func certificate() throws {
        let made = try SelfSignedCertificate.make(for: ListenAddress(host: "192.0.2.7", port: 1))
        let certificate = try #require(try NIOSSLCertificate.fromPEMBytes(Array(made.certificate.chain.utf8)).first)
        // The key belongs to it, or there would be no context.
        _ = try TLSContext.make(made.certificate)
        let names = certificate._subjectAlternativeNames()
        #expect(names.contains { $0.nameType == .dnsName && $0.contents.elementsEqual(Array("localhost".utf8)) })
        #expect(names.contains { $0.nameType == .ipAddress && $0.contents.elementsEqual([192, 0, 2, 7]) })
        let digest = PlainDigests.sha256(try certificate.toDERBytes())
        let hex = digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16).uppercased() }
        #expect(made.fingerprint.certificate == hex.joined(separator: ":"))
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

    @Test("a certificate that is none is told at the start")
    func badCertificate() async throws {
        await #expect { try await ReceiverBench { $0.certificate = ServerCertificate(chain: "x", key: "y") } } throws: {
            ($0 as? ReceiverError)?.code == .certificate
        }
    }
}

/// One exchange over TLS.
enum TLSClient {
    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private var bytes: [UInt8] = []
        private let promise: EventLoopPromise<[UInt8]>

        init(_ promise: EventLoopPromise<[UInt8]>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.bytes += self.unwrapInboundIn(data).readableBytesView
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
        func channelInactive(context: ChannelHandlerContext) { self.promise.succeed(self.bytes) }
    }

    /// Sends text and reads to the end.
    static func exchange(port: Int, _ text: String) async throws -> [UInt8] {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // BoringSSL takes no certificate for a root that says it is no authority; who it is, other tests compare.
        configuration.certificateVerification = .none
        let context = try NIOSSLContext(configuration: configuration)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: [UInt8].self)
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                    try pipeline.addHandler(Collector(promise))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .get()
        try await channel.writeAndFlush(ByteBuffer(string: text))
        return try await promise.futureResult.get()
    }
}
