// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Testing
import TransferCore

@Suite struct CacheTrustTests {
    @Test func aResponseIsSelectedOnlyWithTheTrustThatStoredIt() throws {
        func options(_ change: (inout TLSOptions) -> Void) -> TLSOptions {
            var options = TLSOptions()
            change(&options)
            return options
        }
        let pins = try (0..<2).map { try TLSOptions.Pin(sha256: [UInt8](repeating: $0, count: 32)) }
        let all = [
            TLSOptions(), options { $0.verification = .none }, options { $0.verification = .noHostname },
            options { $0.verification = .pinned }, options { $0.roots = .pem([1]) }, options { $0.roots = .pem([2]) },
            options { $0.roots = .pemFile("a") }, options { $0.roots = .systemAnd(.file("a")) },
            options { $0.minimumVersion = .tls13 }, options { $0.pins = pins }, options { $0.pins = [pins[0]] },
            options { $0.clientCertificate = .init(chain: .file("a")) },
            options { $0.clientCertificate = .init(chain: .file("b")) },
        ]
        let key = CacheKey(try HTTPURL("https://a.test/"))
        for (index, stored) in all.enumerated() {
            let request = CacheRequest(key, [:], CacheTrust(stored))
            let selection = try #require(CacheSelection(request: request, response: [:]))
            for (other, options) in all.enumerated() {
                let matches = selection.matches(CacheRequest(key, [:], CacheTrust(options)), [:])
                #expect(matches == (index == other), "\(index) \(other)")
            }
        }
        let reversed = options { $0.pins = pins.reversed() }
        #expect(CacheTrust(reversed) == CacheTrust(options { $0.pins = pins }))
    }
}
