// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Caching {
    static func session() async throws {
        // snippet: cache-session
        var configuration = SessionConfiguration.default
        configuration.cache = try ResponseCache(directory: "/home/anna/.cache/photos", limit: 200 << 20)
        let session = try TransferSession(configuration: configuration)
        let answer = try await session.data(from: "https://example.org/list.json")
        switch answer.response.source {
        case .network: print("from the server")
        case .validated: print("unchanged, says the server")
        case .cache: print("stored \(answer.response.age ?? 0) seconds ago")
        }
        // end
    }

    static func policies(_ session: TransferSession) async throws {
        // snippet: cache-policies
        var request = try TransferRequest("https://example.org/list.json")
        request.cachePolicy = .returnCacheElseLoad
        let answer = try await session.data(from: request)
        // end
        _ = answer
    }

    static func maintenance(_ cache: ResponseCache, lastLogin: Int64) throws {
        // snippet: cache-maintenance
        print(cache.size, cache.limit)
        try cache.remove(for: "https://example.org/list.json")
        cache.removeAll(since: lastLogin)
        cache.limit = 50 << 20
        cache.removeAll()
        // end
    }
}
