// SPDX-License-Identifier: Apache-2.0
import Platform
import NIOCore
import Testing
import TransferCore
import TransferEngine

@testable import HTTPTransport

@Suite("System errors of connections")
struct ErrnoTests {
    private static let peer = Peer(Origin(scheme: .http, host: "h.test", port: 80))

    private static let table: [(CInt, TransportError.Code, TransportError.Code)] = [
        (ECONNREFUSED, .refused, .refused),
        (EHOSTUNREACH, .unreachable, .unreachable), (ENETUNREACH, .unreachable, .unreachable),
        (ENETDOWN, .unreachable, .unreachable), (EHOSTDOWN, .unreachable, .unreachable),
        (ECONNRESET, .reset, .reset), (EPIPE, .reset, .reset), (ECONNABORTED, .reset, .reset),
        (EMFILE, .localResource, .broken), (ENFILE, .localResource, .broken), (ENOBUFS, .localResource, .broken),
        (EADDRNOTAVAIL, .localResource, .broken),
        (ETIMEDOUT, .connectTimeout, .broken), (EACCES, .connect, .broken),
    ]

    @Test("connecting, and on an established connection", arguments: Self.table)
    func codes(number: CInt, connecting: TransportError.Code, established: TransportError.Code) {
        let error = IOError(errnoCode: number, reason: "connect")
        let first = TransportError.connecting(to: Self.peer, error)
        #expect(first.code == connecting && first.message.contains("h.test:80"))
        let second = TransportError.connection(to: Self.peer, broke: error)
        #expect(second.code == established && second.message.contains("h.test:80"))
        #expect(TransferFailure(first).isRetryable && TransferFailure(second).isRetryable)
    }

    @Test("a name without an address is distinguished from name servers that do not respond")
    func names() {
        // EAI_NODATA and EAI_ADDRFAMILY are -5 and -9 in Platform.
        for code in [EAI_NONAME, -5, -9] { #expect(AddressInfoError.isUnknownName(Int(code))) }
        for code in [EAI_AGAIN, EAI_FAIL, EAI_SYSTEM, EAI_MEMORY] {
            #expect(!AddressInfoError.isUnknownName(Int(code)))
        }
        #expect(!TransferFailure(TransportError(.unknownName, "")).isRetryable)
        #expect(TransferFailure(TransportError(.nameResolution, "")).evidence?.cause == .resolver)
    }

    @Test("errors that a person can fix have a remedy")
    func remedies() {
        let refused = TransportError.connecting(to: Self.peer, IOError(errnoCode: ECONNREFUSED, reason: "connect"))
        #expect(refused.remedy == "check the port, and that the server is running")
        let unreachable = TransportError.connecting(to: Self.peer, IOError(errnoCode: ENETUNREACH, reason: "connect"))
        #expect(unreachable.remedy == "check the network")
    }
}
